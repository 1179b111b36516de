//! What naga's validator lets a shader use: [`validator`].

use naga::valid::{Capabilities, ValidationFlags, Validator};

/// A validator of all that a compute kernel may use.
pub(crate) fn validator() -> Validator {
    Validator::new(ValidationFlags::all(), supported())
}

/// What a shader may use: all of what naga's SPIR-V writer knows that has a place in a compute kernel. Whether the device
/// has it is asked later, by [`Signature::capabilities`].
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
        | Capabilities::COOPERATIVE_MATRIX
        | Capabilities::MEMORY_DECORATION_COHERENT
        | Capabilities::MEMORY_DECORATION_VOLATILE
}
