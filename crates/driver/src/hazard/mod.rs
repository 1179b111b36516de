//! Decides which barriers and waits order an operation after the earlier operations that it conflicts with.
//!
//! A *lane* is one stream's ordered recording onto one queue, in numbered batches; batch *k* signals *k* on the lane's
//! timeline. Inside a lane a conflict is ordered by a barrier, between lanes by a timeline wait at the start of a batch.
//! Two uses conflict where their bytes overlap and one of them writes. Nothing is ordered twice: an order that a barrier, a
//! wait (directly or through other lanes) or a completed batch already gives costs nothing.
//!
//! Pure bookkeeping: no Vulkan call, no clock. [`HazardTable::order`] orders any operation: it either commits the operation
//! and returns its barrier, or returns what to wait for first. [`LaneTable::order`] commits operations on blocks that their
//! lane owns, without the device's table; `tests/loom` runs the two of several threads in every order. Read `access.rs` for
//! how an operation describes itself, `order.rs` for the answers, `lane_order.rs` and `uses.rs` for what is remembered,
//! `lane_table.rs` for blocks of one lane, and `repeat.rs` for replays of graphs.

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

pub use self::access::{Access, BlockId, Mode, Stage, Stages};
pub use self::lane_order::LaneId;
pub use self::lane_table::LaneTable;
pub use self::order::{Barrier, LanePoint, LastUse, LastUses, Operation, Order, Points, merge_last_use};
pub use self::repeat::Repeatable;

/// The lanes and blocks of one device, and which uses are not yet known to be complete.
///
/// ```
/// use vkarray_driver::hazard::{Access, HazardTable, Operation, Order, Stage};
///
/// let mut table = HazardTable::new();
/// let (lane, block) = (table.add_lane(0), table.add_block());
/// let write = [Access::write(block, 0..64, Stage::Compute)];
/// let read = [Access::read(block, 0..4, Stage::Transfer)];
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

/// A block of memory.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct TrackedBlock {
    /// Its uses, unless the last lane owns it and has them in its own table.
    uses: BlockUses,
    /// The lane whose operation was the last to use it, if nothing else did since.
    last_lane: Option<LaneId>,
    is_owned: bool,
}

impl HazardTable {
    /// Creates a table without lanes or blocks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a lane that records onto `queue`. Its timeline starts at zero, its first batch is at least one.
    pub fn add_lane(&mut self, queue: u32) -> LaneId {
        self.lanes.insert_with_key(|lane| Arc::new(LaneTable::new(lane, queue)))
    }

    /// Removes a lane, which records nothing from now on.
    ///
    /// Work that is still pending is ordered as before, and its completion must still be reported.
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

    /// Returns the number of the queue that `lane` records onto.
    ///
    /// # Panics
    ///
    /// If the lane is not known.
    pub fn queue(&self, lane: LaneId) -> u32 {
        self.lane(lane).queue
    }

    /// Returns the table of `lane`, by which the lane orders operations on blocks that it owns.
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

    /// Adds a block of memory whose former uses may still be running: those of one retired block, or of several that
    /// shared the memory. Every operation on the block is ordered after them, on the same lane by a barrier alone.
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

    /// Records that the timeline of `lane` reached `value`. Returns the points on other lanes that must therefore be reached
    /// too, since the lane had waited for them, directly or through others.
    ///
    /// Reporting a value twice, out of order, or for a lane that has finished changes nothing.
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

    /// Records that the batch `value` of `lane`, and so every later one, waits for `point`. The batch of `point` takes no
    /// more waits.
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
        self.wait(lane, value, &[point]);
    }

    /// Orders an operation of `lane` in its batch `value`.
    ///
    /// [`Order::Ready`] says that the operation is committed and which barrier is recorded before it. [`Order::Wait`] changes
    /// nothing: the batch must wait for these points first. If it already holds operations, it is submitted, and the
    /// operation goes into the next one; after [`HazardTable::waited`] for each point the operation is ordered again.
    ///
    /// The accesses of one operation are not ordered among themselves.
    ///
    /// # Panics
    ///
    /// If the lane or a block is not known, or if the batch is older than one that holds operations or is complete.
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
            Operation::Repeatable(operation) => Some(LastOperation::new(operation, lane, value, seq)),
        };
        Order::Ready(barrier)
    }

    /// Gives the blocks of an operation that `lane` has just committed to the lane, if it alone used them, also before that
    /// operation. From then on [`LaneTable::order`] orders its operations on them, until something else uses them.
    ///
    /// The caller has found no access of the host to any of the blocks.
    #[inline]
    pub fn own(&mut self, lane: LaneId, accesses: &[Access]) {
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
        for point in self.block(block).uses.before_host(&range, mode).map(LastUse::point) {
            if !is_complete(&self.lanes, point) {
                add_point(&mut points, point);
            }
        }
        points
    }

    /// A number that grows with each write of `block`: by an operation, or by the host as [`HazardTable::uses`] is told.
    pub fn write_count(&mut self, block: BlockId) -> u64 {
        self.apply_repetition();
        self.take_back(block);
        self.block(block).uses.n_writes
    }

    /// Drops the points that another of the points has itself waited for.
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

    /// Records that the batch `value` of `lane` waits for `points`, and for what these have waited for.
    fn wait(&mut self, lane: LaneId, value: u64, points: &[LanePoint]) {
        for &point in points {
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

    fn block(&self, block: BlockId) -> &TrackedBlock {
        self.blocks.get(block).unwrap_or_else(|| unknown_block(block))
    }
}

/// Calls `wait` with the points on other lanes that come before the accesses, and returns the barrier that orders the
/// accesses after their conflicts inside the lane.
#[inline]
fn conflicts(
    lanes: &SlotMap<LaneId, Arc<LaneTable>>,
    blocks: &SlotMap<BlockId, TrackedBlock>,
    (lane, own): (LaneId, &LaneOrder),
    accesses: &[Access],
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

/// Records an operation of the lane in the uses of its blocks. `last` has its position.
fn record_uses(
    lanes: &SlotMap<LaneId, Arc<LaneTable>>,
    blocks: &mut SlotMap<BlockId, TrackedBlock>,
    own: &LaneOrder,
    accesses: &[Access],
    last: LastUse,
) {
    for access in accesses {
        let block = blocks.get_mut(access.block).unwrap_or_else(|| unknown_block(access.block));
        let last = LastUse { stages: access.stage.into(), ..last };
        own.record(&mut block.uses, access, last, |held| is_complete(lanes, held.point()));
    }
}

const NO_BARRIER: Barrier = Barrier { src_stages: Stages::NONE, dst_stages: Stages::NONE };

/// Adds the order from the stages `src`, if there are any, to `dst`.
fn extend_barrier(barrier: &mut Barrier, src: Stages, dst: Stage) {
    if !src.is_empty() {
        barrier.src_stages |= src;
        barrier.dst_stages |= dst.into();
    }
}

/// Whether `point` is known to be reached. A lane is only forgotten when all of it is.
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
