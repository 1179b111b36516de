//! The calls that name a type of memory: the driver's are numbered one lower.

use std::ffi::c_void;

use ash::vk;

use crate::{device, shape};

pub(crate) unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    // SAFETY: Vulkan requires that `info` is valid.
    let info = unsafe { *info };
    let info = info.memory_type_index(shape::real_type(info.memory_type_index));
    // SAFETY: the caller's arguments, with the driver's type.
    unsafe { (device::of(device).table.fp_v1_0().allocate_memory)(device, &info, allocator, memory) }
}

pub(crate) unsafe extern "system" fn requirements(
    device: vk::Device,
    buffer: vk::Buffer,
    requirements: *mut vk::MemoryRequirements,
) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (device::of(device).table.fp_v1_0().get_buffer_memory_requirements)(device, buffer, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_type_bits };
    *types = shape::buffer_types(*types);
}

pub(crate) unsafe extern "system" fn requirements2(
    device: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (device::of(device).table.fp_v1_1().get_buffer_memory_requirements2)(device, info, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_requirements.memory_type_bits };
    *types = shape::buffer_types(*types);
}

pub(crate) unsafe extern "system" fn device_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    // SAFETY: Vulkan requires that `info` is valid.
    let buffer = unsafe { (*info).p_create_info };
    // SAFETY: Vulkan requires that `info` and everything it points to are valid.
    let buffer = unsafe { *buffer };
    let buffer = buffer.sharing_mode(vk::SharingMode::EXCLUSIVE).queue_family_indices(&[]);
    let info = vk::DeviceBufferMemoryRequirements::default().create_info(&buffer);
    // SAFETY: the caller's arguments, for the driver's one family.
    unsafe { (device::of(device).table.fp_v1_3().get_device_buffer_memory_requirements)(device, &info, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_requirements.memory_type_bits };
    *types = shape::buffer_types(*types);
}

pub(crate) unsafe extern "system" fn host_pointer(
    device: vk::Device,
    handle_type: vk::ExternalMemoryHandleTypeFlags,
    pointer: *const c_void,
    properties: *mut vk::MemoryHostPointerPropertiesEXT<'_>,
) -> vk::Result {
    let known = device::of(device);
    let ask = known.host_pointers.get_memory_host_pointer_properties_ext;
    // SAFETY: the arguments of the caller are passed on unchanged.
    let result = unsafe { ask(device, handle_type, pointer, properties) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*properties).memory_type_bits };
    *types = shape::imported_types(*types);
    result
}
