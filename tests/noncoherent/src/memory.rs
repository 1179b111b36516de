//! The calls that name a type of memory, or map, flush or invalidate memory.

use std::ffi::c_void;

use ash::vk;

use crate::device::{self, Device};
use crate::shadow::Shadow;

/// Memory that is not coherent.
pub(crate) struct Memory {
    size: u64,
    shadow: Option<Shadow>,
}

pub(crate) unsafe extern "system" fn allocate(
    device: vk::Device,
    info: *const vk::MemoryAllocateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    let known = device::of(device);
    // SAFETY: Vulkan requires that `info` is valid.
    let info = unsafe { *info };
    let real = info.memory_type_index(known.types.real(info.memory_type_index));
    // SAFETY: the caller's arguments, with the driver's type.
    let result = unsafe { (known.table.fp_v1_0().allocate_memory)(device, &real, allocator, memory) };
    if result == vk::Result::SUCCESS && !known.types.is_coherent(info.memory_type_index) {
        // SAFETY: the call has succeeded, so the handle is live.
        let handle = unsafe { *memory };
        known.memory().insert(handle, Memory { size: info.allocation_size, shadow: None });
    }
    result
}

pub(crate) unsafe extern "system" fn free(
    device: vk::Device,
    memory: vk::DeviceMemory,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    let known = device::of(device);
    known.memory().remove(&memory);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_0().free_memory)(device, memory, allocator) };
}

pub(crate) unsafe extern "system" fn map(
    device: vk::Device,
    memory: vk::DeviceMemory,
    offset: vk::DeviceSize,
    size: vk::DeviceSize,
    flags: vk::MemoryMapFlags,
    data: *mut *mut c_void,
) -> vk::Result {
    let known = device::of(device);
    let call = known.table.fp_v1_0().map_memory;
    let mut held = known.memory();
    let Some(mapped) = held.get_mut(&memory) else {
        // SAFETY: the arguments of the caller are passed on unchanged.
        return unsafe { call(device, memory, offset, size, flags, data) };
    };
    // SAFETY: the caller's arguments, except for the range, which is the whole memory.
    let result = unsafe { call(device, memory, 0, vk::WHOLE_SIZE, flags, data) };
    if result == vk::Result::SUCCESS {
        let end = if size == vk::WHOLE_SIZE { mapped.size } else { offset + size };
        // SAFETY: the call has succeeded, so the address is valid.
        let real = unsafe { *data }.cast::<u8>();
        let shadow = mapped.shadow.insert(Shadow::new(real, mapped.size, offset..end));
        // SAFETY: Vulkan requires that `data` is valid.
        unsafe { *data = shadow.address().cast() };
    }
    result
}

pub(crate) unsafe extern "system" fn unmap(device: vk::Device, memory: vk::DeviceMemory) {
    let known = device::of(device);
    if let Some(mapped) = known.memory().get_mut(&memory) {
        mapped.shadow = None;
    }
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_0().unmap_memory)(device, memory) };
}

pub(crate) unsafe extern "system" fn flush(
    device: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: Vulkan requires that there are `count` ranges.
    unsafe { each(&device::of(device), count, ranges, "vkFlushMappedMemoryRanges", Shadow::flush) };
    vk::Result::SUCCESS
}

pub(crate) unsafe extern "system" fn invalidate(
    device: vk::Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
) -> vk::Result {
    // SAFETY: Vulkan requires that there are `count` ranges.
    unsafe { each(&device::of(device), count, ranges, "vkInvalidateMappedMemoryRanges", Shadow::invalidate) };
    vk::Result::SUCCESS
}

/// # Safety
///
/// `ranges` points to `count` ranges.
unsafe fn each(
    device: &Device,
    count: u32,
    ranges: *const vk::MappedMemoryRange<'_>,
    call: &str,
    work: impl Fn(&mut Shadow, &vk::MappedMemoryRange<'_>) -> Result<(), String>,
) {
    // SAFETY: the caller promises that the pointer is valid.
    let ranges = unsafe { std::slice::from_raw_parts(ranges, count as usize) };
    for range in ranges {
        let mut memory = device.memory();
        let Some(known) = memory.get_mut(&range.memory) else { continue }; // Coherent memory needs no copy.
        let outcome =
            known.shadow.as_mut().map_or_else(|| Err("the memory is not mapped".to_owned()), |it| work(it, range));
        if let Err(reason) = outcome {
            eprintln!("{call}: {reason}");
            std::process::abort(); // A returned error might be ignored.
        }
    }
}

pub(crate) unsafe extern "system" fn requirements(
    device: vk::Device,
    buffer: vk::Buffer,
    requirements: *mut vk::MemoryRequirements,
) {
    let known = device::of(device);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_0().get_buffer_memory_requirements)(device, buffer, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_type_bits };
    *types = known.types.allowed(*types);
}

pub(crate) unsafe extern "system" fn requirements2(
    device: vk::Device,
    info: *const vk::BufferMemoryRequirementsInfo2<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    let known = device::of(device);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_1().get_buffer_memory_requirements2)(device, info, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_requirements.memory_type_bits };
    *types = known.types.allowed(*types);
}

pub(crate) unsafe extern "system" fn device_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    let known = device::of(device);
    // SAFETY: the arguments of the caller are passed on unchanged.
    unsafe { (known.table.fp_v1_3().get_device_buffer_memory_requirements)(device, info, requirements) };
    // SAFETY: Vulkan requires the caller to pass a valid pointer.
    let types = unsafe { &mut (*requirements).memory_requirements.memory_type_bits };
    *types = known.types.allowed(*types);
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
    *types = known.types.allowed(*types);
    result
}
