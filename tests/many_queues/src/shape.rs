//! The properties that the layer reports, computed by pure functions.
//!
//! The families are the families of a GPU: one for all work, one for kernels and copies, one for copies alone. Before
//! the driver's types of memory there is one more: a copy of the driver's first type that the host cannot see.

use ash::vk::{self, MemoryPropertyFlags, QueueFlags};

/// Capabilities and number of queues of each family.
const FAMILIES: [(QueueFlags, u32); 3] = [
    (
        QueueFlags::from_raw(
            QueueFlags::GRAPHICS.as_raw() | QueueFlags::COMPUTE.as_raw() | QueueFlags::TRANSFER.as_raw(),
        ),
        1,
    ),
    (QueueFlags::from_raw(QueueFlags::COMPUTE.as_raw() | QueueFlags::TRANSFER.as_raw()), 4),
    (QueueFlags::TRANSFER, 2),
];

/// The driver's family that stands for all families.
pub(crate) const REAL_FAMILY: u32 = 0;

/// The families to report, given the driver's families, of which the first does all work.
pub(crate) fn families(real: vk::QueueFamilyProperties) -> [vk::QueueFamilyProperties; FAMILIES.len()] {
    FAMILIES.map(|(queue_flags, queue_count)| vk::QueueFamilyProperties { queue_flags, queue_count, ..real })
}

/// The types to report. A full list is not changed.
pub(crate) fn memory_types(memory: &mut vk::PhysicalDeviceMemoryProperties) {
    let n_types = memory.memory_type_count as usize;
    if n_types == 0 || n_types == memory.memory_types.len() {
        return;
    }
    memory.memory_types.copy_within(0..n_types, 1);
    memory.memory_types[0].property_flags = MemoryPropertyFlags::DEVICE_LOCAL;
    memory.memory_type_count += 1;
}

/// The types that a buffer may have, given the driver's types.
pub(crate) fn buffer_types(real: u32) -> u32 {
    real << 1 | real & 1
}

/// The types that memory of the host may be imported as.
pub(crate) fn imported_types(real: u32) -> u32 {
    real << 1
}

/// The driver's index of a type.
pub(crate) fn real_type(reported: u32) -> u32 {
    reported.saturating_sub(1)
}

/// The environment variable with the largest number of workgroups on each axis, such as `7,5,300`.
pub const WORKGROUPS_VARIABLE: &str = "VKARRAY_MANY_QUEUES_WORKGROUPS";

/// Lets a dispatch have no more workgroups than the text says. A driver that allows more is not affected.
pub(crate) fn lower_workgroups(limits: &mut vk::PhysicalDeviceLimits, text: &str) {
    for (limit, lower) in limits.max_compute_work_group_count.iter_mut().zip(text.split(',')) {
        let lower: u32 = lower.parse().unwrap_or_else(|error| panic!("{WORKGROUPS_VARIABLE}={text}: {error}"));
        *limit = lower.min(*limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_lowered_and_never_raised() {
        let mut limits = vk::PhysicalDeviceLimits { max_compute_work_group_count: [100; 3], ..Default::default() };
        lower_workgroups(&mut limits, "7,200,5");
        assert_eq!(limits.max_compute_work_group_count, [7, 100, 5]);
    }

    #[test]
    fn the_driver_is_told_only_what_it_has() {
        let mut memory = vk::PhysicalDeviceMemoryProperties { memory_type_count: 2, ..Default::default() };
        let visible = MemoryPropertyFlags::DEVICE_LOCAL | MemoryPropertyFlags::HOST_VISIBLE;
        memory.memory_types[0] = vk::MemoryType { property_flags: visible, heap_index: 1 };
        memory.memory_types[1] = vk::MemoryType { property_flags: MemoryPropertyFlags::HOST_VISIBLE, heap_index: 0 };
        let real = memory;
        memory_types(&mut memory);
        assert_eq!(memory.memory_type_count, 3);
        for real_bits in 0..4_u32 {
            for reported in 0..memory.memory_type_count {
                let (type_, of) = (memory.memory_types[reported as usize], real_type(reported));
                assert_eq!(type_.heap_index, real.memory_types[of as usize].heap_index, "type {reported}");
                assert_eq!(buffer_types(real_bits) >> reported & 1, real_bits >> of & 1, "type {reported}");
                // The host must still see its own memory.
                let is_seen = type_.property_flags.contains(MemoryPropertyFlags::HOST_VISIBLE);
                let may_import = is_seen && real_bits >> of & 1 == 1;
                assert_eq!(imported_types(real_bits) >> reported & 1 == 1, may_import, "type {reported}");
            }
        }
        let mut full = vk::PhysicalDeviceMemoryProperties { memory_type_count: 32, ..Default::default() };
        memory_types(&mut full);
        assert_eq!(full.memory_type_count, 32);
    }
}
