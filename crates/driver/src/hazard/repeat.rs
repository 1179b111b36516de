//! Orders a repetition of the operation that was committed last, such as repeated replays of a graph, in constant time.
//!
//! Nothing was committed between the two, so the repetition has waited for everything that it must wait for, and
//! conflicts only with the operation before. The barrier for that conflict is computed once, when the graph is
//! recorded. The uses of the operation's blocks are updated only before they are read; until then the table remembers
//! the operation as a whole.

use std::sync::Arc;

use super::access::{BlockAccess, Mode};
use super::order::{Barrier, LastUse};
use super::{HazardTable, LaneId, NO_BARRIER, Stages, extend_barrier, record_uses};

/// The accesses of an operation that is likely to be repeated at once.
#[derive(Clone, Debug)]
pub struct Repeatable {
    accesses: Vec<BlockAccess>, // Sorted by block.
    /// The barrier that orders the operation after itself. It has no stages if the operation does not conflict with
    /// itself.
    barrier: Barrier,
}

impl Repeatable {
    /// Computes how the operation conflicts with itself.
    pub fn new(mut accesses: Vec<BlockAccess>) -> Self {
        accesses.sort_by_key(|access| access.block);
        let mut barrier = NO_BARRIER;
        for of_block in accesses.chunk_by(|a, b| a.block == b.block) {
            order_after_itself(&mut barrier, of_block);
        }
        Self { accesses, barrier }
    }

    /// The barrier that orders the operation after itself, if it conflicts with itself.
    pub fn barrier(&self) -> Option<Barrier> {
        self.barrier.needed()
    }

    /// The accesses of the operation, sorted by block.
    pub fn accesses(&self) -> &[BlockAccess] {
        &self.accesses
    }
}

/// The operation that was committed last, if it is repeatable.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct LastOperation {
    pub(super) operation: Arc<Repeatable>,
    pub(super) lane: LaneId,
    pub(super) value: u64,
    pub(super) seq: u64,
    /// Whether the operation was repeated since the blocks' uses were updated.
    pub(super) is_ahead: bool,
}

impl HazardTable {
    /// Commits `operation` to the batch `value` if the same lane committed the same operation last, and returns its
    /// barrier. Otherwise changes nothing and returns `None`.
    #[inline]
    pub(super) fn repeat(&mut self, lane: LaneId, value: u64, operation: &Arc<Repeatable>) -> Option<Option<Barrier>> {
        let last = self.last.as_ref().filter(|_| self.is_repeated(lane, operation))?;
        let mut own = self.lanes[lane].lock();
        let is_ordered = last.value <= own.order.ordered_up_to;
        let barrier = operation.barrier.needed().filter(|_| !is_ordered);
        let seq = own.order.begin_operation(value, barrier);
        drop(own);
        let last = self.last.as_mut()?;
        (last.value, last.seq, last.is_ahead) = (value, seq, true);
        Some(barrier)
    }

    /// Whether `lane` committed `operation` last.
    pub(super) fn is_repeated(&self, lane: LaneId, operation: &Arc<Repeatable>) -> bool {
        self.last.as_ref().is_some_and(|last| last.lane == lane && Arc::ptr_eq(&last.operation, operation))
    }

    /// Records the last repetition in the blocks' uses. Everything that reads a block's uses calls this first.
    #[inline]
    pub(super) fn apply_repetition(&mut self) {
        if self.last.as_ref().is_some_and(|last| last.is_ahead) {
            self.record_repetition();
        }
    }

    fn record_repetition(&mut self) {
        let Some(last) = self.last.as_mut() else { return };
        last.is_ahead = false;
        let own = self.lanes[last.lane].lock();
        let use_of = LastUse { lane: last.lane, value: last.value, seq: last.seq, stages: Stages::NONE };
        record_uses(&self.lanes, &mut self.blocks, &own.order, last.operation.accesses(), use_of);
    }
}

/// Extends `barrier` so that it orders these accesses of one block after the same accesses by the repetition before.
fn order_after_itself(barrier: &mut Barrier, of_block: &[BlockAccess]) {
    let hazards = || of_block.iter().filter(|access| access.is_hazard());
    for (before, after) in hazards().flat_map(|before| hazards().map(move |after| (before, after))) {
        let overlaps = before.range.start < after.range.end && after.range.start < before.range.end;
        if overlaps && (before.mode == Mode::Write || after.mode == Mode::Write) {
            extend_barrier(barrier, before.stage.into(), after.stage);
        }
    }
}
