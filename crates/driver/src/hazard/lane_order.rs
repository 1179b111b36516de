//! One lane: which of its own uses are behind a barrier, and what it has waited for on other lanes.
//!
//! Knows nothing of memory: which uses conflict is decided in `mod.rs`, which hands them in one at a time.
//! Positions inside a lane are sequence numbers, one an operation; batches are the values of the lane's timeline.
//! Read `uses.rs` next.

use slotmap::new_key_type;
use smallvec::SmallVec;

use super::access::{Stage, Stages};
use super::plan::{Barrier, LanePoint, LastUse, Points, latest};

new_key_type! {
    /// A stream's ordered recording onto one queue, known to a [`HazardTable`](super::HazardTable).
    ///
    /// Never valid again once the lane is removed and all its work is complete.
    pub struct LaneId;
}

/// How many waits a lane remembers. Forgetting one costs a needless wait, never a missed one.
const MAX_KNOWN: usize = 32;

/// From the batch `since` on, everything of the lane runs after `point`.
#[derive(Clone, Copy, Debug)]
struct Known {
    point: LanePoint,
    since: u64,
}

#[derive(Debug)]
pub(super) struct LaneOrder {
    pub(super) queue: u32,
    /// The newest batch that holds an operation.
    last_value: u64,
    completed: u64,
    /// Own batches up to here run before whatever is recorded from now on: they are complete, or a wait for another
    /// lane that had waited for them stands in between.
    settled: u64,
    next_seq: u64,
    /// `clean[dst][src]`: own uses on `src` with a lower sequence number need no barrier before a use on `dst`.
    clean: [[u64; Stage::COUNT]; Stage::COUNT],
    known: SmallVec<[Known; 4]>,
    pub(super) is_removed: bool,
}

impl LaneOrder {
    pub(super) fn new(queue: u32) -> Self {
        Self {
            queue,
            last_value: 0,
            completed: 0,
            settled: 0,
            next_seq: 0,
            clean: [[0; Stage::COUNT]; Stage::COUNT],
            known: SmallVec::new(),
            is_removed: false,
        }
    }

    pub(super) const fn settled(&self) -> u64 {
        self.settled
    }

    pub(super) const fn has_completed(&self, value: u64) -> bool {
        value <= self.completed
    }

    /// Whether every operation recorded so far is complete.
    pub(super) const fn is_idle(&self) -> bool {
        self.last_value <= self.completed
    }

    /// Returns the stages of an own use that need a barrier before a use on `dst`, given that batches up to `settled`
    /// need none.
    #[inline]
    pub(super) fn unclean(&self, last_use: &LastUse, dst: Stage, settled: u64) -> Stages {
        if last_use.value <= settled {
            return Stages::NONE;
        }
        let clean = &self.clean[dst.index()];
        last_use.stages.filtered(|src| last_use.seq >= clean[src.index()])
    }

    /// The first position without a barrier from `src` since, to whatever stage.
    pub(super) fn last_barrier_from(&self, src: Stage) -> u64 {
        self.clean.iter().fold(0, |last, clean| last.max(clean[src.index()]))
    }

    /// Whether whatever is recorded from now on runs after `point` of another lane.
    pub(super) fn knows(&self, point: LanePoint) -> bool {
        self.known.iter().any(|known| known.point.lane == point.lane && known.point.value >= point.value)
    }

    /// Iterates over what the batch `value` has waited for, directly or through others.
    pub(super) fn known_at(&self, value: u64) -> impl Iterator<Item = LanePoint> {
        self.known.iter().filter(move |known| known.since <= value).map(|known| known.point)
    }

    /// Remembers that the batch `since` and later ones run after `point`.
    pub(super) fn learn(&mut self, point: LanePoint, since: u64) {
        if self.knows(point) {
            return;
        }
        if self.known.len() == MAX_KNOWN {
            self.known.remove(0);
        }
        self.known.push(Known { point, since });
    }

    /// Panics unless the batch `value` can still begin with a wait.
    pub(super) fn assert_can_wait(&self, value: u64) {
        assert!(value > self.last_value, "batch {value} cannot wait: the lane holds work up to {}", self.last_value);
    }

    /// Remembers that own batches up to `value` run before whatever is recorded from now on.
    pub(super) fn settle(&mut self, value: u64) {
        self.settled = self.settled.max(value);
    }

    /// Takes note that the timeline reached `value`, and returns what must therefore be complete on other lanes.
    pub(super) fn complete(&mut self, value: u64) -> Points {
        if value <= self.completed {
            return Points::new();
        }
        self.completed = value;
        self.settle(value);
        let implied = latest(self.known_at(value));
        self.known.retain(|known| known.since > value);
        implied
    }

    /// Opens the next operation, in the batch `value`, and returns its sequence number.
    pub(super) fn begin_operation(&mut self, value: u64) -> u64 {
        assert!(!self.is_removed, "operation recorded on a removed lane");
        assert!(
            value > self.completed && value >= self.last_value,
            "batch {value} is closed: the lane holds work up to {}, complete up to {}",
            self.last_value,
            self.completed
        );
        self.last_value = value;
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// Takes note of a barrier right before the operation `seq`.
    pub(super) fn apply(&mut self, barrier: Barrier, seq: u64) {
        for dst in barrier.dst_stages.iter() {
            // What was already clean for one of the barrier's sources is now, through it, clean for its destinations.
            for via in barrier.src_stages.iter().filter(|&via| via != dst) {
                for src in Stage::ALL {
                    let through = self.clean[via.index()][src.index()];
                    let clean = &mut self.clean[dst.index()][src.index()];
                    *clean = through.max(*clean);
                }
            }
        }
        for dst in barrier.dst_stages.iter() {
            for src in barrier.src_stages.iter() {
                self.clean[dst.index()][src.index()] = seq;
            }
        }
    }
}
