//! A barrier of the hazard table's, as Vulkan takes it.

use ash::vk;

use crate::batch::Batch;
use crate::device::Device;
use crate::hazard::{Barrier, Stage, Stages};

/// Records a barrier into a batch that is being recorded.
pub(crate) fn record_barrier(device: &Device, batch: &Batch, barrier: Barrier) {
    let memory = [vk::MemoryBarrier2::default()
        .src_stage_mask(stage_mask(barrier.src_stages))
        .src_access_mask(write_mask(barrier.src_stages))
        .dst_stage_mask(stage_mask(barrier.dst_stages))
        .dst_access_mask(write_mask(barrier.dst_stages) | read_mask(barrier.dst_stages))];
    let info = vk::DependencyInfo::default().memory_barriers(&memory);
    // SAFETY: the batch is recording, which its holder's lock or ownership keeps to one thread; `info` borrows the barrier.
    unsafe { device.raw().cmd_pipeline_barrier2(batch.commands, &info) };
}

fn stage_mask(stages: Stages) -> vk::PipelineStageFlags2 {
    let mut mask = vk::PipelineStageFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::PipelineStageFlags2::COMPUTE_SHADER;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::PipelineStageFlags2::ALL_TRANSFER;
    }
    mask
}

fn write_mask(stages: Stages) -> vk::AccessFlags2 {
    let mut mask = vk::AccessFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::AccessFlags2::SHADER_STORAGE_WRITE;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::AccessFlags2::TRANSFER_WRITE;
    }
    mask
}

fn read_mask(stages: Stages) -> vk::AccessFlags2 {
    let mut mask = vk::AccessFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::AccessFlags2::SHADER_STORAGE_READ | vk::AccessFlags2::UNIFORM_READ;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::AccessFlags2::TRANSFER_READ;
    }
    mask
}
