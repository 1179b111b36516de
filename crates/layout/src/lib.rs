//! The layout algebra: which elements of a block of memory an array means, and which views exist without a copy.
//!
//! **Is:** shapes, strides and NumPy's rules for them, as plain numbers. **Is not:** elements, memory, a device, and not a
//! line of `unsafe`. **Start** at [`Layout`].
#![forbid(unsafe_code)]

mod layout;

pub use layout::{
    Index, IntoAxis, IntoReshape, IntoShape, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span,
    broadcast_shapes, tuple_text,
};
