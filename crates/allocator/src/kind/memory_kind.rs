//! Kinds of memory, and which of a device's memory types serves each. Pure.
//!
//! A kind is the purpose of memory; a memory type is what one driver offers. The choice is a function of the device's
//! snapshot, and is tested on recorded snapshots of real devices.

use std::cmp::Reverse;

use vkarray_driver::{DeviceInfo, MemoryType};

/// What a block of memory is for.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::new(&device)?;
/// for kind in [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::WriteCombined] {
///     let block = allocator.allocate(256, kind)?; // Every device has these three.
///     assert!(block.is_mapped() || !kind.is_host_visible());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// The device's own memory, for arrays. The host may or may not address it.
    Device,
    /// Host memory that the device copies to and from. Cached, so that the host reads it fast.
    Pinned,
    /// Host memory for uploads: the host writes it in order and never reads it.
    WriteCombined,
    /// Device memory that the host addresses too. Some devices have none.
    Shared,
}

impl MemoryKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Device, Self::Pinned, Self::WriteCombined, Self::Shared];

    /// The index of the kind in [`MemoryKind::ALL`], for tables by kind.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Whether the host can address memory of this kind on every device.
    pub fn is_host_visible(self) -> bool {
        !matches!(self, Self::Device)
    }

    /// Whether memory of this kind lies on the host's side of the bus.
    pub fn is_in_host_memory(self) -> bool {
        matches!(self, Self::Pinned | Self::WriteCombined)
    }

    /// Chooses the memory type for this kind among the types that `allowed` (a bit for each type) admits.
    ///
    /// Returns `None` if the device has no such memory; only [`MemoryKind::Shared`] may be missing. For memory that the host
    /// reads, cached types are preferred to coherent ones: uncached memory is read a hundred times slower.
    pub fn memory_type(self, device: &DeviceInfo, allowed: u32) -> Option<u32> {
        (0..)
            .zip(&device.memory_types)
            .filter(|&(idx, kind)| idx < 32 && allowed & (1 << idx) != 0 && self.admits(*kind))
            // The first of the best types, since drivers list types in their order of preference.
            .min_by_key(|&(idx, kind)| (Reverse(self.score(*kind, device)), idx))
            .map(|(idx, _)| idx)
    }

    /// The memory types that serve as well as one that is used up, among those that `allowed` admits: types of the same heap,
    /// where the host need not address memory of this kind.
    pub(crate) fn instead_of(self, used_up: u32, device: &DeviceInfo, allowed: u32) -> u32 {
        let heap = device.memory_types[used_up as usize].heap;
        let others = allowed & !(1 << used_up) & memory_types(device, |other| other.heap == heap && !other.special);
        if self.is_host_visible() { 0 } else { others }
    }

    /// Whether memory of this kind is scarce: its heap is device memory that the host addresses (a BAR window, mostly
    /// 256 MiB), and the device has a larger heap besides. Drivers and other programs use part of the window.
    pub fn is_scarce(self, device: &DeviceInfo) -> bool {
        let Some(chosen) = self.chosen(device) else { return false };
        let size = |heap: u32| device.memory_heaps.get(heap as usize).map_or(0, |heap| heap.size);
        let is_larger =
            |other: &MemoryType| other.device_local && !other.special && size(other.heap) > size(chosen.heap);
        chosen.device_local && chosen.host_visible && device.memory_types.iter().any(is_larger)
    }

    /// The memory type of this kind where all types are admitted.
    pub(crate) fn chosen(self, device: &DeviceInfo) -> Option<MemoryType> {
        self.memory_type(device, u32::MAX).map(|idx| device.memory_types[idx as usize])
    }

    fn admits(self, kind: MemoryType) -> bool {
        let coherent = kind.host_visible && kind.host_coherent;
        !kind.special
            && match self {
                Self::Device => true,
                Self::Pinned => kind.host_visible,
                Self::WriteCombined => coherent, // Vulkan guarantees coherent memory, but not that it is cached.
                Self::Shared => kind.host_visible && kind.device_local,
            }
    }

    /// How well a type serves: the preferences in order, then the size of the heap.
    fn score(self, kind: MemoryType, device: &DeviceInfo) -> ([bool; 3], u64) {
        let heap = device.memory_heaps.get(kind.heap as usize).map_or(0, |heap| heap.size);
        let coherent = kind.host_visible && kind.host_coherent;
        let preferences = match self {
            // Host-visible device memory is scarce where its heap is a window. On other devices the host writes a few
            // bytes to it faster than the device copies them.
            Self::Device => {
                let is_window = kind.host_visible && !(kind.device_local && is_largest_local(kind.heap, device));
                [kind.device_local, !is_window, coherent]
            }
            Self::Pinned => [kind.host_cached, kind.host_coherent, !kind.device_local],
            Self::WriteCombined => [!kind.device_local, !kind.host_cached, true],
            Self::Shared => [kind.host_cached, kind.host_coherent, true],
        };
        (preferences, heap)
    }

    /// Whether the host reads memory of this kind in place at least as fast as the device copies it to pinned memory. Only
    /// uncached device memory is slower to read, since each read crosses the bus.
    pub(crate) fn is_read_fast(self, device: &DeviceInfo) -> bool {
        let is_far = self.chosen(device).is_some_and(|kind| kind.device_local && !kind.host_cached);
        !is_far || !Self::Pinned.chosen(device).is_some_and(|kind| kind.host_cached)
    }
}

/// Whether no heap of the device's own memory is larger than this one.
fn is_largest_local(heap: u32, device: &DeviceInfo) -> bool {
    let size = |heap: u32| device.memory_heaps.get(heap as usize).map_or(0, |heap| heap.size);
    let locals = device.memory_types.iter().filter(|kind| kind.device_local && !kind.special);
    locals.map(|kind| kind.heap).all(|other| size(other) <= size(heap))
}

/// The memory types with a property, a bit for each.
pub(crate) fn memory_types(device: &DeviceInfo, has_it: impl Fn(&MemoryType) -> bool) -> u32 {
    let found = (0..32).zip(&device.memory_types).filter(|(_, kind)| has_it(kind));
    found.fold(0, |types, (idx, _)| types | 1 << idx)
}

vkarray_driver::display_texts!(MemoryKind {
    Device: "device",
    Pinned: "pinned host",
    WriteCombined: "write-combined host",
    Shared: "shared",
});

#[cfg(test)]
pub(crate) mod tests;
