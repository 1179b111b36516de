//! [`PhysicalDevice`]: a device as an instance lists it. The folder `device` opens it.

use std::sync::Arc;

use ash::vk;

use super::{DeviceInfo, Instance};

/// A device that is listed but not opened.
///
/// ```
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), vkarray_driver::Error> {
/// let instance = Instance::new()?;
/// let devices = instance.devices()?;
/// let device = Device::open(&devices[0])?;
/// assert_eq!(device.info().name, devices[0].info().name);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct PhysicalDevice {
    pub(super) instance: Arc<Instance>,
    pub(super) raw: vk::PhysicalDevice,
    pub(super) info: Arc<DeviceInfo>,
}

impl PhysicalDevice {
    /// The device's properties, limits and features, as plain data.
    pub fn info(&self) -> &Arc<DeviceInfo> {
        &self.info
    }

    /// The instance that listed the device.
    #[inline]
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The handle of the device.
    pub fn raw(&self) -> vk::PhysicalDevice {
        self.raw
    }
}
