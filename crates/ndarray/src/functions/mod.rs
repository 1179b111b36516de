//! Functions of arrays, each by kernels of its own.
//!
//! | folder or file | what it is |
//! |---|---|
//! | `operand.rs` | how arrays are given to kernels: contiguous, as words, in parts |
//! | `team.rs` | invocations that exchange words: subgroups |
//! | `scan/` | running sums and products |
//! | `indexing/` | elements by index and by mask |
//! | `sorting/` | sorting, searching, different values, histograms |
//! | `linalg/` | products of matrices, triangles |
//! | `joining/` | arrays joined, repeated, shifted and extended, by copies alone |
//! | `fft/` | fast Fourier transforms |
//! | `convolve/` | filters of images and signals |
//! | `random/` | random numbers by counter |
//! | `reduce/` | reductions of expressions over axes; whether arrays are equal or close |
//!
//! Each of them uses only those above it.

mod convolve;
mod fft;
mod indexing;
mod joining;
mod linalg;
mod operand;
mod random;
mod reduce;
mod scan;
mod sorting;
mod team;

pub use fft::{FftNorm, fftfreq};
pub use indexing::{IndexElement, IndexMode};
pub use joining::{PadMode, broadcast_arrays, concat, meshgrid, stack};
pub use linalg::eye;
pub use operand::{Reducible, UniformFloat, Widen};
pub use random::{RandomInteger, Rng, philox_4x32, philox_4x64};
pub use reduce::{Axes, IntoAxes, Precise, Reduce, ReductionCall, ReductionKernel, Statistics, keepdims};
pub use scan::ScanKernel;
pub use sorting::{Histogram, Side, Unique};
