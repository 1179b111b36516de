//! The sizes of ranges and chunks, and the size up to which a pool grows instead of reusing pending memory. Pure.
//!
//! Small sizes are rounded up to their size class, so that ranges of a class are interchangeable. They are cut from
//! common chunks, whose size grows with the pool. Large sizes are not rounded to a class; each gets a separate chunk at
//! first.

use vkarray_driver::DeviceInfo;

use super::size_class::{Class, GRANULE, LARGEST};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// Bytes of the largest common chunk on the device. Taking a chunk of this size from a driver costs a few milliseconds.
const LARGEST_CHUNK: u64 = 256 << 20;

/// Bytes of the largest common chunk in host memory, which is pinned page by page and costs ten times as much.
const LARGEST_HOST_CHUNK: u64 = 64 << 20;

/// Bytes of host memory up to which a pool grows instead of waiting for the device.
const HOST_GROWTH_LIMIT: u64 = 4 << 30;

/// A common chunk is at most its heap divided by this.
const HEAP_SHARE: u64 = 16;

/// A common chunk of scarce memory is at most its heap divided by this.
const SCARCE_SHARE: u64 = 64;

/// The first chunk is the largest divided by this. Sizes above the first chunk are large.
const LARGE_SHARE: u64 = 8;

/// A request with its size rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    /// Bytes requested.
    pub(super) size: u64,
    pub(super) kind: MemoryKind,
    /// Granules that the range must have.
    pub(super) granules: u64,
}

impl Need {
    /// Whether a range of that many granules is large enough and wastes at most an eighth.
    pub(super) fn is_met_by(&self, granules: u64) -> bool {
        granules >= self.granules && granules - self.granules <= self.granules / 8
    }

    /// Bytes that the range must have.
    pub(super) fn bytes(&self) -> u64 {
        self.granules * GRANULE
    }
}

/// The sizes for one kind of memory of one device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizing {
    kind: MemoryKind,
    /// Bytes of the first chunk. Sizes above this are large.
    first_chunk: u64,
    largest_chunk: u64,
    /// Below this, the pool grows instead of reusing memory with pending uses.
    growth_limit: u64,
    /// The largest buffer.
    limit: u64,
}

impl Sizing {
    pub(super) fn new(kind: MemoryKind, device: &DeviceInfo) -> Self {
        let heap = kind.chosen(device).and_then(|chosen| device.memory_heaps.get(chosen.heap as usize));
        let heap = heap.map_or(0, |heap| heap.size);
        let most = if kind.is_in_host_memory() { LARGEST_HOST_CHUNK } else { LARGEST_CHUNK };
        let is_scarce = kind.is_scarce(device);
        let share = if is_scarce { SCARCE_SHARE } else { HEAP_SHARE };
        let part = (heap / share).checked_ilog2().map_or(0, |log| 1 << log);
        let limit = device.limits.max_buffer_size.min(LARGEST * GRANULE);
        let largest_chunk = part.clamp(1 << 20, most).min(limit / GRANULE * GRANULE);
        let growth_limit = match kind {
            _ if kind.is_in_host_memory() => (heap / 8).min(HOST_GROWTH_LIMIT),
            _ if is_scarce => 0, // Reuse is better than using up scarce memory.
            _ => heap / 2,
        };
        Self { kind, first_chunk: largest_chunk / LARGE_SHARE, largest_chunk, growth_limit, limit }
    }

    /// Rounds a request of `size` bytes up.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if no buffer can hold that many bytes.
    pub(super) fn need(&self, size: u64) -> Result<Need> {
        let exact = size.div_ceil(GRANULE).max(1);
        if exact > self.limit / GRANULE {
            return Err(Error::TooLarge { bytes: size, limit: self.limit });
        }
        let granules = if size > self.first_chunk { exact } else { Class::round_up(exact) };
        Ok(Need { size, kind: self.kind, granules })
    }

    /// The bytes of the chunk to take for a request, where the chunks of the kind have `reserved` bytes already.
    pub(super) fn chunk(&self, need: &Need, reserved: u64) -> u64 {
        if need.size > self.first_chunk {
            return need.bytes();
        }
        // Doubling keeps the number of chunks small. A chunk has room for at least two such ranges.
        let doubled = reserved.clamp(self.first_chunk, self.largest_chunk).max(2 * need.bytes());
        doubled.checked_next_power_of_two().unwrap_or(doubled).min(self.largest_chunk.max(need.bytes()))
    }

    /// Whether a kind with `reserved` bytes grows by `more` bytes instead of reusing memory with pending uses.
    pub(super) fn prefers_growth(&self, reserved: u64, more: u64) -> bool {
        reserved.checked_add(more).is_some_and(|total| total <= self.growth_limit)
    }

    /// Granules of the smallest chunk that is taken ahead of need.
    pub(super) fn smallest(&self) -> u64 {
        self.first_chunk / GRANULE
    }

    /// Granules of the largest chunk.
    pub(super) fn limit(&self) -> u64 {
        self.limit / GRANULE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::memory_kind::tests::{machine, machine_with_window};

    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    fn sizing(name: &str, kind: MemoryKind) -> Sizing {
        Sizing::new(kind, &machine(name))
    }

    #[test]
    fn chunks_suit_the_heap_and_grow_with_use() {
        let (h100, lavapipe) = ("h100_580.159", "lavapipe_22.3.6");
        // The machine, the kind, the bytes asked for, the bytes reserved so far, and the bytes of the chunk.
        let cases = [
            (h100, MemoryKind::Device, 1, 0, 32 * MIB),         // The first.
            (h100, MemoryKind::Device, 1, 96 * MIB, 128 * MIB), // About double.
            (h100, MemoryKind::Device, 1, 1 << 40, 256 * MIB),  // Never more than the largest.
            (h100, MemoryKind::Device, 20 * MIB, 0, 64 * MIB),  // Room for more than one.
            (h100, MemoryKind::Device, 32 * MIB, 0, 64 * MIB),  // Just not large.
            (h100, MemoryKind::Device, 33 * MIB, 0, 33 * MIB),  // Large: a separate chunk.
            // Large: a separate chunk, also of a pool that has memory.
            (h100, MemoryKind::Device, 1 << 30, 1 << 30, 1 << 30),
            (h100, MemoryKind::Pinned, 1, 0, 8 * MIB), // Pinning is slow.
            (h100, MemoryKind::Pinned, 1, 1 << 30, 64 * MIB),
            (lavapipe, MemoryKind::Device, 1, 0, 16 * MIB), // A sixteenth of 2 GiB, and an eighth of that.
            (lavapipe, MemoryKind::Device, 1, 1 << 30, 128 * MIB),
        ];
        for (name, kind, size, reserved, chunk) in cases {
            let sizing = sizing(name, kind);
            let need = sizing.need(size).unwrap();
            assert_eq!(
                sizing.chunk(&need, reserved),
                chunk,
                "{size} bytes of {kind} memory of {name} beside {reserved}"
            );
        }
    }

    #[test]
    fn small_blocks_are_rounded_to_a_class_and_large_ones_to_a_granule() {
        let sizing = sizing("h100_580.159", MemoryKind::Device);
        // Bytes, granules.
        let cases = [
            (0, 1), // Zero bytes take one granule.
            (1, 1),
            (256, 1),
            (257, 2),
            (17 * 256, 18),
            (MIB, 4096),
            (MIB + 1, 4608), // An eighth more.
            (32 * MIB, 32 * 4096),
            (32 * MIB + 1, 32 * 4096 + 1), // Large: not rounded to a class.
            ((40 << 30) - 3, 40 << 22),    // More than the driver says it allocates at once, although it does.
        ];
        for (size, granules) in cases {
            assert_eq!(sizing.need(size).unwrap().granules, granules, "{size} bytes");
        }
        let limit = machine("h100_580.159").limits.max_buffer_size.min(1 << 40);
        assert!(sizing.need(limit / GRANULE * GRANULE).unwrap().bytes() <= limit);
        for size in [limit + 1, u64::MAX] {
            let error = sizing.need(size).unwrap_err();
            assert!(matches!(error, Error::TooLarge { bytes, limit: at } if bytes == size && at == limit), "{error}");
        }
    }

    #[test]
    fn no_more_than_an_eighth_is_wasted() {
        // The granules needed and offered, and whether the offer is taken.
        let cases = [
            (1, 1, true),
            (1, 2, false),
            (8, 9, true),
            (8, 10, false),
            (8, 7, false),
            (1000, 1125, true),
            (1000, 1126, false),
        ];
        for (granules, offered, serves) in cases {
            let need = Need { size: 1, kind: MemoryKind::Device, granules };
            assert_eq!(need.is_met_by(offered), serves, "{granules} by {offered}");
        }
    }

    #[test]
    fn scarce_memory_is_taken_in_small_pieces_and_shared() {
        let sizing = Sizing::new(MemoryKind::Shared, &machine_with_window());
        // The bytes asked for, the bytes reserved so far, and the bytes of the chunk.
        let cases = [(1, 0, MIB / 2), (1, 3 * MIB, 4 * MIB), (1, 100 * MIB, 4 * MIB), (5 * MIB, 0, 5 * MIB)];
        for (size, reserved, chunk) in cases {
            assert_eq!(sizing.chunk(&sizing.need(size).unwrap(), reserved), chunk, "{size} bytes beside {reserved}");
        }
        assert!(!sizing.prefers_growth(0, 1), "scarce memory grows only when nothing can be reused");
        let device = Sizing::new(MemoryKind::Device, &machine_with_window());
        assert!(device.prefers_growth(0, GIB), "the device's other memory is not scarce");
    }

    #[test]
    fn half_of_the_devices_memory_is_wide_and_less_of_the_hosts() {
        let host = sizing("lavapipe_22.3.6", MemoryKind::Pinned);
        assert!(host.prefers_growth(200 << 20, 56 << 20) && !host.prefers_growth(200 << 20, 57 << 20)); // An eighth.
        let sizing = sizing("lavapipe_22.3.6", MemoryKind::Device);
        let half = 1 << 30;
        // The bytes reserved, the bytes more, and whether the pool grows.
        let cases = [(0, half, true), (1, half, false), (half, 0, true), (half, 1, false), (1, u64::MAX, false)];
        for (reserved, more, grows) in cases {
            assert_eq!(sizing.prefers_growth(reserved, more), grows, "{more} beside {reserved}");
        }
    }
}
