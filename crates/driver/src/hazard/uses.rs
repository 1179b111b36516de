//! [`BlockUses`]: the uses of one block that later operations may have to be ordered after, as byte intervals.
//!
//! The intervals are exact up to [`MAX_EXACT`] of them. Further uses are merged with the nearest similar one into a
//! bounding range, which can order too much and never too little. A write replaces the uses that it covers: the write
//! runs after them, so everything ordered after the write is ordered after them too. `lane_order.rs` decides whether a
//! use still matters to a lane.

use std::ops::Range;

use smallvec::SmallVec;

use super::access::{BlockAccess, Mode};
use super::lane_order::LaneId;
use super::order::{LastUse, LastUses, merge_last_use};

/// How many intervals are kept separately: enough for eight intervals of a writer and eight of a reader.
const MAX_EXACT: usize = 16;

/// A range of bytes in a block, and the last operation of a lane that touched it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UseInterval {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) mode: Mode,
    pub(super) last: LastUse,
}

impl UseInterval {
    /// Whether an access of `range` in `mode` has to be ordered against this use.
    pub(super) fn conflicts(&self, range: &Range<u64>, mode: Mode) -> bool {
        self.overlaps(range.start, range.end) && (self.mode == Mode::Write || mode == Mode::Write)
    }

    const fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }

    const fn covers(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether `self` stands for `old` where the two overlap. `self` is newer, and was recorded after all conflicting
    /// uses were ordered.
    fn replaces(&self, old: &Self) -> bool {
        let is_covered = old.last.stages.is_subset(self.last.stages);
        let is_same_lane = old.last.lane == self.last.lane;
        match self.mode {
            // Accesses of one operation are not ordered among themselves.
            Mode::Write => is_covered || !is_same_lane || old.last.seq != self.last.seq,
            Mode::Read => is_covered && is_same_lane && old.mode == Mode::Read,
        }
    }

    /// Whether `self` and `old` differ only in their bytes, so that adjacent intervals can become one without loss:
    /// they have the same lane, batch, mode and stages, and no barrier from these stages is between them.
    fn is_like(&self, old: &Self, last_barrier: u64) -> bool {
        self.mode == old.mode
            && self.last.lane == old.last.lane
            && self.last.value == old.last.value
            && self.last.stages == old.last.stages
            && old.last.seq >= last_barrier
    }

    /// The number of bytes between two intervals, which a merged interval would add.
    const fn gap(&self, other: &Self) -> u64 {
        self.start.saturating_sub(other.end) + other.start.saturating_sub(self.end)
    }

    /// Grows this interval to the bounding range of both.
    fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.last.merge(&other.last);
    }
}

/// The uses of one block.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct BlockUses {
    intervals: SmallVec<[UseInterval; 4]>,
    /// Uses that order nothing, at most one for each lane.
    unordered: LastUses,
    /// Pending uses by the memory's previous blocks, at most one for each lane. Every access waits for them, even an
    /// unordered one, so no write replaces them.
    inherited: LastUses,
    /// How often operations and the host have written the block.
    pub(super) n_writes: u64,
}

impl BlockUses {
    /// The uses of a new block whose memory has the uses `former`.
    pub(super) fn after(former: &[LastUse]) -> Self {
        let mut uses = Self::default();
        for last in former {
            merge_last_use(&mut uses.inherited, last);
        }
        uses
    }

    /// Calls `f` with each use that `access` has to be ordered after.
    #[inline]
    pub(super) fn for_each_before(&self, access: &BlockAccess, mut f: impl FnMut(&LastUse)) {
        if access.range.is_empty() {
            return;
        }
        for last in &self.inherited {
            f(last);
        }
        if access.ordered {
            for interval in &self.intervals {
                if interval.conflicts(&access.range, access.mode) {
                    f(&interval.last);
                }
            }
        }
    }

    /// Iterates over the uses that the host has to wait for before it touches `range`.
    pub(super) fn before_host<'a>(&'a self, range: &'a Range<u64>, mode: Mode) -> impl Iterator<Item = &'a LastUse> {
        let conflicts = self.intervals.iter().filter(move |interval| interval.conflicts(range, mode));
        self.inherited.iter().chain(&self.unordered).chain(conflicts.map(|interval| &interval.last))
    }

    /// Records a use that orders nothing.
    pub(super) fn record_unordered(&mut self, last: &LastUse, is_complete: impl Fn(&LastUse) -> bool) {
        if self.unordered.len() >= MAX_EXACT {
            self.unordered.retain(|held| !is_complete(held));
        }
        merge_last_use(&mut self.unordered, last);
    }

    /// Records a use. The caller has ordered its conflicts. `last_barrier` gives the lane's last position behind a
    /// barrier from a stage.
    #[inline]
    pub(super) fn record(
        &mut self,
        new: UseInterval,
        last_barrier: impl FnOnce() -> u64,
        is_complete: impl Fn(&LastUse) -> bool,
    ) {
        if !self.inherited.is_empty() {
            self.inherited.retain(|held| !is_complete(held));
        }
        let is_superseded = |held: &UseInterval| new.covers(held) && new.replaces(held) || is_complete(&held.last);
        // The usual cases: a use that replaces all earlier ones, or the first use.
        if let [held] = &mut self.intervals[..]
            && is_superseded(held)
        {
            *held = new;
        } else if self.intervals.iter().all(is_superseded) {
            self.intervals.clear();
            self.intervals.push(new);
        } else if let Some(at) = self.repeated_at(&new) {
            self.intervals[at] = new;
        } else {
            self.record_among(new, last_barrier(), is_complete);
        }
    }

    /// The position of the use that `new` replaces, if both have the same bytes and `new` replaces no other use. This
    /// is the case of an array that was written once and is read again and again.
    #[inline]
    fn repeated_at(&self, new: &UseInterval) -> Option<usize> {
        let is_replaced = |held: &&UseInterval| held.overlaps(new.start, new.end) && new.replaces(held);
        let at = self.intervals.iter().position(|held| is_replaced(&held))?;
        let held = &self.intervals[at];
        let is_only = !self.intervals[at + 1..].iter().any(|later| is_replaced(&later));
        (is_only && (held.start, held.end) == (new.start, new.end)).then_some(at)
    }

    /// Not inlined, so that the usual case in `record` is small enough to be inlined.
    #[inline(never)]
    fn record_among(&mut self, new: UseInterval, last_barrier: u64, is_complete: impl Fn(&LastUse) -> bool) {
        self.cut(&new);
        let touches = |held: &UseInterval| held.end == new.start || held.start == new.end;
        if let Some(held) = self.intervals.iter_mut().find(|held| touches(held) && new.is_like(held, last_barrier)) {
            held.merge(&new);
            return;
        }
        if self.intervals.len() >= MAX_EXACT {
            self.intervals.retain(|held| !is_complete(&held.last));
        }
        if self.intervals.len() < MAX_EXACT {
            self.intervals.push(new);
        } else {
            self.coarsen(&new);
        }
    }

    /// Whether every use of the block is by `lane`.
    pub(super) fn are_of(&self, lane: LaneId) -> bool {
        let ordered = self.intervals.iter().map(|interval| &interval.last);
        ordered.chain(&self.unordered).chain(&self.inherited).all(|last| last.lane == lane)
    }

    /// How many intervals and how many unordered uses are held.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.intervals.len(), self.unordered.len())
    }

    /// Takes the bytes of `new` from the uses that it replaces.
    fn cut(&mut self, new: &UseInterval) {
        let mut at = 0;
        while at < self.intervals.len() {
            let old = &self.intervals[at];
            if !old.overlaps(new.start, new.end) || !new.replaces(old) {
                at += 1;
                continue;
            }
            let old = *old;
            match (old.start < new.start, new.end < old.end) {
                (false, false) => {
                    self.intervals.swap_remove(at);
                    continue; // Another interval took its place.
                }
                (true, false) => self.intervals[at].end = new.start,
                (false, true) => self.intervals[at].start = new.end,
                (true, true) => {
                    self.intervals[at].end = new.start;
                    self.intervals.push(UseInterval { start: new.end, ..old });
                }
            }
            at += 1;
        }
    }

    /// Merges `new` with the nearest interval of its lane and mode. If there is none, `new` becomes an interval of its
    /// own, which happens at most twice for each lane.
    fn coarsen(&mut self, new: &UseInterval) {
        let is_mergeable = |held: &&mut UseInterval| held.last.lane == new.last.lane && held.mode == new.mode;
        match self.intervals.iter_mut().filter(is_mergeable).min_by_key(|held| held.gap(new)) {
            Some(nearest) => nearest.merge(new),
            None => self.intervals.push(*new),
        }
    }

    /// Returns the last use on each lane, without complete ones.
    pub(super) fn last_uses(&self, is_complete: impl Fn(&LastUse) -> bool) -> LastUses {
        let mut last_uses = LastUses::new();
        let ordered = self.intervals.iter().map(|interval| &interval.last);
        for last in ordered.chain(&self.unordered).chain(&self.inherited).filter(|last| !is_complete(last)) {
            merge_last_use(&mut last_uses, last);
        }
        last_uses
    }
}
