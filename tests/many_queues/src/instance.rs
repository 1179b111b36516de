//! The calls of an instance that this layer answers: the properties of its devices.

use std::ffi::{CStr, c_void};
use std::mem::transmute;

use ash::vk;

use crate::instances::{create_instance, destroy_instance, of};
use crate::{device, shape};

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
        b"vkGetPhysicalDeviceQueueFamilyProperties" => families as _,
        b"vkGetPhysicalDeviceQueueFamilyProperties2" | b"vkGetPhysicalDeviceQueueFamilyProperties2KHR" => {
            families2 as _
        }
        b"vkGetPhysicalDeviceProperties" => properties as _,
        b"vkGetPhysicalDeviceProperties2" | b"vkGetPhysicalDeviceProperties2KHR" => properties2 as _,
        b"vkGetPhysicalDeviceMemoryProperties" => memory as _,
        b"vkGetPhysicalDeviceMemoryProperties2" | b"vkGetPhysicalDeviceMemoryProperties2KHR" => memory2 as _,
        _ => return None,
    };
    // SAFETY: the address is that of a function, and its type follows from its name.
    Some(unsafe { transmute::<*const c_void, unsafe extern "system" fn()>(address) })
}

unsafe extern "system" fn families(
    device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::QueueFamilyProperties,
) {
    let reported = reported_families(device);
    // SAFETY: Vulkan requires that `count` is valid, and `properties` null or of that many.
    unsafe { list(&reported, count, properties, |into, from| *into = from) };
}

unsafe extern "system" fn families2(
    device: vk::PhysicalDevice,
    count: *mut u32,
    properties: *mut vk::QueueFamilyProperties2<'_>,
) {
    let reported = reported_families(device);
    // SAFETY: Vulkan requires that `count` is valid, and `properties` null or of that many.
    unsafe { list(&reported, count, properties, |into, from| into.queue_family_properties = from) };
}

fn reported_families(device: vk::PhysicalDevice) -> Vec<vk::QueueFamilyProperties> {
    // SAFETY: the loader passes live devices.
    let real = unsafe { of(device).table.get_physical_device_queue_family_properties(device) };
    real.first().map_or(Vec::new(), |&first| shape::families(first).to_vec())
}

/// Counts, or hands out, like Vulkan's functions that return lists.
///
/// # Safety
///
/// `count` is valid, and `to` is null or has room for that many.
unsafe fn list<T>(
    reported: &[vk::QueueFamilyProperties],
    count: *mut u32,
    to: *mut T,
    set: impl Fn(&mut T, vk::QueueFamilyProperties),
) {
    // SAFETY: the caller promises that the pointer is valid.
    let count = unsafe { &mut *count };
    let n_reported = u32::try_from(reported.len()).expect("few families");
    if to.is_null() {
        *count = n_reported;
        return;
    }
    *count = n_reported.min(*count);
    // SAFETY: the caller promises that the pointer is valid.
    let to = unsafe { std::slice::from_raw_parts_mut(to, *count as usize) };
    to.iter_mut().zip(reported).for_each(|(into, &from)| set(into, from));
}

unsafe extern "system" fn memory(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceMemoryProperties) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_memory_properties)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    shape::memory_types(unsafe { &mut *properties });
}

unsafe extern "system" fn memory2(
    device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_memory_properties2)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    shape::memory_types(unsafe { &mut (*properties).memory_properties });
}

unsafe extern "system" fn properties(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_properties)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    lower(unsafe { &mut *properties });
}

unsafe extern "system" fn properties2(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties2<'_>) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_properties2)(device, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    lower(unsafe { &mut (*properties).properties });
}

fn lower(properties: &mut vk::PhysicalDeviceProperties) {
    if let Ok(text) = std::env::var(shape::WORKGROUPS_VARIABLE) {
        shape::lower_workgroups(&mut properties.limits, &text);
    }
}
