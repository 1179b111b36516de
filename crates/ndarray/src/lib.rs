//! Arrays on a device: shapes, strides and views.
//!
//! The layout algebra lives here: which element of a block an index means, and which views exist without a copy.
//! It follows NumPy's rules bit for bit, and knows nothing of devices.
//! Start at [`Layout`], in `layout.rs`.

mod layout;

pub use layout::{Index, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span, broadcast_shapes};
