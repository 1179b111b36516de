//! The calls of an instance that this layer answers: the properties of its devices.

use std::ffi::{CStr, c_void};
use std::mem::transmute;

use ash::vk;

use crate::device;
use crate::instances::{Instance, create_instance, destroy_instance, of};
use crate::shape::{ATOM, Types};

/// The function of this layer for a call of an instance, if the layer has one.
pub(crate) fn own(
    name: &CStr,
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
) -> Option<unsafe extern "system" fn()> {
    let address: *const c_void = match name.to_bytes() {
        b"vkGetInstanceProcAddr" => get_instance_proc_addr as _,
        b"vkCreateInstance" => create_instance as _,
        b"vkDestroyInstance" => destroy_instance as _,
        b"vkCreateDevice" => device::create_device as _,
        b"vkGetPhysicalDeviceProperties" => properties as _,
        b"vkGetPhysicalDeviceProperties2" | b"vkGetPhysicalDeviceProperties2KHR" => properties2 as _,
        b"vkGetPhysicalDeviceMemoryProperties" => memory as _,
        b"vkGetPhysicalDeviceMemoryProperties2" | b"vkGetPhysicalDeviceMemoryProperties2KHR" => memory2 as _,
        _ => return None,
    };
    // SAFETY: the address is that of a function, and its type follows from its name.
    Some(unsafe { transmute::<*const c_void, unsafe extern "system" fn()>(address) })
}

unsafe extern "system" fn properties(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_properties)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    unsafe { (*properties).limits.non_coherent_atom_size = ATOM };
}

unsafe extern "system" fn properties2(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties2<'_>) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_properties2)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    unsafe { (*properties).properties.limits.non_coherent_atom_size = ATOM };
}

unsafe extern "system" fn memory(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceMemoryProperties) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_memory_properties)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    report(unsafe { &mut *properties });
}

unsafe extern "system" fn memory2(
    device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_memory_properties2)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    report(unsafe { &mut (*properties).memory_properties });
}

fn report(memory: &mut vk::PhysicalDeviceMemoryProperties) {
    if let Some(types) = Types::of(memory) {
        types.report(memory);
    }
}

impl Instance {
    /// The types of memory of a device, if this layer can change them.
    pub(crate) fn types(&self, device: vk::PhysicalDevice) -> Option<Types> {
        // SAFETY: the loader passes live devices.
        Types::of(&unsafe { self.table.get_physical_device_memory_properties(device) })
    }
}
