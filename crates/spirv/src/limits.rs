//! The limits of a device ([`Limits`]), and whether a kernel's workgroup and buffers fit ([`check_workgroup`],
//! [`check_bindings`]).
//!
//! The kernel crate fills them from a device's snapshot, and compares the number of workgroups and the arguments of a call
//! with them.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::signature::{ParamKind, Signature, times};

/// The axes' names, as WGSL spells them.
pub const AXES: [char; 3] = ['x', 'y', 'z'];

/// The device's limits that decide whether a kernel can be built and launched. Sizes are in bytes.
///
/// ```
/// use vkarray_spirv::Limits;
///
/// let limits = Limits { max_shared_bytes: 48 << 10, ..Limits::MINIMUM };
/// assert_eq!(limits.max_workgroup_size, [128, 128, 64]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest binding of a storage buffer: `maxStorageBufferRange`, or less where the driver is known to read less.
    pub max_storage_buffer_range: u64,
    /// Longest binding of constant memory (`maxUniformBufferRange`).
    pub max_uniform_buffer_range: u64,
    /// Offsets of storage bindings are multiples of this (`minStorageBufferOffsetAlignment`).
    pub min_storage_buffer_offset_alignment: u64,
    /// Offsets of constant memory are multiples of this (`minUniformBufferOffsetAlignment`).
    pub min_uniform_buffer_offset_alignment: u64,
    /// Invocations of a workgroup, by axis (`maxComputeWorkGroupSize`).
    pub max_workgroup_size: [u32; 3],
    /// Invocations of a workgroup in all (`maxComputeWorkGroupInvocations`).
    pub max_workgroup_invocations: u32,
    /// Workgroups of a dispatch, by axis (`maxComputeWorkGroupCount`).
    pub max_workgroup_count: [u32; 3],
    /// Shared memory of a workgroup (`maxComputeSharedMemorySize`).
    pub max_shared_bytes: u32,
    /// Push constants of a kernel (`maxPushConstantsSize`).
    pub max_push_constant_bytes: u32,
    /// Groups of bindings of a kernel (`maxBoundDescriptorSets`).
    pub max_groups: u32,
    /// Storage buffers of a kernel (`maxPerStageDescriptorStorageBuffers`).
    pub max_storage_buffers: u32,
    /// Buffers of constant memory of a kernel (`maxPerStageDescriptorUniformBuffers`).
    pub max_uniform_buffers: u32,
}

impl Limits {
    /// The longest binding of that kind. Bytes.
    pub const fn max_range(&self, kind: ParamKind) -> u64 {
        match kind {
            ParamKind::Storage => self.max_storage_buffer_range,
            ParamKind::Uniform => self.max_uniform_buffer_range,
            // What the device makes of these is asked when they are made.
            ParamKind::Texels | ParamKind::Image | ParamKind::Sampler | ParamKind::Address => u64::MAX,
        }
    }

    /// The number that offsets of bindings of that kind are multiples of. Bytes.
    pub const fn offset_alignment(&self, kind: ParamKind) -> u64 {
        let alignment = match kind {
            ParamKind::Storage => self.min_storage_buffer_offset_alignment,
            ParamKind::Uniform => self.min_uniform_buffer_offset_alignment,
            ParamKind::Texels => 256, // No device asks for more (`minTexelBufferOffsetAlignment`).
            ParamKind::Image | ParamKind::Sampler | ParamKind::Address => 1,
        };
        if alignment == 0 { 1 } else { alignment }
    }

    /// What every Vulkan 1.1 device allows.
    pub const MINIMUM: Self = Self {
        max_storage_buffer_range: 1 << 27,
        max_uniform_buffer_range: 16384,
        min_storage_buffer_offset_alignment: 256,
        min_uniform_buffer_offset_alignment: 256,
        max_workgroup_size: [128, 128, 64],
        max_workgroup_invocations: 128,
        max_workgroup_count: [65535; 3],
        max_shared_bytes: 16384,
        max_push_constant_bytes: 128,
        max_groups: 4,
        max_storage_buffers: 4,
        max_uniform_buffers: 12,
    };
}

/// Checks that the device can run a workgroup of the kernel.
///
/// # Errors
///
/// [`Error::WorkgroupSize`], [`Error::WorkgroupInvocations`], [`Error::SharedMemory`] or [`Error::PushConstants`], each
/// with what the kernel needs and what the device allows.
///
/// ```
/// use vkarray_spirv::{Limits, Signature, check_workgroup};
///
/// let wide = Signature { entry: "wide".to_owned(), workgroup_size: [129, 1, 1], ..Signature::default() };
/// let error = check_workgroup(&wide, &Limits::MINIMUM).unwrap_err();
/// assert_eq!(error.to_string(), "kernel `wide`: workgroup size 129 on axis x, the device allows 128");
/// ```
pub fn check_workgroup(signature: &Signature, limits: &Limits) -> Result<()> {
    let kernel = || signature.entry.clone();
    for ((axis, size), limit) in AXES.into_iter().zip(signature.workgroup_size).zip(limits.max_workgroup_size) {
        if size > limit {
            return Err(Error::WorkgroupSize { kernel: kernel(), axis, size, limit });
        }
    }
    let invocations = signature.workgroup_size.map(u128::from).iter().product::<u128>();
    if invocations > u128::from(limits.max_workgroup_invocations) {
        let (size, limit) = (times(signature.workgroup_size), limits.max_workgroup_invocations);
        return Err(Error::WorkgroupInvocations { kernel: kernel(), size, invocations, limit });
    }
    if signature.shared_bytes > u64::from(limits.max_shared_bytes) {
        let variables = signature.shared.iter().map(|variable| variable.name.as_str()).collect();
        let (bytes, limit) = (signature.shared_bytes, limits.max_shared_bytes);
        return Err(Error::SharedMemory { kernel: kernel(), bytes, limit, variables });
    }
    let bytes = signature.push_constants.as_ref().map_or(0, |push| push.bytes);
    if bytes > limits.max_push_constant_bytes {
        return Err(Error::PushConstants { kernel: kernel(), bytes, limit: limits.max_push_constant_bytes });
    }
    Ok(())
}

/// Checks that the device can bind the kernel's buffers.
///
/// # Errors
///
/// [`Error::GroupIndex`], [`Error::ConstantMemory`] or [`Error::BufferCount`], with what the kernel needs and what the
/// device allows.
///
/// ```
/// use vkarray_spirv::{DType, ElementType, Limits, Param, ParamKind, Signature, check_bindings};
///
/// let x = Param::of_type(ParamKind::Storage, ElementType::Scalar(DType::F32));
/// let params = vec![Param { name: "x".to_owned(), group: 9, ..x }];
/// let far = Signature { entry: "far".to_owned(), params, ..Signature::default() };
/// let error = check_bindings(&far, &Limits::MINIMUM).unwrap_err();
/// assert_eq!(error.to_string(), "kernel `far`: `x` is in group 9, the device binds 4 groups, counted from 0");
/// ```
pub fn check_bindings(signature: &Signature, limits: &Limits) -> Result<()> {
    let kernel = || signature.entry.clone();
    if let Some(far) = signature.bound().iter().find(|param| param.group >= limits.max_groups) {
        let (param, group, limit) = (far.name.clone(), far.group, limits.max_groups);
        return Err(Error::GroupIndex { kernel: kernel(), param, group, limit });
    }
    let is_too_long =
        |param: &&crate::Param| param.kind == ParamKind::Uniform && param.fixed_bytes > limits.max_uniform_buffer_range;
    if let Some(long) = signature.params.iter().find(is_too_long) {
        let (param, bytes, limit) = (long.name.clone(), long.fixed_bytes, limits.max_uniform_buffer_range);
        return Err(Error::ConstantMemory { kernel: kernel(), param, bytes, limit });
    }
    let kinds = [
        (ParamKind::Storage, "storage buffers", limits.max_storage_buffers),
        (ParamKind::Uniform, "buffers of constant memory", limits.max_uniform_buffers),
    ];
    for (kind, what, limit) in kinds {
        let of_kind = signature.params.iter().filter(|param| param.kind == kind);
        let count = of_kind.map(|param| param.bindings.count() as usize).fold(0, usize::saturating_add);
        if count > limit as usize {
            return Err(Error::BufferCount { kernel: kernel(), count, what, limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::{PushConstants, SharedVar};

    fn kernel(workgroup_size: [u32; 3], shared_bytes: u64, push_bytes: u32) -> Signature {
        let shared = vec![SharedVar { name: "tile".into(), bytes: shared_bytes }];
        let push_constants =
            Some(PushConstants { name: String::new(), ty: String::new(), bytes: push_bytes, members: Vec::new() });
        Signature { entry: "k".into(), workgroup_size, shared, shared_bytes, push_constants, ..Signature::default() }
    }

    #[test]
    fn a_workgroup_at_the_limit_fits() {
        for size in [[128, 1, 1], [1, 128, 1], [2, 1, 64], [8, 4, 4]] {
            check_workgroup(&kernel(size, 16384, 128), &Limits::MINIMUM).unwrap();
        }
    }

    #[test]
    fn one_more_does_not() {
        let cases = [
            (kernel([129, 1, 1], 0, 0), "kernel `k`: workgroup size 129 on axis x, the device allows 128"),
            (kernel([1, 129, 1], 0, 0), "kernel `k`: workgroup size 129 on axis y, the device allows 128"),
            (kernel([1, 1, 65], 0, 0), "kernel `k`: workgroup size 65 on axis z, the device allows 64"),
            (kernel([16, 16, 1], 0, 0), "kernel `k`: workgroup of 16×16×1 is 256 invocations, the device allows 128"),
            (kernel([1, 1, 1], 16385, 0), "kernel `k`: 16385 bytes of shared memory (`tile`), the device has 16384"),
            (kernel([1, 1, 1], 0, 132), "kernel `k`: 132 bytes of push constants, at most 128 are possible"),
        ];
        for (signature, message) in cases {
            assert_eq!(check_workgroup(&signature, &Limits::MINIMUM).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_product_beyond_any_integer_is_still_an_error() {
        let limits = Limits { max_workgroup_size: [u32::MAX; 3], ..Limits::MINIMUM };
        let error = check_workgroup(&kernel([u32::MAX; 3], 0, 0), &limits).unwrap_err();
        assert!(
            matches!(error, Error::WorkgroupInvocations { invocations, .. } if invocations == u128::from(u32::MAX).pow(3))
        );
    }
}
