//! The cache of a few threads: the ranges that their blocks have, and freed ranges for their next blocks. Pure.
//!
//! A freed range is cached whole, by kind and size class, with the uses that may not be over. Work of the next block
//! comes after these uses on the device, so the host never waits. [`ThreadCache::take`] decides which of several ranges
//! is reused; `search.rs` decides where else a pool looks.

use std::collections::VecDeque;

use ash::vk;

use super::free_list::ChunkRange;
use super::gauges::CacheGauges;
use super::lane_history::LaneHistory;
use super::size_class::{Class, GRANULE, LARGEST};
use super::sizing::Need;
use super::tag::{LAST_GENERATION, SlotId, after};
use crate::kind::{BlockLabel, MemoryKind};
use crate::memory::Mapping;
use crate::pending::Uses;

/// How many ranges of a class are considered, newest first.
const LOOKED_AT: usize = 4;

/// Which ranges may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReusePolicy {
    /// Ranges whose uses are over.
    Ready,
    /// Also ranges used on one stream alone, unless the threads of this cache use several in turn: then work of the
    /// next block would probably wait, on the device, for an unrelated stream.
    Likely,
    /// All ranges.
    Any,
}

impl ReusePolicy {
    /// The policy of the first attempt, before memory is searched elsewhere. Host memory must be ready, since the host
    /// writes it first and would itself have to wait.
    pub(super) fn first(kind: MemoryKind) -> Self {
        if kind.is_in_host_memory() { Self::Ready } else { Self::Likely }
    }
}

/// In which state a reused range was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeState {
    /// The uses of the range were over.
    Ready,
    /// The uses of the range may not have been over, and were on one stream.
    Pending,
    /// The uses of the range may not have been over, and were on several streams or of another thread.
    Shared,
    /// The range was cut from a chunk just now.
    Carved,
}

impl RangeState {
    /// The number of states.
    pub(super) const COUNT: usize = Self::Carved as usize + 1;
}

/// Why memory cannot be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreeError {
    /// The memory is not memory of this pool.
    Foreign,
    /// The memory has been given back before.
    Twice,
}

/// A range of a chunk's buffer. It belongs to one block or one thread cache at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferRange {
    pub(super) buffer: vk::Buffer,
    /// The start of the range in the buffer, in bytes.
    pub(super) offset: u64,
    /// The host's address of the first byte, if the host addresses it.
    pub(super) mapping: Option<Mapping>,
    pub(super) kind: MemoryKind,
    /// The range in the free list of its chunk.
    pub(super) chunk_range: ChunkRange,
}

/// A range on its way to a block.
#[derive(Debug)]
pub(super) struct CachedRange<U> {
    pub(super) range: BufferRange,
    pub(super) uses: U,
    pub(super) found: RangeState,
}

impl<U: Uses> CachedRange<U> {
    /// A range that was cut from a chunk, without pending uses.
    pub(super) fn carved(range: BufferRange) -> Self {
        Self { range, uses: U::default(), found: RangeState::Carved }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// The slot has no range.
    Vacant,
    /// A block has the range.
    Live,
    /// The range is cached.
    Cached,
}

#[derive(Debug)]
struct CacheSlot<U> {
    /// Changes at each allocation and free.
    generation: u32,
    /// The bin of the range, while the range is cached.
    bin: u32,
    state: SlotState,
    range: BufferRange,
    /// The uses of the range; empty while a block has it.
    uses: U,
    label: BlockLabel,
}

/// The ranges of a few threads.
#[derive(Debug, Default)]
pub(super) struct ThreadCache<U: Uses> {
    slots: Vec<CacheSlot<U>>,
    vacant: Vec<u32>,
    /// Cached ranges by kind and class, oldest first. Allocated at the first free.
    bins: Vec<VecDeque<u32>>,
    histories: [LaneHistory<U::Lane>; MemoryKind::ALL.len()],
}

impl<U: Uses> ThreadCache<U> {
    /// Adds a range that a block has.
    #[must_use]
    pub(super) fn admit(&mut self, range: BufferRange, label: &BlockLabel, gauges: &CacheGauges) -> SlotId {
        gauges.block_allocated(range.kind, bytes(&range));
        gauges.range_added();
        let idx = self.vacant.pop().unwrap_or_else(|| {
            let (uses, label, state) = (U::default(), BlockLabel::new(), SlotState::Vacant);
            self.slots.push(CacheSlot { generation: LAST_GENERATION, bin: 0, state, range, uses, label });
            // This many ranges of 256 bytes are a tebibyte, and their slots half of that.
            u32::try_from(self.slots.len() - 1).expect("2^32 slots need more memory than there is")
        });
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        (slot.state, slot.bin, slot.range) = (SlotState::Live, bin_of(&range), range);
        slot.label.clone_from(label);
        SlotId { slot: idx, generation: slot.generation }
    }

    /// Takes a range that meets a need, for a block of this cache.
    #[inline(always)] // A call would store and load the whole result.
    pub(super) fn take(
        &mut self,
        need: &Need,
        policy: ReusePolicy,
        label: &BlockLabel,
        gauges: &CacheGauges,
    ) -> Option<(SlotId, CachedRange<U>)> {
        let (idx, found) = self.pop(need, policy, gauges)?;
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        slot.state = SlotState::Live;
        slot.label.clone_from(label);
        gauges.block_allocated(need.kind, bytes(&slot.range));
        gauges.given_out(found);
        let taken = CachedRange { range: slot.range, uses: std::mem::take(&mut slot.uses), found };
        Some((SlotId { slot: idx, generation: slot.generation }, taken))
    }

    /// Removes a range that meets a need, for another cache.
    pub(super) fn take_away(
        &mut self,
        need: &Need,
        policy: ReusePolicy,
        gauges: &CacheGauges,
    ) -> Option<CachedRange<U>> {
        let (idx, found) = self.pop(need, policy, gauges)?;
        let slot = self.vacate(idx, gauges);
        Some(CachedRange { range: slot.range, uses: std::mem::take(&mut slot.uses), found })
    }

    /// Caches the range of a block that was freed, and takes over the uses that may not be over.
    ///
    /// # Errors
    ///
    /// Why the range cannot be taken back; nothing is changed then.
    #[inline(always)] // Inlined for the same reason as `take`.
    pub(super) fn put(
        &mut self,
        id: SlotId,
        at: (vk::Buffer, u64),
        uses: &mut U,
        gauges: &CacheGauges,
    ) -> Result<(), FreeError> {
        let slot = self.slots.get_mut(id.slot as usize).ok_or(FreeError::Foreign)?;
        if slot.generation != id.generation || slot.state != SlotState::Live {
            return Err(FreeError::Twice);
        }
        if (slot.range.buffer, slot.range.offset) != at {
            return Err(FreeError::Foreign);
        }
        slot.generation = after(slot.generation);
        slot.state = SlotState::Cached;
        let (kind, bytes, is_pending) = (slot.range.kind, bytes(&slot.range), !uses.are_over());
        if let Some(lane) = uses.lane() {
            self.histories[kind.index()].note(lane);
        }
        slot.uses = std::mem::take(uses);
        gauges.block_freed(kind, bytes);
        gauges.add_cached(kind, bytes, is_pending);
        if self.bins.is_empty() {
            self.bins.resize_with(Class::COUNT * MemoryKind::ALL.len(), VecDeque::new);
        }
        self.bins[slot.bin as usize].push_back(id.slot);
        Ok(())
    }

    /// The oldest pending range that would meet a need, and the uses of the range.
    pub(super) fn oldest_pending(&self, need: &Need) -> Option<(SlotId, U)> {
        need_bins(need).find_map(|bin| {
            let pending = self.bins.get(bin)?.iter().map(|idx| (*idx, &self.slots[*idx as usize]));
            let mut pending = pending.take(LOOKED_AT).filter(|(_, slot)| !slot.uses.are_over());
            let (idx, slot) = pending.find(|(_, slot)| need.is_met_by(slot.range.chunk_range.granules))?;
            Some((SlotId { slot: idx, generation: slot.generation }, slot.uses.clone()))
        })
    }

    /// All cached ranges whose uses may not be over: bytes and uses.
    pub(super) fn pending(&self) -> impl Iterator<Item = (SlotId, u64, &U)> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.state == SlotState::Cached && !slot.uses.are_over())
            .map(|(idx, slot)| (SlotId { slot: idx, generation: slot.generation }, bytes(&slot.range), &slot.uses))
    }

    /// Replaces the uses of a cached range by `left`, if the range has not been reused since `id` was read.
    pub(super) fn update_uses(&mut self, id: SlotId, left: U, gauges: &CacheGauges) {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else { return };
        if slot.generation != id.generation || slot.state != SlotState::Cached {
            return;
        }
        let (kind, bytes, was_pending) = (slot.range.kind, bytes(&slot.range), !slot.uses.are_over());
        gauges.remove_cached(kind, bytes, was_pending);
        gauges.add_cached(kind, bytes, !left.are_over());
        slot.uses = left;
    }

    /// Removes all cached ranges of a kind whose uses are over.
    pub(super) fn take_ready(&mut self, kind: MemoryKind, gauges: &CacheGauges) -> Vec<BufferRange> {
        let mut taken = Vec::new();
        let first = kind.index() * Class::COUNT;
        for bin in first..(first + Class::COUNT).min(self.bins.len()) {
            let (slots, mut gone) = (&self.slots, Vec::new());
            self.bins[bin].retain(|idx| {
                let is_pending = !slots[*idx as usize].uses.are_over();
                if !is_pending {
                    gone.push(*idx);
                }
                is_pending
            });
            for idx in gone {
                let range = self.vacate(idx, gauges).range;
                gauges.remove_cached(kind, bytes(&range), false);
                taken.push(range);
            }
        }
        taken
    }

    /// The ranges that blocks have: bytes and labels.
    pub(super) fn live(&self) -> Vec<(u64, BlockLabel)> {
        let live = self.slots.iter().filter(|slot| slot.state == SlotState::Live);
        live.map(|slot| (bytes(&slot.range), slot.label.clone())).collect()
    }

    /// The label of a range that a block has.
    pub(super) fn label_mut(&mut self, id: SlotId) -> Option<&mut BlockLabel> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        (slot.generation == id.generation && slot.state == SlotState::Live).then_some(&mut slot.label)
    }

    #[inline(always)] // Inlined into `take`, its only hot caller.
    fn pop(&mut self, need: &Need, policy: ReusePolicy, gauges: &CacheGauges) -> Option<(u32, RangeState)> {
        let (idx, found) = match self.pop_newest(need) {
            Some(idx) => (idx, RangeState::Ready),
            None => self.choose(need, policy)?,
        };
        gauges.remove_cached(need.kind, bytes(&self.slots[idx as usize].range), found != RangeState::Ready);
        Some((idx, found))
    }

    /// The first range that [`ThreadCache::choose`] would consider, if it would choose it: the newest of the tightest
    /// bin. A program that makes and drops blocks of one size always gets this range.
    #[inline]
    fn pop_newest(&mut self, need: &Need) -> Option<u32> {
        let queue = self.bins.get_mut(bin(need.kind, Class::at_most(need.granules)))?;
        let slot = &self.slots[*queue.back()? as usize];
        if slot.uses.are_over() && need.is_met_by(slot.range.chunk_range.granules) { queue.pop_back() } else { None }
    }

    fn choose(&mut self, need: &Need, policy: ReusePolicy) -> Option<(u32, RangeState)> {
        let (bin, at, found) = need_bins(need).find_map(|bin| self.find(bin, need, policy))?;
        let queue = &mut self.bins[bin];
        let idx = if at == 0 { queue.pop_front() } else { queue.swap_remove_back(at) }.expect("just found");
        Some((idx, found))
    }

    /// Finds a range in a bin: among the newest and the oldest, a range whose uses are over, else the newest that the
    /// policy admits.
    fn find(&self, bin: usize, need: &Need, policy: ReusePolicy) -> Option<(usize, usize, RangeState)> {
        let queue = self.bins.get(bin)?;
        let is_steady = self.histories[need.kind.index()].is_steady();
        let mut second = None;
        let newest = (0..queue.len()).rev().take(LOOKED_AT);
        for at in newest.chain((queue.len() > LOOKED_AT).then_some(0)) {
            let slot = &self.slots[queue[at] as usize];
            if !need.is_met_by(slot.range.chunk_range.granules) {
                continue;
            }
            let (found, is_admitted) = match (slot.uses.are_over(), slot.uses.lane()) {
                (true, _) => return Some((bin, at, RangeState::Ready)),
                (false, Some(_)) => {
                    (RangeState::Pending, policy == ReusePolicy::Any || policy == ReusePolicy::Likely && is_steady)
                }
                (false, None) => (RangeState::Shared, policy == ReusePolicy::Any),
            };
            // Of two ranges with pending uses, the one with uses on one stream is likely free sooner.
            let is_better =
                second.is_none_or(|(_, _, held)| held == RangeState::Shared && found == RangeState::Pending);
            if is_admitted && is_better {
                second = Some((bin, at, found));
            }
        }
        second
    }

    fn vacate(&mut self, idx: u32, gauges: &CacheGauges) -> &mut CacheSlot<U> {
        gauges.range_removed();
        self.vacant.push(idx);
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        slot.state = SlotState::Vacant;
        slot
    }
}

/// The bins whose ranges may meet a need, smallest ranges first.
fn need_bins(need: &Need) -> impl Iterator<Item = usize> {
    let first = bin(need.kind, Class::at_most(need.granules));
    let last = bin(need.kind, Class::at_most((need.granules + need.granules / 8).min(LARGEST)));
    first..=last
}

fn bin(kind: MemoryKind, class: Class) -> usize {
    kind.index() * Class::COUNT + class.index()
}

/// The bin of a range.
fn bin_of(range: &BufferRange) -> u32 {
    let idx = bin(range.kind, Class::at_most(range.chunk_range.granules));
    u32::try_from(idx).expect("there are less than a thousand")
}

fn bytes(range: &BufferRange) -> u64 {
    range.chunk_range.granules * GRANULE
}

#[cfg(test)]
mod tests;
