//! Where a range is in a pool, and how the tag of a pointer says so. Pure.
//!
//! A tag is, from its lowest bit: the number of the shelf, the slot on it, and the slot's generation.

use vkarray_driver::N_STRIPES;

/// One for each stripe of threads.
pub(super) const N_SHELVES: usize = N_STRIPES;

/// Bits of a tag that name the shelf.
const SHELF_BITS: u32 = N_SHELVES.ilog2();

/// Those that are left for the generation.
const GENERATION_BITS: u32 = u64::BITS - u32::BITS - SHELF_BITS;

/// The highest generation.
pub(super) const LAST_GENERATION: u32 = u32::MAX >> (u32::BITS - GENERATION_BITS);

/// Where a range is on its shelf, and how often that slot has been given to another range; a pointer's tag names both.
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

/// Names a place on a shelf.
#[inline]
pub(super) fn tag(shelf: usize, place: SlotId) -> u64 {
    u64::from(place.generation) << (u64::BITS - GENERATION_BITS) | u64::from(place.slot) << SHELF_BITS | shelf as u64
}

/// The shelf and the place that a tag names.
#[inline]
pub(super) fn untag(tag: u64) -> (usize, SlotId) {
    let generation = (tag >> (u64::BITS - GENERATION_BITS)) as u32; // Few bits are left.
    #[expect(clippy::cast_possible_truncation, reason = "each part is cut to its bits")]
    let (shelf, slot) = (tag as usize % N_SHELVES, (tag >> SHELF_BITS) as u32);
    (shelf, SlotId { slot, generation })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_its_place() {
        for shelf in 0..N_SHELVES {
            for slot in [0, 1, (1 << 28) - 1, 1 << 28, u32::MAX] {
                for generation in [0, 1, LAST_GENERATION] {
                    let place = SlotId { slot, generation };
                    assert_eq!(untag(tag(shelf, place)), (shelf, place));
                }
            }
        }
    }

    #[test]
    fn generations_begin_again() {
        assert_eq!((after(0), after(LAST_GENERATION - 1), after(LAST_GENERATION)), (1, LAST_GENERATION, 0));
    }
}
