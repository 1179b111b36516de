//! The tag of a pointer: the thread cache and the slot of its range. Pure.
//!
//! A tag is, from its lowest bit: the index of the cache, the slot, and the slot's generation.

use vkarray_driver::N_THREAD_SHARDS;

/// The number of thread caches: one for each shard of threads.
pub(super) const N_CACHES: usize = N_THREAD_SHARDS;

/// Bits of a tag for the index of the cache.
const CACHE_BITS: u32 = N_CACHES.ilog2();

/// Bits of a tag for the generation.
const GENERATION_BITS: u32 = u64::BITS - u32::BITS - CACHE_BITS;

/// The highest generation.
pub(super) const LAST_GENERATION: u32 = u32::MAX >> (u32::BITS - GENERATION_BITS);

/// A slot of a cache, and how often its range has been given out and taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotId {
    pub(super) slot: u32,
    /// The generation, at most [`LAST_GENERATION`]. It reveals memory that is given back twice.
    pub(super) generation: u32,
}

/// The generation after this one.
#[inline]
pub(super) const fn after(generation: u32) -> u32 {
    (generation + 1) & LAST_GENERATION
}

/// The tag of a slot.
#[inline]
pub(super) fn tag(cache: usize, id: SlotId) -> u64 {
    u64::from(id.generation) << (u64::BITS - GENERATION_BITS) | u64::from(id.slot) << CACHE_BITS | cache as u64
}

/// The cache and the slot of a tag.
#[inline]
pub(super) fn untag(tag: u64) -> (usize, SlotId) {
    let generation = (tag >> (u64::BITS - GENERATION_BITS)) as u32; // Only the bits of the generation are left.
    #[expect(clippy::cast_possible_truncation, reason = "each part is cut to its bits")]
    let (cache, slot) = (tag as usize % N_CACHES, (tag >> CACHE_BITS) as u32);
    (cache, SlotId { slot, generation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_read_back() {
        for cache in 0..N_CACHES {
            for slot in [0, 1, (1 << 28) - 1, 1 << 28, u32::MAX] {
                for generation in [0, 1, LAST_GENERATION] {
                    let id = SlotId { slot, generation };
                    assert_eq!(untag(tag(cache, id)), (cache, id));
                }
            }
        }
    }

    #[test]
    fn generations_begin_again() {
        assert_eq!((after(0), after(LAST_GENERATION - 1), after(LAST_GENERATION)), (1, LAST_GENERATION, 0));
    }
}
