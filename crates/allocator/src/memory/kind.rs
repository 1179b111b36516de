//! Kinds of memory, and which of a device's memory types serves each. Pure.
//!
//! A kind says what memory is for; a memory type is what one driver offers. The choice is a function of the device's
//! snapshot, tested on snapshots of machines that are not here.

use std::cmp::Reverse;
use std::fmt;

use vkarray_driver::{DeviceInfo, MemoryType};

/// What a block of memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// The device's own memory, for arrays. The host may or may not reach it.
    Device,
    /// Host memory that the device copies to and from, cached: fast for the host to read.
    Pinned,
    /// Host memory for streaming to the device: written in order, never read back by the host.
    WriteCombined,
    /// Device memory that the host addresses directly. Not every device has it.
    Shared,
}

impl MemoryKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Device, Self::Pinned, Self::WriteCombined, Self::Shared];

    /// Its place in [`MemoryKind::ALL`], for tables by kind.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Whether the host can address memory of this kind on every device.
    #[must_use]
    pub fn is_host_visible(self) -> bool {
        !matches!(self, Self::Device)
    }

    /// Whether memory of this kind lies on the host's side of the bus.
    #[must_use]
    pub fn is_in_host_memory(self) -> bool {
        matches!(self, Self::Pinned | Self::WriteCombined)
    }

    /// Chooses the memory type for this kind among those that `allowed` (a bit for each type) admits.
    ///
    /// Returns nothing if the device has no such memory: only [`MemoryKind::Shared`] may be missing. What the host reads is
    /// cached where there is such memory, coherent or not: uncached memory is read a hundred times slower.
    #[must_use]
    pub fn memory_type(self, device: &DeviceInfo, allowed: u32) -> Option<u32> {
        (0..)
            .zip(&device.memory_types)
            .filter(|&(idx, kind)| idx < 32 && allowed & (1 << idx) != 0 && self.admits(*kind))
            // The first of the best: drivers list types in their order of preference.
            .min_by_key(|&(idx, kind)| (Reverse(self.score(*kind, device)), idx))
            .map(|(idx, _)| idx)
    }

    /// Whether memory of this kind comes out of a window: a heap of device memory that the host sees, beside a larger one
    /// of device memory. The window is small, mostly 256 MiB, and drivers and other programs have their share of it.
    #[must_use]
    pub fn is_scarce(self, device: &DeviceInfo) -> bool {
        let Some(chosen) = self.memory_type(device, u32::MAX) else { return false };
        let chosen = device.memory_types[chosen as usize];
        let size = |heap: u32| device.memory_heaps.get(heap as usize).map_or(0, |heap| heap.size);
        let is_larger =
            |other: &MemoryType| other.device_local && !other.special && size(other.heap) > size(chosen.heap);
        chosen.device_local && chosen.host_visible && device.memory_types.iter().any(is_larger)
    }

    fn admits(self, kind: MemoryType) -> bool {
        let coherent = kind.host_visible && kind.host_coherent;
        !kind.special
            && match self {
                Self::Device => true,
                Self::Pinned => kind.host_visible,
                Self::WriteCombined => coherent, // Vulkan guarantees that there is such, and not that it is cached.
                Self::Shared => kind.host_visible && kind.device_local,
            }
    }

    /// How well a type serves, first wish first; then the larger heap.
    fn score(self, kind: MemoryType, device: &DeviceInfo) -> ([bool; 3], u64) {
        let heap = device.memory_heaps.get(kind.heap as usize).map_or(0, |heap| heap.size);
        let wishes = match self {
            // Host-visible device memory is scarce where there is also other device memory.
            Self::Device => [kind.device_local, !kind.host_visible, kind.host_coherent || !kind.host_visible],
            Self::Pinned => [kind.host_cached, kind.host_coherent, !kind.device_local],
            Self::WriteCombined => [!kind.device_local, !kind.host_cached, true],
            Self::Shared => [kind.host_cached, kind.host_coherent, true],
        };
        (wishes, heap)
    }

    /// Whether the host reads memory of this kind in place faster than the device copies it to pinned memory: not if it is
    /// the device's and not cached. Uncached memory of the host stays near, and some drivers' is cached all the same.
    pub(crate) fn is_read_fast(self, device: &DeviceInfo) -> bool {
        let chosen = |kind: Self| kind.memory_type(device, u32::MAX).map(|idx| device.memory_types[idx as usize]);
        let is_far = chosen(self).is_some_and(|kind| kind.device_local && !kind.host_cached);
        !is_far || !chosen(Self::Pinned).is_some_and(|kind| kind.host_cached)
    }
}

/// The memory types in which host and device see each other's bytes without being told, a bit for each.
pub(crate) fn coherent_types(device: &DeviceInfo) -> u32 {
    let coherent = (0..32).zip(&device.memory_types).filter(|(_, kind)| kind.host_coherent);
    coherent.fold(0, |types, (idx, _)| types | 1 << idx)
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Pinned => "pinned host",
            Self::WriteCombined => "write-combined host",
            Self::Shared => "shared",
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
