//! Whether a device has the subgroups that a kernel was built for: [`check_subgroups`]. Pure.
//!
//! The size is chosen with the kernel's builder (`pipeline/builder.rs`). Which subgroup *operations* a kernel uses is read
//! from its code, and compared in `capabilities.rs`.

use vkarray_driver::{DeviceInfo, Features};
use vkarray_shader::{Signature, Subgroups};

use crate::error::{Error, Result};

/// Checks that the device, opened with these features, has the subgroups that the kernel was built for.
///
/// # Errors
///
/// [`Error::Capability`] where it has no such choice; [`Error::SubgroupSize`], [`Error::SubgroupCount`] or
/// [`Error::FullSubgroups`], each with what the kernel needs and what the device allows.
pub(crate) fn check_subgroups(signature: &Signature, device: &DeviceInfo, enabled: &Features) -> Result<()> {
    let (kernel, Subgroups { size, full }) = (|| signature.entry.clone(), signature.subgroups);
    let subgroup = &device.subgroup;
    let lacks = |capability: &str| {
        Err(Error::Capability { kernel: kernel(), capability: capability.to_owned(), device: device.name.clone() })
    };
    if full && !enabled.compute_full_subgroups {
        return lacks("full subgroups");
    }
    if let Some(size) = size {
        if !enabled.subgroup_size_control || !subgroup.required_in_compute {
            return lacks("a required subgroup size");
        }
        let (min, max) = (subgroup.min_size, subgroup.max_size);
        if !size.is_power_of_two() || size < min || size > max {
            return Err(Error::SubgroupSize { kernel: kernel(), size, min, max });
        }
        let invocations = signature.workgroup_size.map(u64::from).iter().product::<u64>();
        let limit = subgroup.max_in_workgroup;
        if invocations > u64::from(size) * u64::from(limit) {
            return Err(Error::SubgroupCount { kernel: kernel(), invocations, size, limit });
        }
    }
    let (x, size) = (signature.workgroup_size[0], size.unwrap_or(subgroup.max_size));
    if full && !x.is_multiple_of(size.max(1)) {
        return Err(Error::FullSubgroups { kernel: kernel(), size, x });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use vkarray_driver::Subgroup;

    use super::*;
    use crate::fits::capabilities::tests::machine;

    /// A device with subgroups of 8 to 32, at most 4 in a workgroup.
    fn device() -> DeviceInfo {
        let subgroup = Subgroup {
            min_size: 8,
            max_size: 32,
            required_in_compute: true,
            max_in_workgroup: 4,
            ..machine("lavapipe_22.3.6").subgroup
        };
        DeviceInfo { name: "a device".to_owned(), subgroup, ..machine("lavapipe_22.3.6") }
    }

    fn kernel(workgroup_size: [u32; 3], size: Option<u32>, full: bool) -> Signature {
        Signature { entry: "k".into(), workgroup_size, subgroups: Subgroups { size, full }, ..Signature::default() }
    }

    fn enabled(is_on: bool) -> Features {
        Features { subgroup_size_control: is_on, compute_full_subgroups: is_on, ..Features::default() }
    }

    #[test]
    fn supported_subgroups_are_accepted() {
        // Workgroup, size, whether full.
        let cases = [
            ([5, 7, 3], None, false), // Nothing is asked for.
            ([32, 1, 1], None, true), // The most that a subgroup has.
            ([8, 1, 1], Some(8), true),
            ([5, 1, 1], Some(8), false),
            ([32, 1, 1], Some(8), false), // Four of them.
            ([8, 4, 4], Some(32), false), // Likewise, over the axes.
            ([96, 1, 1], Some(32), true),
        ];
        for (workgroup, size, full) in cases {
            check_subgroups(&kernel(workgroup, size, full), &device(), &enabled(true)).unwrap();
        }
    }

    #[test]
    fn unsupported_subgroups_are_refused_with_both_sides() {
        let cases = [
            ([8, 1, 1], Some(4), false, "subgroups of 4, the device has powers of two from 8 to 32"),
            ([8, 1, 1], Some(64), false, "subgroups of 64, the device has powers of two from 8 to 32"),
            ([8, 1, 1], Some(0), false, "subgroups of 0, the device has powers of two from 8 to 32"),
            ([24, 1, 1], Some(24), false, "subgroups of 24, the device has powers of two from 8 to 32"),
            ([33, 1, 1], Some(8), false, "33 invocations in subgroups of 8, the device has 4 subgroups in a workgroup"),
            ([12, 2, 1], Some(8), true, "full subgroups of 8 need a workgroup whose x is a multiple, not 12"),
            ([16, 2, 1], None, true, "full subgroups of 32 need a workgroup whose x is a multiple, not 16"),
        ];
        for (workgroup, size, full, message) in cases {
            let error = check_subgroups(&kernel(workgroup, size, full), &device(), &enabled(true)).unwrap_err();
            assert_eq!(error.to_string(), format!("kernel `k`: {message}"));
        }
    }

    #[test]
    fn a_device_without_a_choice_of_subgroups_is_named() {
        let mut fixed = device();
        fixed.subgroup.required_in_compute = false;
        let (sized, full) = (kernel([32, 1, 1], Some(32), false), kernel([32, 1, 1], None, true));
        let cases = [
            (&sized, &device(), false, "a required subgroup size"),
            (&sized, &fixed, true, "a required subgroup size"),
            (&full, &device(), false, "full subgroups"),
        ];
        for (signature, device, is_on, what) in cases {
            let error = check_subgroups(signature, device, &enabled(is_on)).unwrap_err();
            assert_eq!(error.to_string(), format!("kernel `k` needs {what}, which a device does not have"));
        }
    }
}
