//! What a device must support for a kernel: [`Capability`], with the names of Vulkan's features.
//!
//! `spirv/capabilities.rs` reads them from SPIR-V; `requirements/capabilities.rs` compares them with a device.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a device must support for a kernel. Read from the SPIR-V itself, so that none is missed.
///
/// ```
/// # fn main() -> anyhow::Result<()> {
/// use vkarray::prelude::*;
/// use vkarray::kernel::{Capability, Module, Options};
///
/// let source = Source::wgsl("@compute @workgroup_size(1) fn wide() { var x = 1u; var y = u64(x) * u64(x); }");
/// let signature = Module::parse(&source)?.translate(None, &Default::default(), &Options::default())?.signature;
/// assert_eq!(signature.capabilities, [Capability::Int64]);
/// assert_eq!(signature.capabilities[0].to_string(), "i64");
/// assert!(!signature.capabilities[0].is_of_subgroups());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Capability {
    /// Arithmetic on `f16` (`shaderFloat16`).
    Float16,
    /// Arithmetic on `f64` (`shaderFloat64`).
    Float64,
    /// 8-bit integers (`shaderInt8`).
    Int8,
    /// 16-bit integers (`shaderInt16`).
    Int16,
    /// 64-bit integers (`shaderInt64`).
    Int64,
    /// 8-bit values in storage buffers (`storageBuffer8BitAccess`).
    Storage8,
    /// 8-bit values in constant memory (`uniformAndStorageBuffer8BitAccess`).
    Uniform8,
    /// 8-bit push constants (`storagePushConstant8`).
    Push8,
    /// 16-bit push constants (`storagePushConstant16`).
    Push16,
    /// 16-bit values in storage buffers (`storageBuffer16BitAccess`).
    Storage16,
    /// 16-bit values in constant memory (`uniformAndStorageBuffer16BitAccess`).
    Uniform16,
    /// Atomics on 64-bit integers (`shaderBufferInt64Atomics`).
    Int64Atomics,
    /// Atomics on 64-bit integers in shared memory (`shaderSharedInt64Atomics`).
    Int64SharedAtomics,
    /// Atomic addition of `f32` (`shaderBufferFloat32AtomicAdd`).
    Float32AtomicAdd,
    /// The subgroup's size and index.
    Subgroup,
    /// `subgroupAll`, `subgroupAny`.
    SubgroupVote,
    /// Reductions and scans of a subgroup.
    SubgroupArithmetic,
    /// Ballot and broadcast.
    SubgroupBallot,
    /// `subgroupShuffle`, `subgroupShuffleXor`.
    SubgroupShuffle,
    /// `subgroupShuffleUp`, `subgroupShuffleDown`.
    SubgroupShuffleRelative,
    /// Reductions over parts of a subgroup.
    SubgroupClustered,
    /// Quads.
    SubgroupQuad,
    /// Products of packed 8-bit integers (`shaderIntegerDotProduct`).
    IntegerDotProduct,
    /// Cooperative matrices (`VK_KHR_cooperative_matrix`).
    CooperativeMatrix,
    /// Vulkan's memory model (`vulkanMemoryModel`).
    VulkanMemoryModel,
    /// Device scope in Vulkan's memory model (`vulkanMemoryModelDeviceScope`).
    MemoryModelDeviceScope,
    /// Memory reached by its address. Such uses cannot be ordered, so no device is opened with it.
    BufferAddress,
    /// Pointers into one buffer that are chosen at run time (`variablePointersStorageBuffer`).
    VariablePointersStorage,
    /// Pointers that are chosen at run time (`variablePointers`).
    VariablePointers,
    /// Any other SPIR-V capability, by its number.
    Other(u32),
}

impl Capability {
    /// Whether it is one of subgroup operations.
    pub const fn is_of_subgroups(self) -> bool {
        matches!(
            self,
            Self::Subgroup
                | Self::SubgroupVote
                | Self::SubgroupArithmetic
                | Self::SubgroupBallot
                | Self::SubgroupShuffle
                | Self::SubgroupShuffleRelative
                | Self::SubgroupClustered
                | Self::SubgroupQuad
        )
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float16 => "f16",
            Self::Float64 => "f64",
            Self::Int8 => "i8",
            Self::Int16 => "i16",
            Self::Int64 => "i64",
            Self::Storage8 => "8-bit storage",
            Self::Uniform8 => "8-bit uniforms",
            Self::Push8 => "8-bit push constants",
            Self::Push16 => "16-bit push constants",
            Self::MemoryModelDeviceScope => "device scope in the Vulkan memory model",
            Self::BufferAddress => "buffer device addresses",
            Self::VariablePointersStorage => "variable pointers in storage buffers",
            Self::VariablePointers => "variable pointers",
            Self::SubgroupClustered => "subgroup clusters",
            Self::Storage16 => "16-bit storage",
            Self::Uniform16 => "16-bit uniforms",
            Self::Int64Atomics => "i64 atomics",
            Self::Int64SharedAtomics => "i64 atomics in shared memory",
            Self::Float32AtomicAdd => "f32 atomic add",
            Self::Subgroup => "subgroups",
            Self::SubgroupVote => "subgroup vote",
            Self::SubgroupArithmetic => "subgroup arithmetic",
            Self::SubgroupBallot => "subgroup ballot",
            Self::SubgroupShuffle => "subgroup shuffle",
            Self::SubgroupShuffleRelative => "subgroup relative shuffle",
            Self::SubgroupQuad => "subgroup quads",
            Self::IntegerDotProduct => "integer dot product",
            Self::CooperativeMatrix => "cooperative matrices",
            Self::VulkanMemoryModel => "Vulkan memory model",
            Self::Other(number) => {
                return match spirv::Capability::from_u32(*number) {
                    Some(named) => write!(f, "SPIR-V's {named:?}"),
                    None => write!(f, "SPIR-V's capability {number}"),
                };
            }
        })
    }
}
