//! The calls of an instance that are answered here: what its devices are.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;

use crate::shape::{ATOM, Types};
use crate::{device, loader};

/// An instance, and the layer below.
pub(crate) struct Instance {
    pub(crate) next: vk::PFN_vkGetInstanceProcAddr,
    pub(crate) table: ash::Instance,
}

/// The instances of the process, by their keys.
static INSTANCES: RwLock<BTreeMap<usize, Arc<Instance>>> = RwLock::new(BTreeMap::new());

/// What is known of an instance, if it is one.
pub(crate) fn find(instance: vk::Instance) -> Option<Arc<Instance>> {
    if instance == vk::Instance::null() {
        return None;
    }
    // SAFETY: the loader passes live instances, or none.
    let key = unsafe { loader::key(instance) };
    INSTANCES.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// What is known of the instance of a physical device.
pub(crate) fn of(device: vk::PhysicalDevice) -> Arc<Instance> {
    // SAFETY: the loader passes live devices.
    let key = unsafe { loader::key(device) };
    let instances = INSTANCES.read().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(instances.get(&key).expect("a device belongs to an instance that was created through the layer"))
}

/// The function that answers a call of an instance, if it is answered here.
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
    // SAFETY: the address is that of a function, and who asks for it knows its type by its name.
    Some(unsafe { transmute::<*const c_void, unsafe extern "system" fn()>(address) })
}

unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: Vulkan's rules: `info` is valid.
    let chain = unsafe { (*info).p_next };
    // SAFETY: the chain comes from the loader.
    let Some(link) = (unsafe { loader::instance_link(chain) }) else {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    };
    let next = link.get_instance_proc_addr;
    // SAFETY: the name is NUL-terminated, and this function is asked for without an instance.
    let Some(create) = (unsafe { next(vk::Instance::null(), c"vkCreateInstance".as_ptr()) }) else {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    };
    // SAFETY: the function of that name.
    let create: vk::PFN_vkCreateInstance = unsafe { transmute(create) };
    // SAFETY: handed on as it came.
    let result = unsafe { create(info, allocator, instance) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the call has succeeded, so the instance is there.
        let handle = unsafe { *instance };
        // SAFETY: the name is NUL-terminated, and the instance live.
        let load = |name: &CStr| unsafe { next(handle, name.as_ptr()) }.map_or(ptr::null(), |found| found as *const _);
        // SAFETY: each function is the one of its name.
        let table = unsafe { ash::Instance::load_with(load, handle) };
        // SAFETY: as above.
        let key = unsafe { loader::key(handle) };
        let known = Arc::new(Instance { next, table });
        INSTANCES.write().unwrap_or_else(PoisonError::into_inner).insert(key, known);
    }
    result
}

unsafe extern "system" fn destroy_instance(instance: vk::Instance, allocator: *const vk::AllocationCallbacks<'_>) {
    let Some(known) = find(instance) else { return };
    // SAFETY: it was found, so it is live; the key is gone afterwards.
    let key = unsafe { loader::key(instance) };
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    // SAFETY: handed on as it came.
    unsafe { (known.table.fp_v1_0().destroy_instance)(instance, allocator) };
}

unsafe extern "system" fn properties(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties) {
    // SAFETY: handed on as it came.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_properties)(device, properties) };
    // SAFETY: Vulkan's rules.
    unsafe { (*properties).limits.non_coherent_atom_size = ATOM };
}

unsafe extern "system" fn properties2(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceProperties2<'_>) {
    // SAFETY: handed on as it came.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_properties2)(device, properties) };
    // SAFETY: Vulkan's rules.
    unsafe { (*properties).properties.limits.non_coherent_atom_size = ATOM };
}

unsafe extern "system" fn memory(device: vk::PhysicalDevice, properties: *mut vk::PhysicalDeviceMemoryProperties) {
    // SAFETY: handed on as it came.
    unsafe { (of(device).table.fp_v1_0().get_physical_device_memory_properties)(device, properties) };
    // SAFETY: Vulkan's rules.
    report(unsafe { &mut *properties });
}

unsafe extern "system" fn memory2(
    device: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties2<'_>,
) {
    // SAFETY: handed on as it came.
    unsafe { (of(device).table.fp_v1_1().get_physical_device_memory_properties2)(device, properties) };
    // SAFETY: Vulkan's rules.
    report(unsafe { &mut (*properties).memory_properties });
}

fn report(memory: &mut vk::PhysicalDeviceMemoryProperties) {
    if let Some(types) = Types::of(memory) {
        types.report(memory);
    }
}

impl Instance {
    /// The types of memory of a device, if they can be what this layer makes of them.
    pub(crate) fn types(&self, device: vk::PhysicalDevice) -> Option<Types> {
        // SAFETY: the loader passes live devices.
        Types::of(&unsafe { self.table.get_physical_device_memory_properties(device) })
    }
}
