//! The types of memory that the layer reports, computed by pure functions.
//!
//! The driver's host-visible types are reported as non-coherent. After the driver's types there is one more: a copy of its
//! first coherent type that is not cached.

use ash::vk::{self, MemoryPropertyFlags};

/// The size of an atom for flushes and invalidations: the largest that Vulkan allows.
pub(crate) const ATOM: u64 = 256;

/// The types to report, and the driver's indices of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Types {
    n_real: u32,
    coherent: u32,
}

impl Types {
    /// The types for a device with the driver's types; `None` if there is no room for one more, or no type to copy.
    pub(crate) fn of(memory: &vk::PhysicalDeviceMemoryProperties) -> Option<Self> {
        let n_real = memory.memory_type_count;
        let coherent = MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_COHERENT;
        let types = memory.memory_types_as_slice();
        let first = (0..n_real).zip(types).find(|(_, real)| real.property_flags.contains(coherent));
        first.filter(|_| (n_real as usize) < memory.memory_types.len()).map(|(coherent, _)| Self { n_real, coherent })
    }

    /// Changes the driver's list to the one to report.
    pub(crate) fn report(self, memory: &mut vk::PhysicalDeviceMemoryProperties) {
        let mut coherent = memory.memory_types[self.coherent as usize];
        coherent.property_flags &= !MemoryPropertyFlags::HOST_CACHED;
        for real in &mut memory.memory_types[..self.n_real as usize] {
            real.property_flags &= !MemoryPropertyFlags::HOST_COHERENT;
        }
        memory.memory_types[self.n_real as usize] = coherent;
        memory.memory_type_count += 1;
    }

    /// The types that a resource may have, given the driver's types, a bit for each.
    pub(crate) fn allowed(self, real: u32) -> u32 {
        real | (real >> self.coherent & 1) << self.n_real
    }

    /// The driver's index of a type.
    pub(crate) fn real(self, reported: u32) -> u32 {
        if self.is_coherent(reported) { self.coherent } else { reported }
    }

    pub(crate) fn is_coherent(self, reported: u32) -> bool {
        reported == self.n_real
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_type_is_coherent_and_the_driver_is_told_what_it_has() {
        let mut memory = vk::PhysicalDeviceMemoryProperties { memory_type_count: 2, ..Default::default() };
        let visible = MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_COHERENT;
        memory.memory_types[0] = vk::MemoryType { property_flags: MemoryPropertyFlags::DEVICE_LOCAL, heap_index: 1 };
        memory.memory_types[1] =
            vk::MemoryType { property_flags: visible | MemoryPropertyFlags::HOST_CACHED, heap_index: 0 };
        let types = Types::of(&memory).unwrap();
        types.report(&mut memory);
        let flags: Vec<_> = memory.memory_types_as_slice().iter().map(|reported| reported.property_flags).collect();
        let cached = MemoryPropertyFlags::HOST_VISIBLE | MemoryPropertyFlags::HOST_CACHED;
        assert_eq!(flags, [MemoryPropertyFlags::DEVICE_LOCAL, cached, visible]);
        assert_eq!(memory.memory_types[2].heap_index, 0);
        assert_eq!([0, 1, 2].map(|reported| types.real(reported)), [0, 1, 1]);
        assert_eq!([0b01, 0b10, 0b11].map(|real| types.allowed(real)), [0b001, 0b110, 0b111]);
    }

    #[test]
    fn a_full_list_is_left_alone() {
        let full = vk::PhysicalDeviceMemoryProperties { memory_type_count: 32, ..Default::default() };
        assert!(Types::of(&full).is_none());
    }
}
