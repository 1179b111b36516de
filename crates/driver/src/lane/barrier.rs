//! The barriers of the hazard table, as barriers of Vulkan.

use ash::vk;

use crate::hazard::{Barrier, Stage, Stages};
use crate::vulkan::LogicalDevice;

/// Records a barrier into a command buffer that is being recorded, by a batch that this thread holds.
pub(super) fn record_barrier(device: &LogicalDevice, commands: vk::CommandBuffer, barrier: Barrier) {
    let (src, dst) = (barrier.src_stages.bits(), barrier.dst_stages.bits());
    record(device, commands, (STAGES[src], WRITES[src]), (STAGES[dst], WRITES[dst] | READS[dst]));
}

/// Records a barrier that makes visible to the host what a batch wrote, by kernels too if the queue runs them.
pub(super) fn record_host_barrier(device: &LogicalDevice, commands: vk::CommandBuffer, computes: bool) {
    let kernels = if computes { Stages::only(Stage::Compute) } else { Stages::NONE };
    let src = (kernels | Stage::Transfer.into()).bits();
    let host = (vk::PipelineStageFlags2::HOST.as_raw(), vk::AccessFlags2::HOST_READ.as_raw());
    record(device, commands, (STAGES[src], WRITES[src]), host);
}

/// Records a barrier between two pairs of stages and accesses.
#[inline]
fn record(device: &LogicalDevice, commands: vk::CommandBuffer, src: (u64, u64), dst: (u64, u64)) {
    let memory = [vk::MemoryBarrier2::default()
        .src_stage_mask(vk::PipelineStageFlags2::from_raw(src.0))
        .src_access_mask(vk::AccessFlags2::from_raw(src.1))
        .dst_stage_mask(vk::PipelineStageFlags2::from_raw(dst.0))
        .dst_access_mask(vk::AccessFlags2::from_raw(dst.1))];
    let info = vk::DependencyInfo::default().memory_barriers(&memory);
    // SAFETY: the buffer is recording, by one thread, which holds its batch; `info` borrows the barrier.
    unsafe { device.raw().cmd_pipeline_barrier2(commands, &info) };
}

/// A mask for each set of stages. Barriers between dispatches are frequent, and a look-up is cheap. Barriers between
/// operations make nothing visible to the host; the barrier at the end of a batch does.
type Masks = [u64; 1 << Stage::ALL.len()];

const STAGES: Masks = masks([
    vk::PipelineStageFlags2::COMPUTE_SHADER.as_raw(),
    vk::PipelineStageFlags2::ALL_TRANSFER.as_raw(),
    vk::PipelineStageFlags2::COMPUTE_SHADER.as_raw(),
    vk::PipelineStageFlags2::DRAW_INDIRECT.as_raw(),
]);

const WRITES: Masks =
    masks([vk::AccessFlags2::SHADER_STORAGE_WRITE.as_raw(), vk::AccessFlags2::TRANSFER_WRITE.as_raw(), 0, 0]);

const READS: Masks = masks([
    // Sampled reads are those of images and of buffers of texels.
    vk::AccessFlags2::SHADER_STORAGE_READ.as_raw() | vk::AccessFlags2::SHADER_SAMPLED_READ.as_raw(),
    vk::AccessFlags2::TRANSFER_READ.as_raw(),
    vk::AccessFlags2::UNIFORM_READ.as_raw(),
    vk::AccessFlags2::INDIRECT_COMMAND_READ.as_raw(),
]);

/// Combines the masks of single stages, in the order of [`Stage::ALL`].
const fn masks(of_stages: [u64; Stage::ALL.len()]) -> Masks {
    let mut masks = [0; 1 << Stage::ALL.len()];
    let mut set = 1_usize;
    while set < masks.len() {
        // The mask of the set without its lowest stage, and the one of that stage.
        masks[set] = masks[set & (set - 1)] | of_stages[set.trailing_zeros() as usize];
        set += 1;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hazard::Stages;

    #[test]
    fn the_mask_of_a_set_joins_those_of_its_stages() {
        for set in 0..STAGES.len() {
            let stages: Stages = Stage::ALL.into_iter().filter(|&stage| set >> stage as usize & 1 == 1).collect();
            assert_eq!(stages.bits(), set);
            let mut stage = vk::PipelineStageFlags2::NONE;
            let (mut write, mut read) = (vk::AccessFlags2::NONE, vk::AccessFlags2::NONE);
            if stages.contains(Stage::Compute) {
                stage |= vk::PipelineStageFlags2::COMPUTE_SHADER;
                write |= vk::AccessFlags2::SHADER_STORAGE_WRITE;
                read |= vk::AccessFlags2::SHADER_STORAGE_READ | vk::AccessFlags2::SHADER_SAMPLED_READ;
            }
            if stages.contains(Stage::Constant) {
                stage |= vk::PipelineStageFlags2::COMPUTE_SHADER;
                read |= vk::AccessFlags2::UNIFORM_READ;
            }
            if stages.contains(Stage::Indirect) {
                stage |= vk::PipelineStageFlags2::DRAW_INDIRECT;
                read |= vk::AccessFlags2::INDIRECT_COMMAND_READ;
            }
            if stages.contains(Stage::Transfer) {
                stage |= vk::PipelineStageFlags2::ALL_TRANSFER;
                write |= vk::AccessFlags2::TRANSFER_WRITE;
                read |= vk::AccessFlags2::TRANSFER_READ;
            }
            assert_eq!(
                (STAGES[set], WRITES[set], READS[set]),
                (stage.as_raw(), write.as_raw(), read.as_raw()),
                "{stages:?}"
            );
        }
    }
}
