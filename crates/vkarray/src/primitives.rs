//! Expressions, reductions and functions of arrays.
//!
//! The methods of arrays and expressions are in the prelude. This module has the functions that are not methods, kernels
//! written as expressions in WGSL, and the types of arguments and results.

pub use vkarray_ndarray::{
    Accumulate, AsOnStream, Assignment, Axes, Binned, Call, Compare, Elementwise, ElementwiseKernel, Evaluate,
    Histogram, IndexElement, IndexMode, Indexing, IntoAxes, Joining, Linalg, PadMode, Precise, Quantiles,
    RandomInteger, Reduce, Reducible, ReductionCall, ReductionKernel, Results, Rng, Scan, ScanKernel, Side, Sorting,
    Statistics, TextFault, UniformFloat, Unique, Widen, assign_all, broadcast_arrays, concat, eye, keepdims, meshgrid,
    philox_4x32, philox_4x64, stack,
};
