//! Tests of the hazard table: one rule a test here; random programs against a weakly ordered machine in `tests/oracle.rs`.

mod between;
mod inside;
mod lifetimes;
mod machine;
mod oracle;
mod program;
mod repeat;
mod verdict;

use std::ops::Range;
use std::sync::Arc;

use super::{Barrier, BlockAccess, BlockId, HazardTable, LaneId, Mode, Operation, Order, Points, Stage, Stages};

use Mode::{Read, Write};
use Stage::{Compute, Constant, Transfer};

/// What must happen before an operation: the waits first, then the barrier.
#[derive(Clone, Debug, PartialEq)]
struct AccessPlan {
    barrier: Option<Barrier>,
    waits: Points,
    lane: LaneId,
}

impl Clone for HazardTable {
    fn clone(&self) -> Self {
        let mut lanes = self.lanes.clone();
        lanes.values_mut().for_each(|lane| *lane = Arc::new(lane.copy()));
        Self { lanes, blocks: self.blocks.clone(), last: self.last.clone() }
    }
}

impl HazardTable {
    /// Orders an operation as a lane does: by the lane's own table if the lane owns the blocks, else by this table.
    fn order_as_lane(&mut self, lane: LaneId, value: u64, operation: Operation<'_>) -> Order {
        let Operation::Once(accesses) = operation else { return self.order(lane, value, operation) };
        if let Some(barrier) = self.lane_table(lane).order(value, accesses) {
            return Order::Ready(barrier);
        }
        let order = self.order(lane, value, operation);
        if matches!(order, Order::Ready(_)) {
            self.own(lane, accesses);
        }
        order
    }

    /// How an operation would be ordered, without ordering it.
    fn plan(&self, lane: LaneId, accesses: &[BlockAccess]) -> AccessPlan {
        let mut copy = self.clone();
        let value = copy.lane(lane).lock().order.next_value();
        let waits = match copy.order_as_lane(lane, value, Operation::Once(accesses)) {
            Order::Ready(barrier) => return AccessPlan { barrier, waits: Points::new(), lane },
            Order::Wait(waits) => waits,
        };
        waits.iter().for_each(|&point| copy.waited(lane, value, point));
        match copy.order_as_lane(lane, value, Operation::Once(accesses)) {
            Order::Ready(barrier) => AccessPlan { barrier, waits, lane },
            Order::Wait(again) => panic!("waits for {again:?} after {waits:?}"),
        }
    }

    /// Orders an operation as planned.
    fn commit(&mut self, plan: &AccessPlan, value: u64, operation: Operation<'_>) {
        plan.waits.iter().for_each(|&point| self.waited(plan.lane, value, point));
        assert_eq!(self.order_as_lane(plan.lane, value, operation), Order::Ready(plan.barrier), "{plan:?}");
    }
}

/// A table with lanes and blocks to name by number.
struct Rig {
    table: HazardTable,
    lanes: Vec<LaneId>,
    blocks: Vec<BlockId>,
    /// The open batch of each lane. A batch is closed by `submit` and by a plan that has waits.
    open: Vec<u64>,
}

/// (block, bytes, mode, stage)
type Use = (usize, Range<u64>, Mode, Stage);

/// Source and destination stages of a barrier.
type Stagewise = Option<(Stages, Stages)>;

fn from_to(src: &[Stage], dst: &[Stage]) -> Stagewise {
    Some((src.iter().copied().collect(), dst.iter().copied().collect()))
}

impl Rig {
    fn new(n_lanes: usize, n_blocks: usize) -> Self {
        let mut table = HazardTable::new();
        let lanes = (0..n_lanes).map(|_| table.add_lane()).collect();
        let blocks = (0..n_blocks).map(|_| table.add_block()).collect();
        Self { table, lanes, blocks, open: vec![1; n_lanes] }
    }

    fn access(&self, (block, range, mode, stage): &Use) -> BlockAccess {
        BlockAccess { block: self.blocks[*block], range: range.clone(), mode: *mode, stage: *stage, ordered: true }
    }

    /// Plans and commits an operation; returns the plan.
    fn run(&mut self, lane: usize, accesses: &[BlockAccess]) -> AccessPlan {
        let plan = self.table.plan(self.lanes[lane], accesses);
        if !plan.waits.is_empty() {
            self.open[lane] += 1;
        }
        self.table.commit(&plan, self.open[lane], Operation::Once(accesses));
        plan
    }

    fn record(&mut self, lane: usize, accesses: &[BlockAccess]) {
        let _plan = self.run(lane, accesses);
    }

    fn plan(&mut self, lane: usize, uses: &[Use]) -> AccessPlan {
        let accesses: Vec<BlockAccess> = uses.iter().map(|used| self.access(used)).collect();
        self.run(lane, &accesses)
    }

    /// Runs an operation that needs no waits; returns its barrier.
    fn barrier(&mut self, lane: usize, uses: &[Use]) -> Stagewise {
        let plan = self.plan(lane, uses);
        assert!(plan.waits.is_empty(), "{plan:?}");
        plan.barrier.map(|barrier| (barrier.src_stages, barrier.dst_stages))
    }

    /// Runs an operation; returns what it waits for, as (lane, value), in the order of lanes.
    fn waits(&mut self, lane: usize, uses: &[Use]) -> Vec<(usize, u64)> {
        let plan = self.plan(lane, uses);
        let number = |id| self.lanes.iter().position(|&lane| lane == id).expect("a lane of the rig");
        let mut waits: Vec<_> = plan.waits.iter().map(|point| (number(point.lane), point.value)).collect();
        waits.sort_unstable();
        waits
    }

    fn submit(&mut self, lane: usize) -> u64 {
        self.open[lane] += 1;
        self.open[lane] - 1
    }

    fn complete(&mut self, lane: usize, value: u64) {
        self.table.completed(self.lanes[lane], value);
    }
}

/// Every range within four bytes, empty ones too.
fn small_ranges() -> impl Iterator<Item = Range<u64>> + Clone {
    (0..=4).flat_map(|start| (start..=4).map(move |end| start..end))
}
