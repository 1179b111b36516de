//! How a shader is translated ([`Options`]) and what comes of it ([`Translated`]). Plain data.
//!
//! `module.rs` does it.

use serde::{Deserialize, Serialize};
use vkarray_spirv::internal::MAX_COUNTED;
use vkarray_spirv::{Sanitize, Sanitized, ScalarValue, Signature, Subgroups};

use crate::translate::fold::Fold;
use crate::translate::words::word_matrices::WordMatrices;

/// How a kernel is translated. `KernelBuilder` chooses these from the device and from its own settings.
///
/// ```
/// use std::collections::BTreeMap;
/// use vkarray_shader::{Module, Options, Source};
///
/// let module = Module::parse(&Source::wgsl(
///     "var<workgroup> tile: array<u32, 4096>;
///     @compute @workgroup_size(64) fn main() { tile[0] = 1u; }",
/// ))?;
/// let by_the_kernel = module.translate(None, &BTreeMap::new(), &Options::default())?;
/// let by_the_driver = Options { driver_zeroes: true, ..Options::default() };
/// let by_the_driver = module.translate(None, &BTreeMap::new(), &by_the_driver)?;
/// assert!(by_the_driver.spirv.len() < by_the_kernel.spirv.len()); // It has no loop that zeroes `tile`.
/// # Ok::<(), vkarray_shader::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// What happens to an index out of range.
    pub bounds: Bounds,
    /// Whether the shader's author promises that each element of shared memory is written before it is read. Otherwise
    /// shared memory starts as zeros, as WGSL says.
    pub assume_written: bool,
    /// Whether the shader's author promises that what it reaches by an address lies in the arrays of the call. Otherwise a
    /// shader that has addresses is refused.
    pub assume_addresses: bool,
    /// Whether the device is opened with `shaderZeroInitializeWorkgroupMemory`, and the driver zeroes shared memory.
    /// Otherwise the invocations of a workgroup do, before the kernel's first statement.
    pub driver_zeroes: bool,
    /// What is done about loops that may never end.
    pub loops: Loops,
    /// Whether integer division by zero and overflow of the least integer are left undefined, for speed.
    ///
    /// By default they are defined as in WGSL: `x / 0` is `x`, `x % 0` is `0`.
    pub unchecked_division: bool,
    /// Whether each operation on floats rounds by itself (`NoContraction`). Otherwise a driver may fuse and rearrange them.
    pub exact_floats: bool,
    /// What the numbers of each cooperative matrix are that WGSL loads from words.
    pub word_matrices: WordMatrices,
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
    /// Whether the kernel gets checks that find its faults while it runs. `None` adds nothing.
    pub sanitize: Option<Sanitize>,
    /// Which subgroups it runs with.
    pub subgroups: Subgroups,
    /// Whether a launch along x is spread over several axes of the device.
    pub fold: Option<Fold>,
    /// How many buffers there are in each array of bindings without a length that the kernel uses, in the order of its
    /// parameters. Zero counts as one.
    pub binding_counts: [u32; MAX_COUNTED],
    /// Whether the device is opened with `shaderStorageBufferArrayNonUniformIndexing`, and with that of uniform buffers.
    /// Every computed index into an array of bindings of SPIR-V is then marked as one that may differ between invocations.
    pub non_uniform_bindings: [bool; 2],
}

/// What happens to an index out of range.
///
/// ```
/// use std::collections::BTreeMap;
/// use vkarray_shader::{Bounds, BufferBounds, Module, Options, Source};
///
/// let module = Module::parse(&Source::wgsl(
///     "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
///     @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.x; }",
/// ))?;
/// for (bounds, expected) in
///     [(Bounds::Checked, BufferBounds::ReadZeroSkipWrite), (Bounds::Unchecked, BufferBounds::Unchecked)]
/// {
///     let options = Options { bounds, ..Options::default() };
///     assert_eq!(module.translate(None, &BTreeMap::new(), &options)?.buffer_bounds, expected);
/// }
/// # Ok::<(), vkarray_shader::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bounds {
    /// It is harmless.
    ///
    /// In buffers, a read gives zero and a write does nothing. So a kernel without an index check that is launched with more
    /// invocations than items leaves the last item alone, where clamping the index would let all the surplus invocations
    /// race for it. In private and workgroup arrays and in vectors the index is clamped instead: their length
    /// is fixed in the shader, and a clamp costs no branch.
    ///
    /// One exception: an atomic operation (other than `atomicLoad` and `atomicStore`) on an element of a runtime array, or
    /// at a computed index, has no form that does nothing, so an entry point with one in a buffer clamps in all its buffers.
    /// With [`Options::robust_buffers`] a kernel whose indices pick whole elements leaves all this to the device.
    /// [`Translated::buffer_bounds`] says which it was. Cooperative matrices have to lie in one array of shared memory, at a
    /// constant index and with a constant stride. A kernel with others is refused, since nothing checks where their rows
    /// lie; it has to be [`Bounds::Unchecked`].
    #[default]
    Checked,
    /// It is clamped to the last element, in buffers too, and the device does not bound buffers a second time.
    ///
    /// As safe as [`Bounds::Checked`]. It is faster where buffers are arrays of arrays and most of their indices are
    /// constants: these need no comparison, and one clamp serves all accesses with the same computed index. The kernel itself
    /// has to keep surplus invocations from writing. For shaders in WGSL.
    Clamped,
    /// It is undefined behaviour. The kernel's author is responsible for every index.
    Unchecked,
}

/// What is done about loops that may never end.
///
/// A driver's compiler may assume that every loop ends, and leave out a check of an index that can only fail behind a loop
/// that does not.
///
/// ```
/// use std::collections::BTreeMap;
/// use vkarray_shader::{Loops, Module, Options, Source};
///
/// let module = Module::parse(&Source::wgsl(
///     "@group(0) @binding(0) var<storage, read_write> x: vec2<u32>;
///     @compute @workgroup_size(1) fn main() { while x.x != x.y { x.x += 3u; } }",
/// ))?;
/// let words = |loops| {
///     let options = Options { loops, ..Options::default() };
///     module.translate(None, &BTreeMap::new(), &options).map(|translated| translated.spirv.len())
/// };
/// assert!(words(Loops::Bounded)? > words(Loops::AssumeFinite)?); // The rounds are counted.
/// # Ok::<(), vkarray_shader::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Loops {
    /// Each ends: by what is written, or else after 2⁶⁴ - 1 rounds, which are counted. What kernels are built with unless
    /// their builder says otherwise; `docs/decisions/035` has the figures.
    #[default]
    Bounded,
    /// The kernel's author promises that every loop ends. A loop that does not is undefined behaviour.
    AssumeFinite,
}

/// What a translated kernel does with an index out of range of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BufferBounds {
    /// Reads give zero, writes do nothing.
    ReadZeroSkipWrite,
    /// The index is clamped to the last element.
    Clamp,
    /// The index is clamped, and `robustBufferAccess` is turned off for the pipeline where the device allows it.
    ClampOnly,
    /// Left to the device's `robustBufferAccess2`: reads outside what is bound give zero, writes and atomic operations there
    /// do nothing. An index whose byte offset passes 4 GiB may count from the start again, so reach the same array.
    Robust,
    /// Undefined behaviour.
    Unchecked,
    /// Left to the driver: SPIR-V of [`Source::spirv_unchecked`](crate::Source::spirv_unchecked) is not changed.
    Driver,
}

impl BufferBounds {
    /// Whether indices are clamped, so that the last element has to be there.
    pub fn clamps(self) -> bool {
        matches!(self, Self::Clamp | Self::ClampOnly)
    }

    /// Whether the device need not bound buffers.
    pub fn is_without_device(self) -> bool {
        matches!(self, Self::Unchecked | Self::ClampOnly)
    }
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
    /// What is done with an index out of range of a buffer, as a result of [`Options::bounds`].
    pub buffer_bounds: BufferBounds,
    /// Values of specialisation constants, by number. naga's kernels have none: their values are in the SPIR-V.
    pub specialization: Vec<(u32, ScalarValue)>,
    /// What the checks need and what their report means, if [`Options::sanitize`] was set.
    pub sanitized: Option<Sanitized>,
    /// The source's name.
    pub source_name: String,
    /// [`Options::fold`], as it was applied.
    pub fold: Option<Fold>,
    /// Whether the kernel reads the number of workgroups.
    pub counts_workgroups: bool,
}
