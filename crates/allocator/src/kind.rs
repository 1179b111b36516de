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

    /// Chooses the memory type for this kind among those that `allowed` (a bit for each type) admits.
    ///
    /// Returns nothing if the device has no such memory: only [`MemoryKind::Shared`] may be missing. Host kinds are
    /// always coherent, which Vulkan guarantees to exist.
    #[must_use]
    pub fn memory_type(self, device: &DeviceInfo, allowed: u32) -> Option<u32> {
        (0..)
            .zip(&device.memory_types)
            .filter(|&(idx, kind)| idx < 32 && allowed & (1 << idx) != 0 && self.admits(*kind))
            // The first of the best: drivers list types in their order of preference.
            .min_by_key(|&(idx, kind)| (Reverse(self.score(*kind, device)), idx))
            .map(|(idx, _)| idx)
    }

    fn admits(self, kind: MemoryType) -> bool {
        let coherent = kind.host_visible && kind.host_coherent;
        !kind.special
            && match self {
                Self::Device => true,
                Self::Pinned | Self::WriteCombined => coherent,
                Self::Shared => coherent && kind.device_local,
            }
    }

    /// How well a type serves, first wish first; then the larger heap.
    fn score(self, kind: MemoryType, device: &DeviceInfo) -> (bool, bool, u64) {
        let heap = device.memory_heaps.get(kind.heap as usize).map_or(0, |heap| heap.size);
        match self {
            // Host-visible device memory is scarce where there is also other device memory.
            Self::Device => (kind.device_local, !kind.host_visible, heap),
            Self::Pinned => (kind.host_cached, !kind.device_local, heap),
            Self::WriteCombined => (!kind.device_local, !kind.host_cached, heap),
            Self::Shared => (true, kind.host_cached, heap),
        }
    }
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
