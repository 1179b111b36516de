//! The table of tests that may be skipped, for the tests of every crate. The tests that open a device are in `main.rs`.

pub mod skips;
