//! What a device must support for a kernel: [`Capability`], with the names of Vulkan's features.
//!
//! One table has the names and what SPIR-V calls them. `binary/capabilities.rs` reads them from SPIR-V;
//! `vkarray-kernel` compares them with a device, in `fits/capabilities.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};
use spirv::Capability as Spirv;

/// An atomic operation on floats (`VK_EXT_shader_atomic_float`, `VK_EXT_shader_atomic_float2`).
///
/// ```
/// use vkarray_spirv::{FloatAtomic, FloatAtomicOp};
///
/// let add = FloatAtomic { bits: 32, op: FloatAtomicOp::Add, is_shared: true };
/// assert_eq!(add.to_string(), "f32 atomic add in shared memory");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FloatAtomic {
    /// Bits of the float.
    pub bits: u8,
    /// What is done.
    pub op: FloatAtomicOp,
    /// Whether the float is in workgroup memory, and not in a buffer.
    pub is_shared: bool,
}

/// What is done to a float atomically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FloatAtomicOp {
    /// It is read, written or exchanged.
    Exchange,
    /// It is added to.
    Add,
    /// It becomes the minimum or maximum.
    MinMax,
}

/// What a capability of SPIR-V stands for, which does not say where the float is.
const fn float_atomic(bits: u8, op: FloatAtomicOp) -> Capability {
    Capability::FloatAtomic(FloatAtomic { bits, op, is_shared: false })
}

impl fmt::Display for FloatAtomic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            FloatAtomicOp::Exchange => "exchange",
            FloatAtomicOp::Add => "add",
            FloatAtomicOp::MinMax => "minimum and maximum",
        };
        let place = if self.is_shared { " in shared memory" } else { "" };
        write!(f, "f{} atomic {op}{place}", self.bits)
    }
}

macro_rules! capabilities {
    ($($(#[$doc:meta])* $name:ident: $text:literal $(= $($spirv:ident)|+)?,)*) => {
        /// What a device must support for a kernel. Read from the SPIR-V itself, so that none is missed.
        ///
        /// ```
        /// use vkarray_spirv::Capability;
        ///
        /// assert_eq!(Capability::Int64.to_string(), "i64");
        /// assert!(!Capability::Int64.is_of_subgroups());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Capability {
            $($(#[$doc])* $name,)*
            /// Atomic operations on floats.
            FloatAtomic(FloatAtomic),
            /// Any other SPIR-V capability, by its number.
            Other(u32),
        }

        impl Capability {
            /// What a device must have for a module that declares this capability of SPIR-V; `None` if every device has it.
            pub(crate) fn of_spirv(number: u32) -> Option<Self> {
                Some(match Spirv::from_u32(number) {
                    // Of every device.
                    Some(
                        Spirv::Shader | Spirv::Matrix | Spirv::ImageQuery | Spirv::Image1D | Spirv::Sampled1D
                        | Spirv::ImageBuffer | Spirv::SampledBuffer | Spirv::ShaderNonUniform,
                    ) => return None,
                    $($(Some($(Spirv::$spirv)|+) => Self::$name,)?)*
                    Some(Spirv::AtomicFloat16AddEXT) => float_atomic(16, FloatAtomicOp::Add),
                    Some(Spirv::AtomicFloat32AddEXT) => float_atomic(32, FloatAtomicOp::Add),
                    Some(Spirv::AtomicFloat64AddEXT) => float_atomic(64, FloatAtomicOp::Add),
                    Some(Spirv::AtomicFloat16MinMaxEXT) => float_atomic(16, FloatAtomicOp::MinMax),
                    Some(Spirv::AtomicFloat32MinMaxEXT) => float_atomic(32, FloatAtomicOp::MinMax),
                    Some(Spirv::AtomicFloat64MinMaxEXT) => float_atomic(64, FloatAtomicOp::MinMax),
                    _ => Self::Other(number),
                })
            }
        }

        impl fmt::Display for Capability {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name => f.write_str($text),)*
                    Self::FloatAtomic(atomic) => atomic.fmt(f),
                    Self::Other(number) => match Spirv::from_u32(*number) {
                        Some(named) => write!(f, "SPIR-V's {named:?}"),
                        None => write!(f, "SPIR-V's capability {number}"),
                    },
                }
            }
        }
    };
}

// Each with its name in messages, and the capabilities of SPIR-V that ask for it.
capabilities! {
    /// Arithmetic on `f16` (`shaderFloat16`).
    Float16: "f16" = Float16,
    /// The type `bf16` (`shaderBFloat16Type`).
    BFloat16: "bf16" = BFloat16TypeKHR,
    /// Dot products of `bf16` (`shaderBFloat16DotProduct`).
    BFloat16DotProduct: "dot products of bf16" = BFloat16DotProductKHR,
    /// Cooperative matrices of `bf16` (`shaderBFloat16CooperativeMatrix`).
    BFloat16Matrix: "cooperative matrices of bf16" = BFloat16CooperativeMatrixKHR,
    /// Arithmetic on `f64` (`shaderFloat64`).
    Float64: "f64" = Float64,
    /// 8-bit integers (`shaderInt8`).
    Int8: "i8" = Int8,
    /// 16-bit integers (`shaderInt16`).
    Int16: "i16" = Int16,
    /// 64-bit integers (`shaderInt64`).
    Int64: "i64" = Int64,
    /// 8-bit values in storage buffers (`storageBuffer8BitAccess`).
    Storage8: "8-bit storage" = StorageBuffer8BitAccess,
    /// 8-bit values in constant memory (`uniformAndStorageBuffer8BitAccess`).
    Uniform8: "8-bit uniforms" = UniformAndStorageBuffer8BitAccess,
    /// 8-bit push constants (`storagePushConstant8`).
    Push8: "8-bit push constants" = StoragePushConstant8,
    /// 16-bit push constants (`storagePushConstant16`).
    Push16: "16-bit push constants" = StoragePushConstant16,
    /// 16-bit values in storage buffers (`storageBuffer16BitAccess`).
    Storage16: "16-bit storage" = StorageBuffer16BitAccess,
    /// 16-bit values in constant memory (`uniformAndStorageBuffer16BitAccess`).
    Uniform16: "16-bit uniforms" = UniformAndStorageBuffer16BitAccess,
    /// Atomics on 64-bit integers (`shaderBufferInt64Atomics`).
    Int64Atomics: "i64 atomics" = Int64Atomics,
    /// Atomics on 64-bit integers in shared memory (`shaderSharedInt64Atomics`).
    Int64SharedAtomics: "i64 atomics in shared memory",
    /// The subgroup's size and index.
    Subgroup: "subgroups" = GroupNonUniform,
    /// `subgroupAll`, `subgroupAny`.
    SubgroupVote: "subgroup vote" = GroupNonUniformVote,
    /// Reductions and scans of a subgroup.
    SubgroupArithmetic: "subgroup arithmetic" = GroupNonUniformArithmetic,
    /// Ballot and broadcast.
    SubgroupBallot: "subgroup ballot" = GroupNonUniformBallot,
    /// `subgroupShuffle`, `subgroupShuffleXor`.
    SubgroupShuffle: "subgroup shuffle" = GroupNonUniformShuffle,
    /// `subgroupShuffleUp`, `subgroupShuffleDown`.
    SubgroupShuffleRelative: "subgroup relative shuffle" = GroupNonUniformShuffleRelative,
    /// Reductions over parts of a subgroup.
    SubgroupClustered: "subgroup clusters" = GroupNonUniformClustered,
    /// Quads.
    SubgroupQuad: "subgroup quads" = GroupNonUniformQuad,
    /// Rotation of values in a subgroup (`VK_KHR_shader_subgroup_rotate`).
    SubgroupRotate: "subgroup rotation" = GroupNonUniformRotateKHR,
    /// Products of packed 8-bit integers (`shaderIntegerDotProduct`).
    IntegerDotProduct: "integer dot product" = DotProduct | DotProductInputAll
        | DotProductInput4x8Bit | DotProductInput4x8BitPacked,
    /// Cooperative matrices (`VK_KHR_cooperative_matrix`).
    CooperativeMatrix: "cooperative matrices" = CooperativeMatrixKHR,
    /// Vulkan's memory model (`vulkanMemoryModel`).
    VulkanMemoryModel: "Vulkan memory model" = VulkanMemoryModel,
    /// Device scope in Vulkan's memory model (`vulkanMemoryModelDeviceScope`).
    MemoryModelDeviceScope: "device scope in the Vulkan memory model" = VulkanMemoryModelDeviceScope,
    /// Shared memory whose layout the shader declares (`workgroupMemoryExplicitLayout`).
    SharedLayout: "explicit layout of shared memory" = WorkgroupMemoryExplicitLayoutKHR,
    /// 8-bit values in such memory (`workgroupMemoryExplicitLayout8BitAccess`).
    SharedLayout8: "explicit layout of 8-bit shared memory" = WorkgroupMemoryExplicitLayout8BitAccessKHR,
    /// 16-bit values in such memory (`workgroupMemoryExplicitLayout16BitAccess`).
    SharedLayout16: "explicit layout of 16-bit shared memory" = WorkgroupMemoryExplicitLayout16BitAccessKHR,
    /// The device's clock, and a subgroup's (`VK_KHR_shader_clock`: `shaderDeviceClock` and `shaderSubgroupClock`).
    Clock: "shader clocks" = ShaderClockKHR,
    /// Memory reached by its address. Such uses cannot be ordered, so no device is opened with it.
    BufferAddress: "buffer device addresses" = PhysicalStorageBufferAddresses,
    /// An array of storage buffers is indexed by a computed number (`shaderStorageBufferArrayDynamicIndexing`).
    StorageArrays: "computed indices into arrays of storage buffers" = StorageBufferArrayDynamicIndexing,
    /// The index into an array of storage buffers differs between invocations
    /// (`shaderStorageBufferArrayNonUniformIndexing`).
    StorageArraysNonUniform: "indices into arrays of storage buffers that differ between invocations"
        = StorageBufferArrayNonUniformIndexing,
    /// An array of uniform buffers is indexed by a computed number (`shaderUniformBufferArrayDynamicIndexing`).
    UniformArrays: "computed indices into arrays of uniform buffers" = UniformBufferArrayDynamicIndexing,
    /// The index into an array of uniform buffers differs between invocations
    /// (`shaderUniformBufferArrayNonUniformIndexing`).
    UniformArraysNonUniform: "indices into arrays of uniform buffers that differ between invocations"
        = UniformBufferArrayNonUniformIndexing,
    /// Pointers into one buffer that are chosen at run time (`variablePointersStorageBuffer`).
    VariablePointersStorage: "variable pointers in storage buffers" = VariablePointersStorageBuffer,
    /// Pointers that are chosen at run time (`variablePointers`).
    VariablePointers: "variable pointers" = VariablePointers,
    /// Formats of storage images that not every device has.
    StorageImageFormats: "formats of storage images beyond the common ones" = StorageImageExtendedFormats,
    /// Storage images without a format are read.
    StorageImageRead: "reads of storage images without a format" = StorageImageReadWithoutFormat,
    /// Storage images without a format are written.
    StorageImageWrite: "writes of storage images without a format" = StorageImageWriteWithoutFormat,
    /// Four texels are gathered at an offset.
    ImageGather: "gathers at offsets" = ImageGatherExtended,
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
                | Self::SubgroupRotate
        )
    }
}
