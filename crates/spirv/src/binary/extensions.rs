//! Which of the extensions that a module names it needs: [`is_needed`] and [`is_optional_set`]. Pure.
//!
//! `fits/extensions.rs` of `vkarray-kernel` compares them with a device.

use spirv::Capability as Spirv;

/// The set of extended instructions that every device has.
const STANDARD_SET: &str = "GLSL.std.450";

/// How sets begin that say nothing of what a program does. Vulkan 1.3 takes them all.
const NON_SEMANTIC: &str = "NonSemantic.";

/// Extensions that serve these capabilities alone: where none of them is declared, the extension is not needed.
pub const SERVED: &[(&str, &[Spirv])] = &[
    ("SPV_EXT_shader_atomic_float_add", &[Spirv::AtomicFloat32AddEXT, Spirv::AtomicFloat64AddEXT]),
    ("SPV_EXT_shader_atomic_float16_add", &[Spirv::AtomicFloat16AddEXT]),
    (
        "SPV_EXT_shader_atomic_float_min_max",
        &[Spirv::AtomicFloat16MinMaxEXT, Spirv::AtomicFloat32MinMaxEXT, Spirv::AtomicFloat64MinMaxEXT],
    ),
    ("SPV_KHR_cooperative_matrix", &[Spirv::CooperativeMatrixKHR]),
    ("SPV_KHR_ray_query", &[Spirv::RayQueryKHR]),
    ("SPV_EXT_mesh_shader", &[Spirv::MeshShadingEXT]),
    ("SPV_KHR_bfloat16", &[Spirv::BFloat16TypeKHR, Spirv::BFloat16DotProductKHR, Spirv::BFloat16CooperativeMatrixKHR]),
];

/// Whether the name of a set of extended instructions is to be looked up; those that every device takes are not.
pub(crate) fn is_optional_set(name: &str) -> bool {
    name != STANDARD_SET && !name.starts_with(NON_SEMANTIC)
}

/// Whether an extension is needed in a module that declares these capabilities.
pub(crate) fn is_needed(extension: &str, capabilities: &[u32]) -> bool {
    let served = SERVED.iter().find(|(name, _)| *name == extension);
    served.is_none_or(|(_, served)| served.iter().any(|capability| capabilities.contains(&(*capability as u32))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_say_nothing_of_the_program_are_every_device_s() {
        let cases = [("GLSL.std.450", false), ("NonSemantic.DebugPrintf", false), ("SPV_AMD_gcn_shader", true)];
        for (name, expected) in cases {
            assert_eq!(is_optional_set(name), expected, "{name}");
        }
    }
}
