//! Elements by index and by mask: [`DeviceNDArray::take`], [`DeviceNDArray::put`], [`DeviceNDArray::compact`], [`DeviceNDArray::nonzero`].
//!
//! | file | has |
//! |---|---|
//! | `take.rs` | elements at indices, and how indices are checked |
//! | `put.rs` | elements written at indices |
//! | `mask.rs` | elements that a mask selects |
//!
//! This folder never computes with elements; it moves them. Read `take.rs` next.

mod mask;
mod put;
mod take;

pub(crate) use mask::positions_of;
pub use take::{IndexElement, IndexMode};
pub(crate) use take::{gather_axis, gather_rows};
