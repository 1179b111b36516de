//! Elements by index and by mask: [`DeviceNDArray::take`], [`DeviceNDArray::compact`], [`DeviceNDArray::nonzero`].
//!
//! | file | has |
//! |---|---|
//! | `take.rs` | elements at indices, and how indices are checked |
//! | `scatter.rs` | elements written at places |
//! | `mask.rs` | elements that a mask selects |
//!
//! This folder never computes with elements; it moves them. Read `take.rs` next.

mod mask;
mod scatter;
mod take;

pub(crate) use mask::positions_of;
pub(crate) use scatter::scatter;
pub use take::{IndexElement, IndexMode};
pub(crate) use take::{check_indices, gather_axis, gather_rows, places_of};
