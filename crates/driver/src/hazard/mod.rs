//! Decides which barriers and waits order an operation after the earlier operations that it conflicts with.
//!
//! A *lane* is one stream's ordered recording onto one queue, in numbered batches; batch *k* signals *k* on the lane's
//! timeline. Two uses conflict where their bytes overlap and one of them writes. A barrier orders a conflict inside a
//! lane; a timeline wait at the start of a batch orders a conflict between lanes. No conflict is ordered twice: where a
//! barrier, a wait (directly or through other lanes) or a completed batch already gives the order, nothing is added.
//!
//! Each record answers one question:
//!
//! - [`HazardTable`], one for a device: who used a block last that several lanes use?
//! - [`LaneTable`], one for a lane: who used a block last that only this lane uses? Lanes without common memory then do
//!   not contend for the lock of the device's table.
//! - `LaneOrder`, in each lane's table: what is behind a barrier, and which points has the lane waited for?
//! - `BlockUses`, for each block: which bytes have pending reads and writes, by which operation and stage?
//!
//! Pure: no Vulkan call, no clock. `tests/loom` runs the tables of several threads in every order. `access.rs`
//! describes an operation, `order.rs` has the answers, and `repeat.rs` orders replays without reading the records.

mod access;
mod lane_order;
mod lane_table;
mod order;
mod repeat;
#[cfg(test)]
mod tests;
mod uses;

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use slotmap::SlotMap;
use smallvec::smallvec;

use self::lane_order::LaneOrder;
use self::order::{add_point, latest};
use self::repeat::LastOperation;
use self::uses::BlockUses;

pub use self::access::{BlockAccess, BlockId, Mode, Stage, Stages};
pub use self::lane_order::LaneId;
pub use self::lane_table::LaneTable;
pub use self::order::{Barrier, LanePoint, LastUse, LastUses, Operation, Order, Points, merge_last_use};
pub use self::repeat::Repeatable;

/// The lanes and blocks of one device, and which uses are not yet known to be complete.
///
/// ```
/// use vkarray_driver::hazard::{BlockAccess, HazardTable, Operation, Order, Stage};
///
/// let mut table = HazardTable::new();
/// let (lane, block) = (table.add_lane(), table.add_block());
/// let write = [BlockAccess::write(block, 0..64, Stage::Compute)];
/// let read = [BlockAccess::read(block, 0..4, Stage::Transfer)];
/// assert_eq!(table.order(lane, 1, Operation::Once(&write)), Order::Ready(None));
/// let Order::Ready(Some(barrier)) = table.order(lane, 1, Operation::Once(&read)) else { panic!() };
/// assert!(barrier.src_stages.contains(Stage::Compute) && barrier.dst_stages.contains(Stage::Transfer));
/// ```
///
/// All methods return at once. A method given a block that was retired, or a lane that was removed and has finished,
/// panics: going on would miss a hazard.
#[derive(Debug, Default)]
pub struct HazardTable {
    lanes: SlotMap<LaneId, Arc<LaneTable>>,
    blocks: SlotMap<BlockId, TrackedBlock>,
    last: Option<LastOperation>,
}

/// A block of memory, as the table knows it.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct TrackedBlock {
    /// The uses of the block. They are empty while a lane owns the block, since the lane's table then has them.
    uses: BlockUses,
    /// The lane whose operation used the block last, unless the host has used it since.
    last_lane: Option<LaneId>,
    is_owned: bool,
}

impl HazardTable {
    /// Creates a table without lanes or blocks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a lane. Its timeline starts at zero, its first batch is at least one.
    pub fn add_lane(&mut self) -> LaneId {
        self.lanes.insert_with_key(|lane| Arc::new(LaneTable::new(lane)))
    }

    /// Removes a lane that records nothing from now on. The lane's pending work is still ordered, and the completion of
    /// this work must still be reported.
    ///
    /// # Panics
    ///
    /// If the lane is not known.
    pub fn remove_lane(&mut self, lane: LaneId) {
        let removed = self.lane_table(lane);
        self.apply_repetition();
        let mut own = removed.lock();
        own.order.is_removed = true;
        for (block, uses) in own.owned.drain() {
            self.blocks[block] = TrackedBlock { uses, last_lane: None, is_owned: false };
        }
        drop(own);
        self.forget_if_finished(lane);
    }

    /// Returns the table of `lane`, with which the lane orders operations on blocks that it owns.
    ///
    /// # Panics
    ///
    /// If the lane is not known.
    pub fn lane_table(&self, lane: LaneId) -> Arc<LaneTable> {
        Arc::clone(self.lane(lane))
    }

    /// Adds a block of memory that nothing pending uses.
    pub fn add_block(&mut self) -> BlockId {
        self.blocks.insert(TrackedBlock::default())
    }

    /// Adds a block of memory whose `former` uses, by one retired block or by several that shared the memory, may still
    /// be running. Every operation on the block is ordered after these uses, on the same lane by a barrier alone.
    pub fn add_block_after(&mut self, former: &[LastUse]) -> BlockId {
        self.blocks.insert(TrackedBlock { uses: BlockUses::after(former), ..TrackedBlock::default() })
    }

    /// Forgets a block, and returns the last uses that must be complete before its memory is freed.
    ///
    /// # Panics
    ///
    /// If the block is not known.
    pub fn retire_block(&mut self, block: BlockId) -> LastUses {
        self.apply_repetition();
        self.last = None; // The last operation may use the block.
        self.take_back(block);
        let TrackedBlock { uses, .. } = self.blocks.remove(block).unwrap_or_else(|| unknown_block(block));
        uses.last_uses(|last| is_complete(&self.lanes, last.point()))
    }

    /// Records that the timeline of `lane` reached `value`. Returns the points on other lanes that must be reached too,
    /// since the lane had waited for them, directly or through others. A value that is reported twice, out of order, or
    /// for a lane that has finished changes nothing.
    pub fn completed(&mut self, lane: LaneId, value: u64) -> Points {
        let mut implied = Points::new();
        let mut reached: Points = smallvec![LanePoint { lane, value }];
        while let Some(point) = reached.pop() {
            let Some(lane) = self.lanes.get(point.lane) else { continue };
            for waited_for in lane.complete(point.value) {
                if !is_complete(&self.lanes, waited_for) {
                    add_point(&mut implied, waited_for);
                    reached.push(waited_for);
                }
            }
            self.forget_if_finished(point.lane);
        }
        implied
    }

    /// Records that the batches from `value` on of `lane` wait for `point`, whose own batch takes no more waits, and so for
    /// what that batch has waited for.
    ///
    /// # Panics
    ///
    /// If the lane is not known, the batch already holds operations, or it would wait for itself.
    pub fn waited(&mut self, lane: LaneId, value: u64, point: LanePoint) {
        self.lane(lane);
        assert!(
            point.lane != lane || point.value < value,
            "batch {value} would wait for itself, up to {}",
            point.value
        );
        let implied = self.waited_for_at(point);
        let mut own = self.lanes[lane].lock();
        let own = &mut own.order;
        own.assert_can_wait(value);
        for known in implied.into_iter().chain([point]) {
            if known.lane == lane {
                own.order_up_to(known.value);
            } else if !is_complete(&self.lanes, known) {
                own.note_wait(known, value);
            }
        }
    }

    /// Orders an operation of `lane` in its batch `value`.
    ///
    /// [`Order::Ready`] says that the operation is committed, and which barrier is recorded before it. [`Order::Wait`]
    /// changes nothing: the batch must wait for the returned points first, and is submitted if it holds operations. The
    /// operation is ordered again after [`HazardTable::waited`], in a batch that waits. Its accesses are not ordered
    /// among themselves.
    ///
    /// # Panics
    ///
    /// If the lane or a block is not known, or if the batch is complete or older than one that holds operations.
    #[inline]
    pub fn order(&mut self, lane: LaneId, value: u64, operation: Operation<'_>) -> Order {
        if let Operation::Repeatable(operation) = operation
            && let Some(barrier) = self.repeat(lane, value, operation)
        {
            return Order::Ready(barrier);
        }
        self.apply_repetition();
        let accesses = operation.accesses();
        accesses.iter().for_each(|access| self.take_back(access.block));
        let Self { lanes, blocks, .. } = self;
        let mut own = lanes.get(lane).unwrap_or_else(|| unknown_lane(lane)).lock();
        let mut must_wait = false;
        let barrier = conflicts(lanes, blocks, (lane, &own.order), accesses, |_| must_wait = true);
        if must_wait {
            let mut waits = Points::new();
            conflicts(lanes, blocks, (lane, &own.order), accesses, |point| add_point(&mut waits, point));
            drop(own);
            return Order::Wait(self.without_implied(&waits));
        }
        let seq = own.order.begin_operation(value, barrier);
        let last = LastUse { lane, value, seq, stages: Stages::NONE };
        record_uses(lanes, blocks, &own.order, accesses, last);
        drop(own);
        self.last = match operation {
            Operation::Once(_) => None,
            Operation::Repeatable(operation) => {
                Some(LastOperation { operation: Arc::clone(operation), lane, value, seq, is_ahead: false })
            }
        };
        Order::Ready(barrier)
    }

    /// Gives `lane` the blocks of an operation that it has just committed, if it alone used them, also before that
    /// operation. Until something else uses the blocks, [`LaneTable::order`] then orders the lane's operations on them.
    /// The caller has found no access of the host to any of the blocks.
    #[inline]
    pub fn own(&mut self, lane: LaneId, accesses: &[BlockAccess]) {
        let mut is_alone = true;
        for access in accesses {
            let block = &mut self.blocks[access.block];
            is_alone &= block.last_lane.replace(lane) == Some(lane) && block.uses.are_of(lane);
        }
        if !is_alone {
            return;
        }
        let mut own = self.lanes[lane].lock();
        for access in accesses {
            let block = &mut self.blocks[access.block];
            if !mem::replace(&mut block.is_owned, true) {
                own.owned.insert(access.block, mem::take(&mut block.uses));
            }
        }
    }

    /// Takes the uses of a block back from the lane that owns it.
    #[inline]
    fn take_back(&mut self, block: BlockId) {
        let tracked = self.blocks.get_mut(block).unwrap_or_else(|| unknown_block(block));
        if !mem::take(&mut tracked.is_owned) {
            return;
        }
        let owner = tracked.last_lane.take().expect("a block is owned by its last lane");
        // A lane that is removed gives its blocks back.
        tracked.uses = self.lanes[owner].lock().owned.remove(&block).expect("the owner has the block's uses");
    }

    /// Returns the points to wait for before the host touches the bytes `range` of `block`, unordered uses included.
    ///
    /// # Panics
    ///
    /// If the block is not known.
    pub fn uses(&mut self, block: BlockId, range: Range<u64>, mode: Mode) -> Points {
        self.apply_repetition();
        self.take_back(block);
        self.blocks[block].uses.n_writes += u64::from(mode == Mode::Write);
        let mut points = Points::new();
        if range.is_empty() {
            return points;
        }
        for point in self.blocks[block].uses.before_host(&range, mode).map(LastUse::point) {
            if !is_complete(&self.lanes, point) {
                add_point(&mut points, point);
            }
        }
        points
    }

    /// A number that grows with each write of `block`, by an operation or by the host ([`HazardTable::uses`]).
    pub fn write_count(&mut self, block: BlockId) -> u64 {
        self.apply_repetition();
        self.take_back(block);
        self.blocks[block].uses.n_writes
    }

    /// Returns the points without each point that another of the points has waited for.
    fn without_implied(&self, points: &Points) -> Points {
        let implies = |by: &LanePoint, point: &LanePoint| {
            self.waited_for_at(*by).iter().any(|known| known.lane == point.lane && known.value >= point.value)
        };
        points.iter().filter(|point| !points.iter().any(|by| implies(by, point))).copied().collect()
    }

    /// What the batch of `point` has waited for.
    fn waited_for_at(&self, point: LanePoint) -> Points {
        let waited_for = |lane: &Arc<LaneTable>| latest(lane.lock().order.waited_for_at(point.value));
        self.lanes.get(point.lane).map(waited_for).unwrap_or_default()
    }

    fn forget_if_finished(&mut self, lane: LaneId) {
        let is_finished = |lane: &Arc<LaneTable>| {
            let own = lane.lock();
            own.order.is_removed && own.order.is_idle()
        };
        if self.lanes.get(lane).is_some_and(is_finished) {
            self.lanes.remove(lane);
        }
    }

    fn lane(&self, lane: LaneId) -> &Arc<LaneTable> {
        self.lanes.get(lane).unwrap_or_else(|| unknown_lane(lane))
    }
}

/// Calls `wait` with the points on other lanes that come before the accesses, and returns the barrier that orders the
/// accesses after their conflicts inside the lane.
#[inline]
fn conflicts(
    lanes: &SlotMap<LaneId, Arc<LaneTable>>,
    blocks: &SlotMap<BlockId, TrackedBlock>,
    (lane, own): (LaneId, &LaneOrder),
    accesses: &[BlockAccess],
    mut wait: impl FnMut(LanePoint),
) -> Option<Barrier> {
    let mut barrier = NO_BARRIER;
    for access in accesses {
        let block = blocks.get(access.block).unwrap_or_else(|| unknown_block(access.block));
        block.uses.for_each_before(access, |last| {
            if last.lane == lane {
                extend_barrier(&mut barrier, own.stages_without_barrier(last, access.stage), access.stage);
            } else if !is_complete(lanes, last.point()) && !own.has_waited_for(last.point()) {
                wait(last.point());
            }
        });
    }
    barrier.needed()
}

/// Records an operation of the lane in the uses of its blocks. `last` has the position of the operation.
fn record_uses(
    lanes: &SlotMap<LaneId, Arc<LaneTable>>,
    blocks: &mut SlotMap<BlockId, TrackedBlock>,
    own: &LaneOrder,
    accesses: &[BlockAccess],
    last: LastUse,
) {
    for access in accesses {
        let block = blocks.get_mut(access.block).unwrap_or_else(|| unknown_block(access.block));
        let last = LastUse { stages: access.stage.into(), ..last };
        own.record(&mut block.uses, access, last, |held| is_complete(lanes, held.point()));
    }
}

const NO_BARRIER: Barrier = Barrier { src_stages: Stages::NONE, dst_stages: Stages::NONE };

/// Adds the order from the stages `src` to `dst`, if `src` is not empty.
fn extend_barrier(barrier: &mut Barrier, src: Stages, dst: Stage) {
    if !src.is_empty() {
        barrier.src_stages |= src;
        barrier.dst_stages |= dst.into();
    }
}

/// Whether `point` is known to be reached. The table forgets a lane only when all work of the lane is complete.
fn is_complete(lanes: &SlotMap<LaneId, Arc<LaneTable>>, point: LanePoint) -> bool {
    lanes.get(point.lane).is_none_or(|lane| lane.has_completed(point.value))
}

#[cold]
fn unknown_lane(lane: LaneId) -> ! {
    panic!("{lane:?} is not a lane of this table: it was removed and has finished, or this table never gave it out")
}

#[cold]
fn unknown_block(block: BlockId) -> ! {
    panic!("{block:?} is not a block of this table: it was retired, or this table never gave it out")
}
