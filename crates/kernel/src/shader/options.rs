//! How a shader is translated ([`Options`]) and what comes of it ([`Translated`]). Plain data.
//!
//! `module.rs` does it.

use serde::{Deserialize, Serialize};

use crate::sanitize::{Sanitize, Sanitized};
use crate::shader::passes::fold::Fold;
use crate::signature::{ScalarValue, Signature, Subgroups};

/// How a kernel is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// What happens to an index out of range.
    pub bounds: Bounds,
    /// Whether the shader's author promises that each element of shared memory is written before it is read. Otherwise
    /// shared memory starts as zeros, as WGSL says.
    pub assume_written: bool,
    /// Whether the device is opened with `shaderZeroInitializeWorkgroupMemory`, and the driver zeroes shared memory.
    /// Otherwise the invocations of a workgroup do, before the kernel's first statement.
    pub driver_zeroes: bool,
    /// What is done about loops that may never end.
    pub loops: Loops,
    /// Whether integer division by zero and overflow of the least integer are left undefined, for speed.
    ///
    /// By default they are defined as in WGSL: `x / 0` is `x`, `x % 0` is `0`.
    pub unchecked_division: bool,
    /// Whether `dot4I8Packed` and `dot4U8Packed` may use the device's instruction (`shaderIntegerDotProduct`).
    pub integer_dot_product: bool,
    /// The most bytes of a `var<uniform>`; one that declares more becomes read-only storage. `None` leaves all as they are.
    pub max_uniform_bytes: Option<u32>,
    /// Whether the device is opened with `robustBufferAccess2`, exact to the byte, and [`Bounds::Checked`] may leave buffers
    /// to it.
    pub robust_buffers: bool,
    /// Whether the device is opened with `cooperativeMatrixRobustBufferAccess`: only then are cooperative matrices in buffers
    /// bounded for SPIR-V of other compilers.
    pub robust_matrices: bool,
    /// Whether names and the source text go into the SPIR-V, for debuggers and profilers.
    pub debug_info: bool,
    /// Whether the kernel gets checks that find its faults while it runs. Nothing else changes without.
    pub sanitize: Option<Sanitize>,
    /// Which subgroups it runs with.
    pub subgroups: Subgroups,
    /// Whether it is to run over several axes what it sees along one.
    pub fold: Option<Fold>,
}

/// What happens to an index out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bounds {
    /// It is harmless.
    ///
    /// In buffers, a read gives zero and a write does nothing. So a kernel without an index check that is launched with more
    /// invocations than items leaves the last item alone, where clamping the index would let all the surplus invocations
    /// race for it. In private and workgroup arrays and in vectors the index is clamped instead: these have a fixed length
    /// that the author knows, and a clamp costs no branch.
    ///
    /// One exception: an atomic operation (other than `atomicLoad` and `atomicStore`) on an element of a runtime array, or at
    /// a computed index, has no form that does nothing, so an entry point with one in a buffer clamps in all its buffers.
    /// With [`Options::robust_buffers`] a kernel whose indices pick whole elements leaves all this to the device.
    /// [`Translated::buffer_bounds`] says which it was. A kernel with cooperative matrices is refused, since nothing checks where
    /// their rows lie; it has to be [`Bounds::Unchecked`].
    #[default]
    Checked,
    /// It is undefined behaviour. The kernel's author answers for every index.
    Unchecked,
}

/// What is done about loops that may never end.
///
/// A driver's compiler may assume that every loop ends, and leave out a check of an index that can only fail behind a loop
/// that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loops {
    /// Each ends: by what is written, or else after 2⁶⁴ - 1 rounds, which are counted.
    Bounded,
    /// The kernel's author promises that every loop ends. A loop that does not is undefined behaviour.
    AssumeFinite,
}

impl Loops {
    /// What kernels are built with unless their builder says otherwise. `docs/decisions/035` has the figures.
    pub const DEFAULT: Self = Self::Bounded;
}

impl Default for Loops {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a translated kernel does with an index out of range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BufferBounds {
    /// Reads give zero, writes do nothing.
    ReadZeroSkipWrite,
    /// The index is clamped to the last element.
    Clamp,
    /// Left to the device's `robustBufferAccess2`: reads outside what is bound give zero, writes and atomic operations there
    /// do nothing. An index whose byte offset passes 4 GiB may count from the start again, so reach the same array.
    Robust,
    /// Undefined behaviour.
    Unchecked,
    /// What the driver does: SPIR-V of [`Source::spirv_unchecked`] is taken as it is.
    Driver,
}

/// One entry point as SPIR-V, with what it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Translated {
    /// SPIR-V 1.4, which every Vulkan 1.2 driver reads, or what the source was.
    pub spirv: Vec<u32>,
    /// What it takes and needs.
    pub signature: Signature,
    /// The entry point's name in the SPIR-V.
    pub entry: String,
    /// What became of [`Options::bounds`].
    pub buffer_bounds: BufferBounds,
    /// Values of specialisation constants, by number. naga's kernels have none: their values are in the SPIR-V.
    pub specialization: Vec<(u32, ScalarValue)>,
    /// What the checks need and say, if [`Options::sanitize`] asked for them.
    pub sanitized: Option<Sanitized>,
    /// The source's name.
    pub source_name: String,
    /// What became of [`Options::fold`].
    pub fold: Option<Fold>,
    /// Whether it asks how many workgroups there are.
    pub counts_workgroups: bool,
}
