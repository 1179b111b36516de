//! Arrays beyond [`DeviceNDArray`](crate::DeviceNDArray): layouts, element types, copies in flight and host access.

pub use vkarray_kernel::{Bool, Complex32, Complex64};
#[cfg(feature = "serde")]
pub use vkarray_ndarray::ArraySeed;
pub use vkarray_ndarray::{
    ContextBuilder, HostRead, HostWrite, Layout, LayoutError, MAX_NDIM, Number, Offsets, PendingCopy, RangeProblem,
    Registered, Runs, Span, broadcast_shapes,
};

pub use crate::{Context, DType, DeviceNDArray, Element, Index, Order, s};
