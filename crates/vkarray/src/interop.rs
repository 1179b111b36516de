//! Memory of other libraries, processes and devices, without a copy: the array interface, exported memory, connections
//! between devices; and with the feature `dlpack`, DLPack tensors.
//!
//! A [`DeviceArrayInterface`] describes an array in plain data, as `__cuda_array_interface__` does in Python. A type that
//! implements [`AsDeviceArray`] can be seen as an array of this library:
//!
//! ```
//! use vkarray::interop::AsDeviceArray;
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let x = ctx.arange(0_u32, 6, 1)?.reshape([2, 3])?;
//! let interface = x.device_array_interface()?;
//! assert_eq!((interface.shape.as_slice(), interface.typestr.as_str()), (&[2, 3][..], "<u4"));
//! # Ok(())
//! # }
//! ```
//!
//! A [`MemoryConnection`] says what one device does with memory of another. Devices, queues and semaphores of other
//! libraries are in [`vulkan`](crate::vulkan).

#[cfg(target_os = "linux")]
pub use vkarray_allocator::IpcError;
pub use vkarray_allocator::{
    Confidence, ConnectionLimit, ConnectionSync, ConnectionTraits, MemoryConnection, MemoryDescription, MigrationPath,
    UnifiedBy, connection_between, memory_connection, note_connection_failure,
};
#[cfg(unix)]
pub use vkarray_allocator::{ExportedMemory, IpcHandle};
#[cfg(feature = "dlpack")]
pub use vkarray_allocator::{HostTensor, Tensor, TensorError, TensorShape};
pub use vkarray_ndarray::{ArrayMemory, AsDeviceArray, DeviceArrayInterface, InterfaceError, MemoryHandle, ReadyPoint};
#[cfg(target_os = "linux")]
pub use vkarray_ndarray::{IpcArrayHandle, IpcOptions};
