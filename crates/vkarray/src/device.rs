//! Devices: which there are, what each can do, and how one is chosen and opened.

pub use vkarray_driver::{
    Device, DeviceInfo, DeviceType, DriverInfo, Error, Features, Heap, HeapBudget, Instance, InstanceBuilder, Limits,
    MatrixShape, MemoryType, PhysicalDevice, QueueFamily, Selection, Subgroup, ValidationMessage, Version,
};
