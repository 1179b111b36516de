//! Copies of elements between device layouts, whatever their strides.
//!
//! Decided in plain data, carried out in few lines: `walk.rs` (what is walked, in which unit), `plan.rs` (as a block, as
//! regions or by kernels), `window.rs` (what one dispatch can take), `launch.rs` (one dispatch), `channels.rs` (between
//! pixels and planes), `overlap.rs` (inside one block), `machine.rs` (what the device is like). Then `kernels.rs` and
//! `run.rs` act, and `cast.rs` knows the kernels that convert. Why it is done so:
//! `docs/decisions/011-how-arrays-are-copied.md`. What users call is in `assign.rs` and `transfer.rs`. Start at `walk.rs`.

pub(crate) mod cast;
mod channels;
mod kernels;
mod launch;
mod machine;
mod overlap;
mod plan;
mod walk;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use kernels::{CopyKernels, Variant};
pub(crate) use launch::Launch;
pub(crate) use overlap::{Route, route};
pub(crate) use plan::{Step, launches, plan};
pub(crate) use walk::Walk;
