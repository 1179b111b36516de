//! What does ordering one operation cost on the host? In nanoseconds an operation.
//!
//! `cargo bench -p vkarray-driver --bench hazard`. Each row is the best and the median of many rounds; a round is
//! long enough to hide the clock. Nothing here opens a device.

use std::hint::black_box;
use std::time::Instant;

use vkarray_driver::hazard::{BlockAccess, BlockId, HazardTable, LaneId, Operation, Order, Stage};

const ROUNDS: usize = 201;
const OPERATIONS_A_ROUND: u64 = 10_000;
/// Operations a batch; a batch completes when the next one opens.
const BATCH: u64 = 64;
const N_BYTES: u64 = 1 << 20;

fn main() {
    println!("{:<62} {:>8} {:>8}", "order, ns an operation", "best", "median");
    report("3 reads", one_lane(|blocks, _| reads(blocks, [0, 1, 2])));
    report("2 reads, 1 write, nothing conflicting", one_lane(|blocks, i| map(blocks, 0, 1, 2 + turn(i, BATCH))));
    report("2 reads, 1 write, a barrier each", one_lane(|blocks, i| map(blocks, turn(i, 2), 2, turn(i + 1, 2))));
    report("2 reads, 1 write, to the 64 parts of one block in turn", one_lane(part));
    report("2 reads, 1 write, to 61 scattered parts of one block", one_lane(scattered_part));
    report("2 reads, 1 write, on two lanes in turn, a wait each", two_lanes());
    report("a block added, written, retired and reused", recycled());
}

fn report(what: &str, mut operation: impl FnMut(u64)) {
    // `cargo bench` passes `--bench`; any other argument selects rows.
    let mut filters = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    if filters.next().is_some_and(|first| !what.contains(&first)) {
        return;
    }
    let mut i = 0;
    let mut round = || {
        let start = Instant::now();
        for _ in 0..OPERATIONS_A_ROUND {
            operation(i);
            i += 1;
        }
        start.elapsed().as_secs_f64() * 1e9 / OPERATIONS_A_ROUND as f64
    };
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<62} {:>8.1} {:>8.1}", times[0], times[ROUNDS / 2]);
}

/// Which of `n` it is the turn of.
fn turn(i: u64, n: u64) -> usize {
    usize::try_from(i % n).expect("a small number")
}

fn reads(blocks: &[BlockId], which: [usize; 3]) -> [BlockAccess; 3] {
    which.map(|at| BlockAccess::read(blocks[at], 0..N_BYTES, Stage::Compute))
}

fn map(blocks: &[BlockId], x: usize, y: usize, out: usize) -> [BlockAccess; 3] {
    let [x, y, out] = [x, y, out].map(|at| blocks[at]);
    let write = BlockAccess::write(out, 0..N_BYTES, Stage::Compute);
    [BlockAccess::read(x, 0..N_BYTES, Stage::Compute), BlockAccess::read(y, 0..N_BYTES, Stage::Compute), write]
}

fn part(blocks: &[BlockId], i: u64) -> [BlockAccess; 3] {
    let mut accesses = map(blocks, 0, 1, 2);
    let start = i % BATCH * 4096;
    accesses[2].range = start..start + 4096;
    accesses
}

fn scattered_part(blocks: &[BlockId], i: u64) -> [BlockAccess; 3] {
    let mut accesses = map(blocks, 0, 1, 2);
    let start = i * 17 % 61 * 8192;
    accesses[2].range = start..start + 4096;
    accesses
}

/// Records `accesses` on one lane, in batches that complete one behind.
fn one_lane(accesses: impl Fn(&[BlockId], u64) -> [BlockAccess; 3]) -> impl FnMut(u64) {
    let mut table = HazardTable::new();
    let lane = table.add_lane();
    let blocks: Vec<BlockId> = (0..BATCH + 2).map(|_| table.add_block()).collect();
    move |i| {
        let value = 1 + i / BATCH;
        if i % BATCH == 0 {
            table.completed(lane, value - 1);
        }
        record(&mut table, lane, value, &accesses(&blocks, i));
    }
}

fn two_lanes() -> impl FnMut(u64) {
    let mut table = HazardTable::new();
    let lanes = [table.add_lane(), table.add_lane()];
    let blocks: Vec<BlockId> = (0..3).map(|_| table.add_block()).collect();
    move |i| {
        let lane = turn(i, 2);
        let value = 1 + i / 2;
        if i % 16 == 0 && value > 8 {
            table.completed(lanes[0], value - 8);
        }
        record(&mut table, lanes[lane], value, &map(&blocks, lane, 2, 1 - lane));
    }
}

fn recycled() -> impl FnMut(u64) {
    let mut table = HazardTable::new();
    let lane = table.add_lane();
    let mut block = table.add_block();
    move |i| {
        let value = 1 + i / BATCH;
        if i % BATCH == 0 {
            table.completed(lane, value - 1);
        }
        record(&mut table, lane, value, &[BlockAccess::write(block, 0..N_BYTES, Stage::Compute)]);
        let former = table.retire_block(block);
        block = table.add_block_after(&former);
    }
}

fn record(table: &mut HazardTable, lane: LaneId, value: u64, accesses: &[BlockAccess]) {
    let accesses = black_box(accesses);
    match table.order(lane, value, Operation::Once(accesses)) {
        Order::Ready(barrier) => _ = black_box(barrier),
        Order::Wait(waits) => {
            waits.iter().for_each(|&point| table.waited(lane, value, point));
            _ = black_box(table.order(lane, value, Operation::Once(accesses)));
        }
    }
}
