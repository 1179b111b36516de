//! What the planner asks of the recorder: one barrier, and points to wait for.
//!
//! Plain values only; they are computed in `mod.rs` and turned into Vulkan calls by the stream that records.

use smallvec::SmallVec;

use super::access::Stages;
use super::lane_order::LaneId;

/// A point on a lane's timeline: reached when the batch of that value, and so every earlier one, is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanePoint {
    /// The lane.
    pub lane: LaneId,
    /// The value its timeline must reach.
    pub value: u64,
}

/// Some points, at most one a lane.
pub type Points = SmallVec<[LanePoint; 4]>;

/// A global memory barrier before an operation, from all earlier work of the queue on `src_stages` to all later work on
/// `dst_stages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// Stages of the earlier uses.
    pub src_stages: Stages,
    /// Stages of the operation that conflict with them.
    pub dst_stages: Stages,
}

impl Barrier {
    /// The barrier, if there is anything before it.
    #[inline]
    pub(super) fn needed(self) -> Option<Self> {
        (!self.src_stages.is_empty()).then_some(self)
    }

    /// Whether this barrier orders all that `other` does.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        other.src_stages.is_subset(self.src_stages) && other.dst_stages.is_subset(self.dst_stages)
    }
}

/// What must happen before an operation is recorded. Made by [`HazardTable::plan`](super::HazardTable::plan).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an operation recorded without its barrier and waits is a data race"]
pub struct AccessPlan {
    /// The barrier to record right before the operation, in the same batch, if one is needed.
    pub barrier: Option<Barrier>,
    /// Points on other lanes that the operation's batch must wait for when it begins.
    ///
    /// If there are any, a batch that already holds operations is submitted first and the operation opens the next
    /// one. A point may belong to a batch that is still open: that one is submitted before the batch that waits.
    pub waits: Points,
    pub(super) lane: LaneId,
    /// How many operations the table held when the plan was made.
    pub(super) made_at: u64,
}

impl AccessPlan {
    /// The lane that the plan was made for.
    pub const fn lane(&self) -> LaneId {
        self.lane
    }
}

/// The last use of a retired block on one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// The lane that used the block.
    pub lane: LaneId,
    /// The value its timeline must reach before the memory may be freed.
    pub value: u64,
    /// Where in the lane the use stands and on which stages, so that the same lane can reuse the memory behind a
    /// barrier instead of a wait.
    pub(super) seq: u64,
    pub(super) stages: Stages,
}

impl LastUse {
    /// The point to wait for before the memory may be freed.
    pub const fn point(&self) -> LanePoint {
        LanePoint { lane: self.lane, value: self.value }
    }

    /// Extends to a use of the same lane, which may be earlier or later.
    pub(super) fn merge_last_use(&mut self, other: &Self) {
        debug_assert_eq!(self.lane, other.lane);
        self.value = self.value.max(other.value);
        self.seq = self.seq.max(other.seq);
        self.stages |= other.stages;
    }
}

/// The last uses of a retired block, at most one a lane, without those known to be complete.
pub type LastUses = SmallVec<[LastUse; 2]>;

/// Adds a use to those of the same memory: one that comes after both uses of a lane comes after their union.
pub fn merge_last_use(last_uses: &mut LastUses, last: &LastUse) {
    match last_uses.iter_mut().find(|held| held.lane == last.lane) {
        Some(held) => held.merge_last_use(last),
        None => last_uses.push(*last),
    }
}

/// Adds `point`, keeping the later of two points of one lane.
pub(super) fn raise(points: &mut Points, point: LanePoint) {
    match points.iter_mut().find(|held| held.lane == point.lane) {
        Some(held) => held.value = held.value.max(point.value),
        None => points.push(point),
    }
}

/// Collects the latest of the points on each lane.
pub(super) fn latest(points: impl Iterator<Item = LanePoint>) -> Points {
    let mut latest = Points::new();
    points.for_each(|point| raise(&mut latest, point));
    latest
}

#[cfg(test)]
mod tests {
    use super::super::access::Stage;
    use super::{Barrier, Stages};

    #[test]
    fn a_barrier_covers_what_starts_and_ends_within_it() {
        let (compute, transfer) = (Stages::from(Stage::Compute), Stages::from(Stage::Transfer));
        let both = compute | transfer;
        let barrier = |src_stages, dst_stages| Barrier { src_stages, dst_stages };
        let cases = [
            ((both, compute), (compute, compute), true),
            ((both, compute), (both, compute), true),
            ((both, compute), (compute, both), false),
            ((compute, both), (transfer, both), false),
            ((compute, compute), (transfer, transfer), false),
        ];
        for ((src, dst), (other_src, other_dst), covers) in cases {
            let (one, other) = (barrier(src, dst), barrier(other_src, other_dst));
            assert_eq!(one.covers(other), covers, "{one:?} {other:?}");
        }
    }
}
