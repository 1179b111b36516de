//! How an operation is ordered: behind one barrier, or after points to wait for.
//!
//! This file holds plain values only. `mod.rs` computes them, and the lane that records turns them into Vulkan calls.

use std::sync::Arc;

use smallvec::SmallVec;

use super::access::{BlockAccess, Stages};
use super::lane_order::LaneId;
use super::repeat::Repeatable;

/// A point on a lane's timeline. It is reached when the batch of that value and every earlier batch are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanePoint {
    /// The lane.
    pub lane: LaneId,
    /// The value that the lane's timeline must reach.
    pub value: u64,
}

/// Points of several lanes, at most one for each lane.
pub type Points = SmallVec<[LanePoint; 4]>;

/// A global memory barrier before an operation, from all earlier work of the queue on `src_stages` to all later work on
/// `dst_stages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    /// The stages of the earlier uses.
    pub src_stages: Stages,
    /// The stages of the operation that conflict with the earlier uses.
    pub dst_stages: Stages,
}

impl Barrier {
    /// The barrier, or `None` if it has no source stage and so orders nothing.
    #[inline]
    pub(super) fn needed(self) -> Option<Self> {
        (!self.src_stages.is_empty()).then_some(self)
    }

    /// Whether this barrier gives every order that `other` gives.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        other.src_stages.is_subset(self.src_stages) && other.dst_stages.is_subset(self.dst_stages)
    }
}

/// What an operation does to memory.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// An operation that is not expected to come again.
    Once(&'a [BlockAccess]),
    /// The replay of a graph, which is likely to be repeated at once. The replay's commands start with the barrier that
    /// orders a replay after the one before.
    Repeatable(&'a Arc<Repeatable>),
}

impl Operation<'_> {
    /// The accesses of the operation.
    #[inline]
    #[must_use]
    pub fn accesses(&self) -> &[BlockAccess] {
        match self {
            Self::Once(accesses) => accesses,
            Self::Repeatable(operation) => operation.accesses(),
        }
    }
}

/// How an operation is ordered. Returned by [`HazardTable::order`](super::HazardTable::order).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an operation recorded without its barrier and waits is a data race"]
pub enum Order {
    /// The operation is committed to its batch. A returned barrier is recorded right before the operation.
    Ready(Option<Barrier>),
    /// The operation's batch must wait for these points on other lanes when it starts. Nothing is committed.
    ///
    /// A point may belong to a batch that is still open. That batch is submitted before the batch that waits for it.
    Wait(Points),
}

/// The last use of a retired block on one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// The lane that used the block.
    pub lane: LaneId,
    /// The value that the lane's timeline must reach before the memory may be freed.
    pub value: u64,
    /// The position of the use in the lane, and its stages. With them the same lane can reuse the memory behind a
    /// barrier instead of a wait.
    pub(super) seq: u64,
    pub(super) stages: Stages,
}

impl LastUse {
    /// The point to wait for before the memory may be freed.
    pub const fn point(&self) -> LanePoint {
        LanePoint { lane: self.lane, value: self.value }
    }

    /// Merges `other`, a use by the same lane, into this use, which then stands for both.
    pub(super) fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.lane, other.lane);
        self.value = self.value.max(other.value);
        self.seq = self.seq.max(other.seq);
        self.stages |= other.stages;
    }
}

/// The last uses of a retired block, at most one for each lane, without uses known to be complete.
pub type LastUses = SmallVec<[LastUse; 2]>;

/// Adds a use to the uses of the same memory. Two uses by one lane become one that stands for both.
pub fn merge_last_use(last_uses: &mut LastUses, last: &LastUse) {
    match last_uses.iter_mut().find(|held| held.lane == last.lane) {
        Some(held) => held.merge(last),
        None => last_uses.push(*last),
    }
}

/// Adds `point`, keeping the later of two points of one lane.
pub(super) fn add_point(points: &mut Points, point: LanePoint) {
    match points.iter_mut().find(|held| held.lane == point.lane) {
        Some(held) => held.value = held.value.max(point.value),
        None => points.push(point),
    }
}

/// Collects the latest of the points on each lane.
pub(super) fn latest(points: impl Iterator<Item = LanePoint>) -> Points {
    let mut latest = Points::new();
    points.for_each(|point| add_point(&mut latest, point));
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
