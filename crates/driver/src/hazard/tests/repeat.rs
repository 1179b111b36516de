//! An operation repeated in constant time, against the same operation ordered afresh each time.

use std::sync::Arc;

use super::{AccessPlan, BlockAccess, Compute, Mode, Read, Rig, Transfer, Write};
use crate::hazard::{Operation, Repeatable};

/// What may happen next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The repeatable operation of this number, on a lane.
    Repeat(usize, usize),
    /// An operation that conflicts with the first repeatable one, on a lane.
    Other(usize),
    /// The lane's batch is sent and complete.
    Completion(usize),
    /// The lane's batch is sent.
    Sent(usize),
    /// The host looks at a block.
    Look,
}

use Event::{Completion, Look, Other, Repeat, Sent};

const EVENTS: [Event; 8] = [Repeat(0, 0), Repeat(0, 1), Repeat(1, 0), Other(0), Other(1), Completion(0), Sent(0), Look];

/// Long enough for something before, three in a row, and something after.
const LEN: u32 = 5;

const N_BLOCKS: usize = 3;

/// The repeatable operations: one that writes, one that only reads.
fn operations(rig: &Rig) -> [Vec<BlockAccess>; 2] {
    let uses = |uses: &[super::Use]| uses.iter().map(|used| rig.access(used)).collect::<Vec<_>>();
    let mut writing = uses(&[(0, 0..8, Read, Compute), (1, 0..8, Write, Compute), (1, 8..16, Write, Transfer)]);
    writing.push(rig.access(&(2, 0..4, Read, Transfer)).unordered());
    [writing, uses(&[(0, 0..16, Read, Compute), (1, 4..6, Read, Transfer)])]
}

#[test]
fn a_repeated_operation_is_ordered_as_any_other() {
    let mut n_repeated = 0;
    for number in 0..EVENTS.len().pow(LEN) {
        let digit = |at: u32| number / EVENTS.len().pow(at) % EVENTS.len();
        n_repeated += compare(&(0..LEN).map(|at| EVENTS[digit(at)]).collect::<Vec<_>>());
    }
    assert!(n_repeated > 5_000, "{n_repeated}: nothing was repeated");
}

/// Runs the events on both tables. Returns how often an operation was repeated in constant time.
fn compare(events: &[Event]) -> usize {
    let (mut plain, mut short) = (Rig::new(2, N_BLOCKS), Rig::new(2, N_BLOCKS));
    let [a, b] = operations(&plain);
    let repeatable = operations(&short).map(|accesses| Arc::new(Repeatable::new(accesses)));
    let mut n_repeated = 0;
    for (at, &event) in events.iter().enumerate() {
        match event {
            Repeat(nth, lane) => {
                let plan = run(&mut plain, lane, [&a, &b][nth]);
                send(&mut short, lane, &plan);
                n_repeated += usize::from(short.table.is_repeated(short.lanes[lane], &repeatable[nth]));
                short.table.commit(&plan, short.open[lane], Operation::Repeatable(&repeatable[nth]));
            }
            Other(lane) => {
                let access = [plain.access(&(1, 6..10, Write, Compute)), plain.access(&(0, 4..5, Read, Compute))];
                assert_eq!(run(&mut plain, lane, &access), run(&mut short, lane, &access), "event {at} of {events:?}");
            }
            Completion(lane) => {
                for rig in [&mut plain, &mut short] {
                    let value = rig.submit(lane);
                    rig.complete(lane, value);
                }
            }
            Sent(lane) => {
                plain.submit(lane);
                short.submit(lane);
            }
            Look => assert_same_uses(&mut plain, &mut short, events),
        }
    }
    assert_eq!(plain.open, short.open, "{events:?}");
    assert_same_uses(&mut plain, &mut short, events);
    for block in 0..N_BLOCKS {
        let points = |rig: &mut Rig| -> Vec<_> {
            let mut points: Vec<_> =
                rig.table.retire_block(rig.blocks[block]).iter().map(|last| last.point()).collect();
            points.sort_unstable_by_key(|point| point.lane);
            points
        };
        assert_eq!(points(&mut plain), points(&mut short), "block {block} after {events:?}");
    }
    n_repeated
}

fn run(rig: &mut Rig, lane: usize, accesses: &[BlockAccess]) -> AccessPlan {
    let plan = rig.table.plan(rig.lanes[lane], accesses);
    send(rig, lane, &plan);
    rig.table.commit(&plan, rig.open[lane], Operation::Once(accesses));
    plan
}

/// Submits what the plan waits for, and what comes before the wait.
fn send(rig: &mut Rig, lane: usize, plan: &AccessPlan) {
    for wait in &plan.waits {
        let other = rig.lanes.iter().position(|&lane| lane == wait.lane).expect("a lane of the rig");
        rig.open[other] = rig.open[other].max(wait.value + 1);
    }
    rig.open[lane] += u64::from(!plan.waits.is_empty());
}

fn assert_same_uses(plain: &mut Rig, short: &mut Rig, events: &[Event]) {
    for (block, start) in (0..N_BLOCKS).flat_map(|block| [0, 5, 7, 12].map(move |start| (block, start))) {
        let uses = |rig: &mut Rig, mode: Mode| {
            let mut points = rig.table.uses(rig.blocks[block], start..start + 1, mode);
            points.sort_unstable_by_key(|point| point.lane); // Their order says nothing.
            points
        };
        for mode in [Read, Write] {
            assert_eq!(uses(plain, mode), uses(short, mode), "byte {start} of block {block} after {events:?}");
        }
    }
}

#[test]
fn what_was_retired_or_ended_in_between_is_not_repeated() {
    let mut rig = Rig::new(2, N_BLOCKS);
    let operation = Arc::new(Repeatable::new(operations(&rig)[0].clone()));
    let run = |rig: &mut Rig| {
        let plan = rig.table.plan(rig.lanes[0], operation.accesses());
        rig.table.commit(&plan, rig.open[0], Operation::Repeatable(&operation));
    };
    let is_repeated = |rig: &Rig, lane: usize| rig.table.is_repeated(rig.lanes[lane], &operation);
    assert!(!is_repeated(&rig, 0), "it was never committed");
    run(&mut rig);
    let twin = Arc::new(Repeatable::clone(&operation));
    assert!(!rig.table.is_repeated(rig.lanes[0], &twin), "another operation");
    assert!(!is_repeated(&rig, 1), "another lane");
    assert!(is_repeated(&rig, 0));
    run(&mut rig);
    let unrelated = rig.table.add_block();
    assert!(rig.table.retire_block(unrelated).is_empty());
    assert!(!is_repeated(&rig, 0), "its blocks may be gone");
    // The repetitions of a lane end with the lane.
    run(&mut rig);
    assert!(is_repeated(&rig, 0));
    run(&mut rig);
    rig.table.remove_lane(rig.lanes[0]);
    rig.complete(0, 1);
    assert!(rig.table.retire_block(rig.blocks[1]).is_empty());
}
