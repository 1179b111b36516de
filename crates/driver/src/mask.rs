//! The hazard table's stages, as the masks of a barrier.

use ash::vk;

use crate::hazard::{Stage, Stages};

pub(crate) fn stage_mask(stages: Stages) -> vk::PipelineStageFlags2 {
    let mut mask = vk::PipelineStageFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::PipelineStageFlags2::COMPUTE_SHADER;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::PipelineStageFlags2::ALL_TRANSFER;
    }
    mask
}

pub(crate) fn write_mask(stages: Stages) -> vk::AccessFlags2 {
    let mut mask = vk::AccessFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::AccessFlags2::SHADER_STORAGE_WRITE;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::AccessFlags2::TRANSFER_WRITE;
    }
    mask
}

pub(crate) fn read_mask(stages: Stages) -> vk::AccessFlags2 {
    let mut mask = vk::AccessFlags2::empty();
    if stages.contains(Stage::Compute) {
        mask |= vk::AccessFlags2::SHADER_STORAGE_READ | vk::AccessFlags2::UNIFORM_READ;
    }
    if stages.contains(Stage::Transfer) {
        mask |= vk::AccessFlags2::TRANSFER_READ;
    }
    mask
}
