//! Vulkan itself: raw handles, devices and queues that another library opened, and the parts for a memory manager of
//! your own.
//!
//! `raw()` returns an object's handle, as a type of the re-exported crate [`ash`]. Reading a handle is safe; using it
//! is `unsafe`, and the functions that take handles of other libraries say what their caller promises.
//!
//! ```
//! use vkarray::vulkan::ash::vk;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = vkarray::Context::open_default()?;
//! let device: vk::Device = ctx.device().raw().handle();
//! # assert_ne!(device, vk::Device::null());
//! # Ok(())
//! # }
//! ```

pub use ash;
pub use vkarray_driver::hazard::{BlockAccess, Mode, Stage};
pub use vkarray_driver::{Adopted, BUFFER_USAGE, ExternalQueue, LogicalDevice, QueueLock, Recorder, Step, Timeline};
#[cfg(unix)]
pub use vkarray_driver::{ExternalSemaphore, SemaphoreKind};
