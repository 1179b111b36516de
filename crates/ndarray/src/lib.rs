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
mod display;
mod error;
mod file;
mod flat;
mod host;
mod interface;
mod layout;
mod memory_use;
mod pending;
mod ramp;
mod register;
#[cfg(feature = "serde")]
mod serialize;
mod transfer;
mod views;

pub use array::DeviceNDArray;
pub use context::{Context, ContextBuilder};
pub use error::{Error, Result};
pub use file::{FileError, NpyFile, NpyHeader, NpzFile, NpzWriter, write_npy};
pub use host::{HostRead, HostWrite};
pub use interface::{AsDeviceArray, DeviceArrayInterface, InterfaceError, MemoryHandle, ReadyPoint};
pub use layout::{Index, Layout, LayoutError, MAX_NDIM, Offsets, Order, Runs, Span, broadcast_shapes};
pub use pending::PendingCopy;
pub use ramp::{Number, RangeProblem};
pub use register::Registered;
#[cfg(feature = "serde")]
pub use serialize::ArraySeed;
