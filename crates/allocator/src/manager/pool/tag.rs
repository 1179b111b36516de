//! Where a range is in a pool, and how the tag of a pointer says so. Pure.
//!
//! A tag is, from its lowest bit: the number of the cache, the slot on it, and the slot's generation.

use vkarray_driver::N_STRIPES;

/// One for each stripe of threads.
pub(super) const N_CACHES: usize = N_STRIPES;

/// Bits of a tag that name the cache.
const CACHE_BITS: u32 = N_CACHES.ilog2();

/// Those that are left for the generation.
const GENERATION_BITS: u32 = u64::BITS - u32::BITS - CACHE_BITS;

/// The highest generation.
pub(super) const LAST_GENERATION: u32 = u32::MAX >> (u32::BITS - GENERATION_BITS);

/// Where a range is on its cache, and how often that slot has been given to another range; a pointer's tag names both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotId {
    pub(super) slot: u32,
    /// At most [`LAST_GENERATION`]. It tells what is given back twice; the buffer and the offset tell the rest.
    pub(super) generation: u32,
}

/// The generation after this one.
#[inline]
pub(super) const fn after(generation: u32) -> u32 {
    (generation + 1) & LAST_GENERATION
}

/// Names a place on a cache.
#[inline]
pub(super) fn tag(cache: usize, place: SlotId) -> u64 {
    u64::from(place.generation) << (u64::BITS - GENERATION_BITS) | u64::from(place.slot) << CACHE_BITS | cache as u64
}

/// The cache and the place that a tag names.
#[inline]
pub(super) fn untag(tag: u64) -> (usize, SlotId) {
    let generation = (tag >> (u64::BITS - GENERATION_BITS)) as u32; // Few bits are left.
    #[expect(clippy::cast_possible_truncation, reason = "each part is cut to its bits")]
    let (cache, slot) = (tag as usize % N_CACHES, (tag >> CACHE_BITS) as u32);
    (cache, SlotId { slot, generation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_its_place() {
        for cache in 0..N_CACHES {
            for slot in [0, 1, (1 << 28) - 1, 1 << 28, u32::MAX] {
                for generation in [0, 1, LAST_GENERATION] {
                    let place = SlotId { slot, generation };
                    assert_eq!(untag(tag(cache, place)), (cache, place));
                }
            }
        }
    }

    #[test]
    fn generations_begin_again() {
        assert_eq!((after(0), after(LAST_GENERATION - 1), after(LAST_GENERATION)), (1, LAST_GENERATION, 0));
    }
}
