//! [`LaneTable`]: the order of one lane, and the uses of the blocks that only this lane uses.
//!
//! A lane *owns* a block that only this lane uses, one operation after another. The uses of an owned block are in the
//! lane's table and not in the device's table, so each use is in exactly one of the two tables, under that table's
//! lock. Lanes without common memory therefore order their operations at the same time. The device's table takes the
//! uses back before it reads or changes them: for an operation of another lane, for an access of the host, and when the
//! block or the lane ends.

use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use super::access::{BlockAccess, BlockId, Mode};
use super::lane_order::{LaneId, LaneOrder};
use super::order::{Barrier, LastUse, Points};
use super::uses::{BlockUses, UseInterval};
use super::{NO_BARRIER, extend_barrier};
use crate::lock::{AtomicU64, Mutex, MutexGuard, Rank};

/// The part of a [`HazardTable`](super::HazardTable) that belongs to one lane.
#[derive(Debug)]
pub struct LaneTable {
    id: LaneId,
    /// A copy of the completed value in `order`, to be read without the lock. It may lag behind.
    completed: AtomicU64,
    state: Mutex<LaneContents>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct LaneContents {
    pub(super) order: LaneOrder,
    /// The uses of the blocks that the lane owns. All of them are by this lane.
    pub(super) owned: FxHashMap<BlockId, BlockUses>,
}

impl LaneTable {
    pub(super) fn new(id: LaneId) -> Self {
        let state = LaneContents { order: LaneOrder::default(), owned: FxHashMap::default() };
        Self { id, completed: AtomicU64::new(0), state: Mutex::new(Rank::LaneTable, state) }
    }

    /// Commits an operation to the batch `value` if the lane owns all blocks of the operation, and returns the barrier
    /// before it. Otherwise changes nothing and returns `None`; [`HazardTable::order`](super::HazardTable::order) then
    /// orders the operation.
    ///
    /// ```
    /// use vkarray_driver::hazard::{BlockAccess, HazardTable, Operation, Order, Stage};
    ///
    /// let mut table = HazardTable::new();
    /// let (lane, block) = (table.add_lane(), table.add_block());
    /// let write = [BlockAccess::write(block, 0..64, Stage::Compute)];
    /// for _ in 0..2 {
    ///     let Order::Ready(_) = table.order(lane, 1, Operation::Once(&write)) else { panic!() };
    ///     table.own(lane, &write);
    /// }
    /// assert!(table.lane_table(lane).order(1, &write).is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// If the batch is complete, or older than one that holds operations.
    #[inline]
    #[must_use = "an operation recorded without its barrier is a data race"]
    pub fn order(&self, value: u64, accesses: &[BlockAccess]) -> Option<Option<Barrier>> {
        let mut state = self.lock();
        let LaneContents { order, owned } = &mut *state;
        let mut barrier = NO_BARRIER;
        for access in accesses {
            owned.get(&access.block)?.for_each_before(access, |last| {
                extend_barrier(&mut barrier, order.stages_without_barrier(last, access.stage), access.stage);
            });
        }
        let barrier = barrier.needed();
        let seq = order.begin_operation(value, barrier);
        for access in accesses {
            if let Some(uses) = owned.get_mut(&access.block) {
                let last = LastUse { lane: self.id, value, seq, stages: access.stage.into() };
                order.record(uses, access, last, |held| order.has_completed(held.value));
            }
        }
        Some(barrier)
    }

    /// Whether the batch `value` is known to be complete.
    #[inline]
    pub(super) fn has_completed(&self, value: u64) -> bool {
        value <= self.completed.load(Ordering::Acquire)
    }

    /// Records that the timeline reached `value`, and returns the points on other lanes that must therefore be complete.
    pub(super) fn complete(&self, value: u64) -> Points {
        let implied = self.lock().order.complete(value);
        self.completed.fetch_max(value, Ordering::AcqRel);
        implied
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, LaneContents> {
        self.state.lock()
    }

    /// Another table with the same contents.
    #[cfg(test)]
    pub(super) fn copy(&self) -> Self {
        let completed = AtomicU64::new(self.completed.load(Ordering::Acquire));
        let state = Mutex::new(Rank::LaneTable, self.lock().clone());
        Self { id: self.id, completed, state }
    }
}

impl LaneOrder {
    /// Records a use by this lane. The caller has ordered its conflicts.
    #[inline]
    pub(super) fn record(
        &self,
        uses: &mut BlockUses,
        access: &BlockAccess,
        last: LastUse,
        is_complete: impl Fn(&LastUse) -> bool,
    ) {
        uses.n_writes += u64::from(access.mode == Mode::Write);
        if access.is_hazard() {
            let (start, end) = (access.range.start, access.range.end);
            let last_barrier = || self.last_barrier_from(access.stage);
            uses.record(UseInterval { start, end, mode: access.mode, last }, last_barrier, is_complete);
        } else {
            uses.record_unordered(&last, is_complete);
        }
    }
}
