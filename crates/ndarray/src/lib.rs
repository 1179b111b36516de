//! Device arrays: typed views of device memory with NumPy's shapes, strides and rules.
//!
//! **Is:** arrays, and copies between any two of them and host arrays. **Is not:** the layout algebra, which is
//! `vkarray-layout`; Vulkan; and not a line of `unsafe`. **Start** at [`Context`] and [`DeviceNDArray`].
//!
//! The folders, each of which uses only those above it:
//!
//! | folder | what it is |
//! |---|---|
//! | `copy/` | how elements are copied between two layouts: a plan in plain data, and the kernels that plans name |
//! | `context/` | a device opened for array work; it carries out the plans of `copy/` |
//! | `array/` | arrays: creation, views, copies, conversion, printing. What creates arrays is `impl Context` here |
//! | `expr/` | computations on arrays as plain data, and the operators that build them |
//! | `multi_device/` | arrays with replicas in several contexts |
//! | `io/` | `.npy` and `.npz` files, arrays of other libraries, memory objects, DLPack, serde |
//!
//! `error.rs` may name them all.
#![forbid(unsafe_code)]

mod array;
mod context;
mod copy;
mod error;
mod expr;
mod io;
mod multi_device;

#[doc(hidden)]
pub use array::collect_values;
pub use array::{
    ArrayLeaf, BoundSlice, DeviceNDArray, HostElements, HostRead, HostWrite, MirroredArray, Number, OnStream,
    PendingCopy, PinnedArray, Prototype, RangeProblem, Registered, Strided,
};
pub use context::{Context, ContextBuilder};
pub use error::{Error, Result};
pub use expr::{
    Bitwise, Complex, Expr, ExprError, Floating, Function, Integral, IntoExpr, Logic, Node, NodeKind, Numeric, Op,
    Operand, OperandShape, Scalar,
};
#[cfg(feature = "serde")]
pub use io::ArraySeed;
pub use io::{ArrayMemory, AsDeviceArray, DeviceArrayInterface, InterfaceError, MemoryHandle, ReadyPoint};
#[cfg(feature = "npy")]
pub use io::{FileError, NpyFile, NpyHeader, NpzFile, NpzWriter, write_npy};
#[cfg(target_os = "linux")]
pub use io::{IpcArrayHandle, IpcOptions};
pub use multi_device::{AccessMode, ArrayAccess, MultiDeviceArray, MultiDeviceError, ReplicaState};
pub use vkarray_layout::{
    Index, IntoAxis, IntoReshape, IntoShape, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span,
    broadcast_shapes, s,
};
