//! The life of a device, and the calls of it that this layer answers.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use ash::ext::external_memory_host;
use ash::vk;

use crate::memory::Memory;
use crate::shape::Types;
use crate::{instances, loader, memory};

/// A device, the layer below, and the device's memory that is not coherent.
pub(crate) struct Device {
    pub(crate) next: vk::PFN_vkGetDeviceProcAddr,
    pub(crate) table: ash::Device,
    pub(crate) host_pointers: external_memory_host::DeviceFn,
    pub(crate) types: Types,
    memory: Mutex<BTreeMap<vk::DeviceMemory, Memory>>,
}

/// The devices of the process, by their keys.
static DEVICES: RwLock<BTreeMap<usize, Arc<Device>>> = RwLock::new(BTreeMap::new());

/// The record of a device.
pub(crate) fn find(device: vk::Device) -> Option<Arc<Device>> {
    // SAFETY: the loader passes live devices.
    let key = unsafe { loader::key(device) };
    DEVICES.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// The record of the device of a call.
pub(crate) fn of(device: vk::Device) -> Arc<Device> {
    find(device).expect("a device is created through the layer before it is used")
}

/// The function of this layer for a call of a device, if the layer has one.
pub(crate) fn own(
    name: &CStr,
    get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
) -> Option<unsafe extern "system" fn()> {
    let address: *const c_void = match name.to_bytes() {
        b"vkGetDeviceProcAddr" => get_device_proc_addr as _,
        b"vkDestroyDevice" => destroy_device as _,
        b"vkAllocateMemory" => memory::allocate as _,
        b"vkFreeMemory" => memory::free as _,
        b"vkMapMemory" => memory::map as _,
        b"vkUnmapMemory" => memory::unmap as _,
        b"vkFlushMappedMemoryRanges" => memory::flush as _,
        b"vkInvalidateMappedMemoryRanges" => memory::invalidate as _,
        b"vkGetBufferMemoryRequirements" => memory::requirements as _,
        b"vkGetBufferMemoryRequirements2" | b"vkGetBufferMemoryRequirements2KHR" => memory::requirements2 as _,
        b"vkGetDeviceBufferMemoryRequirements" | b"vkGetDeviceBufferMemoryRequirementsKHR" => {
            memory::device_requirements as _
        }
        b"vkGetMemoryHostPointerPropertiesEXT" => memory::host_pointer as _,
        _ => return None,
    };
    // SAFETY: the address is that of a function, and its type follows from its name.
    Some(unsafe { transmute::<*const c_void, unsafe extern "system" fn()>(address) })
}

pub(crate) unsafe extern "system" fn create_device(
    physical: vk::PhysicalDevice,
    info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    // SAFETY: Vulkan requires that `info` is valid.
    let chain = unsafe { (*info).p_next };
    // SAFETY: the chain comes from the loader.
    let Some(link) = (unsafe { loader::device_link(chain) }) else {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    };
    let instance = instances::of(physical);
    let Some(types) = instance.types(physical) else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: the name is NUL-terminated, and the instance live.
    let create = unsafe { (link.get_instance_proc_addr)(instance.table.handle(), c"vkCreateDevice".as_ptr()) };
    let Some(create) = create else { return vk::Result::ERROR_INITIALIZATION_FAILED };
    // SAFETY: the function has that name, and therefore this type.
    let create: vk::PFN_vkCreateDevice = unsafe { transmute(create) };
    // SAFETY: the arguments of the caller are passed on unchanged.
    let result = unsafe { create(physical, info, allocator, device) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the call has succeeded, so the device is there.
        let handle = unsafe { *device };
        // SAFETY: the call has succeeded, so the handle is live.
        let key = unsafe { loader::key(handle) };
        let known = Arc::new(Device::new(link.get_device_proc_addr, handle, types));
        DEVICES.write().unwrap_or_else(PoisonError::into_inner).insert(key, known);
    }
    result
}

impl Device {
    fn new(next: vk::PFN_vkGetDeviceProcAddr, handle: vk::Device, types: Types) -> Self {
        // SAFETY: the name is NUL-terminated, and the device live.
        let load = |name: &CStr| unsafe { next(handle, name.as_ptr()) }.map_or(ptr::null(), |found| found as *const _);
        // SAFETY: each function belongs to its name.
        let table = unsafe { ash::Device::load_with(load, handle) };
        Self { next, table, host_pointers: external_memory_host::DeviceFn::load(load), types, memory: Mutex::default() }
    }

    /// The device's memory that is not coherent.
    pub(crate) fn memory(&self) -> MutexGuard<'_, BTreeMap<vk::DeviceMemory, Memory>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

unsafe extern "system" fn destroy_device(device: vk::Device, allocator: *const vk::AllocationCallbacks<'_>) {
    if device == vk::Device::null() {
        return;
    }
    let known = of(device);
    // SAFETY: the device is live; the key is removed afterwards.
    let key = unsafe { loader::key(device) };
    DEVICES.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_0().destroy_device)(device, allocator) };
}
