//! What a device does by itself, so that a kernel need not do it in code: bounds of buffers, zeroed shared memory. Pure.
//!
//! `robustBufferAccess2` bounds each access to a buffer by the range that is bound. Where that is exact to the byte it is
//! as safe as code that compares every index, and on NVIDIA's GPUs it costs nothing, where comparing costs up to 38 %:
//! `docs/decisions/016` has the figures. Plain `robustBufferAccess` may let an access reach elsewhere in the buffer, of
//! which our arrays are parts, so it does not count.

use vkarray_driver::{DeviceInfo, Features};
use vkarray_shader::Sanitize;

use super::capabilities::{GOOGLE, NVIDIA};
use super::limits_of;

/// Whether checked kernels leave the bounds of buffers to the device. `enabled` is what it was opened with.
///
/// Only where that was measured to be faster: on lavapipe both take the same time.
pub(crate) fn should_bound_buffers(device: &DeviceInfo, enabled: &Features) -> bool {
    bounds_buffers_exactly(device, enabled) && device.vendor_id == NVIDIA
}

/// Whether the device bounds buffers to the byte.
pub(crate) fn bounds_buffers_exactly(device: &DeviceInfo, enabled: &Features) -> bool {
    enabled.robust_buffer_access_2 && device.limits.robust_storage_buffer_access_size_alignment == 1
}

/// Whether shared memory with a null initialiser is left to the driver to zero. SwiftShader has the feature with a defect:
/// 64 invocations that each add 1 to a variable with such an initialiser do not reach 64 (5.0.0, 2026-11-22).
pub(crate) fn should_zero_shared_memory(device: &DeviceInfo, enabled: &Features) -> bool {
    enabled.zero_initialize_workgroup_memory && device.vendor_id != GOOGLE
}

/// The sanitizer's checks for a device.
pub(crate) fn sanitize(device: &DeviceInfo) -> Sanitize {
    // Mesa's CPU driver ends all loops of an invocation after 65,535 rounds, and the kernel goes on with what it has.
    const LLVMPIPE: i32 = 13;
    let max_rounds = if device.driver.id == LLVMPIPE { 65_000 } else { Sanitize::MAX_ROUNDS };
    Sanitize { max_shared_bytes: limits_of(device).max_shared_bytes, max_rounds }
}

#[cfg(test)]
mod tests {
    use super::super::capabilities::tests::machine;
    use super::*;

    #[test]
    fn loops_are_reported_before_a_driver_ends_them() {
        let cases = [("h100_580.159", Sanitize::MAX_ROUNDS), ("lavapipe_22.3.6", 65_000)];
        for (name, expected) in cases {
            assert_eq!(sanitize(&machine(name)).max_rounds, expected, "{name}");
        }
    }

    #[test]
    fn the_device_bounds_buffers_where_it_is_exact_and_faster() {
        let cases = [("h100_580.159", true), ("lavapipe_22.3.6", false), ("swiftshader_5.0.0", false)];
        for (name, expected) in cases {
            let device = machine(name);
            assert_eq!(should_bound_buffers(&device, &device.features), expected, "{name}");
            assert!(!should_bound_buffers(&device, &Features::default()), "{name}: not enabled");
        }
        let mut coarse = machine("h100_580.159");
        coarse.limits.robust_storage_buffer_access_size_alignment = 4; // Half of a word is another element.
        assert!(!should_bound_buffers(&coarse, &coarse.features));
    }

    #[test]
    fn the_driver_zeroes_where_it_is_correct() {
        let cases = [("h100_580.159", true), ("lavapipe_22.3.6", true), ("swiftshader_5.0.0", false)];
        for (name, expected) in cases {
            let device = machine(name);
            assert_eq!(should_zero_shared_memory(&device, &device.features), expected, "{name}");
            assert!(!should_zero_shared_memory(&device, &Features::default()), "{name}: not enabled");
        }
    }
}
