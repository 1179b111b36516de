//! The interface between the Vulkan loader and a layer: its version, and the next layer in the chain. The layer of
//! `noncoherent/` uses this file too.
//!
//! The structures are the ones of the loader's header `vk_layer.h`, which ash does not have. Dispatchable handles point
//! to objects that begin with a pointer to the loader's dispatch table. The table is the same for an instance and its
//! physical devices, so it is the key for their state.

use std::ffi::{CStr, c_char, c_void};

use ash::vk::{self, Handle};

use crate::{device, instance, instances};

/// The version of the interface of this file: the first in which a layer hands out its functions.
const INTERFACE: u32 = 2;

#[repr(C)]
pub(crate) struct Negotiation {
    s_type: u32,
    next: *mut c_void,
    version: u32,
    get_instance_proc_addr: Option<vk::PFN_vkGetInstanceProcAddr>,
    get_device_proc_addr: Option<vk::PFN_vkGetDeviceProcAddr>,
    get_physical_device_proc_addr: vk::PFN_vkVoidFunction,
}

/// The structure that the loader puts into the chain of the call that creates an instance or a device.
#[repr(C)]
struct CreateInfo<L> {
    s_type: vk::StructureType,
    next: *const c_void,
    /// 0 if `link` is a link.
    function: u32,
    link: *mut L,
}

/// The next layer's functions, for an instance.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InstanceLink {
    next: *mut InstanceLink,
    pub(crate) get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    get_physical_device_proc_addr: vk::PFN_vkVoidFunction,
}

/// The next layer's functions, for a device.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DeviceLink {
    next: *mut DeviceLink,
    pub(crate) get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    pub(crate) get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
}

/// Takes this layer's link out of the chain that begins at `next`, so that the next layer finds its own.
///
/// # Safety
///
/// `next` is the chain that the loader passed to `vkCreateInstance`.
pub(crate) unsafe fn instance_link(next: *const c_void) -> Option<InstanceLink> {
    // SAFETY: the caller promises the chain; the loader's structure of this type has this layout, and so do its links.
    unsafe { take_link(next, vk::StructureType::LOADER_INSTANCE_CREATE_INFO, |link: &InstanceLink| link.next) }
}

/// Takes this layer's link out of the chain, like [`instance_link`], for a device.
///
/// # Safety
///
/// `next` is the chain that the loader passed to `vkCreateDevice`.
pub(crate) unsafe fn device_link(next: *const c_void) -> Option<DeviceLink> {
    // SAFETY: the caller promises the chain; the loader's structure of this type has this layout, and so do its links.
    unsafe { take_link(next, vk::StructureType::LOADER_DEVICE_CREATE_INFO, |link: &DeviceLink| link.next) }
}

unsafe fn take_link<L: Copy>(
    mut next: *const c_void,
    wanted: vk::StructureType,
    following: impl Fn(&L) -> *mut L,
) -> Option<L> {
    while !next.is_null() {
        // SAFETY: every structure of a chain begins like this.
        let head = unsafe { &*next.cast::<vk::BaseInStructure<'_>>() };
        if head.s_type == wanted {
            let info = next.cast_mut().cast::<CreateInfo<L>>();
            // SAFETY: the caller says that the loader's structures of this type have this layout.
            let info = unsafe { &mut *info };
            if info.function == 0 {
                // SAFETY: the loader has a link for each layer.
                let link = unsafe { *info.link };
                info.link = following(&link);
                return Some(link);
            }
        }
        next = head.p_next.cast();
    }
    None
}

/// The key of the record of an instance, a physical device, or a device.
///
/// # Safety
///
/// `handle` is live and of a kind that the loader puts its table into.
pub(crate) unsafe fn key(handle: impl Handle) -> usize {
    // SAFETY: such a handle is a pointer to an object that begins with a pointer.
    unsafe { *(handle.as_raw() as *const usize) }
}

/// Describes a layer to the loader, which calls `negotiate`, a function of `library`, first.
pub(crate) fn manifest(name: &str, description: &str, library: &str, negotiate: &str) -> String {
    format!(
        r#"{{ "file_format_version": "1.2.0", "layer": {{
            "name": "{name}", "type": "GLOBAL", "library_path": {library:?},
            "api_version": "1.3.0", "implementation_version": "1", "description": "{description}",
            "functions": {{ "vkNegotiateLoaderLayerInterfaceVersion": "{negotiate}" }} }} }}"#
    )
}

/// Answers the loader's first call.
///
/// # Safety
///
/// `negotiation` points to the structure of that name in the loader's header.
pub(crate) unsafe fn negotiate(negotiation: *mut Negotiation) -> vk::Result {
    // SAFETY: the caller promises that the pointer is valid.
    let negotiation = unsafe { &mut *negotiation };
    if negotiation.version < INTERFACE {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    negotiation.version = INTERFACE;
    negotiation.get_instance_proc_addr = Some(get_instance_proc_addr);
    negotiation.get_device_proc_addr = Some(get_device_proc_addr);
    negotiation.get_physical_device_proc_addr = None;
    vk::Result::SUCCESS
}

unsafe extern "system" fn get_instance_proc_addr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are NUL-terminated.
    let text = unsafe { CStr::from_ptr(name) };
    if let Some(own) = instance::own(text, get_instance_proc_addr) {
        return Some(own);
    }
    if let Some(own) = device::own(text, get_device_proc_addr) {
        return Some(own);
    }
    let next = instances::find(instance)?.next;
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { next(instance, name) }
}

unsafe extern "system" fn get_device_proc_addr(device: vk::Device, name: *const c_char) -> vk::PFN_vkVoidFunction {
    let next = device::find(device)?.next;
    // SAFETY: the arguments of the caller are passed on unchanged.
    let theirs = unsafe { next(device, name) }?; // The layer has only functions that the driver has.
    // SAFETY: names are NUL-terminated.
    Some(device::own(unsafe { CStr::from_ptr(name) }, get_device_proc_addr).unwrap_or(theirs))
}
