//! Arrays whose descriptors are written before the clock starts: in descriptor sets, and in a descriptor buffer.
//!
//! A dispatch then binds its pair's set or place, where `commands.rs` else pushes the descriptors. Used by `launch.rs`.

use anyhow::Result;
use ash::vk;
use vkarray_benches::Report;

use crate::commands::{BYTES, Binding, Pair, writes};
use crate::gpu::{Gpu, Place, create_layout};

/// A way to bind arrays: its name, a pipeline of `axpy` for it, and the pairs.
type Way = (&'static str, vk::Pipeline, Vec<Pair>);

/// All ways that the device has, for as many pairs as are given: pushed ones and their pipeline.
pub(crate) fn ways(
    gpu: &Gpu,
    report: Report,
    words: &[u32],
    (pipeline, pairs): (vk::Pipeline, &[Pair]),
) -> Result<Vec<Way>> {
    let mut ways = vec![("pushed", pipeline, pairs.to_vec()), sets(gpu, words, pairs)?];
    match places(gpu, words, pairs.len())? {
        Some(way) => ways.push(way),
        None => report.skipped("independent_axpy16_descriptor_buffer", "the device lacks VK_EXT_descriptor_buffer"),
    }
    Ok(ways)
}

fn sets(gpu: &Gpu, words: &[u32], pairs: &[Pair]) -> Result<Way> {
    let (set_layout, layout) = create_layout(&gpu.device, vk::DescriptorSetLayoutCreateFlags::empty())?;
    let (n, set_layouts) = (pairs.len() as u32, vec![set_layout; pairs.len()]);
    let sizes = [vk::DescriptorPoolSize::default().ty(vk::DescriptorType::STORAGE_BUFFER).descriptor_count(2 * n)];
    let create = vk::DescriptorPoolCreateInfo::default().max_sets(n).pool_sizes(&sizes);
    // SAFETY: the structure is filled; the device is alive.
    let pool = unsafe { gpu.device.create_descriptor_pool(&create, None) }?;
    let allocate = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&set_layouts);
    // SAFETY: the pool was made above, with room for these sets.
    let sets = unsafe { gpu.device.allocate_descriptor_sets(&allocate) }?;
    let bound = pairs.iter().zip(sets).map(|(&pair, set)| {
        // SAFETY: the set has the two bindings, and no command uses it yet; the buffers belong to the device.
        unsafe { gpu.device.update_descriptor_sets(&writes(set, &pair.infos()), &[]) };
        Pair { binding: Binding::Set(set, layout), ..pair }
    });
    let bound = bound.collect();
    Ok(("sets", gpu.pipeline_of(layout, vk::PipelineCreateFlags::empty(), words, c"axpy")?, bound))
}

/// `None` if the device has no descriptor buffers.
fn places(gpu: &Gpu, words: &[u32], n: usize) -> Result<Option<Way>> {
    let Some(device) = &gpu.descriptor_buffer else { return Ok(None) };
    let (set_layout, layout) = create_layout(&gpu.device, vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT)?;
    let mut sizes = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut sizes);
    // SAFETY: the physical device belongs to the instance; the structures are chained as the driver reads them.
    unsafe { gpu.instance.get_physical_device_properties2(gpu.physical, &mut all) };
    // SAFETY: the layout was made above, for descriptor buffers.
    let stride = unsafe { device.get_descriptor_set_layout_size(set_layout) }
        .next_multiple_of(sizes.descriptor_buffer_offset_alignment);
    let (descriptors, start) = gpu.mapped(stride * n as u64, Place::Descriptors)?;
    let address = address_of(gpu, descriptors);
    let mut pairs = Vec::new();
    for place in (0..n as u64).map(|i| i * stride) {
        let buffers = [gpu.buffer(BYTES, Place::Addressed)?, gpu.buffer(BYTES, Place::Addressed)?];
        for (binding, buffer) in (0_u32..).zip(buffers) {
            // SAFETY: the layout has the two bindings.
            let offset = unsafe { device.get_descriptor_set_layout_binding_offset(set_layout, binding) };
            let info = vk::DescriptorAddressInfoEXT::default().address(address_of(gpu, buffer)).range(BYTES);
            let data = vk::DescriptorDataEXT { p_storage_buffer: &raw const info };
            let get = vk::DescriptorGetInfoEXT::default().ty(vk::DescriptorType::STORAGE_BUFFER).data(data);
            let mut descriptor = vec![0; sizes.storage_buffer_descriptor_size];
            // SAFETY: the address is the one of a buffer of this size; a descriptor without robustness has this size.
            unsafe { device.get_descriptor(&get, &mut descriptor) };
            // SAFETY: the place and the offset are in the mapped memory of `n` strides.
            let to = unsafe { start.add(usize::try_from(place + offset)?) };
            // SAFETY: a layout has room for its descriptors, and no command uses the memory yet.
            unsafe { to.copy_from_nonoverlapping(descriptor.as_ptr(), descriptor.len()) };
        }
        pairs.push(Pair { binding: Binding::Place(address, place, layout), ..Pair::of(buffers, BYTES) });
    }
    let pipeline = gpu.pipeline_of(layout, vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT, words, c"axpy")?;
    Ok(Some(("descriptor_buffer", pipeline, pairs)))
}

fn address_of(gpu: &Gpu, buffer: vk::Buffer) -> vk::DeviceAddress {
    let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
    // SAFETY: the callers made the buffer with an address, which was enabled with the extension.
    unsafe { gpu.device.get_buffer_device_address(&info) }
}
