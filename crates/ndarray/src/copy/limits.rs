//! [`CopyLimits`]: the properties of a device that the plan of a copy depends on.
//!
//! These are the device's limits, and the sizes from which a kernel is faster than the driver's own copy. They are read
//! from the device's description once for each context.

use vkarray_driver::{DeviceInfo, DeviceType};
use vkarray_kernel::limits_of;

use super::strided::{MAX_UNIT, largest_unit};

/// From this many bytes on, a GPU copies contiguous bytes with a kernel. `vkCmdCopyBuffer` reaches 851 GB/s on an H100
/// (driver 580) and a kernel three times that; between offsets that are no multiples of four bytes it reaches 27 GB/s
/// (2026-11-27). For fewer bytes, both cost as much as a dispatch.
const KERNEL_BYTES: u64 = 256 << 10;

/// The properties of a device that plans of copies depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyLimits {
    /// The most bytes that a copying kernel can bind as one buffer; a multiple of [`MAX_UNIT`].
    pub(crate) max_range: u64,
    /// Alignment of the start of a bound range in bytes; at least [`MAX_UNIT`].
    pub(crate) alignment: u64,
    /// Invocations in a workgroup; a power of two.
    pub(crate) group: u32,
    /// The most workgroups on the first two axes of a dispatch.
    pub(crate) max_groups: [u32; 2],
    /// Bytes of workgroup memory.
    pub(crate) shared_bytes: u32,
    /// From this many bytes on, a kernel copies contiguous bytes.
    pub(crate) kernel_bytes: u64,
    /// A copy of at most `.0` runs, each of at least `.1` bytes, is one `vkCmdCopyBuffer` of regions.
    pub(crate) regions: (u64, u64),
}

impl CopyLimits {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        let limits = limits_of(device);
        let invocations = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]).clamp(1, 256);
        let is_cpu = device.device_type == DeviceType::Cpu;
        Self {
            max_range: limits.max_storage_buffer_range / MAX_UNIT * MAX_UNIT,
            alignment: limits.min_storage_buffer_offset_alignment.max(MAX_UNIT),
            group: 1 << invocations.ilog2(),
            max_groups: [limits.max_workgroup_count[0].min(1 << 20), limits.max_workgroup_count[1]],
            shared_bytes: limits.max_shared_bytes,
            kernel_bytes: if is_cpu { u64::MAX } else { KERNEL_BYTES },
            // A CPU driver copies regions at memory speed; a GPU spends about a microsecond on each.
            regions: if is_cpu { (4096, 512) } else { (4, 1) },
        }
    }

    /// The bytes of the units in which a kernel could copy `size` bytes between two blocks, from and to these offsets. `None` if
    /// they are no whole words, or lie where a kernel cannot bind them.
    pub(crate) fn unit_of_run(&self, [source, target]: [u64; 2], size: u64) -> Option<u32> {
        let is_bound = source.is_multiple_of(self.alignment) && target.is_multiple_of(self.alignment);
        let unit = largest_unit([size].into_iter());
        (is_bound && size <= self.max_range && unit >= 4).then(|| u32::try_from(unit).expect("at most 16 bytes"))
    }

    /// Spreads workgroups over two axes: at least `n_groups` workgroups, which may be up to 2^31.
    pub(crate) fn spread(&self, n_groups: u64) -> [u32; 2] {
        let y = n_groups.div_ceil(u64::from(self.max_groups[0]));
        [n_groups.div_ceil(y), y].map(|n| u32::try_from(n).expect("an axis allows at least 65535 workgroups"))
    }
}
