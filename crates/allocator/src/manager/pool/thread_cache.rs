//! A cache: ranges that blocks of a few threads have, and those that lie ready for the next block. Pure.
//!
//! A range that comes back lies here whole, by kind and size class, with the uses that may not be over. Whoever takes
//! it comes after them on the device, so nobody waits on the host. Which of several is taken is decided in
//! [`ThreadCache::take`]; where a pool looks besides is in `../pool/search.rs`.

use std::collections::VecDeque;

use ash::vk;

use super::buffer_range::BufferRange;
use super::gauges::CacheGauges;
use super::size_class::{Class, GRANULE, LARGEST};
use super::sizing::{Need, is_host};
use super::tag::{SlotId, after};
use crate::memory::{BlockLabel, MemoryKind};

/// Work that may still use a range, as far as the choice between ranges depends on it.
pub(super) trait Uses: Clone + Default {
    /// Names one stream's work.
    type Lane: Copy + PartialEq;

    /// Whether there is none.
    fn are_over(&self) -> bool;

    /// The one lane that they are on, if it is one.
    fn lane(&self) -> Option<Self::Lane>;
}

/// How many ranges of a class are looked at, newest first.
const LOOKED_AT: usize = 4;

/// How many ranges in a row must come back from the same lane for a thread to count as using one stream.
const STEADY: u8 = 16;

/// Which ranges are good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReusePolicy {
    /// Those whose uses are over.
    Ready,
    /// Also those used on one stream alone, unless the threads here use several in turn: then the next block would
    /// probably wait, on the device, for a stream that it has nothing to do with.
    Likely,
    /// All.
    Any,
}

impl ReusePolicy {
    /// What is good enough before it is looked for elsewhere. The host writes its memory before the device has it, and
    /// would itself have to wait.
    pub(super) fn at_first(kind: MemoryKind) -> Self {
        if is_host(kind) { Self::Ready } else { Self::Likely }
    }
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeState {
    /// Its uses are over.
    Ready,
    /// It is used on one stream.
    Pending,
    /// It is used on several.
    Shared,
}

/// Memory that was given back and cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreeError {
    /// It never range_came from here.
    Foreign,
    /// It was given back before.
    Twice,
}

/// A range that was taken.
#[derive(Debug)]
pub(super) struct CachedRange<U> {
    pub(super) range: BufferRange,
    pub(super) uses: U,
    pub(super) found: RangeState,
}

impl<U: Uses> CachedRange<U> {
    /// A range that has no uses to wait for.
    pub(super) fn new(range: BufferRange) -> Self {
        Self { range, uses: U::default(), found: RangeState::Ready }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// Nothing is here.
    Vacant,
    /// A block has it.
    Live,
    /// It lies ready.
    Cached,
}

#[derive(Debug)]
struct CacheSlot<U> {
    /// Changes whenever the range changes hands.
    generation: u32,
    /// Where it lies when it lies ready.
    bin: u32,
    state: SlotState,
    range: BufferRange,
    /// None while a block has it.
    uses: U,
    label: BlockLabel,
}

/// What lanes ranges come back from.
#[derive(Debug, Clone)]
struct LaneHistory<L> {
    lane: Option<L>,
    n_alike: u8,
}

impl<L: PartialEq> LaneHistory<L> {
    const fn new() -> Self {
        Self { lane: None, n_alike: STEADY }
    }

    fn note(&mut self, lane: L) {
        if self.lane.as_ref().is_none_or(|last| *last == lane) {
            self.n_alike = self.n_alike.saturating_add(1).min(STEADY);
        } else {
            self.n_alike = 0;
        }
        self.lane = Some(lane);
    }

    fn is_steady(&self) -> bool {
        self.n_alike >= STEADY
    }
}

/// Ranges of a few threads' blocks.
#[derive(Debug)]
pub(super) struct ThreadCache<U: Uses> {
    slots: Vec<CacheSlot<U>>,
    vacant: Vec<u32>,
    /// What lies ready, by kind and class, oldest first. Made when the first range comes back.
    bins: Vec<VecDeque<u32>>,
    histories: [LaneHistory<U::Lane>; MemoryKind::ALL.len()],
}

impl<U: Uses> Default for ThreadCache<U> {
    fn default() -> Self {
        let histories = [const { LaneHistory::new() }; MemoryKind::ALL.len()];
        Self { slots: Vec::new(), vacant: Vec::new(), bins: Vec::new(), histories }
    }
}

impl<U: Uses> ThreadCache<U> {
    /// Notes that a block has a range from here on.
    #[must_use]
    pub(super) fn admit(&mut self, range: BufferRange, label: &BlockLabel, gauges: &CacheGauges) -> SlotId {
        gauges.block_began(range.kind, bytes(&range));
        gauges.range_came();
        let Some(idx) = self.vacant.pop() else {
            // Of ranges of 256 bytes, so many are a tebibyte, and their list is half as large.
            let idx = u32::try_from(self.slots.len()).expect("2^32 slots need more memory than there is");
            let (uses, label) = (U::default(), label.clone());
            self.slots.push(CacheSlot {
                generation: 0,
                bin: cache_of(&range),
                state: SlotState::Live,
                range,
                uses,
                label,
            });
            return SlotId { slot: idx, generation: 0 };
        };
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        (slot.state, slot.bin, slot.range) = (SlotState::Live, cache_of(&range), range);
        slot.label.clone_from(label);
        SlotId { slot: idx, generation: slot.generation }
    }

    /// Takes a range that meets a need; a block of this cache has it from here on.
    #[inline(always)] // A call would write down and read back all that is taken.
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
        gauges.block_began(need.kind, bytes(&slot.range));
        gauges.reused(found);
        let taken = CachedRange { range: slot.range, uses: std::mem::take(&mut slot.uses), found };
        Some((SlotId { slot: idx, generation: slot.generation }, taken))
    }

    /// Takes a range that meets a need away, for another cache.
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

    /// Takes back what a block had, and takes the uses that may not be over.
    ///
    /// # Errors
    ///
    /// What is wrong with it; nothing has changed then.
    #[inline(always)] // As `take`.
    pub(super) fn put(
        &mut self,
        place: SlotId,
        at: (vk::Buffer, u64),
        uses: &mut U,
        gauges: &CacheGauges,
    ) -> Result<(), FreeError> {
        let slot = self.slots.get_mut(place.slot as usize).ok_or(FreeError::Foreign)?;
        if slot.generation != place.generation || slot.state != SlotState::Live {
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
        gauges.ended(kind, bytes);
        gauges.shard(kind, bytes, is_pending);
        if self.bins.is_empty() {
            self.bins.resize_with(Class::COUNT * MemoryKind::ALL.len(), VecDeque::new);
        }
        self.bins[slot.bin as usize].push_back(place.slot);
        Ok(())
    }

    /// The oldest range that would meet a need if its uses were over, and those.
    pub(super) fn oldest_pending(&self, need: &Need) -> Option<(SlotId, U)> {
        need_bins(need).find_map(|bin| {
            let pending = self.bins.get(bin)?.iter().map(|idx| (*idx, &self.slots[*idx as usize]));
            let mut pending = pending.take(LOOKED_AT).filter(|(_, slot)| !slot.uses.are_over());
            let (idx, slot) = pending.find(|(_, slot)| need.is_met_by(slot.range.chunk_range.granules))?;
            Some((SlotId { slot: idx, generation: slot.generation }, slot.uses.clone()))
        })
    }

    /// Everything that lies here with uses that may not be over: its bytes, and those.
    pub(super) fn pending(&self) -> impl Iterator<Item = (SlotId, u64, &U)> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.state == SlotState::Cached && !slot.uses.are_over())
            .map(|(idx, slot)| (SlotId { slot: idx, generation: slot.generation }, bytes(&slot.range), &slot.uses))
    }

    /// Notes which uses of a range are left, if it still lies as it did when it was asked about.
    pub(super) fn update_uses(&mut self, place: SlotId, left: U, gauges: &CacheGauges) {
        let Some(slot) = self.slots.get_mut(place.slot as usize) else { return };
        if slot.generation != place.generation || slot.state != SlotState::Cached {
            return;
        }
        let (kind, bytes, was_pending) = (slot.range.kind, bytes(&slot.range), !slot.uses.are_over());
        gauges.remove_cached(kind, bytes, was_pending);
        gauges.shard(kind, bytes, !left.are_over());
        slot.uses = left;
    }

    /// Takes out what lies here of a kind and has nothing to wait for.
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

    /// What blocks have: its bytes, and who holds it.
    pub(super) fn live(&self) -> Vec<(u64, BlockLabel)> {
        let live = self.slots.iter().filter(|slot| slot.state == SlotState::Live);
        live.map(|slot| (bytes(&slot.range), slot.label.clone())).collect()
    }

    /// Who holds what a block has.
    pub(super) fn label_mut(&mut self, place: SlotId) -> Option<&mut BlockLabel> {
        let slot = self.slots.get_mut(place.slot as usize)?;
        (slot.generation == place.generation && slot.state == SlotState::Live).then_some(&mut slot.label)
    }

    #[inline(always)] // As `take`, which is all that is short.
    fn pop(&mut self, need: &Need, policy: ReusePolicy, gauges: &CacheGauges) -> Option<(u32, RangeState)> {
        let (idx, found) = match self.pop_newest(need) {
            Some(idx) => (idx, RangeState::Ready),
            None => self.choose(need, policy)?,
        };
        gauges.remove_cached(need.kind, bytes(&self.slots[idx as usize].range), found != RangeState::Ready);
        Some((idx, found))
    }

    /// What [`ThreadCache::choose`] would choose, where that is the first it would look at: the newest range of the tightest
    /// bin. Whoever makes and drops blocks of one size meets it again and again.
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

    /// Finds a range in a bin: one whose uses are over among the newest and the oldest, else the newest that is good
    /// enough.
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
            let (found, is_good_enough) = match (slot.uses.are_over(), slot.uses.lane()) {
                (true, _) => return Some((bin, at, RangeState::Ready)),
                (false, Some(_)) => {
                    (RangeState::Pending, policy == ReusePolicy::Any || policy == ReusePolicy::Likely && is_steady)
                }
                (false, None) => (RangeState::Shared, policy == ReusePolicy::Any),
            };
            // Of two that are not over, what is on one stream is the sooner over.
            let is_better =
                second.is_none_or(|(_, _, held)| held == RangeState::Shared && found == RangeState::Pending);
            if is_good_enough && is_better {
                second = Some((bin, at, found));
            }
        }
        second
    }

    fn vacate(&mut self, idx: u32, gauges: &CacheGauges) -> &mut CacheSlot<U> {
        gauges.range_left();
        self.vacant.push(idx);
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        slot.state = SlotState::Vacant;
        slot
    }
}

/// The bins whose ranges may meet a need, the tightest first.
fn need_bins(need: &Need) -> impl Iterator<Item = usize> {
    let first = bin(need.kind, Class::at_most(need.granules));
    let last = bin(need.kind, Class::at_most((need.granules + need.granules / 8).min(LARGEST)));
    first..=last
}

fn bin(kind: MemoryKind, class: Class) -> usize {
    kind.index() * Class::COUNT + class.index()
}

/// The bin of a range.
fn cache_of(range: &BufferRange) -> u32 {
    let idx = bin(range.kind, Class::at_most(range.chunk_range.granules));
    u32::try_from(idx).expect("there are less than a thousand")
}

fn bytes(range: &BufferRange) -> u64 {
    range.chunk_range.granules * GRANULE
}

#[cfg(test)]
mod tests;
