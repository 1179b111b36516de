//! What can go wrong between a shader's SPIR-V and a launch: [`Error`], one enum for the crate.
//!
//! A message names the kernel, then the parameter in the shader's own spelling, then both sides with their numbers.
//! Where a name is unknown, the names that exist follow, with the nearest one. What can be wrong with the shader is
//! [`vkarray_shader::Error`], and with one argument [`Mismatch`].

use vkarray_shader::{Hint, Names, SpirvError};

mod mismatch;

pub use mismatch::Mismatch;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a shader could not be used, or a launch was refused.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Error, Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let scale = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
///          var<immediate> factor: f32;
///          @compute @workgroup_size(1) fn scale() { x[0] *= factor; }",
///     ))
///     .build()?;
/// let x = ctx.zeros::<f32>(1)?;
/// let error = scale.launch(Groups::covering(1), (&x,)).unwrap_err();
/// assert!(matches!(error, Error::ArgumentCount { expected: 2, given: 1, .. }));
/// assert_eq!(error.to_string(), "kernel `scale` takes 2 arguments (`x`, `factor`), got 1");
/// # Ok(())
/// # }
/// ```
///
/// The fields hold what the message shows. `kernel` is the entry point, `source_name` the name of the [`Source`], `param` or
/// `variable` a name in the shader, `found` the names that exist, and `hint` the nearest of them. What was asked for stands
/// beside `limit`, what the device allows; sizes are in bytes.
///
/// [`Source`]: vkarray_shader::Source
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the messages, and the enum's text says what they hold")]
pub enum Error {
    /// The shader cannot be used, or needs more than the device's limits.
    #[error(transparent)]
    Shader(#[from] vkarray_shader::Error),
    /// An environment variable with an unknown value.
    #[error("{text:?} in {variable} is not {expected}")]
    BadSetting { variable: &'static str, text: String, expected: &'static str },
    /// A build that takes longer than [`KernelBuilder::build_within`](crate::KernelBuilder::build_within) allows.
    #[error(
        "{source_name}: {kernel} is not built within {seconds} s; the build goes on in the background, and a later \
        build of the same kernel finds it or waits for it"
    )]
    BuildLimit { source_name: String, kernel: String, seconds: f64 },
    /// A folder for kernels that other users can change. Its content would be given to the driver.
    #[error(
        "kernels cannot be stored in {}: {}, of user {owner} with mode {mode:o}, {problem}",
        folder.display(),
        place.display()
    )]
    SharedCache { folder: std::path::PathBuf, place: std::path::PathBuf, owner: u32, mode: u32, problem: &'static str },
    /// A device that does not keep accesses inside what is bound, and SPIR-V that relies on it.
    #[error(
        "{source_name}: {device} was opened without robustBufferAccess, which bounds what SPIR-V of other compilers reaches; \
         the unsafe `Source::spirv_unchecked` takes the module as it is"
    )]
    NotRobust { source_name: String, device: String },
    /// The device was not opened with what an extension or a set of extended instructions of SPIR-V needs.
    #[error("kernel `{kernel}` declares {extension}, which needs {problem}")]
    Extension { kernel: String, extension: String, problem: String },
    /// Cooperative matrices of sizes or types that the device does not multiply.
    #[error("kernel `{kernel}` uses cooperative matrices {wanted}; {device} has {found}")]
    Matrices { kernel: String, wanted: String, device: String, found: Names },
    /// Too few or too many arguments.
    #[error("kernel `{kernel}` takes {expected} arguments ({names}), got {given}")]
    ArgumentCount { kernel: String, expected: usize, given: usize, names: Names },
    /// No argument has that name.
    #[error("kernel `{kernel}` has no argument `{param}`; it takes {found}{hint}")]
    UnknownArgument { kernel: String, param: String, found: Names, hint: Hint },
    /// A constant was given as an argument.
    #[error(
        "kernel `{kernel}`: `{param}` is a constant of the shader, not an argument; set it before the kernel is built"
    )]
    ConstantAsArgument { kernel: String, param: String },
    /// A parameter without an argument.
    #[error("kernel `{kernel}`: no value for `{param}`, which is {ty}; it takes {found}")]
    MissingArgument { kernel: String, param: String, ty: String, found: Names },
    /// An argument given twice.
    #[error("kernel `{kernel}`: `{param}` is given twice")]
    DuplicateArgument { kernel: String, param: String },
    /// The push constants as a whole, and one of them alone.
    #[error(
        "kernel `{kernel}`: push constants are given as `{block}`, the whole block, or one by one, not both; \
         got {other} as well"
    )]
    MixedPushConstants { kernel: String, block: String, other: String },
    /// A positional argument behind a named one.
    #[error("kernel `{kernel}`: argument {position} has no name, but follows a named one")]
    PositionalAfterNamed { kernel: String, position: usize },
    /// An argument does not fit its parameter.
    #[error("kernel `{kernel}`: `{param}` {problem}")]
    Argument { kernel: String, param: String, problem: Box<Mismatch> },
    /// An array without elements, for a launch that has work to do.
    #[error("kernel `{kernel}`: `{param}` is empty, but the launch is not")]
    EmptyArray { kernel: String, param: String },
    /// Other values than the constant was made of.
    #[error("a constant of {expected} cannot be updated with {given}")]
    ConstantUpdate { expected: String, given: String },
    /// The device lacks what the shader's code needs.
    #[error("kernel `{kernel}` needs {capability}, which {device} does not have")]
    Capability { kernel: String, capability: String, device: String },
    /// The device has what the shader's code needs, and was opened without it.
    #[error("kernel `{kernel}` needs {capability}, which {device} has, but was opened without")]
    NotEnabled { kernel: String, capability: String, device: String },
    /// The shader's code needs what no device is opened with, whether it has it or not.
    #[error("kernel `{kernel}` needs {capability}, which vkarray supports on no device")]
    NoCapability { kernel: String, capability: String },
    /// Images on a device that does not bound accesses to them. Every device that this library opens does.
    #[error(
        "kernel `{kernel}` has images, and the device was opened without robustImageAccess, which bounds their coordinates; \
         enable it, or build the kernel with the unsafe `unchecked`"
    )]
    NoImageBounds { kernel: String },
    /// A subgroup size that the device does not run.
    #[error("kernel `{kernel}`: subgroups of {size}, the device has powers of two from {min} to {max}")]
    SubgroupSize { kernel: String, size: u32, min: u32, max: u32 },
    /// More subgroups in a workgroup than the device runs.
    #[error(
        "kernel `{kernel}`: {invocations} invocations in subgroups of {size}, the device has {limit} subgroups in a \
         workgroup"
    )]
    SubgroupCount { kernel: String, invocations: u64, size: u32, limit: u32 },
    /// Full subgroups for a workgroup that does not fill them.
    #[error("kernel `{kernel}`: full subgroups of {size} need a workgroup whose x is a multiple, not {x}")]
    FullSubgroups { kernel: String, size: u32, x: u32 },
    /// An argument, or the stream, of a device that the kernel was not built for.
    #[error("kernel `{kernel}` was built on {own}, but {what} belongs to {other}: they were opened separately")]
    ForeignDevice { kernel: String, own: String, what: &'static str, other: String },
    /// A kernel that was built without a context, or whose context is gone, on no stream.
    #[error(
        "kernel `{kernel}` has no default stream: the context that it was built in is gone, or it was built without one; \
         name a stream with `dispatch`"
    )]
    NoDefaultStream { kernel: String },
    /// Two parameters that share memory of which the kernel writes.
    #[error(
        "kernel `{kernel}`: `{written}` is written and shares memory with `{other}`; the result would depend on the order of its invocations"
    )]
    Aliased { kernel: String, written: String, other: String },
    /// An argument of a graph's node that does not lie as the one it is to replace.
    #[error(
        "kernel `{kernel}`: `{param}` was recorded as {recorded}, got {given}; in a graph an array can be replaced by \
         one of the same type and shape alone"
    )]
    OtherLayout { kernel: String, param: String, recorded: String, given: String },
    /// A kernel with checks found a fault.
    #[error("{0}")]
    Found(Box<vkarray_shader::Finding>),
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] vkarray_allocator::Error),
    /// The driver fails to compile the kernel, and its code says nothing of the reason.
    #[error(
        "the driver failed to compile kernel `{kernel}` and gives no reason; an invocation may need more local memory than \
         it supports"
    )]
    NotCompiled { kernel: String, source: vkarray_driver::Error },
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] vkarray_driver::Error),
    /// Registered memory in a graph.
    #[error("registered memory cannot be an argument of a graph, which may outlive the registration")]
    RegisteredInGraph,
    /// More workgroups than one dispatch may have.
    #[error("{wanted} workgroups on axis {axis}, the device allows {limit}{advice}")]
    GroupCount { axis: char, wanted: u64, limit: u32, advice: &'static str },
    /// More invocations along an axis than `global_invocation_id`, a `u32`, can number.
    #[error(
        "{workgroups} workgroups of {size} invocations on axis {axis}: one dispatch has at most 4294967296 invocations \
         on an axis, which global_invocation_id numbers in 32 bits; dispatch the items in parts"
    )]
    InvocationCount { axis: char, workgroups: u32, size: u32 },
    /// More axes than a launch has.
    #[error("a launch has at most 3 axes, not {n_axes}")]
    LaunchAxes { n_axes: usize },
    /// The number of workgroups is in an array on the device.
    #[error("the number of workgroups is in an array on the device, where only the device reads it")]
    CountsOnDevice,
    /// An array that cannot hold a number of workgroups.
    #[error("kernel `{kernel}`: numbers of workgroups are read from contiguous arrays of u32, got {given}")]
    CountsType { kernel: String, given: String },
    /// An array that ends before the numbers of workgroups do.
    #[error("kernel `{kernel}`: the numbers of workgroups are elements {first} to {first} + 2 of {given}")]
    CountsRange { kernel: String, first: u64, given: String },
    /// Numbers of workgroups that do not lie at a multiple of four bytes.
    #[error("kernel `{kernel}`: the numbers of workgroups lie {offset} bytes into their memory, no multiple of 4")]
    CountsMisaligned { kernel: String, offset: u64 },
}

vkarray_driver::debug_as_display!(Error);

/// What is wrong with SPIR-V or a signature is the same variant, whether a shader was translated or a device asked.
impl From<SpirvError> for Error {
    fn from(error: SpirvError) -> Self {
        Self::Shader(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_small_enough_to_return() {
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
