//! Arrays on a device: shapes, strides and views.
//!
//! *Is*: the layout algebra, which element of a block an index means and which views exist without a copy, by NumPy's
//! rules bit for bit. *Is not*: anything that knows a device. *Start here*: [`Layout`], in `layout.rs`.

mod layout;

pub use layout::{Index, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span, broadcast_shapes};
