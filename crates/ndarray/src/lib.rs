//! Device arrays: typed views of device memory with NumPy's shapes, strides and rules.
//!
//! **Is:** the layout algebra (which element of a block an index means, and which views exist without a copy), arrays,
//! and copies between any two of them and host arrays. **Is not:** Vulkan, and not a line of `unsafe`. **Start** at [`Context`]
//! and [`DeviceNDArray`]; the algebra is [`Layout`], in `layout.rs`, and knows nothing of devices.
#![forbid(unsafe_code)]

mod array;
mod assign;
mod astype;
mod context;
mod copy;
mod create;
mod error;
mod host;
mod layout;
mod memory_use;
mod pending;
mod register;
mod transfer;

pub use array::DeviceNDArray;
pub use context::{Context, ContextBuilder};
pub use error::{Error, Result};
pub use host::{HostRead, HostWrite};
pub use layout::{Index, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span, broadcast_shapes};
pub use pending::PendingCopy;
pub use register::Registered;
