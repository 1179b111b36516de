//! The crate `vkarray-generate`, whose expressions are of arrays here; [`DeviceLimits`]: what the plan of a kernel depends
//! on.

use std::ops::Range;

use vkarray_driver::DeviceInfo;
use vkarray_kernel::{ArrayShape, DType, limits_of};

use crate::array::ArrayLeaf;

pub use vkarray_generate::with_functions;
pub(crate) use vkarray_generate::{
    Axis, Combine, Field, Form, MAX_ROUNDS, MOST_INNER, MOST_ROUNDS, Names, Nest, NestOperand, PRODUCTS, Param,
    ParamOf, Params, ReduceForm, Reduction, Share, Team, bound_dtype, check_names, dtype_code, fault, fours, is_across,
    key_part, most_of_launch, second_team, value_type, with_lines, word,
};

pub(crate) type Program<'a> = vkarray_generate::Program<'a, ArrayLeaf>;

/// Bytes of shared memory that kernels leave to the checks of the sanitizer.
pub(crate) const SANITIZER_BYTES: u32 = 256;

/// The limits of a device, as generated kernels use them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeviceLimits {
    /// Most bytes of a bound range.
    pub(crate) max_range: u64,
    /// Alignment of the start of a bound range, in bytes. It is at least the size of four elements of any type.
    pub(crate) alignment: u64,
    /// Invocations in a workgroup; a power of two.
    pub(crate) group: u32,
    /// Most workgroups on the first axis of a dispatch.
    max_groups: u32,
    /// Most buffers of a kernel.
    pub(crate) max_buffers: usize,
    /// Most bytes of push constants.
    pub(crate) max_params: usize,
}

impl DeviceLimits {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        let limits = limits_of(device);
        let invocations = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]).clamp(1, 256);
        Self {
            max_range: limits.max_storage_buffer_range,
            alignment: limits.min_storage_buffer_offset_alignment.max(64),
            group: 1 << invocations.ilog2(),
            max_groups: limits.max_workgroup_count[0].min(1 << 20),
            max_buffers: limits.max_storage_buffers as usize,
            max_params: limits.max_push_constant_bytes as usize,
        }
    }

    /// The range of memory that a kernel binds for an operand of a nest, and the place of the operand's first element in it.
    pub(crate) fn bound(&self, nest: &Nest, operand: usize, dtype: DType) -> (ArrayShape<'static>, u64) {
        let (NestOperand { itemsize, offset }, [first, end]) = (nest.operands[operand], nest.span(operand));
        let Range { start, end } = self.aligned(first * itemsize..end * itemsize);
        let shape = ArrayShape { offset: start, ..ArrayShape::new(bound_dtype(dtype), &[], end - start) };
        (shape, offset - start / itemsize)
    }

    /// The range of memory that a kernel binds to use these bytes.
    pub(crate) fn aligned(&self, bytes: Range<u64>) -> Range<u64> {
        bytes.start / self.alignment * self.alignment..bytes.end.next_multiple_of(4)
    }

    /// At least `n_groups` workgroups, on two axes.
    pub(crate) fn spread(&self, n_groups: u64) -> [u32; 3] {
        let y = n_groups.div_ceil(u64::from(self.max_groups)).max(1);
        let to_u32 = |n: u64| u32::try_from(n).expect("an axis allows at least 65535 workgroups");
        [to_u32(n_groups.div_ceil(y)), to_u32(y), 1]
    }
}

/// A device that was recorded in `tests/snapshots/`.
#[cfg(test)]
pub(crate) fn machine(name: &str) -> DeviceInfo {
    let path = format!("{}/../../tests/snapshots/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
