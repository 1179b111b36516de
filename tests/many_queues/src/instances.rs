//! The instances that were created through a layer, each with the layer below. Every layer uses this file and
//! `loader.rs`.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::mem::transmute;
use std::ptr;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;

use crate::loader;

/// An instance, and the layer below.
pub(crate) struct Instance {
    pub(crate) next: vk::PFN_vkGetInstanceProcAddr,
    pub(crate) table: ash::Instance,
}

/// The instances of the process, by their keys.
static INSTANCES: RwLock<BTreeMap<usize, Arc<Instance>>> = RwLock::new(BTreeMap::new());

/// The record of an instance, if there is one.
pub(crate) fn find(instance: vk::Instance) -> Option<Arc<Instance>> {
    if instance == vk::Instance::null() {
        return None;
    }
    // SAFETY: the loader passes live instances, or none.
    let key = unsafe { loader::key(instance) };
    INSTANCES.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// The record of the instance of a physical device.
pub(crate) fn of(device: vk::PhysicalDevice) -> Arc<Instance> {
    // SAFETY: the loader passes live devices.
    let key = unsafe { loader::key(device) };
    let instances = INSTANCES.read().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(instances.get(&key).expect("a device belongs to an instance that was created through the layer"))
}

pub(crate) unsafe extern "system" fn create_instance(
    info: *const vk::InstanceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    instance: *mut vk::Instance,
) -> vk::Result {
    // SAFETY: Vulkan requires that `info` is valid.
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
    // SAFETY: the function has that name, and therefore this type.
    let create: vk::PFN_vkCreateInstance = unsafe { transmute(create) };
    // SAFETY: the arguments of the caller are passed on unchanged.
    let result = unsafe { create(info, allocator, instance) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the call has succeeded, so the instance is there.
        let handle = unsafe { *instance };
        // SAFETY: the name is NUL-terminated, and the instance live.
        let load = |name: &CStr| unsafe { next(handle, name.as_ptr()) }.map_or(ptr::null(), |found| found as *const _);
        // SAFETY: each function belongs to its name.
        let table = unsafe { ash::Instance::load_with(load, handle) };
        // SAFETY: the call has succeeded, so the handle is live.
        let key = unsafe { loader::key(handle) };
        let known = Arc::new(Instance { next, table });
        INSTANCES.write().unwrap_or_else(PoisonError::into_inner).insert(key, known);
    }
    result
}

pub(crate) unsafe extern "system" fn destroy_instance(
    instance: vk::Instance,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let Some(known) = find(instance) else { return };
    // SAFETY: the instance was found, so it is live; the key is removed afterwards.
    let key = unsafe { loader::key(instance) };
    INSTANCES.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_0().destroy_instance)(instance, allocator) };
}
