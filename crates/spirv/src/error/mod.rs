//! What can be wrong with SPIR-V, with a signature and with its limits: [`Error`], one enum for the crate.
//!
//! A message names the kernel, then the parameter in the shader's own spelling, then both sides with their numbers.
//! Where a name is unknown, the names that exist follow, with the nearest one. What can be wrong with SPIR-V is in
//! `malformed.rs` and `unvalidated.rs`, and what a variable is that no kernel is given in `resource.rs`.

use std::fmt;

use crate::names::{Hint, Names};
use crate::signature::{BadScalar, DType, ParamKind, UnknownDType};

mod malformed;
mod resource;
mod unvalidated;

pub use malformed::Malformed;
pub use resource::Resource;
pub use unvalidated::Unvalidated;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why SPIR-V, or a kernel with such a signature, could not be used.
///
/// ```
/// use vkarray_spirv::{Error, Limits, Signature, check_workgroup};
///
/// let wide = Signature { entry: "wide".to_owned(), workgroup_size: [129, 1, 1], ..Signature::default() };
/// let error = check_workgroup(&wide, &Limits::MINIMUM).unwrap_err();
/// assert!(matches!(error, Error::WorkgroupSize { axis: 'x', size: 129, limit: 128, .. }));
/// ```
///
/// The fields hold what the message shows. `kernel` is the entry point, `source_name` the name of the source, `param` or
/// `variable` a name in the shader, `found` the names that exist, and `hint` the nearest of them. What was asked for stands
/// beside `limit`, what the device allows; sizes are in bytes.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the messages, and the enum's text says what they hold")]
pub enum Error {
    /// No dtype has that name.
    #[error(transparent)]
    UnknownDType(#[from] UnknownDType),
    /// Text that is no value of the type.
    #[error(transparent)]
    BadScalar(#[from] BadScalar),
    /// SPIR-V that is damaged, hostile, or not for Vulkan's compute kernels.
    #[error("{source_name}: SPIR-V word {word}: {problem}")]
    Malformed { source_name: String, word: usize, problem: Box<Malformed> },
    /// No validator has passed SPIR-V of another compiler, so the driver is not given it.
    #[error("{source_name}: {problem}")]
    Validator { source_name: String, problem: Box<Unvalidated> },
    /// SPIR-V of another compiler reaches memory in a way that nothing can bound.
    #[error(
        "{source_name}: SPIR-V {place}: nothing can bound the access to {what}; the unsafe `unchecked` of the kernel's \
         builder leaves all indices as they are"
    )]
    Unbounded { source_name: String, place: String, what: &'static str },
    /// A kernel reaches memory by its address, without the promise that it stays inside the arrays of the call.
    #[error(
        "kernel `{kernel}` reaches memory by {address}, and nothing keeps that inside an array; bind the array as a storage \
         buffer, or promise it with the unsafe `assume_addresses` of the kernel's builder (`vkarray run --unsafe-addresses`)"
    )]
    Addresses { kernel: String, address: String },
    /// No constant has that name or id.
    #[error("kernel `{kernel}`: no constant `{constant}`; there is {found}{hint}")]
    UnknownConstant { kernel: String, constant: String, found: Names, hint: Hint },
    /// A constant was set twice, by name and by id.
    #[error("kernel `{kernel}`: constant `{constant}` is set twice, by name and as `{id}`")]
    DuplicateConstant { kernel: String, constant: String, id: u32 },
    /// A constant's type cannot hold the value.
    #[error("kernel `{kernel}`: constant `{constant}` is {dtype} and cannot be {value}: {reason}")]
    BadConstant { kernel: String, constant: String, dtype: DType, value: f64, reason: String },
    /// The shader uses a resource that a kernel cannot be given.
    #[error("kernel `{kernel}`: `{variable}` is {resource}")]
    Unsupported { kernel: String, variable: String, resource: Resource },
    /// Two variables at one binding that are different kinds of memory, so that no argument is both.
    #[error(
        "kernel `{kernel}`: `{}`, {}, and `{}`, {}, have the same set {group} and binding {binding}; give one of them another \
         binding",
        names[0], kinds[0].names()[1], names[1], kinds[1].names()[1]
    )]
    BindingClash { kernel: String, group: u32, binding: u32, names: [String; 2], kinds: [ParamKind; 2] },
    /// A workgroup too long on one axis.
    #[error("kernel `{kernel}`: workgroup size {size} on axis {axis}, the device allows {limit}")]
    WorkgroupSize { kernel: String, axis: char, size: u32, limit: u32 },
    /// A workgroup with too many invocations.
    #[error("kernel `{kernel}`: workgroup of {size} is {invocations} invocations, the device allows {limit}")]
    WorkgroupInvocations { kernel: String, size: String, invocations: u128, limit: u32 },
    /// More workgroup memory than there is.
    #[error("kernel `{kernel}`: {bytes} bytes of shared memory ({variables}), the device has {limit}")]
    SharedMemory { kernel: String, bytes: u64, limit: u32, variables: Names },
    /// More constant memory than there is.
    #[error(
        "kernel `{kernel}`: `{param}` takes {bytes} bytes of constant memory, the device has {limit}; \
         declare it as read-only storage"
    )]
    ConstantMemory { kernel: String, param: String, bytes: u64, limit: u64 },
    /// More push constants than fit.
    #[error("kernel `{kernel}`: {bytes} bytes of push constants, at most {limit} are possible")]
    PushConstants { kernel: String, bytes: u32, limit: u32 },
    /// A buffer in a group the device does not have.
    #[error("kernel `{kernel}`: `{param}` is in group {group}, the device binds {limit} groups, counted from 0")]
    GroupIndex { kernel: String, param: String, group: u32, limit: u32 },
    /// More buffers than the device binds.
    #[error("kernel `{kernel}` uses {count} {what}, the device binds {limit}")]
    BufferCount { kernel: String, count: usize, what: &'static str, limit: u32 },
    /// The kernel cannot be built or run with checks.
    #[error("kernel `{kernel}` cannot be sanitized: {reason}")]
    Sanitize { kernel: String, reason: String },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_small_enough_to_return() {
        assert!(size_of::<Error>() <= 112, "{}", size_of::<Error>());
    }
}
