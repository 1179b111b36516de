//! What naga's validator lets a shader use: [`validator`], and [`revalidated`] for a shader that a pass has changed.

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

use crate::error::{Error, Result};

/// A validator of all that a compute kernel may use.
pub(crate) fn validator() -> Validator {
    Validator::new(ValidationFlags::all(), supported())
}

/// Validates a module that was changed for an entry point. The error says that it is not valid with this `change`.
///
/// Uniform control flow was checked with the shader itself and is not checked again: naga cannot prove it for the
/// conditions that the passes add.
pub(crate) fn revalidated(module: &naga::Module, entry: &str, change: &str) -> Result<ModuleInfo> {
    let flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
    Validator::new(flags, supported()).validate(module).map_err(|error| Error::Unwritable {
        kernel: entry.to_owned(),
        reason: format!("{change}, it is not valid: {:?}", error.into_inner()),
    })
}

/// What a shader may use: all that naga's SPIR-V writer supports for compute kernels. The device's abilities are compared
/// later, through [`Signature::capabilities`].
pub(crate) fn supported() -> Capabilities {
    Capabilities::IMMEDIATES
        | Capabilities::FLOAT64
        | Capabilities::SHADER_INT64
        | Capabilities::SHADER_INT16
        | Capabilities::SHADER_FLOAT16
        | Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | Capabilities::SUBGROUP
        | Capabilities::SUBGROUP_BARRIER
        | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
        | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
        | Capabilities::SHADER_FLOAT32_ATOMIC
        | Capabilities::BUFFER_BINDING_ARRAY
        | Capabilities::BUFFER_BINDING_ARRAY_NON_UNIFORM_INDEXING
        | Capabilities::STORAGE_BUFFER_BINDING_ARRAY
        | Capabilities::STORAGE_BUFFER_BINDING_ARRAY_NON_UNIFORM_INDEXING
        | Capabilities::COOPERATIVE_MATRIX
        | Capabilities::MEMORY_DECORATION_COHERENT
        | Capabilities::MEMORY_DECORATION_VOLATILE
        | Capabilities::STORAGE_TEXTURE_16BIT_NORM_FORMATS
        | Capabilities::TEXTURE_ATOMIC
}
