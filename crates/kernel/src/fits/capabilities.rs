//! Whether a device has the capabilities that a kernel needs ([`check_capabilities`]), and its limits. Pure.
//!
//! Which capabilities a kernel needs is read from its SPIR-V (`binary/capabilities.rs` of `vkarray-spirv`).

use vkarray_driver::{DeviceInfo, Features};
use vkarray_shader::internal::asks_for_length;
use vkarray_shader::{Capability, FloatAtomic, FloatAtomicOp, Limits, Signature};

use crate::error::{Error, Result};

/// NVIDIA's PCI vendor id.
pub(crate) const NVIDIA: u32 = 0x10de;

/// Google's PCI vendor id, which SwiftShader has.
pub(crate) const GOOGLE: u32 = 0x1ae0;

/// NVIDIA's driver (580.159, H100, 2026-11-21) allows ranges of 4 GiB, and reads and writes all of them, but `OpArrayLength` is
/// zero for ranges of 2 GiB and more. Code that bounds an index with it then reaches nothing.
const NVIDIA_MAX_RANGE: u32 = (1 << 31) - 256;

/// The longest range of storage that every kernel reads and writes correctly.
fn max_storage_buffer_range(device: &DeviceInfo) -> u32 {
    let stated = device.limits.max_storage_buffer_range;
    if device.vendor_id == NVIDIA { stated.min(NVIDIA_MAX_RANGE) } else { stated }
}

/// The limits of a device that decide whether a kernel can be built and launched.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{Limits, limits_of};
///
/// let ctx = Context::open_default()?;
/// let limits = limits_of(ctx.info());
/// assert!(limits.max_workgroup_invocations >= Limits::MINIMUM.max_workgroup_invocations);
/// # Ok(())
/// # }
/// ```
pub fn limits_of(device: &DeviceInfo) -> Limits {
    let limits = &device.limits;
    Limits {
        max_storage_buffer_range: max_storage_buffer_range(device).into(),
        max_uniform_buffer_range: limits.max_uniform_buffer_range.into(),
        min_storage_buffer_offset_alignment: limits.min_storage_buffer_offset_alignment,
        min_uniform_buffer_offset_alignment: limits.min_uniform_buffer_offset_alignment,
        max_workgroup_size: limits.max_compute_work_group_size,
        max_workgroup_invocations: limits.max_compute_work_group_invocations,
        max_workgroup_count: limits.max_compute_work_group_count,
        max_shared_bytes: limits.max_compute_shared_memory_size,
        max_push_constant_bytes: limits.max_push_constants_size,
        max_groups: limits.max_bound_descriptor_sets,
        max_storage_buffers: limits.max_per_stage_descriptor_storage_buffers,
        max_uniform_buffers: limits.max_per_stage_descriptor_uniform_buffers,
    }
}

/// The limits for a kernel: without `OpArrayLength` in its code, ranges are as long as the device states.
pub(crate) fn limits_of_kernel(device: &DeviceInfo, spirv: &[u32]) -> Limits {
    let limits = limits_of(device);
    if asks_for_length(spirv) {
        return limits;
    }
    Limits { max_storage_buffer_range: device.limits.max_storage_buffer_range.into(), ..limits }
}

/// Checks that the device can do all a kernel needs, opened with these features.
///
/// # Errors
///
/// About the first capability that is missing, [`Error::Capability`] if the device lacks it, [`Error::NotEnabled`] if
/// the device was opened without it, and
/// [`Error::NoCapability`] if no device is opened with it.
pub(crate) fn check_capabilities(signature: &Signature, device: &DeviceInfo, enabled: &Features) -> Result<()> {
    let missing = signature.capabilities.iter().find(|&&capability| !has(device, enabled, capability));
    let Some(missing) = missing else { return Ok(()) };
    let (kernel, capability) = (signature.entry.clone(), missing.to_string());
    Err(match missing {
        Capability::Other(_) => Error::NoCapability { kernel, capability },
        _ if has(device, &device.features, *missing) => {
            let device = device.name.clone();
            Error::NotEnabled { kernel, capability, device }
        }
        _ => Error::Capability { kernel, capability, device: device.name.clone() },
    })
}

fn has(device: &DeviceInfo, features: &Features, capability: Capability) -> bool {
    match capability {
        Capability::Float16 => features.shader_float16,
        Capability::BFloat16 => features.bfloat16,
        // Either capability declares the type without a word, and the second one cooperative matrices too.
        Capability::BFloat16DotProduct => features.bfloat16 && features.bfloat16_dot_product,
        Capability::BFloat16Matrix => {
            features.bfloat16 && features.bfloat16_cooperative_matrix && features.cooperative_matrix
        }
        Capability::Float64 => features.shader_float64,
        Capability::Int8 => features.shader_int8,
        Capability::Int16 => features.shader_int16,
        Capability::Int64 => features.shader_int64,
        Capability::Storage8 => features.storage_buffer_8bit,
        Capability::Uniform8 => features.uniform_buffer_8bit,
        Capability::Push8 => features.push_constant_8bit,
        Capability::Push16 => features.push_constant_16bit,
        Capability::VariablePointersStorage => features.variable_pointers_storage_buffer,
        Capability::VariablePointers => features.variable_pointers,
        Capability::StorageArrays => features.storage_arrays_dynamic,
        Capability::StorageArraysNonUniform => features.storage_arrays_non_uniform,
        Capability::UniformArrays => features.uniform_arrays_dynamic,
        Capability::UniformArraysNonUniform => features.uniform_arrays_non_uniform,
        Capability::MemoryModelDeviceScope => features.vulkan_memory_model_device_scope,
        Capability::Storage16 => features.storage_buffer_16bit,
        Capability::Uniform16 => features.uniform_buffer_16bit,
        Capability::Int64Atomics => features.buffer_int64_atomics,
        Capability::Int64SharedAtomics => features.shared_int64_atomics,
        Capability::IntegerDotProduct => features.integer_dot_product,
        Capability::CooperativeMatrix => features.cooperative_matrix,
        Capability::VulkanMemoryModel => features.vulkan_memory_model,
        Capability::StorageImageFormats => features.storage_image_extended_formats,
        Capability::StorageImageRead => features.storage_image_read_without_format,
        Capability::StorageImageWrite => features.storage_image_write_without_format,
        Capability::ImageGather => features.image_gather_extended,
        // `VkSubgroupFeatureFlagBits`.
        Capability::Subgroup => has_subgroup(device, 1),
        Capability::SubgroupVote => has_subgroup(device, 1 << 1),
        Capability::SubgroupArithmetic => has_subgroup(device, 1 << 2),
        Capability::SubgroupBallot => has_subgroup(device, 1 << 3),
        Capability::SubgroupShuffle => has_subgroup(device, 1 << 4),
        Capability::SubgroupShuffleRelative => has_subgroup(device, 1 << 5),
        Capability::SubgroupClustered => has_subgroup(device, 1 << 6),
        // The module does not say whether parts of a subgroup are rotated, or which clock is read.
        Capability::SubgroupRotate => features.subgroup_rotate && features.subgroup_rotate_clustered,
        Capability::Clock => features.subgroup_clock && features.device_clock,
        Capability::SharedLayout => features.shared_layout,
        Capability::SharedLayout8 => features.shared_layout_8bit,
        Capability::SharedLayout16 => features.shared_layout_16bit,
        Capability::SubgroupQuad => has_subgroup(device, 1 << 7),
        Capability::FloatAtomic(atomic) => has_float_atomic(features, atomic),
        Capability::BufferAddress => features.buffer_device_address,
        // All others are not enabled when a device is opened, whatever it lists.
        _ => false,
    }
}

fn has_float_atomic(has: &Features, FloatAtomic { bits, op, is_shared }: FloatAtomic) -> bool {
    let [exchange, add, min_max] = match (is_shared, bits) {
        (false, 16) => [has.buffer_float16_atomics, has.buffer_float16_atomic_add, has.buffer_float16_atomic_min_max],
        (false, 32) => [has.buffer_float32_atomics, has.buffer_float32_atomic_add, has.buffer_float32_atomic_min_max],
        (false, 64) => [has.buffer_float64_atomics, has.buffer_float64_atomic_add, has.buffer_float64_atomic_min_max],
        (true, 16) => [has.shared_float16_atomics, has.shared_float16_atomic_add, has.shared_float16_atomic_min_max],
        (true, 32) => [has.shared_float32_atomics, has.shared_float32_atomic_add, has.shared_float32_atomic_min_max],
        (true, 64) => [has.shared_float64_atomics, has.shared_float64_atomic_add, has.shared_float64_atomic_min_max],
        _ => return false,
    };
    match op {
        FloatAtomicOp::Exchange => exchange,
        FloatAtomicOp::Add => add,
        FloatAtomicOp::MinMax => min_max,
    }
}

fn has_subgroup(device: &DeviceInfo, bit: u32) -> bool {
    device.subgroup.in_compute && device.subgroup.operations & bit != 0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use vkarray_shader::internal::capabilities;

    pub(crate) fn machine(name: &str) -> DeviceInfo {
        let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    const FLOAT_ADD: Capability =
        Capability::FloatAtomic(FloatAtomic { bits: 32, op: FloatAtomicOp::Add, is_shared: false });

    fn needs(capability: Capability) -> Signature {
        Signature { entry: "k".to_owned(), capabilities: vec![capability], ..Signature::default() }
    }

    fn checked(capability: Capability, device: &DeviceInfo) -> Result<()> {
        check_capabilities(&needs(capability), device, &device.features)
    }

    #[test]
    fn three_drivers_differ_as_their_snapshots_state() {
        use Capability as C;
        // Capability, lavapipe, SwiftShader, H100.
        let cases = [
            (C::Float16, [true, false, true]),
            (C::Float64, [true, false, true]),
            (C::Int64, [true, false, true]),
            (C::Int16, [true, false, true]),
            (C::Int64Atomics, [true, false, true]),
            (C::SubgroupVote, [true, true, true]),
            (C::SubgroupShuffleRelative, [true, true, true]),
            (C::Storage8, [true, false, true]),
            (C::IntegerDotProduct, [true, true, true]),
            (C::SubgroupClustered, [false, false, true]),
            (FLOAT_ADD, [false, false, false]), // The snapshots are older than the feature.
            (C::CooperativeMatrix, [false, false, true]),
            (C::StorageArrays, [false; 3]), // The snapshots are older than these features.
            (C::SubgroupRotate, [false; 3]),
            (C::SharedLayout, [false; 3]),
            (C::Clock, [false; 3]),
            (C::BufferAddress, [true, true, true]),
            (C::Other(4433), [false, false, false]),
        ];
        let machines = ["lavapipe_22.3.6", "swiftshader_5.0.0", "h100_580.159"].map(machine);
        for (capability, expected) in cases {
            let found = [0, 1, 2].map(|i| checked(capability, &machines[i]).is_ok());
            assert_eq!(found, expected, "{capability}");
        }
    }

    #[test]
    fn a_capability_without_a_name_of_ours_has_the_specification_s() {
        let cases = [(4431, "SPIR-V's SubgroupVoteKHR"), (99999, "SPIR-V's capability 99999")];
        for (number, name) in cases {
            assert_eq!(capabilities(&[number], &[]).iter().map(ToString::to_string).collect::<Vec<_>>(), [name]);
        }
        assert_eq!(capabilities(&[1, 0, 50], &[]), []); // Every device has them, or no kernel of ours is given them.
    }

    #[test]
    fn the_refusal_names_kernel_capability_and_device() {
        let device = machine("swiftshader_5.0.0");
        let cases = [
            (Capability::Float64, "needs f64, which SwiftShader Device (Subzero) does not have"),
            (
                Capability::CooperativeMatrix,
                "needs cooperative matrices, which SwiftShader Device (Subzero) does not have",
            ),
            (FLOAT_ADD, "needs f32 atomic add, which SwiftShader Device (Subzero) does not have"),
            (Capability::Other(4423), "needs SPIR-V's SubgroupBallotKHR, which vkarray supports on no device"),
            (Capability::Clock, "needs shader clocks, which SwiftShader Device (Subzero) does not have"),
        ];
        for (capability, message) in cases {
            assert_eq!(checked(capability, &device).unwrap_err().to_string(), format!("kernel `k` {message}"));
        }
    }

    /// Features that few drivers list, as plain data.
    #[test]
    fn each_feature_serves_its_capability() {
        use Capability as C;
        type Case = (C, fn(&mut Features));
        let cases: [Case; 11] = [
            (C::BFloat16, |f| f.bfloat16 = true),
            (C::BFloat16DotProduct, |f| (f.bfloat16, f.bfloat16_dot_product) = (true, true)),
            (C::BFloat16Matrix, |f| (f.bfloat16, f.bfloat16_cooperative_matrix) = (true, true)),
            (C::SubgroupRotate, |f| (f.subgroup_rotate, f.subgroup_rotate_clustered) = (true, true)),
            (C::Clock, |f| (f.subgroup_clock, f.device_clock) = (true, true)),
            (C::SharedLayout, |f| f.shared_layout = true),
            (C::SharedLayout8, |f| f.shared_layout_8bit = true),
            (C::SharedLayout16, |f| f.shared_layout_16bit = true),
            (C::StorageArrays, |f| f.storage_arrays_dynamic = true),
            (C::StorageArraysNonUniform, |f| f.storage_arrays_non_uniform = true),
            (C::UniformArrays, |f| f.uniform_arrays_dynamic = true),
        ];
        for (capability, set) in cases {
            let mut device = machine("h100_580.159");
            let error = checked(capability, &device).unwrap_err().to_string();
            assert!(error.ends_with("which NVIDIA H100 80GB HBM3 does not have"), "{error}");
            set(&mut device.features);
            checked(capability, &device).unwrap();
        }
    }

    /// The device may have been opened without a feature that it has.
    #[test]
    fn a_feature_that_is_not_enabled_is_missing() {
        let device = machine("h100_580.159");
        let enabled = Features { shader_float64: false, ..device.features };
        check_capabilities(&needs(Capability::Float64), &device, &device.features).unwrap();
        let error = check_capabilities(&needs(Capability::Float64), &device, &enabled).unwrap_err();
        let message = "kernel `k` needs f64, which NVIDIA H100 80GB HBM3 has, but was opened without";
        assert_eq!(error.to_string(), message);
        check_capabilities(&needs(Capability::Int64), &device, &enabled).unwrap();
    }

    #[test]
    fn ranges_are_as_long_as_the_driver_supports() {
        // NVIDIA's says 4 GiB.
        for (name, longest) in [("h100_580.159", (1 << 31) - 256), ("lavapipe_22.3.6", 1 << 27)] {
            assert_eq!(limits_of(&machine(name)).max_storage_buffer_range, longest, "{name}");
        }
        // A header, and one instruction: `OpNop`, `OpArrayLength`, one that says it is longer than the module.
        for (instruction, longest) in
            [(1 << 16, u64::from(u32::MAX)), (1 << 16 | 68, (1 << 31) - 256), (9 << 16, (1 << 31) - 256)]
        {
            let limits = limits_of_kernel(&machine("h100_580.159"), &[0, 0, 0, 0, 0, instruction]);
            assert_eq!(limits.max_storage_buffer_range, longest, "{instruction:#x}");
        }
    }
}
