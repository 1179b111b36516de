//! Ordering an operation: finding the place in the open batch at which it comes after everything that it conflicts
//! with.
//!
//! The lane's own table orders operations on blocks that only this lane uses. Most other operations wait for no other
//! lane, and are ordered while the tracker is locked once. For the rest, work of other lanes is submitted, and a new
//! batch starts after that work. The folder `hazard` decides which operation comes after which.

use smallvec::SmallVec;

use super::locked::LockedLane;
use super::{Lane, LaneState};
use crate::error::Result;
use crate::hazard::{Barrier, LanePoint, Operation, Order};
use crate::tracker::{Point, TrackerState};

/// The points that a batch must wait for when it starts.
type Waits = SmallVec<[Point; 4]>;

/// How an operation was ordered.
enum OperationOrder {
    /// The operation is committed to the open batch, after this barrier.
    Ready(Option<Barrier>),
    /// The operation belongs to a batch that starts after these points.
    After(Waits),
    /// The operation must wait until a host access ends.
    AfterHostAccess,
}

impl Lane {
    /// Starts an operation in the open batch, after a barrier, or in a new batch that starts after other work.
    #[inline]
    pub(super) fn begin_operation(&self, operation: Operation<'_>) -> Result<LockedLane<'_>> {
        self.device().check_lost()?;
        let mut state = self.state();
        let barrier = loop {
            let value = self.open_batch(&mut state)?.value;
            state = match self.order(value, operation)? {
                OperationOrder::Ready(barrier) => break barrier,
                OperationOrder::After(waits) => self.prepare_wait(state, &waits)?,
                OperationOrder::AfterHostAccess => {
                    drop(state); // Other threads can record meanwhile.
                    self.tracker.wait_for_host_accesses(operation.accesses())?;
                    self.state()
                }
            };
        };
        // A replayed graph's commands begin with a barrier of their own.
        let barrier = barrier.filter(|barrier| match operation {
            Operation::Once(_) => true,
            Operation::Repeatable(graph) => graph.barrier().is_none_or(|own| !own.covers(*barrier)),
        });
        state.open_batch().start_operation(barrier, operation);
        Ok(state)
    }

    /// Commits the operation to the batch `value`, or says what the operation must wait for first.
    ///
    /// This is one step under one lock, of the lane's table or of the tracker, so that no other lane commits an
    /// operation between question and answer. The host accesses no bytes of a block that the lane owns, since an access
    /// takes the block from the lane.
    #[inline]
    fn order(&self, value: u64, operation: Operation<'_>) -> Result<OperationOrder> {
        if let Operation::Once(accesses) = operation
            && let Some(barrier) = self.hazards.order(value, accesses)
        {
            return Ok(OperationOrder::Ready(barrier));
        }
        let mut tracker = self.tracker.lock();
        if !tracker.host_accesses.is_empty() && tracker.host_accesses.conflict(operation.accesses())? {
            return Ok(OperationOrder::AfterHostAccess);
        }
        loop {
            match tracker.hazards.order(self.id, value, operation) {
                Order::Ready(barrier) => {
                    if let Operation::Once(accesses) = operation
                        && tracker.host_accesses.is_empty()
                    {
                        tracker.hazards.own(self.id, accesses);
                    }
                    return Ok(OperationOrder::Ready(barrier));
                }
                Order::Wait(points) => {
                    if let Some(waits) = pending(&mut tracker, &points)? {
                        return Ok(OperationOrder::After(waits));
                    }
                }
            }
        }
    }

    /// Makes the open batch start after `waits`, if all of them are submitted. Otherwise unlocks this lane and submits
    /// one of the awaited batches; the operation is then ordered again.
    #[cold]
    fn prepare_wait<'a>(&'a self, mut state: LockedLane<'a>, waits: &Waits) -> Result<LockedLane<'a>> {
        match waits.iter().find(|point| point.timeline().submitted() < point.value()) {
            Some(unsubmitted) => {
                drop(state); // No thread locks two lanes.
                unsubmitted.flush()?;
                Ok(self.state())
            }
            None => {
                self.start_after(&mut state, waits)?;
                Ok(state)
            }
        }
    }

    /// Makes the next operation start after `points`, all of which are submitted. Operations that are already recorded
    /// do not wait. Returns the number of the batch that waits.
    pub(super) fn start_after(&self, state: &mut LaneState, points: &[Point]) -> Result<u64> {
        if state.open.as_ref().is_some_and(|batch| batch.n_ops > 0) {
            self.submit(state)?;
        }
        let batch = self.open_batch(state)?;
        for point in points {
            if let Some(place) = point.place() {
                self.tracker.lock().hazards.waited(self.id, batch.value, place);
            }
            batch.wait_for(point);
        }
        Ok(batch.value)
    }
}

/// The points to wait for, if all of them are pending. Otherwise records which points are complete and returns `None`;
/// the operation is then ordered again.
#[cold]
fn pending(tracker: &mut TrackerState, points: &[LanePoint]) -> Result<Option<Waits>> {
    let mut waits = Waits::new();
    for &LanePoint { lane, value } in points {
        match tracker.point(lane, value) {
            Some(point) if !point.is_reached()? => waits.push(point),
            _ => tracker.completed(lane, value),
        }
    }
    Ok((waits.len() == points.len()).then_some(waits))
}
