//! Whether a device has what extensions of SPIR-V and sets of extended instructions need ([`check_extensions`]). Pure.
//!
//! A driver may crash on an extension that it does not support, so it never gets one that it was not opened with.
//! [`check_extensions`] is called before the driver is; the names are read by `binary/read.rs` of
//! `vkarray-spirv`.

use vkarray_driver::DeviceInfo;
use vkarray_shader::Signature;

use crate::error::{Error, Result};

/// The provider of what is in Vulkan 1.3, or an earlier version. All other providers are device extensions, which must be
/// enabled.
const CORE: &str = "Vulkan";

/// Extensions and sets, ordered by name, with their provider according to Vulkan's appendix on SPIR-V. What only
/// fragments and the stages of ray tracing use is not listed.
const PROVIDERS: &[(&str, &str)] = &[
    ("SPV_AMD_gcn_shader", "VK_AMD_gcn_shader"),
    ("SPV_AMD_gpu_shader_half_float", "VK_AMD_gpu_shader_half_float"),
    ("SPV_AMD_gpu_shader_int16", "VK_AMD_gpu_shader_int16"),
    ("SPV_AMD_shader_ballot", "VK_AMD_shader_ballot"),
    ("SPV_AMD_shader_image_load_store_lod", "VK_AMD_shader_image_load_store_lod"),
    ("SPV_AMD_shader_trinary_minmax", "VK_AMD_shader_trinary_minmax"),
    ("SPV_AMD_texture_gather_bias_lod", "VK_AMD_texture_gather_bias_lod"),
    ("SPV_ARM_cooperative_matrix_layouts", "VK_ARM_cooperative_matrix_layouts"),
    ("SPV_ARM_core_builtins", "VK_ARM_shader_core_builtins"),
    ("SPV_ARM_tensors", "VK_ARM_tensors"),
    ("SPV_EXT_demote_to_helper_invocation", CORE),
    ("SPV_EXT_descriptor_indexing", CORE),
    ("SPV_EXT_float8", "VK_EXT_shader_float8"),
    ("SPV_EXT_mesh_shader", "VK_EXT_mesh_shader"),
    ("SPV_EXT_opacity_micromap", "VK_EXT_opacity_micromap"),
    ("SPV_EXT_physical_storage_buffer", CORE),
    ("SPV_EXT_replicated_composites", "VK_EXT_shader_replicated_composites"),
    ("SPV_EXT_shader_64bit_indexing", "VK_EXT_shader_64bit_indexing"),
    ("SPV_EXT_shader_atomic_float16_add", "VK_EXT_shader_atomic_float2"),
    ("SPV_EXT_shader_atomic_float_add", "VK_EXT_shader_atomic_float"),
    ("SPV_EXT_shader_atomic_float_min_max", "VK_EXT_shader_atomic_float2"),
    ("SPV_EXT_shader_image_int64", "VK_EXT_shader_image_atomic_int64"),
    ("SPV_EXT_shader_viewport_index_layer", CORE),
    ("SPV_GOOGLE_decorate_string", "VK_GOOGLE_decorate_string"),
    ("SPV_GOOGLE_hlsl_functionality1", "VK_GOOGLE_hlsl_functionality1"),
    ("SPV_GOOGLE_user_type", "VK_GOOGLE_user_type"),
    ("SPV_INTEL_shader_integer_functions2", "VK_INTEL_shader_integer_functions2"),
    ("SPV_KHR_16bit_storage", CORE),
    ("SPV_KHR_8bit_storage", CORE),
    ("SPV_KHR_bfloat16", "VK_KHR_shader_bfloat16"),
    ("SPV_KHR_compute_shader_derivatives", "VK_KHR_compute_shader_derivatives"),
    ("SPV_KHR_cooperative_matrix", "VK_KHR_cooperative_matrix"),
    ("SPV_KHR_device_group", CORE),
    ("SPV_KHR_expect_assume", "VK_KHR_shader_expect_assume"),
    ("SPV_KHR_float_controls", CORE),
    ("SPV_KHR_float_controls2", "VK_KHR_shader_float_controls2"),
    ("SPV_KHR_integer_dot_product", CORE),
    ("SPV_KHR_maximal_reconvergence", "VK_KHR_shader_maximal_reconvergence"),
    ("SPV_KHR_multiview", CORE),
    ("SPV_KHR_no_integer_wrap_decoration", CORE), // In SPIR-V 1.4 itself.
    ("SPV_KHR_non_semantic_info", CORE),
    ("SPV_KHR_physical_storage_buffer", CORE),
    ("SPV_KHR_quad_control", "VK_KHR_shader_quad_control"),
    ("SPV_KHR_ray_query", "VK_KHR_ray_query"),
    ("SPV_KHR_relaxed_extended_instruction", "VK_KHR_shader_relaxed_extended_instruction"),
    ("SPV_KHR_shader_atomic_counter_ops", CORE), // Changes nothing that a Vulkan module may hold.
    ("SPV_KHR_shader_ballot", "VK_EXT_shader_subgroup_ballot"),
    ("SPV_KHR_shader_clock", "VK_KHR_shader_clock"),
    ("SPV_KHR_shader_draw_parameters", CORE),
    ("SPV_KHR_storage_buffer_storage_class", CORE),
    ("SPV_KHR_subgroup_rotate", "VK_KHR_shader_subgroup_rotate"),
    ("SPV_KHR_subgroup_uniform_control_flow", "VK_KHR_shader_subgroup_uniform_control_flow"),
    ("SPV_KHR_subgroup_vote", "VK_EXT_shader_subgroup_vote"),
    ("SPV_KHR_terminate_invocation", CORE),
    ("SPV_KHR_untyped_pointers", "VK_KHR_shader_untyped_pointers"),
    ("SPV_KHR_variable_pointers", CORE),
    ("SPV_KHR_vulkan_memory_model", CORE),
    ("SPV_KHR_workgroup_memory_explicit_layout", "VK_KHR_workgroup_memory_explicit_layout"),
    ("SPV_NV_compute_shader_derivatives", "VK_NV_compute_shader_derivatives"),
    ("SPV_NV_cooperative_matrix", "VK_NV_cooperative_matrix"),
    ("SPV_NV_cooperative_matrix2", "VK_NV_cooperative_matrix2"),
    ("SPV_NV_cooperative_vector", "VK_NV_cooperative_vector"),
    ("SPV_NV_shader_atomic_fp16_vector", "VK_NV_shader_atomic_float16_vector"),
    ("SPV_NV_shader_image_footprint", "VK_NV_shader_image_footprint"),
    ("SPV_NV_shader_sm_builtins", "VK_NV_shader_sm_builtins"),
    ("SPV_NV_shader_subgroup_partitioned", "VK_NV_shader_subgroup_partitioned"),
];

/// Checks that a device, opened with the extensions in `enabled`, has every extension of SPIR-V and every set of extended
/// instructions that a kernel declares.
///
/// # Errors
///
/// [`Error::Extension`] with the first that the device was not opened with.
pub(crate) fn check_extensions(signature: &Signature, device: &DeviceInfo, enabled: &[String]) -> Result<()> {
    for extension in &signature.extensions {
        let problem = match PROVIDERS.iter().find(|(name, _)| name == extension) {
            Some((_, CORE)) => continue,
            Some((_, name)) if enabled.iter().any(|enabled| enabled == name) => continue,
            Some((_, name)) if device.has_extension(name) => {
                format!(
                    "{name}, which {} has but was opened without; `DeviceRequest::extensions` asks for it",
                    device.name
                )
            }
            Some((_, name)) => format!("{name}, which {} does not have", device.name),
            None => "a Vulkan extension that is not known here".to_owned(),
        };
        let (kernel, extension) = (signature.entry.clone(), extension.clone());
        return Err(Error::Extension { kernel, extension, problem });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fits::capabilities::tests::machine;

    fn message(extension: &str, machine_name: &str, enabled: &[&str]) -> String {
        let signature =
            Signature { entry: "k".to_owned(), extensions: vec![extension.to_owned()], ..Signature::default() };
        let enabled: Vec<String> = enabled.iter().map(|&name| name.to_owned()).collect();
        let checked = check_extensions(&signature, &machine(machine_name), &enabled);
        checked.map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn a_device_has_what_its_version_or_its_extensions_provide() {
        let (h100, swiftshader) = ("h100_580.159", "swiftshader_5.0.0");
        let cases: &[(&str, &str, &[&str], &str)] = &[
            ("SPV_KHR_storage_buffer_storage_class", swiftshader, &[], "fine"),
            (
                "SPV_AMD_shader_trinary_minmax",
                swiftshader,
                &[],
                "kernel `k` declares SPV_AMD_shader_trinary_minmax, which needs VK_AMD_shader_trinary_minmax, which \
                 SwiftShader Device (Subzero) does not have",
            ),
            ("SPV_AMD_shader_trinary_minmax", swiftshader, &["VK_AMD_shader_trinary_minmax"], "fine"),
            (
                "SPV_KHR_shader_clock",
                h100,
                &["VK_KHR_cooperative_matrix"],
                "kernel `k` declares SPV_KHR_shader_clock, which needs VK_KHR_shader_clock, which NVIDIA H100 80GB HBM3 has \
                 but was opened without; `DeviceRequest::extensions` asks for it",
            ),
            ("SPV_KHR_cooperative_matrix", h100, &["VK_KHR_cooperative_matrix"], "fine"),
            (
                "OpenCL.std",
                h100,
                &[],
                "kernel `k` declares OpenCL.std, which needs a Vulkan extension that is not known here",
            ),
        ];
        for &(extension, machine_name, enabled, expected) in cases {
            assert_eq!(message(extension, machine_name, enabled), expected);
        }
    }

    #[test]
    fn the_table_is_ordered_and_names_each_once() {
        assert!(PROVIDERS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            vkarray_shader::internal::SERVED.iter().all(|(name, _)| PROVIDERS.iter().any(|(known, _)| known == name))
        );
    }
}
