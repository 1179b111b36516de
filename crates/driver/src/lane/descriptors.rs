//! Descriptor sets for drivers without push descriptors: pools that are dropped and reset with their batch.

use std::sync::Arc;

use ash::vk;

use crate::error::Result;
use crate::vulkan::{LogicalDevice, Owned};

const SETS_PER_POOL: u32 = 256;
const BUFFERS_PER_SET: u32 = 8; // On average; a pool that runs out of either is followed by the next.
const IMAGES_PER_SET: u32 = 1;

/// The descriptor pools of one batch. The arena grows by whole pools and never shrinks while its batch lives.
#[derive(Debug, Default)]
pub(crate) struct DescriptorArena {
    pools: Vec<Owned<vk::DescriptorPool>>,
    current: usize,
}

impl DescriptorArena {
    /// Allocates a set that is valid until the arena is reset.
    pub(crate) fn allocate(
        &mut self,
        device: &Arc<LogicalDevice>,
        layout: vk::DescriptorSetLayout,
        n_buffers: u32,
    ) -> Result<vk::DescriptorSet> {
        loop {
            let is_new = self.current == self.pools.len();
            if is_new {
                self.pools.push(create_pool(device, n_buffers)?);
            }
            let layouts = [layout];
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(self.pools[self.current].raw())
                .set_layouts(&layouts);
            let mut set = vk::DescriptorSet::null();
            let allocate = device.raw().fp_v1_0().allocate_descriptor_sets; // ash's own wrapper returns a list on the heap.
            // SAFETY: pool and layout are alive, and the arena belongs to one batch, which one thread records. One set is
            // asked for, and `set` has room for it.
            match unsafe { allocate(device.raw().handle(), &raw const info, &raw mut set) } {
                vk::Result::SUCCESS => return Ok(set),
                // A pool made for this set has room for it, unless the driver is out of memory.
                vk::Result::ERROR_OUT_OF_POOL_MEMORY | vk::Result::ERROR_FRAGMENTED_POOL if !is_new => {
                    self.current += 1;
                }
                code => return Err(device.failed("vkAllocateDescriptorSets")(code)),
            }
        }
    }

    /// Frees every set. The caller has made sure that no work in flight uses one.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.current = 0;
        for pool in &self.pools {
            let flags = vk::DescriptorPoolResetFlags::empty();
            // SAFETY: the batch that owns the arena is done, so none of the sets is in use.
            unsafe { pool.device().raw().reset_descriptor_pool(pool.raw(), flags) }
                .map_err(pool.device().failed("vkResetDescriptorPool"))?;
        }
        Ok(())
    }
}

fn create_pool(device: &Arc<LogicalDevice>, n_buffers: u32) -> Result<Owned<vk::DescriptorPool>> {
    let sizes = [
        (vk::DescriptorType::STORAGE_BUFFER, BUFFERS_PER_SET),
        (vk::DescriptorType::UNIFORM_BUFFER, BUFFERS_PER_SET),
        (vk::DescriptorType::STORAGE_IMAGE, IMAGES_PER_SET),
        (vk::DescriptorType::SAMPLED_IMAGE, IMAGES_PER_SET),
        (vk::DescriptorType::COMBINED_IMAGE_SAMPLER, IMAGES_PER_SET),
        (vk::DescriptorType::SAMPLER, IMAGES_PER_SET),
        (vk::DescriptorType::UNIFORM_TEXEL_BUFFER, IMAGES_PER_SET),
        (vk::DescriptorType::STORAGE_TEXEL_BUFFER, IMAGES_PER_SET),
    ];
    let sizes = sizes.map(|(ty, per_set): (_, u32)| vk::DescriptorPoolSize {
        ty,
        descriptor_count: (SETS_PER_POOL * per_set).max(n_buffers),
    });
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(SETS_PER_POOL).pool_sizes(&sizes);
    // SAFETY: `info` borrows its sizes across the call.
    let raw =
        unsafe { device.raw().create_descriptor_pool(&info, None) }.map_err(device.failed("vkCreateDescriptorPool"))?;
    // SAFETY: just created; its batch is dropped only when its work is done.
    Ok(unsafe { Owned::new(raw, device) })
}
