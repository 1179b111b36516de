//! Models of lanes that order operations by their own tables and by the device's, in every order of their steps.

use std::sync::Arc;

use loom::model::Builder;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Mutex, MutexGuard};
use loom::thread;
use vkarray_loom::hazard::{BlockAccess, BlockId, HazardTable, LaneId, LaneTable, Mode, Operation, Order, Stage};

/// The value of [`Device::host_from`] while the host accesses nothing.
const NO_ACCESS: u64 = u64::MAX;

/// The state that the threads of a device share.
struct Device {
    table: Mutex<HazardTable>,
    block: BlockId,
    /// While the host accesses the block: the newest operation of the lane that it waited for.
    host_from: AtomicU64,
}

/// A lane of a thread.
struct Lane {
    id: LaneId,
    table: Arc<LaneTable>,
}

/// A committed operation.
struct Committed {
    value: u64,
    /// The newest operation of the other lane that this operation comes after.
    after: u64,
}

impl Device {
    fn new() -> Arc<Self> {
        let mut table = HazardTable::new();
        let block = table.add_block();
        Arc::new(Self { table: Mutex::new(table), block, host_from: AtomicU64::new(NO_ACCESS) })
    }

    fn lock(&self) -> MutexGuard<'_, HazardTable> {
        self.table.lock().expect("no model panics under a lock")
    }

    fn lane(&self) -> Lane {
        let mut table = self.lock();
        let id = table.add_lane();
        Lane { id, table: table.lane_table(id) }
    }

    /// Writes the block in `n` operations, each a batch, in the order of the driver's `Lane::order`.
    fn write(&self, lane: &Lane, n: u64) -> Vec<Committed> {
        let access = [BlockAccess::write(self.block, 0..64, Stage::Compute)];
        let mut after = 0;
        let one = |value| {
            if lane.table.order(value, &access).is_none() {
                after = after.max(self.write_by_table(lane, value, &access));
            }
            let host_from = self.host_from.load(Ordering::SeqCst);
            assert!(value <= host_from, "operation {value} is committed while the host accesses the block");
            Committed { value, after }
        };
        (1..=n).map(one).collect()
    }

    /// Returns the newest operation of another lane that the write waits for.
    fn write_by_table(&self, lane: &Lane, value: u64, access: &[BlockAccess]) -> u64 {
        let mut after = 0;
        loop {
            let mut table = self.lock();
            if self.host_from.load(Ordering::SeqCst) != NO_ACCESS {
                drop(table);
                thread::yield_now();
                continue;
            }
            match table.order(lane.id, value, Operation::Once(access)) {
                Order::Ready(_) => {
                    table.own(lane.id, access);
                    return after;
                }
                Order::Wait(points) => {
                    for point in points {
                        table.waited(lane.id, value, point);
                        after = after.max(point.value);
                    }
                }
            }
        }
    }
}

/// Runs every interleaving with at most three preemptions.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

#[test]
fn operations_of_two_lanes_on_one_block_are_ordered() {
    model(|| {
        let device = Device::new();
        let (first, second) = (device.lane(), device.lane());
        let (theirs, others) = (Arc::clone(&device), Arc::clone(&device));
        let second = thread::spawn(move || theirs.write(&second, 1));
        // Two operations in a row make the lane own the block, which the other lane's operation takes back.
        let first = thread::spawn(move || others.write(&first, 3));
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        for a in &first {
            for b in &second {
                assert!(a.after >= b.value || b.after >= a.value, "{} and {} are not ordered", a.value, b.value);
            }
        }
        // The block ends after the last operations of both lanes, unless one of them comes after the other.
        let last = device.lock().retire_block(device.block);
        assert!(!last.is_empty() && last.iter().all(|last| last.value == 3 || last.value == 1));
    });
}

#[test]
fn the_host_accesses_a_block_after_all_operations_that_are_committed() {
    model(|| {
        let device = Device::new();
        let lane = device.lane();
        let theirs = Arc::clone(&device);
        let writer = thread::spawn(move || theirs.write(&lane, 4));
        let mut table = device.lock();
        let points = table.uses(device.block, 0..64, Mode::Write);
        let newest = points.iter().map(|point| point.value).max().unwrap_or(0);
        device.host_from.store(newest, Ordering::SeqCst);
        drop(table);
        thread::yield_now();
        let table = device.lock();
        device.host_from.store(NO_ACCESS, Ordering::SeqCst);
        drop(table);
        writer.join().unwrap();
    });
}
