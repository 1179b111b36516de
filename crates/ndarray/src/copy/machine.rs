//! [`Machine`]: what a copy's plan needs to know of a device.
//!
//! Limits, and when a kernel beats the driver's own copy. Pure; taken from the device's snapshot once a context.

use vkarray_driver::{DeviceInfo, DeviceType};
use vkarray_kernel::Limits;

use super::walk::MAX_UNIT;

/// From this many bytes on, what is packed on both sides is copied by a kernel on a GPU. `vkCmdCopyBuffer` reaches 851 GB/s on an
/// H100 (driver 580), a kernel three times that; below, both cost what a dispatch costs.
const KERNEL_BYTES: u64 = 256 << 10;

/// From this many bytes on, a row between host and device is a region of the driver's copy: the copy engines then carry
/// it beside other work, and the microsecond that a region costs is little. Shorter rows are a kernel's.
const BUS_ROW: u64 = 64 << 10;

/// A device, as far as copies look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    /// Longest range that a copying kernel binds, a multiple of [`MAX_UNIT`].
    pub(crate) max_range: u64,
    /// What the start of a bound range is a multiple of, at least [`MAX_UNIT`].
    pub(crate) alignment: u64,
    /// Invocations of a workgroup, a power of two.
    pub(crate) group: u32,
    /// Workgroups on the first two axes of a dispatch.
    pub(crate) max_groups: [u32; 2],
    /// Bytes of workgroup memory.
    pub(crate) shared_bytes: u32,
    /// From this many bytes on, one run is copied by a kernel.
    pub(crate) kernel_bytes: u64,
    /// At most so many runs, of so many bytes at least, are copied as regions.
    pub(crate) regions: (u64, u64),
}

impl Machine {
    pub(crate) fn new(device: &DeviceInfo) -> Self {
        let limits = Limits::from(device);
        let invocations = limits.max_workgroup_invocations.min(limits.max_workgroup_size[0]).clamp(1, 256);
        let is_cpu = device.device_type == DeviceType::Cpu;
        Self {
            max_range: limits.max_storage_buffer_range / MAX_UNIT * MAX_UNIT,
            alignment: limits.min_storage_buffer_offset_alignment.max(MAX_UNIT),
            group: 1 << invocations.ilog2(),
            max_groups: [limits.max_workgroup_count[0].min(1 << 20), limits.max_workgroup_count[1]],
            shared_bytes: limits.max_shared_bytes,
            kernel_bytes: if is_cpu { u64::MAX } else { KERNEL_BYTES },
            // A CPU driver copies a region as fast as memory goes; a GPU spends about a microsecond on each.
            regions: if is_cpu { (4096, 512) } else { (4, 1) },
        }
    }

    /// The same device, for a copy between host and device memory: the bus is slower than the driver's copy.
    pub(crate) fn over_the_bus(&self) -> Self {
        let (most, least_bytes) = self.regions;
        Self { kernel_bytes: u64::MAX, regions: (most.max(4096), least_bytes.max(BUS_ROW)), ..*self }
    }

    /// So many workgroups, or a few more, on two axes: at most 2^31.
    pub(crate) fn spread(&self, n_groups: u64) -> [u32; 2] {
        let y = n_groups.div_ceil(u64::from(self.max_groups[0]));
        [n_groups.div_ceil(y), y].map(|n| u32::try_from(n).expect("an axis allows at least 65535 workgroups"))
    }
}
