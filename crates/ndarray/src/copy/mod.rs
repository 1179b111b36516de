//! How elements are copied between two device layouts of any strides: plans in plain data, and the kernels they name.
//!
//! Nothing here records work: `context/copies.rs` carries plans out. In the order of a copy:
//!
//! | file | decides |
//! |---|---|
//! | `strided.rs` | which bytes go where: a copy with as few axes as possible, in units as large as possible |
//! | `plan.rs` | whether the driver copies regions, or kernels copy; `within_block.rs`: inside one block |
//! | `pieces.rs` | how a copy is cut so that one dispatch can do each piece |
//! | `dispatch.rs` | which kernel copies a piece, and with which parameters; `channels.rs`: between interleaved and planar data |
//! | `cast.rs` | the expression that converts an element to another type |
//! | `limits.rs` | the properties of a device that the plans depend on |
//! | `kernels.rs` | keeps the kernels that are built |
//!
//! Start at `strided.rs`. The reasons are in `docs/decisions/011-how-arrays-are-copied.md`; the methods that users call
//! are in `array/assign.rs`, `array/transfer.rs` and `array/astype.rs`.

pub(crate) mod cast;
mod channels;
mod dispatch;
mod kernels;
mod limits;
mod pieces;
mod plan;
mod strided;
mod within_block;

#[cfg(test)]
mod tests;

pub(crate) use dispatch::CopyDispatch;
pub(crate) use kernels::{LibraryKernel, LibraryKernels};
pub(crate) use plan::{CopyStep, dispatches, plan, ranges_overlap};
pub(crate) use strided::StridedCopy;
pub(crate) use within_block::plan_within_block;
