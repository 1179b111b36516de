//! Expressions, reductions and functions of arrays.
//!
//! The methods of arrays and expressions are in the prelude. This module has the functions that are not methods, kernels
//! written as expressions in WGSL, and the types of arguments and results.

pub use vkarray_ndarray::{
    Assignment, Axes, Call, ElementwiseKernel, Evaluate, FftNorm, IndexElement, IndexMode, IntoAxes, PadMode, Precise,
    RandomInteger, Reduce, Reducible, ReductionKernel, Rng, ScanKernel, Side, Statistics, TextFault, UniformFloat,
    Unique, Widen, assign_all, broadcast_arrays, concat, eye, fftfreq, keepdims, meshgrid, philox_4x32, philox_4x64,
    stack, with_functions,
};
