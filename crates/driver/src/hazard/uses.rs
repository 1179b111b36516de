//! The uses of one block that later operations may have to be ordered after, as byte intervals.
//!
//! Exact up to [`MAX_EXACT`] intervals; from there on a new use is merged with its nearest like into one bounding
//! range, which can order too much and never too little. A write replaces the uses it covers: it runs after them, so
//! whoever runs after it runs after them too. Whether a use still matters to a given lane is for `lane_order.rs` to say.

use std::ops::Range;

use smallvec::SmallVec;

use super::access::{Access, Mode};
use super::plan::{LastUse, LastUses, merge_last_use};

/// How many intervals are kept apart: eight of a writer and a reader each.
const MAX_EXACT: usize = 16;

/// Bytes of a block, and the last operation of a lane that touched them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) mode: Mode,
    pub(super) last: LastUse,
}

impl Interval {
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

    /// Whether `self`, newer and recorded after all conflicting uses were ordered, stands for `old` where they overlap.
    fn replaces(&self, old: &Self) -> bool {
        let is_covered = old.last.stages.is_subset(self.last.stages);
        let is_same_lane = old.last.lane == self.last.lane;
        match self.mode {
            // Accesses of one operation are not ordered among themselves.
            Mode::Write => is_covered || !is_same_lane || old.last.seq != self.last.seq,
            Mode::Read => is_covered && is_same_lane && old.mode == Mode::Read,
        }
    }

    /// Whether both uses are alike in all but their bytes, so that touching ones make one interval without loss:
    /// same lane, batch, mode and stages, and no barrier from these stages between them.
    fn is_like(&self, old: &Self, last_barrier: u64) -> bool {
        self.mode == old.mode
            && self.last.lane == old.last.lane
            && self.last.value == old.last.value
            && self.last.stages == old.last.stages
            && old.last.seq >= last_barrier
    }

    /// Bytes between the two, which merging them would add.
    const fn gap(&self, other: &Self) -> u64 {
        self.start.saturating_sub(other.end) + other.start.saturating_sub(self.end)
    }

    /// Grows to the bounding range of both.
    fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.last.merge_last_use(&other.last);
    }
}

/// What is remembered of one block.
#[derive(Debug, Default)]
pub(super) struct Uses {
    intervals: SmallVec<[Interval; 4]>,
    /// Uses that order nothing, at most one a lane.
    unordered: LastUses,
    /// Uses of the same memory under another owner, at most one a lane. Whoever touches the block is ordered after
    /// them, an unordered access too: its author cannot know of them. Hence no write replaces them.
    former: LastUses,
}

impl Uses {
    /// Starts with former uses of the same memory.
    pub(super) fn after(former: &[LastUse]) -> Self {
        let mut uses = Self::default();
        for last in former {
            merge_last_use(&mut uses.former, last);
        }
        uses
    }

    /// Calls `f` with each use that `access` has to be ordered after.
    #[inline]
    pub(super) fn for_each_before(&self, access: &Access, mut f: impl FnMut(&LastUse)) {
        if access.range.is_empty() {
            return;
        }
        for last in &self.former {
            f(last);
        }
        if access.ordered {
            for interval in self.intervals.iter().filter(|interval| interval.conflicts(&access.range, access.mode)) {
                f(&interval.last);
            }
        }
    }

    /// Iterates over the uses that the host has to wait for before it touches `range`.
    pub(super) fn before_host<'a>(&'a self, range: &'a Range<u64>, mode: Mode) -> impl Iterator<Item = &'a LastUse> {
        let conflicts = self.intervals.iter().filter(move |interval| interval.conflicts(range, mode));
        self.former.iter().chain(&self.unordered).chain(conflicts.map(|interval| &interval.last))
    }

    /// Records a use that orders nothing.
    pub(super) fn record_unordered(&mut self, last: &LastUse, is_complete: impl Fn(&LastUse) -> bool) {
        if self.unordered.len() >= MAX_EXACT {
            self.unordered.retain(|held| !is_complete(held));
        }
        merge_last_use(&mut self.unordered, last);
    }

    /// Records a use whose conflicts are ordered. `last_barrier` gives the lane's last position behind a barrier from
    /// the use's stage.
    #[inline]
    pub(super) fn record(
        &mut self,
        new: Interval,
        last_barrier: impl FnOnce() -> u64,
        is_complete: impl Fn(&LastUse) -> bool,
    ) {
        if !self.former.is_empty() {
            self.former.retain(|held| !is_complete(held));
        }
        let is_past = |held: &Interval| new.covers(held) && new.replaces(held) || is_complete(&held.last);
        // The usual cases: all that was touched before once more, or the first use.
        if let [held] = &mut self.intervals[..]
            && is_past(held)
        {
            *held = new;
        } else if self.intervals.iter().all(is_past) {
            self.intervals.clear();
            self.intervals.push(new);
        } else if let Some(at) = self.again(&new) {
            self.intervals[at] = new;
        } else {
            self.record_among(new, last_barrier(), is_complete);
        }
    }

    /// The use that `new` is once more, if that is the only one it replaces: an array that was written once and is read
    /// again and again.
    #[inline]
    fn again(&self, new: &Interval) -> Option<usize> {
        let is_replaced = |held: &&Interval| held.overlaps(new.start, new.end) && new.replaces(held);
        let at = self.intervals.iter().position(|held| is_replaced(&held))?;
        let held = &self.intervals[at];
        let is_only = !self.intervals[at + 1..].iter().any(|later| is_replaced(&later));
        (is_only && (held.start, held.end) == (new.start, new.end)).then_some(at)
    }

    /// KeepAlive out of line, so that the usual case is small enough to be inlined.
    #[inline(never)]
    fn record_among(&mut self, new: Interval, last_barrier: u64, is_complete: impl Fn(&LastUse) -> bool) {
        self.cut(&new);
        let touches = |held: &Interval| held.end == new.start || held.start == new.end;
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

    /// How many intervals and how many unordered uses are held.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.intervals.len(), self.unordered.len())
    }

    /// Takes the bytes of `new` from the uses that it replaces.
    fn cut(&mut self, new: &Interval) {
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
                    self.intervals.push(Interval { start: new.end, ..old });
                }
            }
            at += 1;
        }
    }

    /// Merges `new` with the nearest interval of its lane and mode. Without one it is added: there are at most two such
    /// additions a lane.
    fn coarsen(&mut self, new: &Interval) {
        let is_kin = |held: &&mut Interval| held.last.lane == new.last.lane && held.mode == new.mode;
        match self.intervals.iter_mut().filter(is_kin).min_by_key(|held| held.gap(new)) {
            Some(nearest) => nearest.merge(new),
            None => self.intervals.push(*new),
        }
    }

    /// Returns the last use on each lane, without complete ones.
    pub(super) fn last_uses(&self, is_complete: impl Fn(&LastUse) -> bool) -> LastUses {
        let mut last_uses = LastUses::new();
        let ordered = self.intervals.iter().map(|interval| &interval.last);
        for last in ordered.chain(&self.unordered).chain(&self.former).filter(|last| !is_complete(last)) {
            merge_last_use(&mut last_uses, last);
        }
        last_uses
    }
}
