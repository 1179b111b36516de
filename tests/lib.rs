//! Tests that open a device: see `main.rs`.
