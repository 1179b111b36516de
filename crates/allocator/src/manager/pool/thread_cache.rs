//! A shelf: ranges that blocks of a few threads have, and those that lie ready for the next block. Pure.
//!
//! A range that comes back lies here whole, by kind and size class, with the uses that may not be over. Whoever takes
//! it comes after them on the device, so nobody waits on the host. Which of several is taken is decided in
//! [`Shelf::take`]; where a pool looks besides is in `../pool/search.rs`.

use std::collections::VecDeque;

use ash::vk;

use super::buffer_range::BufferRange;
use super::counts::Meter;
use super::size_class::{Class, GRANULE, LARGEST};
use super::sizing::{Need, is_host};
use super::tag::{SlotId, after};
use crate::memory::{Holder, MemoryKind};

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
pub(super) enum Wish {
    /// Those whose uses are over.
    Ready,
    /// Also those used on one stream alone, unless the threads here use several in turn: then the next block would
    /// probably wait, on the device, for a stream that it has nothing to do with.
    Likely,
    /// All.
    Any,
}

impl Wish {
    /// What is good enough before it is looked for elsewhere. The host writes its memory before the device has it, and
    /// would itself have to wait.
    pub(super) fn at_first(kind: MemoryKind) -> Self {
        if is_host(kind) { Self::Ready } else { Self::Likely }
    }
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Its uses are over.
    Ready,
    /// It is used on one stream.
    Pending,
    /// It is used on several.
    Shared,
}

/// Memory that was given back and cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misuse {
    /// It never came from here.
    Foreign,
    /// It was given back before.
    Twice,
}

/// A range that was taken.
#[derive(Debug)]
pub(super) struct CachedRange<U> {
    pub(super) span: BufferRange,
    pub(super) uses: U,
    pub(super) found: Found,
}

impl<U: Uses> CachedRange<U> {
    /// A range that has no uses to wait for.
    pub(super) fn new(span: BufferRange) -> Self {
        Self { span, uses: U::default(), found: Found::Ready }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// Nothing is here.
    Nothing,
    /// A block has it.
    Live,
    /// It lies ready.
    Here,
}

#[derive(Debug)]
struct CacheSlot<U> {
    /// Changes whenever the range changes hands.
    generation: u32,
    /// Where it lies when it lies ready.
    bin: u32,
    lying: SlotState,
    span: BufferRange,
    /// None while a block has it.
    uses: U,
    holder: Holder,
}

/// What lanes ranges come back from.
#[derive(Debug, Clone)]
struct Habit<L> {
    lane: Option<L>,
    n_alike: u8,
}

impl<L: PartialEq> Habit<L> {
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
pub(super) struct Shelf<U: Uses> {
    slots: Vec<CacheSlot<U>>,
    vacant: Vec<u32>,
    /// What lies ready, by kind and class, oldest first. Made when the first range comes back.
    bins: Vec<VecDeque<u32>>,
    habits: [Habit<U::Lane>; MemoryKind::ALL.len()],
}

impl<U: Uses> Default for Shelf<U> {
    fn default() -> Self {
        let habits = [const { Habit::new() }; MemoryKind::ALL.len()];
        Self { slots: Vec::new(), vacant: Vec::new(), bins: Vec::new(), habits }
    }
}

impl<U: Uses> Shelf<U> {
    /// Notes that a block has a range from here on.
    #[must_use]
    pub(super) fn admit(&mut self, span: BufferRange, holder: &Holder, meter: &Meter) -> SlotId {
        meter.began(span.kind, bytes(&span));
        meter.came();
        let Some(idx) = self.vacant.pop() else {
            // Of ranges of 256 bytes, so many are a tebibyte, and their list is half as large.
            let idx = u32::try_from(self.slots.len()).expect("2^32 slots need more memory than there is");
            let (uses, holder) = (U::default(), holder.clone());
            self.slots.push(CacheSlot { generation: 0, bin: home(&span), lying: SlotState::Live, span, uses, holder });
            return SlotId { slot: idx, generation: 0 };
        };
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        (slot.lying, slot.bin, slot.span) = (SlotState::Live, home(&span), span);
        slot.holder.clone_from(holder);
        SlotId { slot: idx, generation: slot.generation }
    }

    /// Takes a range that meets a need; a block of this shelf has it from here on.
    #[inline(always)] // A call would write down and read back all that is taken.
    pub(super) fn take(
        &mut self,
        need: &Need,
        wish: Wish,
        holder: &Holder,
        meter: &Meter,
    ) -> Option<(SlotId, CachedRange<U>)> {
        let (idx, found) = self.unshelve(need, wish, meter)?;
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        slot.lying = SlotState::Live;
        slot.holder.clone_from(holder);
        meter.began(need.kind, bytes(&slot.span));
        meter.reused(found);
        let taken = CachedRange { span: slot.span, uses: std::mem::take(&mut slot.uses), found };
        Some((SlotId { slot: idx, generation: slot.generation }, taken))
    }

    /// Takes a range that meets a need away, for another shelf.
    pub(super) fn take_away(&mut self, need: &Need, wish: Wish, meter: &Meter) -> Option<CachedRange<U>> {
        let (idx, found) = self.unshelve(need, wish, meter)?;
        let slot = self.vacate(idx, meter);
        Some(CachedRange { span: slot.span, uses: std::mem::take(&mut slot.uses), found })
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
        meter: &Meter,
    ) -> Result<(), Misuse> {
        let slot = self.slots.get_mut(place.slot as usize).ok_or(Misuse::Foreign)?;
        if slot.generation != place.generation || slot.lying != SlotState::Live {
            return Err(Misuse::Twice);
        }
        if (slot.span.buffer, slot.span.offset) != at {
            return Err(Misuse::Foreign);
        }
        slot.generation = after(slot.generation);
        slot.lying = SlotState::Here;
        let (kind, bytes, is_pending) = (slot.span.kind, bytes(&slot.span), !uses.are_over());
        if let Some(lane) = uses.lane() {
            self.habits[kind.index()].note(lane);
        }
        slot.uses = std::mem::take(uses);
        meter.ended(kind, bytes);
        meter.shelved(kind, bytes, is_pending);
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
            let (idx, slot) = pending.find(|(_, slot)| need.is_met_by(slot.span.piece.granules))?;
            Some((SlotId { slot: idx, generation: slot.generation }, slot.uses.clone()))
        })
    }

    /// Everything that lies here with uses that may not be over: its bytes, and those.
    pub(super) fn pending(&self) -> impl Iterator<Item = (SlotId, u64, &U)> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.lying == SlotState::Here && !slot.uses.are_over())
            .map(|(idx, slot)| (SlotId { slot: idx, generation: slot.generation }, bytes(&slot.span), &slot.uses))
    }

    /// Notes which uses of a range are left, if it still lies as it did when it was asked about.
    pub(super) fn settle(&mut self, place: SlotId, left: U, meter: &Meter) {
        let Some(slot) = self.slots.get_mut(place.slot as usize) else { return };
        if slot.generation != place.generation || slot.lying != SlotState::Here {
            return;
        }
        let (kind, bytes, was_pending) = (slot.span.kind, bytes(&slot.span), !slot.uses.are_over());
        meter.unshelved(kind, bytes, was_pending);
        meter.shelved(kind, bytes, !left.are_over());
        slot.uses = left;
    }

    /// Takes out what lies here of a kind and has nothing to wait for.
    pub(super) fn take_ready(&mut self, kind: MemoryKind, meter: &Meter) -> Vec<BufferRange> {
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
                let span = self.vacate(idx, meter).span;
                meter.unshelved(kind, bytes(&span), false);
                taken.push(span);
            }
        }
        taken
    }

    /// What blocks have: its bytes, and who holds it.
    pub(super) fn holders(&self) -> Vec<(u64, Holder)> {
        let live = self.slots.iter().filter(|slot| slot.lying == SlotState::Live);
        live.map(|slot| (bytes(&slot.span), slot.holder.clone())).collect()
    }

    /// Who holds what a block has.
    pub(super) fn holder_mut(&mut self, place: SlotId) -> Option<&mut Holder> {
        let slot = self.slots.get_mut(place.slot as usize)?;
        (slot.generation == place.generation && slot.lying == SlotState::Live).then_some(&mut slot.holder)
    }

    #[inline(always)] // As `take`, which is all that is short.
    fn unshelve(&mut self, need: &Need, wish: Wish, meter: &Meter) -> Option<(u32, Found)> {
        let (idx, found) = match self.pop_newest(need) {
            Some(idx) => (idx, Found::Ready),
            None => self.choose(need, wish)?,
        };
        meter.unshelved(need.kind, bytes(&self.slots[idx as usize].span), found != Found::Ready);
        Some((idx, found))
    }

    /// What [`Shelf::choose`] would choose, where that is the first it would look at: the newest range of the tightest
    /// bin. Whoever makes and drops blocks of one size meets it again and again.
    #[inline]
    fn pop_newest(&mut self, need: &Need) -> Option<u32> {
        let queue = self.bins.get_mut(bin(need.kind, Class::at_most(need.granules)))?;
        let slot = &self.slots[*queue.back()? as usize];
        if slot.uses.are_over() && need.is_met_by(slot.span.piece.granules) { queue.pop_back() } else { None }
    }

    fn choose(&mut self, need: &Need, wish: Wish) -> Option<(u32, Found)> {
        let (bin, at, found) = need_bins(need).find_map(|bin| self.find(bin, need, wish))?;
        let queue = &mut self.bins[bin];
        let idx = if at == 0 { queue.pop_front() } else { queue.swap_remove_back(at) }.expect("just found");
        Some((idx, found))
    }

    /// Finds a range in a bin: one whose uses are over among the newest and the oldest, else the newest that is good
    /// enough.
    fn find(&self, bin: usize, need: &Need, wish: Wish) -> Option<(usize, usize, Found)> {
        let queue = self.bins.get(bin)?;
        let is_steady = self.habits[need.kind.index()].is_steady();
        let mut second = None;
        let newest = (0..queue.len()).rev().take(LOOKED_AT);
        for at in newest.chain((queue.len() > LOOKED_AT).then_some(0)) {
            let slot = &self.slots[queue[at] as usize];
            if !need.is_met_by(slot.span.piece.granules) {
                continue;
            }
            let (found, is_good_enough) = match (slot.uses.are_over(), slot.uses.lane()) {
                (true, _) => return Some((bin, at, Found::Ready)),
                (false, Some(_)) => (Found::Pending, wish == Wish::Any || wish == Wish::Likely && is_steady),
                (false, None) => (Found::Shared, wish == Wish::Any),
            };
            // Of two that are not over, what is on one stream is the sooner over.
            let is_better = second.is_none_or(|(_, _, held)| held == Found::Shared && found == Found::Pending);
            if is_good_enough && is_better {
                second = Some((bin, at, found));
            }
        }
        second
    }

    fn vacate(&mut self, idx: u32, meter: &Meter) -> &mut CacheSlot<U> {
        meter.went();
        self.vacant.push(idx);
        let slot = &mut self.slots[idx as usize];
        slot.generation = after(slot.generation);
        slot.lying = SlotState::Nothing;
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
fn home(span: &BufferRange) -> u32 {
    let idx = bin(span.kind, Class::at_most(span.piece.granules));
    u32::try_from(idx).expect("there are less than a thousand")
}

fn bytes(span: &BufferRange) -> u64 {
    span.piece.granules * GRANULE
}

#[cfg(test)]
mod tests;
