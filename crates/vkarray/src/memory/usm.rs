//! Memory objects: bytes of one kind without a type, as the `MemoryUSM…` classes of dpctl and pointers of SYCL's unified
//! shared memory.
//!
//! ```
//! use vkarray::prelude::*;
//! use vkarray::memory::usm::DeviceMemory;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let bytes = DeviceMemory::new(&ctx, 16)?;
//! bytes.copy_from_host(&[3; 16])?;
//! assert_eq!(bytes.copy_to_host()?, [3; 16]);
//! # Ok(())
//! # }
//! ```

pub use vkarray_allocator::{
    DeviceMemory, HostMemory, HostVisible, MemoryContext, MemoryState, OnBoth, OnDevice, OnHost, SharedMemory, UsmKind,
    UsmMemory, UsmType,
};
