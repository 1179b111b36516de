//! `Owned<H>`: the one place where handles of a device are destroyed.
//!
//! A handle has one owner, and the owner holds the device. So a `?` after a create call leaks nothing, and no handle
//! outlives its device. The code that drops an `Owned` ensures that no work in flight still uses the handle.

use std::fmt;
use std::sync::Arc;

use ash::vk;

use super::LogicalDevice;

/// A handle that a device can destroy.
pub trait Destroy: Copy + fmt::Debug {
    /// Destroys the handle.
    ///
    /// # Safety
    ///
    /// The handle was created by `device`, is not in use, and is not used again.
    unsafe fn destroy(self, device: &ash::Device);
}

macro_rules! destroy {
    ($($handle:ident => $call:ident),* $(,)?) => {$(
        impl Destroy for vk::$handle {
            unsafe fn destroy(self, device: &ash::Device) {
                // SAFETY: the caller keeps the contract of this function, which is the contract of the call.
                unsafe { device.$call(self, None) };
            }
        }
    )*};
}

destroy! {
    Buffer => destroy_buffer,
    BufferView => destroy_buffer_view,
    CommandPool => destroy_command_pool,
    DescriptorPool => destroy_descriptor_pool,
    DescriptorSetLayout => destroy_descriptor_set_layout,
    DescriptorUpdateTemplate => destroy_descriptor_update_template,
    DeviceMemory => free_memory,
    Image => destroy_image,
    ImageView => destroy_image_view,
    Pipeline => destroy_pipeline,
    PipelineCache => destroy_pipeline_cache,
    PipelineLayout => destroy_pipeline_layout,
    QueryPool => destroy_query_pool,
    Sampler => destroy_sampler,
    Semaphore => destroy_semaphore,
    ShaderModule => destroy_shader_module,
}

/// A handle and the device that made it. Dropping it destroys the handle.
///
/// ```
/// use ash::vk;
/// use vkarray_driver::{Device, Instance, Owned};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// // SAFETY: the structure is complete.
/// let raw = unsafe { device.raw().create_semaphore(&vk::SemaphoreCreateInfo::default(), None) };
/// let raw = raw.map_err(device.failed("vkCreateSemaphore"))?;
/// // SAFETY: just created by this device, and no work uses it.
/// let semaphore = unsafe { Owned::new(raw, device.logical()) };
/// drop(semaphore); // Destroys it.
/// # Ok(())
/// # }
/// ```
pub struct Owned<H: Destroy> {
    raw: H,
    device: Arc<LogicalDevice>,
}

impl<H: Destroy> Owned<H> {
    /// Takes ownership of a handle.
    ///
    /// # Safety
    ///
    /// `raw` was created by `device` and has no other owner. When the `Owned` is dropped, no pending work uses the
    /// handle.
    #[must_use]
    pub unsafe fn new(raw: H, device: &Arc<LogicalDevice>) -> Self {
        Self { raw, device: Arc::clone(device) }
    }

    /// The handle. It must not be used after the `Owned` is dropped.
    pub fn raw(&self) -> H {
        self.raw
    }

    /// The device that made the handle.
    pub fn device(&self) -> &Arc<LogicalDevice> {
        &self.device
    }
}

impl<H: Destroy> Drop for Owned<H> {
    fn drop(&mut self) {
        if self.device.is_forked() {
            return; // The handle belongs to the parent process.
        }
        // SAFETY: `new` made this value the only owner, and the caller of `new` keeps the handle out of work in flight.
        unsafe { self.raw.destroy(self.device.raw()) };
    }
}

impl<H: Destroy> fmt::Debug for Owned<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}
