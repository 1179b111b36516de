//! The capabilities that SPIR-V declares, as what a device must have: [`declared`] and [`capabilities`]. Pure.
//!
//! They are read from the finished words, so a kernel that naga translated with a capability that the device lacks is
//! refused by `requirements/capabilities.rs`, with the feature's name.

use spirv::{Capability as Spirv, Op};

use super::shared_atomics::has_wide_shared_atomics;
use super::words::{instructions, op};
use crate::signature::Capability;

/// The capabilities that finished SPIR-V declares: they come first, two words each.
pub(crate) fn declared(spirv: &[u32]) -> Vec<u32> {
    let number = |words: &[u32]| words.get(1).copied().filter(|_| op(words) == Some(Op::Capability));
    instructions(spirv).map_while(number).collect()
}

/// What the device must have for SPIR-V that declares these capabilities, in order, without what every device has.
pub(crate) fn capabilities(numbers: &[u32], spirv: &[u32]) -> Vec<Capability> {
    let mut found: Vec<_> = numbers.iter().filter_map(|&number| capability(number)).collect();
    if found.contains(&Capability::Int64Atomics) && has_wide_shared_atomics(spirv) {
        found.push(Capability::Int64SharedAtomics);
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn capability(number: u32) -> Option<Capability> {
    Some(match Spirv::from_u32(number) {
        // Of every device, or of images only, which no kernel of ours is given.
        Some(Spirv::Shader | Spirv::Matrix | Spirv::ImageQuery | Spirv::Image1D | Spirv::Sampled1D) => return None,
        Some(Spirv::Float16) => Capability::Float16,
        Some(Spirv::Float64) => Capability::Float64,
        Some(Spirv::Int8) => Capability::Int8,
        Some(Spirv::Int16) => Capability::Int16,
        Some(Spirv::Int64) => Capability::Int64,
        Some(Spirv::StorageBuffer8BitAccess) => Capability::Storage8,
        Some(Spirv::UniformAndStorageBuffer8BitAccess) => Capability::Uniform8,
        Some(Spirv::StoragePushConstant8) => Capability::Push8,
        Some(Spirv::StorageBuffer16BitAccess) => Capability::Storage16,
        Some(Spirv::UniformAndStorageBuffer16BitAccess) => Capability::Uniform16,
        Some(Spirv::StoragePushConstant16) => Capability::Push16,
        Some(Spirv::Int64Atomics) => Capability::Int64Atomics,
        Some(Spirv::AtomicFloat32AddEXT) => Capability::Float32AtomicAdd,
        Some(Spirv::GroupNonUniform) => Capability::Subgroup,
        Some(Spirv::GroupNonUniformVote) => Capability::SubgroupVote,
        Some(Spirv::GroupNonUniformArithmetic) => Capability::SubgroupArithmetic,
        Some(Spirv::GroupNonUniformBallot) => Capability::SubgroupBallot,
        Some(Spirv::GroupNonUniformShuffle) => Capability::SubgroupShuffle,
        Some(Spirv::GroupNonUniformShuffleRelative) => Capability::SubgroupShuffleRelative,
        Some(Spirv::GroupNonUniformClustered) => Capability::SubgroupClustered,
        Some(Spirv::GroupNonUniformQuad) => Capability::SubgroupQuad,
        Some(
            Spirv::DotProduct
            | Spirv::DotProductInputAll
            | Spirv::DotProductInput4x8Bit
            | Spirv::DotProductInput4x8BitPacked,
        ) => Capability::IntegerDotProduct,
        Some(Spirv::CooperativeMatrixKHR) => Capability::CooperativeMatrix,
        Some(Spirv::PhysicalStorageBufferAddresses) => Capability::BufferAddress,
        Some(Spirv::VariablePointersStorageBuffer) => Capability::VariablePointersStorage,
        Some(Spirv::VariablePointers) => Capability::VariablePointers,
        Some(Spirv::VulkanMemoryModel) => Capability::VulkanMemoryModel,
        Some(Spirv::VulkanMemoryModelDeviceScope) => Capability::MemoryModelDeviceScope,
        _ => Capability::Other(number),
    })
}
