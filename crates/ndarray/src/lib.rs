//! Device arrays that compute: typed views of device memory with NumPy's shapes, strides and functions.
//!
//! **Is:** arrays, copies between any two of them and host arrays, expressions, and the functions of the Python array API
//! standard. **Is not:** the layout algebra, which is `vkarray-layout`; Vulkan; and not a line of `unsafe`. **Start** at
//! [`Context`] and [`DeviceNDArray`].
//!
//! The folders, each of which uses only those above it:
//!
//! | folder | what it is |
//! |---|---|
//! | `error/` | why an operation on arrays is refused or fails |
//! | `copy/` | how elements are copied between two layouts: a plan in plain data, and the kernels that plans name |
//! | `context/` | a device opened for array work; it carries out the plans of `copy/` |
//! | `array/` | arrays: creation, views, copies, conversion, printing. What creates arrays is `impl Context` here |
//! | `expr/` | computations on arrays as plain data, and the operators that build them |
//! | `generate.rs` | the crate that writes kernels, and the limits of a device that they depend on |
//! | `elementwise/` | evaluating expressions |
//! | `functions/` | functions of arrays: scans, reductions, indexing, sorting, products of matrices, Fourier transforms, joining, random numbers |
//! | `multi_device/` | arrays with replicas in several contexts |
//! | `io/` | `.npy` files, arrays of other libraries, memory objects, DLPack, serde |
#![forbid(unsafe_code)]

mod array;
mod context;
mod copy;
mod elementwise;
mod error;
mod expr;
mod functions;
mod generate;
mod io;
mod multi_device;

pub use array::{
    DeviceNDArray, HostElements, HostRead, HostWrite, Lend, LendAll, MirroredArray, Number, PendingCopy, PinnedArray,
    Prototype, Registered, Strided, array_text,
};
pub use context::{Context, ContextBuilder};
pub use elementwise::{Assignment, Call, ElementwiseKernel, Evaluate, Results, assign_all};
pub use error::{
    AccessMode, Error, ExprError, InterfaceError, MultiDeviceError, OperandShape, RangeProblem, Result, TextFault,
};
pub use expr::{Bitwise, Complex, Expr, Floating, Integral, IntoExpr, Numeric, Operand};
pub use functions::{
    Axes, FftNorm, Histogram, IndexElement, IndexMode, IntoAxes, PadMode, Precise, RandomInteger, Reduce, Reducible,
    ReductionCall, ReductionKernel, Rng, ScanKernel, Side, Statistics, UniformFloat, Unique, Widen, broadcast_arrays,
    concat, eye, fftfreq, keepdims, meshgrid, philox_4x32, philox_4x64, stack,
};
pub use generate::with_functions;
#[cfg(feature = "serde")]
pub use io::ArraySeed;
pub use io::{ArrayMemory, AsDeviceArray, DeviceArrayInterface, MemoryHandle, ReadyPoint};
#[cfg(target_os = "linux")]
pub use io::{IpcArrayHandle, IpcOptions};
pub use multi_device::{ArrayAccess, MultiDeviceArray, ReplicaState};
pub use vkarray_layout::{
    Index, IntoAxis, IntoReshape, IntoShape, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span,
    broadcast_shapes, s,
};

/// What serves `vkarray-any` alone.
#[doc(hidden)]
pub mod internal {
    pub use crate::expr::Node;
}
