//! Arrays beyond [`DeviceNDArray`]: layouts, element types, copies in flight and host access in place.
//!
//! A [`Layout`] is the shape, the strides and the offset of an array. It is plain data: views are computed on it without a
//! device, with NumPy's rules.
//!
//! ```
//! use vkarray::array::{Layout, broadcast_shapes};
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let layout = Layout::contiguous(&[4, 6], Order::C)?;
//! let every_other = layout.slice(&s![.., ..;2])?;
//! assert_eq!((every_other.shape(), every_other.strides()), (&[4, 3][..], &[6, 2][..]));
//! assert_eq!(broadcast_shapes(&[&[4, 1], &[3]])?, [4, 3]);
//! # Ok(())
//! # }
//! ```
//!
//! Read next: [`DeviceNDArray`] for the operations of arrays, [`Context`] for how arrays are made.

pub use vkarray_any::{
    AnyArray, AnyElement, AnyOperand, AnyReduction, AnyScalar, Category, computes, default_on, promote,
};
pub use vkarray_kernel::{Bool, Complex32, Complex64};
#[cfg(feature = "serde")]
pub use vkarray_ndarray::ArraySeed;
pub use vkarray_ndarray::{
    AccessMode, ArrayAccess, ContextBuilder, HostRead, HostWrite, IntoAxis, IntoShape, Layout, LayoutError, MAX_NDIM,
    MirroredArray, MultiDeviceArray, MultiDeviceError, Number, PendingCopy, PinnedArray, RangeProblem, Registered,
    ReplicaState, Strided, array_text, broadcast_shapes,
};
pub use vkarray_ndarray::{Bitwise, Complex, Expr, ExprError, Floating, Integral, IntoExpr, Numeric, Operand};

pub use crate::{Context, DType, DeviceNDArray, Element, Index, Order, s};
