//! The operation committed last, once more: what a graph replayed again and again asks for, in constant time.
//!
//! Nothing was committed in between, so whatever the operation had to wait for it has waited for, and it conflicts with
//! nothing but itself. The barrier that takes is known beforehand. The blocks' uses are brought up to date only when
//! somebody asks about a block: until then the table remembers the operation whole.

use std::sync::Arc;

use super::access::{Access, Mode};
use super::plan::{AccessPlan, Barrier};
use super::{HazardTable, LaneId, NO_BARRIER, widen};

/// The accesses of an operation that is likely to come again, right after itself.
#[derive(Clone, Debug)]
pub struct Repeatable {
    accesses: Vec<Access>, // By block.
    /// What orders the operation after itself; of no stages, if nothing need.
    barrier: Barrier,
}

impl Repeatable {
    /// Finds out how the operation conflicts with itself.
    pub fn new(mut accesses: Vec<Access>) -> Self {
        accesses.sort_by_key(|access| access.block);
        let mut barrier = NO_BARRIER;
        for of_block in accesses.chunk_by(|a, b| a.block == b.block) {
            order_behind_itself(&mut barrier, of_block);
        }
        Self { accesses, barrier }
    }

    /// What orders the operation after itself, if it conflicts with itself.
    pub fn barrier(&self) -> Option<Barrier> {
        self.barrier.needed()
    }

    /// What the operation does to memory.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }
}

/// The last committed operation, if it is a repeatable one.
#[derive(Debug)]
pub(super) struct Last {
    operation: Arc<Repeatable>,
    lane: LaneId,
    value: u64,
    seq: u64,
    /// Whether the blocks know of a repetition less.
    is_ahead: bool,
}

impl HazardTable {
    /// Commits an operation that may be repeated; otherwise as [`HazardTable::commit`].
    ///
    /// # Panics
    ///
    /// As [`HazardTable::commit`].
    pub fn commit_repeatable(&mut self, plan: &AccessPlan, value: u64, operation: &Arc<Repeatable>) {
        let seq = self.commit_operation(plan, value, operation.accesses());
        let operation = Arc::clone(operation);
        self.last = Some(Last { operation, lane: plan.lane, value, seq, is_ahead: false });
    }

    /// Plans and commits, into the batch `value`, the operation that was committed last, if that was
    /// [repeatable](Self::commit_repeatable), on the same lane.
    ///
    /// Returns nothing if it was not, and changes nothing then; else the barrier to record before it, if one is needed.
    /// It has no waits.
    ///
    /// # Panics
    ///
    /// If the batch is older than one that holds operations or is complete.
    pub fn repeat(&mut self, lane: LaneId, value: u64, operation: &Arc<Repeatable>) -> Option<Option<Barrier>> {
        let last = self.last.as_ref()?;
        if last.lane != lane || !Arc::ptr_eq(&last.operation, operation) {
            return None;
        }
        let is_settled = last.value <= self.lanes[lane].settled();
        let barrier = operation.barrier.needed().filter(|_| !is_settled);
        let seq = self.begin_operation(lane, value, barrier);
        let last = self.last.as_mut()?;
        (last.value, last.seq, last.is_ahead) = (value, seq, true);
        Some(barrier)
    }

    /// Brings the blocks' uses up to date. Everything that looks at a block calls this first.
    #[inline]
    pub(super) fn catch_up(&mut self) {
        if self.last.as_ref().is_some_and(|last| last.is_ahead) {
            self.record_repetition();
        }
    }

    fn record_repetition(&mut self) {
        let Some(last) = self.last.as_mut() else { return };
        last.is_ahead = false;
        let (lane, value, seq, operation) = (last.lane, last.value, last.seq, Arc::clone(&last.operation));
        self.record_uses(lane, value, seq, operation.accesses());
    }
}

/// Adds to `barrier` what orders accesses of one block after the same of the operation before.
fn order_behind_itself(barrier: &mut Barrier, of_block: &[Access]) {
    let hazards = || of_block.iter().filter(|access| access.is_hazard());
    for (before, after) in hazards().flat_map(|before| hazards().map(move |after| (before, after))) {
        let overlaps = before.range.start < after.range.end && after.range.start < before.range.end;
        if overlaps && (before.mode == Mode::Write || after.mode == Mode::Write) {
            widen(barrier, before.stage.into(), after.stage);
        }
    }
}
