//! What can go wrong between a shader's text and a launch: [`Error`], one enum for the crate.
//!
//! A message names the kernel, then the parameter in the shader's own spelling, then both sides with their numbers.
//! Where a name is unknown, the names that exist follow, with the nearest one. What can be wrong with one argument is
//! in `mismatch.rs`.

use crate::dtype::DType;
use crate::malformed::Malformed;
use crate::mismatch::Mismatch;
use crate::names::{Hint, Names};
use crate::validator::Unvalidated;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a shader could not be used, or a launch was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A variable of the environment that says nothing known.
    #[error("{text:?} in {variable} is not {expected}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    BadSetting { variable: &'static str, text: String, expected: &'static str },
    /// A folder for kernels that other users can change: what is in it is given to the driver.
    #[error(
        "kernels cannot be kept in {}: {}, of user {owner} with mode {mode:o}, {problem}",
        folder.display(),
        place.display()
    )]
    SharedCache {
        /// The folder.
        folder: std::path::PathBuf,
        /// The folder or link, on the way or at its end, that other users can change.
        place: std::path::PathBuf,
        /// Its owner's number.
        owner: u32,
        /// Its permissions.
        mode: u32,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// No dtype has that name.
    #[error("no dtype is called `{text}`{hint}")]
    UnknownDType {
        /// As given.
        text: String,
        /// The nearest name.
        hint: Hint,
    },
    /// Text is no value of the type.
    #[error("cannot read `{text}` as {dtype}: {reason}")]
    BadScalar {
        /// As given.
        text: String,
        /// Wanted.
        dtype: DType,
        /// What is wrong.
        reason: String,
    },

    /// The shader's text does not parse.
    #[error("{place}: the shader does not parse\n{report}")]
    Parse {
        /// `file:line:column`.
        place: String,
        /// The compiler's message with the source lines.
        report: String,
    },
    /// The shader parses, but breaks a rule of its language.
    #[error("{place}: the shader is not valid\n{report}")]
    Invalid {
        /// `file:line:column`.
        place: String,
        /// The compiler's message with the source lines.
        report: String,
    },
    /// SPIR-V that is damaged, hostile, or not for Vulkan's compute kernels.
    #[error("{source_name}: SPIR-V word {word}: {problem}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Malformed { source_name: String, word: usize, problem: Box<Malformed> },
    /// No validator has passed SPIR-V of another compiler, so the driver is not given it.
    #[error("{source_name}: {problem}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Validator { source_name: String, problem: Box<Unvalidated> },
    /// SPIR-V of another compiler reaches memory in a way that nothing can bound.
    #[error(
        "{source_name}: SPIR-V {place}: nothing can bound the access to {what}; the unsafe `Source::spirv_unchecked` takes \
         the module as it is"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Unbounded { source_name: String, place: String, what: &'static str },
    /// A device that does not keep accesses inside what is bound, and SPIR-V that relies on it.
    #[error(
        "{source_name}: {device} was opened without robustBufferAccess, which bounds what SPIR-V of other compilers reaches; \
         the unsafe `Source::spirv_unchecked` takes the module as it is"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    NotRobust { source_name: String, device: String },
    /// The device was not opened with what an extension or a set of extended instructions of SPIR-V needs.
    #[error("kernel `{kernel}` declares {extension}, which needs {problem}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Extension { kernel: String, extension: String, problem: String },
    /// Cooperative matrices of sizes or types that the device does not multiply.
    #[error("kernel `{kernel}` uses cooperative matrices {wanted}; {device} has {found}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Matrices { kernel: String, wanted: String, device: String, found: Names },
    /// An option of the translator, for a kernel that is not translated.
    #[error("{source_name}: {option} is done while a shader is translated, and SPIR-V is taken as it is")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    NotTranslated { source_name: String, option: &'static str },
    /// A library for a shader that is not WGSL.
    #[error("{source_name}: adding `{library}` is done while a shader is translated, and only WGSL has libraries")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Library { source_name: String, library: String },
    /// The shader has nothing to run.
    #[error("{source_name}: no compute entry point ({expected})")]
    NoEntryPoint {
        /// The source's name.
        source_name: String,
        /// What one looks like in its language.
        expected: &'static str,
    },
    /// Several entry points, and none was named.
    #[error("{source_name}: name the entry point to use, one of {found}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    AmbiguousEntryPoint { source_name: String, found: Names },
    /// No entry point has that name.
    #[error("{source_name}: no compute entry point `{entry}`; there is {found}{hint}")]
    UnknownEntryPoint {
        /// The source's name.
        source_name: String,
        /// As given.
        entry: String,
        /// Those that exist.
        found: Names,
        /// The nearest.
        hint: Hint,
    },
    /// No constant has that name or id.
    #[error("kernel `{kernel}`: no constant `{constant}`; there is {found}{hint}")]
    UnknownConstant {
        /// Entry point.
        kernel: String,
        /// As given.
        constant: String,
        /// Those that exist.
        found: Names,
        /// The nearest.
        hint: Hint,
    },
    /// A constant was set twice, by name and by id.
    #[error("kernel `{kernel}`: constant `{constant}` is set twice, by name and as `{id}`")]
    DuplicateConstant {
        /// Entry point.
        kernel: String,
        /// Its name.
        constant: String,
        /// Its id.
        id: u32,
    },
    /// A constant without default that nobody set.
    #[error("kernel `{kernel}`: constant `{constant}` has no default and must be set; its constants are {found}")]
    MissingConstant {
        /// Entry point.
        kernel: String,
        /// Its name.
        constant: String,
        /// Those that exist.
        found: Names,
    },
    /// No shared variable has that name.
    #[error("kernel `{kernel}`: no shared variable `{variable}`; there is {found}{hint}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    UnknownShared { kernel: String, variable: String, found: Names, hint: Hint },
    /// A size that is not the builder's to choose, or was chosen twice.
    #[error("kernel `{kernel}`: {what} cannot be set: {problem}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Size { kernel: String, what: String, problem: String },
    /// A constant's type cannot hold the value.
    #[error("kernel `{kernel}`: constant `{constant}` is {dtype} and cannot be {value}: {reason}")]
    BadConstant {
        /// Entry point.
        kernel: String,
        /// Its name.
        constant: String,
        /// Its type.
        dtype: DType,
        /// As given.
        value: f64,
        /// What it can hold.
        reason: String,
    },
    /// The values of the constants make the shader invalid, such as an array of no elements.
    #[error("kernel `{kernel}`: not valid with the constants {values}: {report}")]
    Constants {
        /// Entry point.
        kernel: String,
        /// The values given.
        values: String,
        /// The compiler's message.
        report: String,
    },
    /// The shader uses what a compute kernel of ours cannot be given.
    #[error("kernel `{kernel}`: `{variable}` is {what}; a kernel takes storage and uniform buffers and push constants")]
    Unsupported {
        /// Entry point.
        kernel: String,
        /// Its name.
        variable: String,
        /// What it is.
        what: &'static str,
    },
    /// The compiler cannot express the shader in SPIR-V.
    #[error("kernel `{kernel}`: cannot be written as SPIR-V: {reason}")]
    Spirv {
        /// Entry point.
        kernel: String,
        /// The compiler's message.
        reason: String,
    },
    /// The shader compiler gave up: a defect in it, not in the shader's user.
    #[error("{source_name}: the shader compiler panicked: {reason}")]
    CompilerPanicked {
        /// The source's name.
        source_name: String,
        /// The panic's message.
        reason: String,
    },
    /// No thread could be started to compile in.
    #[error("cannot start a thread to compile {source_name}")]
    CompilerThread {
        /// The source's name.
        source_name: String,
        #[source]
        /// Why.
        source: std::io::Error,
    },

    /// Too few or too many arguments.
    #[error("kernel `{kernel}` takes {expected} arguments ({names}), got {given}")]
    ArgumentCount {
        /// Entry point.
        kernel: String,
        /// Arguments it has.
        expected: usize,
        /// Arguments given.
        given: usize,
        /// Their names.
        names: Names,
    },
    /// No argument has that name.
    #[error("kernel `{kernel}` has no argument `{param}`; it takes {found}{hint}")]
    UnknownArgument {
        /// Entry point.
        kernel: String,
        /// As given.
        param: String,
        /// Those that exist.
        found: Names,
        /// The nearest.
        hint: Hint,
    },
    /// A constant was given as an argument.
    #[error(
        "kernel `{kernel}`: `{param}` is a constant of the shader, not an argument; set it before the kernel is built"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    ConstantAsArgument { kernel: String, param: String },
    /// An argument nobody gave.
    #[error("kernel `{kernel}`: no value for `{param}`, which is {ty}; it takes {found}")]
    MissingArgument {
        /// Entry point.
        kernel: String,
        /// Its name.
        param: String,
        /// Its type.
        ty: String,
        /// Those that exist.
        found: Names,
    },
    /// An argument given twice.
    #[error("kernel `{kernel}`: `{param}` is given twice")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    DuplicateArgument { kernel: String, param: String },
    /// The push constants as a whole, and one of them alone.
    #[error(
        "kernel `{kernel}`: push constants are given as `{block}`, the whole block, or one by one, not both; \
         got {other} as well"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    MixedPushConstants { kernel: String, block: String, other: String },
    /// A positional argument behind a named one.
    #[error("kernel `{kernel}`: argument {position} has no name, but follows a named one")]
    PositionalAfterNamed {
        /// Entry point.
        kernel: String,
        /// Counted from 1.
        position: usize,
    },
    /// An argument does not fit its parameter.
    #[error("kernel `{kernel}`: `{param}` {problem}")]
    Argument {
        /// Entry point.
        kernel: String,
        /// The parameter's name in the shader.
        param: String,
        /// What does not fit, with both sides.
        problem: Box<Mismatch>,
    },
    /// An array without elements, for a launch that has work to do.
    #[error("kernel `{kernel}`: `{param}` is empty, but the launch is not")]
    EmptyArray {
        /// Entry point.
        kernel: String,
        /// Its name.
        param: String,
    },

    /// A workgroup too long on one axis.
    #[error("kernel `{kernel}`: workgroup size {size} on axis {axis}, the device allows {limit}")]
    WorkgroupSize {
        /// Entry point.
        kernel: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// Wanted.
        size: u32,
        /// Allowed.
        limit: u32,
    },
    /// A workgroup with too many invocations.
    #[error("kernel `{kernel}`: workgroup of {size} is {invocations} invocations, the device allows {limit}")]
    WorkgroupInvocations {
        /// Entry point.
        kernel: String,
        /// As `x×y×z`.
        size: String,
        /// Their product.
        invocations: u128,
        /// Allowed.
        limit: u32,
    },
    /// More workgroup memory than there is.
    #[error("kernel `{kernel}`: {bytes} bytes of shared memory ({variables}), the device has {limit}")]
    SharedMemory {
        /// Entry point.
        kernel: String,
        /// Wanted.
        bytes: u64,
        /// Allowed.
        limit: u32,
        /// Those that use it.
        variables: Names,
    },
    /// More constant memory than there is.
    #[error(
        "kernel `{kernel}`: `{param}` takes {bytes} bytes of constant memory, the device has {limit}; \
         declare it as read-only storage"
    )]
    ConstantMemory {
        /// Entry point.
        kernel: String,
        /// The variable.
        param: String,
        /// Wanted.
        bytes: u64,
        /// Allowed (`maxUniformBufferRange`).
        limit: u64,
    },
    /// Other values than the constant was made of.
    #[error("a constant of {expected} cannot be updated with {given}")]
    ConstantUpdate {
        /// Number and type of its values.
        expected: String,
        /// Number and type of those given.
        given: String,
    },
    /// More push constants than fit.
    #[error("kernel `{kernel}`: {bytes} bytes of push constants, at most {limit} are possible")]
    PushConstants {
        /// Entry point.
        kernel: String,
        /// Wanted.
        bytes: u32,
        /// Allowed.
        limit: u32,
    },
    /// A buffer in a group the device does not have.
    #[error("kernel `{kernel}`: `{param}` is in group {group}, the device binds {limit} groups, counted from 0")]
    GroupIndex {
        /// Entry point.
        kernel: String,
        /// Its name.
        param: String,
        /// Its group.
        group: u32,
        /// Groups there are.
        limit: u32,
    },
    /// More buffers than the device binds.
    #[error("kernel `{kernel}` uses {count} {what}, the device binds {limit}")]
    BufferCount {
        /// Entry point.
        kernel: String,
        /// Wanted.
        count: usize,
        /// Which kind.
        what: &'static str,
        /// Allowed.
        limit: u32,
    },
    /// The device lacks what the shader's code needs.
    #[error("kernel `{kernel}` needs {capability}, which {device} does not have")]
    Capability {
        /// Entry point.
        kernel: String,
        /// What it needs.
        capability: String,
        /// The device's name.
        device: String,
    },
    /// The shader reaches memory by its address (`PhysicalStorageBufferAddresses`).
    #[error(
        "kernel `{kernel}` needs buffer device addresses: what is reached by its address can neither be checked nor \
         ordered; give it the memory as a parameter"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    Addresses { kernel: String },
    /// A subgroup size that the device does not run.
    #[error("kernel `{kernel}`: subgroups of {size}, the device has powers of two from {min} to {max}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    SubgroupSize { kernel: String, size: u32, min: u32, max: u32 },
    /// More subgroups in a workgroup than the device runs.
    #[error(
        "kernel `{kernel}`: {invocations} invocations in subgroups of {size}, the device has {limit} subgroups in a \
         workgroup"
    )]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    SubgroupCount { kernel: String, invocations: u64, size: u32, limit: u32 },
    /// Full subgroups for a workgroup that does not fill them.
    #[error("kernel `{kernel}`: full subgroups of {size} need a workgroup whose x is a multiple, not {x}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    FullSubgroups { kernel: String, size: u32, x: u32 },
    /// An argument, or the stream, of a device that the kernel was not built for.
    #[error("kernel `{kernel}` was built on {own}, but {what} belongs to {other}: they were opened separately")]
    ForeignDevice {
        /// Entry point.
        kernel: String,
        /// The kernel's device.
        own: String,
        /// What belongs elsewhere.
        what: &'static str,
        /// Where.
        other: String,
    },
    /// Two parameters that share memory of which the kernel writes.
    #[error("kernel `{kernel}`: `{written}` is written and shares memory with `{other}`; the result would be chance")]
    Aliased {
        /// Entry point.
        kernel: String,
        /// The parameter that is written.
        written: String,
        /// The other one.
        other: String,
    },
    /// An argument of a graph's node that does not lie as the one it is to replace.
    #[error(
        "kernel `{kernel}`: `{param}` was recorded as {recorded}, got {given}; in a graph an array gives way to one of \
         the same type and shape"
    )]
    OtherLayout {
        /// Entry point.
        kernel: String,
        /// The parameter's name in the shader.
        param: String,
        /// What was recorded.
        recorded: String,
        /// What came.
        given: String,
    },
    /// The kernel cannot be built or run with checks.
    #[error("kernel `{kernel}` cannot be sanitized: {reason}")]
    Sanitize {
        /// Entry point.
        kernel: String,
        /// What stands against it.
        reason: String,
    },
    /// A kernel with checks found a fault of its own.
    #[error("{0}")]
    Found(Box<crate::sanitize::Finding>),
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] vkarray_allocator::Error),
    /// The driver fails to compile the kernel, and its code says nothing of the reason.
    #[error(
        "the driver does not compile kernel `{kernel}` and gives no reason; it may limit what an invocation takes, local \
         memory above all"
    )]
    NotCompiled {
        /// Its entry point.
        kernel: String,
        /// What the driver said.
        source: vkarray_driver::Error,
    },
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] vkarray_driver::Error),
    /// More workgroups than one dispatch may have.
    #[error("{wanted} workgroups on axis {axis}, the device allows {limit}{advice}")]
    GroupCount {
        /// `x`, `y` or `z`.
        axis: char,
        /// Wanted.
        wanted: u64,
        /// Allowed.
        limit: u32,
        /// What to do instead, or nothing.
        advice: &'static str,
    },
    /// More invocations along an axis than `global_invocation_id`, a `u32`, can number.
    #[error(
        "{workgroups} workgroups of {size} invocations on axis {axis}: one dispatch has at most 4294967296 invocations \
         on an axis, which global_invocation_id numbers in 32 bits; dispatch the items in parts"
    )]
    InvocationCount {
        /// `x`, `y` or `z`.
        axis: char,
        /// Workgroups on the axis.
        workgroups: u32,
        /// Invocations of a workgroup on the axis.
        size: u32,
    },
    /// The number of workgroups is asked for, and an array on the device holds it.
    #[error("the number of workgroups is in an array on the device, where only the device reads it")]
    CountsOnDevice,
    /// Something that cannot say how many workgroups to launch.
    #[error("kernel `{kernel}`: numbers of workgroups are read from contiguous arrays of u32, got {given}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    CountsType { kernel: String, given: String },
    /// An array that ends before the numbers of workgroups do.
    #[error("kernel `{kernel}`: the numbers of workgroups are elements {first} to {first} + 2 of {given}")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    CountsRange { kernel: String, first: u64, given: String },
    /// Numbers of workgroups that do not lie at a multiple of four bytes.
    #[error("kernel `{kernel}`: the numbers of workgroups lie {offset} bytes into their memory, no multiple of 4")]
    #[expect(missing_docs, reason = "the fields are those of the message above")]
    CountsMisaligned { kernel: String, offset: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_small_enough_to_return() {
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
