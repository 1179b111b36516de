//! [`LaneOrder`]: which uses of one lane are behind a barrier, and what the lane has waited for on other lanes.
//!
//! It holds no memory: `mod.rs` decides which uses conflict and passes them in one at a time. The position of an
//! operation in its lane is its sequence number; a batch is identified by the value that it signals on the lane's
//! timeline. Read `uses.rs` next.

use slotmap::new_key_type;
use smallvec::SmallVec;

use super::access::{Stage, Stages};
use super::order::{Barrier, LanePoint, LastUse, Points, latest};

new_key_type! {
    /// The id of a lane, a stream's ordered recording onto one queue, in a [`HazardTable`](super::HazardTable). It
    /// names no lane once the lane is removed and all its work is complete.
    pub struct LaneId;
}

/// How many waits a lane remembers. A forgotten one can cause a redundant wait, never a missing one.
const MAX_WAITS: usize = 32;

/// From the batch `since` on, everything of the lane runs after `point`.
#[derive(Clone, Copy, Debug)]
struct WaitedFor {
    point: LanePoint,
    since: u64,
}

#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct LaneOrder {
    /// The newest batch that holds an operation.
    last_value: u64,
    completed: u64,
    /// Batches of this lane up to this value run before everything that is recorded from now on: they are complete, or
    /// the lane has waited for another lane that had waited for them.
    pub(super) ordered_up_to: u64,
    next_seq: u64,
    /// `behind_barrier[dst][src]`: this lane's uses on `src` with a lower sequence number need no barrier before a use
    /// on `dst`.
    behind_barrier: [[u64; Stage::COUNT]; Stage::COUNT],
    waits: SmallVec<[WaitedFor; 4]>,
    pub(super) is_removed: bool,
}

impl LaneOrder {
    pub(super) const fn has_completed(&self, value: u64) -> bool {
        value <= self.completed
    }

    /// The number of a batch that accepts operations and waits.
    #[cfg(test)]
    pub(super) fn next_value(&self) -> u64 {
        self.last_value.max(self.completed) + 1
    }

    /// Whether every operation recorded so far is complete.
    pub(super) const fn is_idle(&self) -> bool {
        self.last_value <= self.completed
    }

    /// Returns the stages of `last_use`, a use of this lane, that need a barrier before a use on `dst`.
    #[inline]
    pub(super) fn stages_without_barrier(&self, last_use: &LastUse, dst: Stage) -> Stages {
        if last_use.value <= self.ordered_up_to {
            return Stages::NONE;
        }
        let behind_barrier = &self.behind_barrier[dst.index()];
        last_use.stages.filtered(|src| last_use.seq >= behind_barrier[src.index()])
    }

    /// The position of the last barrier from `src` to any stage.
    pub(super) fn last_barrier_from(&self, src: Stage) -> u64 {
        self.behind_barrier.iter().fold(0, |last, of_dst| last.max(of_dst[src.index()]))
    }

    /// Whether everything that is recorded from now on runs after `point` of another lane.
    pub(super) fn has_waited_for(&self, point: LanePoint) -> bool {
        self.waits.iter().any(|known| known.point.lane == point.lane && known.point.value >= point.value)
    }

    /// Iterates over what the batch `value` has waited for, directly or through others.
    pub(super) fn waited_for_at(&self, value: u64) -> impl Iterator<Item = LanePoint> {
        self.waits.iter().filter(move |known| known.since <= value).map(|known| known.point)
    }

    /// Records that the batch `since` and later ones run after `point`.
    pub(super) fn note_wait(&mut self, point: LanePoint, since: u64) {
        if self.has_waited_for(point) {
            return;
        }
        if self.waits.len() == MAX_WAITS {
            self.waits.remove(0);
        }
        self.waits.push(WaitedFor { point, since });
    }

    /// Panics unless the batch `value` can still begin with a wait.
    pub(super) fn assert_can_wait(&self, value: u64) {
        assert!(value > self.last_value, "batch {value} cannot wait: the lane holds work up to {}", self.last_value);
    }

    /// Records that this lane's batches up to `value` run before everything that is recorded from now on.
    pub(super) fn order_up_to(&mut self, value: u64) {
        self.ordered_up_to = self.ordered_up_to.max(value);
    }

    /// Records that the timeline reached `value`, and returns the points on other lanes that must therefore be complete.
    pub(super) fn complete(&mut self, value: u64) -> Points {
        if value <= self.completed {
            return Points::new();
        }
        self.completed = value;
        self.order_up_to(value);
        let implied = latest(self.waited_for_at(value));
        self.waits.retain(|known| known.since > value);
        implied
    }

    /// Opens the next operation, in the batch `value` and behind `barrier`, and returns its sequence number.
    pub(super) fn begin_operation(&mut self, value: u64, barrier: Option<Barrier>) -> u64 {
        assert!(!self.is_removed, "operation recorded on a removed lane");
        assert!(
            value > self.completed && value >= self.last_value,
            "batch {value} is closed: the lane holds work up to {}, complete up to {}",
            self.last_value,
            self.completed
        );
        self.last_value = value;
        let seq = self.next_seq;
        self.next_seq += 1;
        if let Some(barrier) = barrier {
            self.apply(barrier, seq);
        }
        seq
    }

    /// Records a barrier right before the operation `seq`.
    fn apply(&mut self, barrier: Barrier, seq: u64) {
        for dst in barrier.dst_stages.iter() {
            // Barriers are transitive: what was ordered before one of the sources is now ordered before the destinations.
            for via in barrier.src_stages.iter().filter(|&via| via != dst) {
                for src in Stage::ALL {
                    let through = self.behind_barrier[via.index()][src.index()];
                    let own = &mut self.behind_barrier[dst.index()][src.index()];
                    *own = through.max(*own);
                }
            }
        }
        for dst in barrier.dst_stages.iter() {
            for src in barrier.src_stages.iter() {
                self.behind_barrier[dst.index()][src.index()] = seq;
            }
        }
    }
}
