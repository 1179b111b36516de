//! Arrays that compute: fused expressions, reductions, and the functions of the Python array API standard.
//!
//! **Is:** the kernels of the library, and the choice of a kernel for arrays of any layout. **Is not:** layouts, copies
//! and memory, which belong to the array crate; and no line of it is `unsafe`. **Start** at `elementwise`.
//!
//! The methods belong to traits, because the array type belongs to another crate. The prelude of `vkarray` has these
//! traits.
//!
//! The folders and files, each of which uses only those above it:
//!
//! | folder or file | what it is |
//! |---|---|
//! | `error.rs` | why an operation is refused; it converts to the array crate's error |
//! | `generate/` | from an expression to WGSL and to loops over strides, in plain data |
//! | `operand.rs` | how arrays are given to kernels: with their stream, contiguous, as words |
//! | `elementwise/` | evaluating expressions |
//! | `scan/` | running sums and products |
//! | `indexing/` | elements by index and by mask |
//! | `sorting/` | sorting, searching, different values, histograms |
//! | `linalg/` | products of matrices, triangles |
//! | `joining/` | arrays joined, repeated, shifted and extended, by copies alone |
//! | `random/` | random numbers by counter |
//! | `reduce/` | reductions of expressions over axes; whether arrays are equal or close |
#![forbid(unsafe_code)]

mod elementwise;
mod error;
mod generate;
mod indexing;
mod joining;
mod linalg;
mod operand;
mod random;
mod reduce;
mod scan;
mod sorting;

pub use elementwise::{Assignment, Call, Elementwise, ElementwiseKernel, Evaluate, Results, assign_all};
pub use error::{Error, TextFault};
pub use indexing::{IndexElement, IndexMode, Indexing};
pub use joining::{Joining, PadMode, broadcast_arrays, concat, meshgrid, stack};
pub use linalg::{Linalg, eye};
pub use operand::{AsOnStream, Binned, UniformFloat, Widen};
pub use random::{RandomInteger, Rng, philox_4x32, philox_4x64};
pub use reduce::{
    Axes, Compare, IntoAxes, Precise, Quantiles, Reduce, Reducible, ReductionCall, ReductionKernel, Statistics,
    keepdims,
};
pub use scan::{Accumulate, Scan, ScanKernel};
pub use sorting::{Histogram, Side, Sorting, Unique};
