//! [`DeviceLimits`], the limits of a device. One table says where each limit is read, and how a profile makes it stricter.
//!
//! `query.rs` reads the structures from a driver; `limit_profile.rs` has the profiles.

use std::cmp::{max, min};

use serde::{Deserialize, Serialize};

use super::query::QueriedStructs;

/// Of two limits of the axes, the smaller one of each axis.
fn each_min(a: [u32; 3], b: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| a[axis].min(b[axis]))
}

/// The limit of the device itself, which no profile changes.
fn own<T>(device: T, _: T) -> T {
    device
}

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $structure:ident.$field:ident, $stricter:ident $open:expr;)*) => {
        /// The limits of a device that the runtime reads. Sizes are in bytes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct DeviceLimits {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl DeviceLimits {
            /// No limit at all. A profile starts from it, and what the profile does not name stays open.
            pub(super) const OPEN: Self = Self { $($name: $open,)* };

            /// The limits in the structures that a driver has filled.
            pub(super) fn read(from: &QueriedStructs) -> Self {
                Self { $($name: from.$structure.$field,)* }
            }

            /// For each limit, the stricter value of this one and the one of `other`.
            pub(super) fn stricter(&self, other: &Self) -> Self {
                Self { $($name: $stricter(self.$name, other.$name),)* }
            }
        }
    };
}

// A limit's name and type, the structure and field with it, which of two values is the stricter one, and the value that
// limits nothing.
limits! {
    /// The most workgroups in one dispatch, for each axis.
    max_compute_work_group_count: [u32; 3] = limits.max_compute_work_group_count, each_min [u32::MAX; 3];
    /// The most invocations in one workgroup, for each axis.
    max_compute_work_group_size: [u32; 3] = limits.max_compute_work_group_size, each_min [u32::MAX; 3];
    /// The most invocations in one workgroup, over all axes.
    max_compute_work_group_invocations: u32 = limits.max_compute_work_group_invocations, min u32::MAX;
    /// The most workgroup (shared) memory of one workgroup.
    max_compute_shared_memory_size: u32 = limits.max_compute_shared_memory_size, min u32::MAX;
    /// The most bytes of push constants.
    max_push_constants_size: u32 = limits.max_push_constants_size, min u32::MAX;
    /// The most bytes that one storage-buffer binding can reach.
    max_storage_buffer_range: u32 = limits.max_storage_buffer_range, min u32::MAX;
    /// The most bytes that one uniform-buffer binding can reach.
    max_uniform_buffer_range: u32 = limits.max_uniform_buffer_range, min u32::MAX;
    /// The most descriptor sets (WGSL: groups) that one kernel can bind.
    max_bound_descriptor_sets: u32 = limits.max_bound_descriptor_sets, min u32::MAX;
    /// The most storage buffers that one shader stage can bind.
    max_per_stage_descriptor_storage_buffers: u32 = limits.max_per_stage_descriptor_storage_buffers, min u32::MAX;
    /// The most uniform buffers that one shader stage can bind.
    max_per_stage_descriptor_uniform_buffers: u32 = limits.max_per_stage_descriptor_uniform_buffers, min u32::MAX;
    /// The most descriptors that one push-descriptor set can hold; 0 without the extension.
    max_push_descriptors: u32 = push_descriptor.max_push_descriptors, min u32::MAX;
    /// A storage-buffer binding starts at a multiple of this.
    min_storage_buffer_offset_alignment: u64 = limits.min_storage_buffer_offset_alignment, max 1;
    /// A uniform-buffer binding starts at a multiple of this.
    min_uniform_buffer_offset_alignment: u64 = limits.min_uniform_buffer_offset_alignment, max 1;
    /// Flushes and invalidations of non-coherent memory are multiples of this.
    non_coherent_atom_size: u64 = limits.non_coherent_atom_size, max 1;
    /// The largest single allocation the driver promises.
    max_memory_allocation_size: u64 = maintenance3.max_memory_allocation_size, min u64::MAX;
    /// The most allocations that may exist at once.
    max_memory_allocation_count: u32 = limits.max_memory_allocation_count, min u32::MAX;
    /// The largest size of a buffer.
    max_buffer_size: u64 = maintenance4.max_buffer_size, min u64::MAX;
    /// Imported host memory starts and ends at multiples of this; 0 without the extension.
    min_imported_host_pointer_alignment: u64 = host_memory.min_imported_host_pointer_alignment, own 0;
    /// The size of a storage-buffer range is rounded up to a multiple of this before `robustBufferAccess2` compares
    /// accesses with it; 0 without the feature.
    robust_storage_buffer_access_size_alignment: u64 = bounds.robust_storage_buffer_access_size_alignment, own 0;
    /// The length of a timestamp tick in nanoseconds; 0 where there are no timestamps.
    timestamp_period_ns: f32 = limits.timestamp_period, own 0.0;
}
