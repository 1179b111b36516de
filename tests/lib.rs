//! What tests of every crate share: the table of tests that may be skipped. The tests that open a device are in `main.rs`.

pub mod skips;
