//! Decides which barriers and waits order an operation after the earlier ones it conflicts with.
//!
//! A *lane* is one stream's ordered recording onto one queue, in numbered batches; batch *k* signals *k* on the lane's
//! timeline. Inside a lane a conflict is ordered by a barrier, between lanes by a timeline wait at the start of a batch.
//! Two uses conflict where their bytes overlap and one of them writes. Nothing is ordered twice: what a barrier, a
//! wait (directly or through other lanes) or a completed batch already orders costs nothing.
//!
//! Pure bookkeeping: no Vulkan call, no lock, no clock. The stream that records the work plans each operation, does
//! what the plan asks, and commits it. Read `access.rs` for what an operation says of itself, `plan.rs`
//! for what it needs, then `lane_order.rs` and `uses.rs` for what is remembered in between; `repeat.rs` is for graphs.

mod access;
mod lane_order;
mod plan;
mod repeat;
#[cfg(test)]
mod tests;
mod uses;

use std::ops::Range;

use slotmap::SlotMap;
use smallvec::smallvec;

use self::lane_order::LaneOrder;
use self::plan::{latest, raise};
use self::repeat::Last;
use self::uses::{Interval, Uses};

pub use self::access::{Access, BlockId, Mode, Stage, Stages};
pub use self::lane_order::LaneId;
pub use self::plan::{AccessPlan, Barrier, LanePoint, LastUse, LastUses, Points, merge_last_use};
pub use self::repeat::Repeatable;

/// The lanes and blocks of one device, and which uses are not yet known to be complete.
///
/// All methods return at once. A method given a block that was retired, or a lane that was removed and has finished,
/// panics: going on would miss a hazard.
#[derive(Debug, Default)]
pub struct HazardTable {
    lanes: SlotMap<LaneId, LaneOrder>,
    blocks: SlotMap<BlockId, Uses>,
    n_operations: u64,
    last: Option<Last>,
}

impl HazardTable {
    /// Creates a table without lanes or blocks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a lane that records onto `queue`. Its timeline starts at zero, its first batch is at least one.
    pub fn add_lane(&mut self, queue: u32) -> LaneId {
        self.lanes.insert(LaneOrder::new(queue))
    }

    /// Removes a lane, which records nothing from now on.
    ///
    /// Work still pending keeps its place: plans go on naming the lane, and its completion must still be reported.
    ///
    /// # Panics
    ///
    /// If the lane is not known.
    pub fn remove_lane(&mut self, lane: LaneId) {
        self.lane(lane);
        self.catch_up();
        self.lanes[lane].is_removed = true;
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

    /// Adds a block of memory that nothing pending uses.
    pub fn add_block(&mut self) -> BlockId {
        self.blocks.insert(Uses::default())
    }

    /// Adds a block of memory whose former uses may still be running: those of one retired block, or of several that
    /// shared the memory. Whoever touches the block is ordered after them, on the same lane by a barrier alone.
    pub fn add_block_after(&mut self, former: &[LastUse]) -> BlockId {
        self.blocks.insert(Uses::after(former))
    }

    /// Forgets a block, and returns the last uses that must be complete before its memory is freed.
    ///
    /// # Panics
    ///
    /// If the block is not known.
    pub fn retire_block(&mut self, block: BlockId) -> LastUses {
        self.catch_up();
        self.last = None; // It may use the block.
        let uses = self.blocks.remove(block).unwrap_or_else(|| unknown_block(block));
        uses.last_uses(|last| is_complete(&self.lanes, last.point()))
    }

    /// Takes note that the timeline of `lane` reached `value`, and returns the points on other lanes that are known by
    /// this to be reached too: the lane had waited for them, or for others that had.
    ///
    /// Reporting a value twice, out of order, or for a lane that has finished changes nothing.
    pub fn completed(&mut self, lane: LaneId, value: u64) -> Points {
        let mut implied = Points::new();
        let mut reached: Points = smallvec![LanePoint { lane, value }];
        while let Some(point) = reached.pop() {
            let Some(lane) = self.lanes.get_mut(point.lane) else { continue };
            for waited_for in lane.complete(point.value) {
                if !is_complete(&self.lanes, waited_for) {
                    raise(&mut implied, waited_for);
                    reached.push(waited_for);
                }
            }
            self.forget_if_finished(point.lane);
        }
        implied
    }

    /// Takes note that the batch `value` of `lane` waits for `point` for reasons of its own, and with it every later
    /// batch. The batch of `point` takes no more waits.
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

    /// Plans and commits, into the batch `value`, an operation that waits for no other lane: what most are.
    ///
    /// Returns nothing if it must wait, and changes nothing then; else the barrier to record before it, if one is needed.
    ///
    /// # Panics
    ///
    /// As [`HazardTable::plan`] and [`HazardTable::commit`].
    pub fn order(&mut self, lane: LaneId, value: u64, accesses: &[Access]) -> Option<Option<Barrier>> {
        self.catch_up();
        let mut must_wait = false;
        let barrier = self.conflicts(lane, accesses, |_| must_wait = true);
        if must_wait {
            return None;
        }
        self.last = None; // It was caught up with.
        let seq = self.begin_operation(lane, value, barrier);
        self.record_uses(lane, value, seq, accesses);
        Some(barrier)
    }

    /// Returns what must happen before an operation with these accesses is recorded on `lane`. Orders nothing yet.
    ///
    /// The accesses of one operation are not ordered among themselves.
    ///
    /// # Panics
    ///
    /// If the lane or a block is not known.
    pub fn plan(&mut self, lane: LaneId, accesses: &[Access]) -> AccessPlan {
        self.catch_up();
        let mut waits = Points::new();
        let mut barrier = self.conflicts(lane, accesses, |point| raise(&mut waits, point));
        if !waits.is_empty() {
            waits = self.without_implied(&waits);
            barrier = self.barrier_behind(lane, accesses, &waits).needed();
        }
        AccessPlan { barrier, waits, lane, made_at: self.n_operations }
    }

    /// Calls `wait` with the points on other lanes that come before the accesses, and returns the barrier that orders
    /// these after their conflicts inside `lane`.
    #[inline]
    fn conflicts(&self, lane: LaneId, accesses: &[Access], mut wait: impl FnMut(LanePoint)) -> Option<Barrier> {
        let own = self.lane(lane);
        let mut barrier = NO_BARRIER;
        for access in accesses {
            self.block(access.block).for_each_before(access, |last| {
                if last.lane == lane {
                    widen(&mut barrier, own.unclean(last, access.stage, own.settled()), access.stage);
                } else if !is_complete(&self.lanes, last.point()) && !own.knows(last.point()) {
                    wait(last.point());
                }
            });
        }
        barrier.needed()
    }

    /// Records the operation that `plan` was made for into the batch `value`.
    ///
    /// # Panics
    ///
    /// If another operation was committed since the plan was made, if the plan has waits and the batch already holds
    /// operations, or if the batch is older than one that holds operations or is complete.
    pub fn commit(&mut self, plan: &AccessPlan, value: u64, accesses: &[Access]) {
        self.commit_operation(plan, value, accesses);
    }

    fn commit_operation(&mut self, plan: &AccessPlan, value: u64, accesses: &[Access]) -> u64 {
        assert_eq!(plan.made_at, self.n_operations, "the plan is older than the last committed operation");
        self.lane(plan.lane);
        self.last = None; // Caught up with, since nothing was committed after the plan was made.
        self.wait(plan.lane, value, &plan.waits);
        let seq = self.begin_operation(plan.lane, value, plan.barrier);
        self.record_uses(plan.lane, value, seq, accesses);
        seq
    }

    /// Takes note of the next operation of a lane, and of the barrier before it. Returns its sequence number.
    fn begin_operation(&mut self, lane: LaneId, value: u64, barrier: Option<Barrier>) -> u64 {
        let own = &mut self.lanes[lane];
        let seq = own.begin_operation(value);
        if let Some(barrier) = barrier {
            own.apply(barrier, seq);
        }
        self.n_operations += 1;
        seq
    }

    fn record_uses(&mut self, lane: LaneId, value: u64, seq: u64, accesses: &[Access]) {
        let own = &self.lanes[lane];
        let is_complete = |last: &LastUse| is_complete(&self.lanes, last.point());
        for access in accesses {
            let last = || LastUse { lane, value, seq, stages: access.stage.into() };
            let uses = self.blocks.get_mut(access.block).unwrap_or_else(|| unknown_block(access.block));
            if access.is_hazard() {
                let Range { start, end } = access.range;
                let last_barrier = || own.last_barrier_from(access.stage);
                uses.record(Interval { start, end, mode: access.mode, last: last() }, last_barrier, is_complete);
            } else {
                uses.record_unordered(&last(), is_complete);
            }
        }
    }

    /// Returns the points to wait for before the host touches the bytes `range` of `block`, unordered uses included.
    ///
    /// # Panics
    ///
    /// If the block is not known.
    pub fn uses(&mut self, block: BlockId, range: Range<u64>, mode: Mode) -> Points {
        self.catch_up();
        let mut points = Points::new();
        if range.is_empty() {
            return points;
        }
        for point in self.block(block).before_host(&range, mode).map(LastUse::point) {
            if !is_complete(&self.lanes, point) {
                raise(&mut points, point);
            }
        }
        points
    }

    /// Merges the barriers of the conflicts inside `lane` that are left behind `waits`: these may have waited for the
    /// lane themselves.
    fn barrier_behind(&self, lane: LaneId, accesses: &[Access], waits: &Points) -> Barrier {
        let own = self.lane(lane);
        let settled = self.settled_by(lane, waits).max(own.settled());
        let mut barrier = NO_BARRIER;
        for access in accesses {
            self.block(access.block).for_each_before(access, |last| {
                if last.lane == lane {
                    widen(&mut barrier, own.unclean(last, access.stage, settled), access.stage);
                }
            });
        }
        barrier
    }

    /// Drops the points that another of the points has itself waited for.
    fn without_implied(&self, points: &Points) -> Points {
        let implies = |by: &LanePoint, point: &LanePoint| {
            self.known_at(*by).any(|known| known.lane == point.lane && known.value >= point.value)
        };
        points.iter().filter(|point| !points.iter().any(|by| implies(by, point))).copied().collect()
    }

    /// The newest batch of `lane` that one of `waits` has itself waited for.
    fn settled_by(&self, lane: LaneId, waits: &Points) -> u64 {
        let known = waits.iter().flat_map(|&wait| self.known_at(wait));
        known.filter(|known| known.lane == lane).map(|known| known.value).max().unwrap_or(0)
    }

    /// Iterates over what the batch of `point` has waited for.
    fn known_at(&self, point: LanePoint) -> impl Iterator<Item = LanePoint> {
        self.lanes.get(point.lane).into_iter().flat_map(move |lane| lane.known_at(point.value))
    }

    /// Notes that the batch `value` of `lane` waits for `points`, and for what these have waited for.
    fn wait(&mut self, lane: LaneId, value: u64, points: &[LanePoint]) {
        for &point in points {
            self.lanes[lane].assert_can_wait(value);
            let implied = latest(self.known_at(point));
            for known in implied.into_iter().chain([point]) {
                if known.lane == lane {
                    self.lanes[lane].settle(known.value);
                } else if !is_complete(&self.lanes, known) {
                    self.lanes[lane].learn(known, value);
                }
            }
        }
    }

    fn forget_if_finished(&mut self, lane: LaneId) {
        if self.lanes.get(lane).is_some_and(|lane| lane.is_removed && lane.is_idle()) {
            self.lanes.remove(lane);
        }
    }

    fn lane(&self, lane: LaneId) -> &LaneOrder {
        self.lanes.get(lane).unwrap_or_else(|| unknown_lane(lane))
    }

    fn block(&self, block: BlockId) -> &Uses {
        self.blocks.get(block).unwrap_or_else(|| unknown_block(block))
    }
}

const NO_BARRIER: Barrier = Barrier { src_stages: Stages::NONE, dst_stages: Stages::NONE };

/// Adds the order from `src`, if there are any, to `dst`.
fn widen(barrier: &mut Barrier, src: Stages, dst: Stage) {
    if !src.is_empty() {
        barrier.src_stages |= src;
        barrier.dst_stages |= dst.into();
    }
}

/// Whether `point` is known to be reached. A lane is only forgotten when all of it is.
fn is_complete(lanes: &SlotMap<LaneId, LaneOrder>, point: LanePoint) -> bool {
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
