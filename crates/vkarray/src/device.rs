//! Devices: which devices a machine has, what each can do, and how a device is chosen and opened.
//!
//! Most programs open a [`Context`](crate::Context) and never see these types. An [`Instance`] lists the devices of the
//! machine; a [`DeviceInfo`] describes a device in plain data that can be stored; a [`Selection`] is a choice by text,
//! as in `VKARRAY_DEVICE`.
//!
//! ```
//! use vkarray::device::Instance;
//!
//! # fn main() -> vkarray::Result<()> {
//! let instance = Instance::new()?;
//! for device in instance.devices()? {
//!     println!("{}: Vulkan {}", device.info().name, device.info().api_version);
//! }
//! # assert!(!instance.devices()?.is_empty());
//! # Ok(())
//! # }
//! ```

pub use vkarray_driver::{
    Device, DeviceInfo, DeviceLimits, DeviceRequest, DeviceType, DriverFault, Error, External, Features, Instance,
    InstanceBuilder, LimitProfile, MatrixShape, PhysicalDevice, Selection, Subgroup, ValidationMessage, Version,
    environment,
};
