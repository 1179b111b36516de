//! The views of an array: the same memory with another shape, other axes, fewer elements or another element type.
//!
//! Nothing here copies. The layout crate decides which views exist. Each view is made by `DeviceNDArray::with_layout`,
//! so that it keeps the context, the memory and the read-only flag. Copies are in `array/assign.rs` and
//! `array/transfer.rs`.

mod axes;
mod memory;
mod parts;
mod shape;
