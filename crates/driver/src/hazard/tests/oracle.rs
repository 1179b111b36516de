//! Runs random programs by the ten thousand, and makes a failing one small before printing it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::machine::{Counts, Machine};
use super::program::{Profile, Program, Rng};
use super::verdict::judge;

fn run(program: &Program, seed: u64, check_need: bool) -> Result<Counts, String> {
    let judged = catch_unwind(AssertUnwindSafe(|| {
        let machine = Machine::run(program, check_need)?;
        judge(&machine, &mut Rng(seed)).map(|()| machine.counts)
    }));
    judged.unwrap_or_else(|_| Err("panicked, see above".into()))
}

/// Drops steps and accesses as long as what is left still fails.
fn shrink(mut program: Program, seed: u64, check_need: bool) -> Program {
    while let Some(smaller) = program.smaller().into_iter().find(|program| run(program, seed, check_need).is_err()) {
        program = smaller;
    }
    program
}

fn run_all(seeds: std::ops::Range<u64>, profile: &Profile, check_need: bool) -> Counts {
    let mut total = Counts::default();
    for seed in seeds {
        let program = Program::random(seed, profile);
        let counts = run(&program, seed, check_need).unwrap_or_else(|what| {
            let program = shrink(program, seed, check_need);
            let what_now = run(&program, seed, check_need).expect_err("it still fails");
            panic!("seed {seed}, {profile:?}: {what}\nshrunk: {program:#?}\n{what_now}");
        });
        total.operations += counts.operations;
        total.barriers += counts.barriers;
        total.waits += counts.waits;
        total.last_uses += counts.last_uses;
        total.host_waits += counts.host_waits;
    }
    total
}

/// So few accesses that the planner keeps them all apart.
const TINY: Profile =
    Profile { max_lanes: 4, max_blocks: 3, n_operations: 4..8, max_touches: 2, n_cells: 8, has_exceptions: false };

const SMALL: Profile =
    Profile { max_lanes: 4, max_blocks: 3, n_operations: 4..13, max_touches: 3, n_cells: 8, has_exceptions: false };

#[test]
fn tiny_programs_are_ordered_and_nothing_is_needless() {
    let counts = run_all(0..60_000, &TINY, true);
    // All paths were taken, and often.
    assert!(counts.barriers > 10_000 && counts.waits > 10_000 && counts.host_waits > 5_000, "{counts:?}");
}

#[test]
fn small_programs_are_ordered() {
    let counts = run_all(500_000..540_000, &SMALL, false);
    assert!(counts.barriers > 10_000 && counts.waits > 10_000 && counts.host_waits > 5_000, "{counts:?}");
}

#[test]
fn programs_with_unordered_empty_and_recycled_memory_are_ordered() {
    let counts = run_all(1_000_000..1_060_000, &Profile { has_exceptions: true, ..SMALL }, false);
    assert!(counts.barriers > 10_000 && counts.waits > 10_000 && counts.last_uses > 10_000, "{counts:?}");
}

#[test]
fn one_lane_is_ordered_and_nothing_is_needless() {
    let counts = run_all(2_000_000..2_020_000, &Profile { max_lanes: 1, ..TINY }, true);
    assert!(counts.barriers > 10_000, "{counts:?}");
}

/// More intervals than are kept apart.
#[test]
fn long_programs_on_one_block_are_ordered_when_coarse() {
    let profile =
        Profile { max_blocks: 1, n_operations: 20..60, max_touches: 2, n_cells: 24, has_exceptions: true, ..SMALL };
    let counts = run_all(3_000_000..3_004_000, &profile, false);
    assert!(counts.barriers > 10_000 && counts.waits > 10_000, "{counts:?}");
}
