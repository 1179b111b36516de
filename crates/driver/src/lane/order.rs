//! Ordering an operation: its place in the open batch, behind what it must come after.
//!
//! Most operations wait for no other lane and are ordered under one taking of the tracker's lock. For the others, work of
//! other lanes is sent, and a new batch starts after it. What must come after what is decided in the room `hazard`.

use std::sync::Arc;

use smallvec::SmallVec;

use super::barrier::record_barrier;
use super::locked::Locked;
use super::{Lane, LaneState, opened};
use crate::error::Result;
use crate::hazard::{Access, Barrier, LanePoint, Repeatable};
use crate::tracker::Point;

/// What a batch must start after.
type Waits = SmallVec<[Point; 4]>;

/// What an operation does to memory.
#[derive(Clone, Copy)]
pub(super) enum Operation<'a> {
    Once(&'a [Access]),
    /// Likely to come again, and right after itself. Its commands begin with the barrier that this takes.
    Replay(&'a Arc<Repeatable>),
}

impl Operation<'_> {
    fn accesses(&self) -> &[Access] {
        match self {
            Self::Once(accesses) => accesses,
            Self::Replay(operation) => operation.accesses(),
        }
    }

    /// Whether its commands begin with all that `barrier` does.
    fn brings(&self, barrier: Barrier) -> bool {
        match self {
            Self::Once(_) => false,
            Self::Replay(operation) => operation.barrier().is_some_and(|own| own.covers(barrier)),
        }
    }
}

/// Where an operation stands.
enum Ordered {
    /// It belongs to the open batch, behind this barrier.
    Ready(Option<Barrier>),
    /// It belongs to a batch that starts after these points.
    After(Waits),
    /// The host is copying what it would touch.
    Held,
}

impl Lane {
    /// Makes the open batch one that the operation can be recorded into: what it must come after is
    /// sent and waited for, or stands before a barrier that is recorded here.
    pub(super) fn begin_operation(&self, operation: Operation<'_>) -> Result<Locked<'_>> {
        self.device().check_lost()?;
        let mut state = self.state();
        let value = self.open_batch(&mut state)?.value;
        let barrier = match self.commit_at_once(value, operation) {
            Some(barrier) => barrier,
            None => {
                let committed = self.commit_after_waits(state, operation)?;
                state = committed.0;
                committed.1
            }
        };
        let barrier = barrier.filter(|barrier| !operation.brings(*barrier));
        let batch = opened(&mut state);
        if let Some(barrier) = barrier {
            record_barrier(self.device(), batch, barrier);
        }
        batch.is_bare =
            matches!(operation, Operation::Replay(_)) && barrier.is_none() && batch.n_ops == 0 && batch.trace.is_none();
        // Counted before it is recorded: a batch that holds a failed operation's first commands is still sent.
        batch.n_ops += 1;
        if let Some(trace) = &mut batch.trace {
            trace.begin_op(self.device().raw(), batch.commands, barrier.as_ref(), operation.accesses());
        }
        Ok(state)
    }

    /// Commits the operation to the open batch, if it waits for no other lane and, to come again, came last.
    fn commit_at_once(&self, value: u64, operation: Operation<'_>) -> Option<Option<Barrier>> {
        let mut tracker = self.tracker.lock();
        if !tracker.holds.is_empty() && !matches!(tracker.holds.are_in_the_way(operation.accesses()), Ok(false)) {
            return None;
        }
        match operation {
            Operation::Once(accesses) => tracker.hazards.order(self.id, value, accesses),
            Operation::Replay(again) => tracker.hazards.repeat(self.id, value, again),
        }
    }

    /// As [`Lane::commit_at_once`], when that was refused: sends and waits for what it takes.
    #[cold]
    fn commit_after_waits<'a>(
        &'a self,
        mut state: Locked<'a>,
        operation: Operation<'_>,
    ) -> Result<(Locked<'a>, Option<Barrier>)> {
        loop {
            self.open_batch(&mut state)?;
            let waits = match self.order(&mut state, operation)? {
                Ordered::Ready(barrier) => return Ok((state, barrier)),
                Ordered::After(waits) => waits,
                Ordered::Held => {
                    drop(state); // Others go on meanwhile.
                    self.tracker.wait_for_holds(operation.accesses())?;
                    state = self.state();
                    continue;
                }
            };
            match waits.iter().find(|p| p.timeline().submitted() < p.value()) {
                Some(behind) => {
                    drop(state); // Never two lanes at once.
                    behind.flush()?;
                    state = self.state();
                }
                None => {
                    self.start_after(&mut state, &waits)?;
                }
            }
        }
    }

    /// Asks the hazard table, and commits the operation to the open batch if nothing foreign is to be waited for.
    ///
    /// Asking and committing are one step under the tracker's lock: no other lane slips in between.
    fn order(&self, state: &mut LaneState, operation: Operation<'_>) -> Result<Ordered> {
        let batch = opened(state);
        let mut tracker = self.tracker.lock();
        if tracker.holds.are_in_the_way(operation.accesses())? {
            return Ok(Ordered::Held);
        }
        loop {
            let plan = tracker.hazards.plan(self.id, operation.accesses());
            if plan.waits.is_empty() {
                match operation {
                    Operation::Once(accesses) => tracker.hazards.commit(&plan, batch.value, accesses),
                    Operation::Replay(again) => tracker.hazards.commit_repeatable(&plan, batch.value, again),
                }
                return Ok(Ordered::Ready(plan.barrier));
            }
            let mut waits = Waits::new();
            for &LanePoint { lane, value } in &plan.waits {
                match tracker.point(lane, value) {
                    Some(point) if !point.is_complete()? => waits.push(point),
                    _ => tracker.completed(lane, value),
                }
            }
            if waits.len() == plan.waits.len() {
                return Ok(Ordered::After(waits));
            }
            // What is done needs no order: ask again.
        }
    }

    /// Makes the next operation start after `points`, all of them sent. What is recorded already does not wait. Returns
    /// the number of the batch that does.
    pub(super) fn start_after(&self, state: &mut LaneState, points: &[Point]) -> Result<u64> {
        if state.open.as_ref().is_some_and(|batch| batch.n_ops > 0) {
            self.send(state)?;
        }
        let batch = self.open_batch(state)?;
        for point in points {
            if let Some(place) = point.place() {
                self.tracker.lock().hazards.waited(self.id, batch.value, place);
            }
            match batch.waits.iter_mut().find(|(timeline, _)| Arc::ptr_eq(timeline, point.timeline())) {
                Some((_, value)) => *value = (*value).max(point.value()),
                None => batch.waits.push((Arc::clone(point.timeline()), point.value())),
            }
        }
        Ok(batch.value)
    }
}
