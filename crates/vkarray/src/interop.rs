//! Arrays of other libraries: the array interface and DLPack.

#[cfg(feature = "dlpack")]
pub use vkarray_allocator::{HostTensor, Tensor, TensorError, TensorShape};
pub use vkarray_ndarray::{AsDeviceArray, DeviceArrayInterface, InterfaceError, MemoryHandle, ReadyPoint};
