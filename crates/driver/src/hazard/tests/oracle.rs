//! Runs random programs by the thousand, and makes a failing one small before printing it.
//!
//! `VKARRAY_TEST_PROGRAMS` sets how many of each kind run.

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

/// Runs `n` programs with the seeds from `first_seed` up. Returns what happened in them, and an eighth of their number, which
/// is less than the number of times that each path was taken.
fn run_all(first_seed: u64, n: u64, profile: &Profile, check_need: bool) -> (Counts, u64) {
    let n = std::env::var("VKARRAY_TEST_PROGRAMS").map_or(n, |text| text.parse().expect("a number"));
    let mut total = Counts::default();
    for seed in first_seed..first_seed + n {
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
    (total, n / 8)
}

/// Programs with fewer accesses than the planner merges.
const TINY: Profile =
    Profile { max_lanes: 4, max_blocks: 3, n_operations: 4..8, max_touches: 2, n_cells: 8, has_exceptions: false };

const SMALL: Profile =
    Profile { max_lanes: 4, max_blocks: 3, n_operations: 4..13, max_touches: 3, n_cells: 8, has_exceptions: false };

#[test]
fn tiny_programs_are_ordered_and_nothing_is_needless() {
    let (counts, many) = run_all(0, 6000, &TINY, true);
    // Every path of the planner was taken many times.
    assert!(counts.barriers > many && counts.waits > many && counts.host_waits > many, "{counts:?}");
}

#[test]
fn small_programs_are_ordered() {
    let (counts, many) = run_all(500_000, 4000, &SMALL, false);
    assert!(counts.barriers > many && counts.waits > many && counts.host_waits > many, "{counts:?}");
}

#[test]
fn programs_with_unordered_empty_and_recycled_memory_are_ordered() {
    let (counts, many) = run_all(1_000_000, 6000, &Profile { has_exceptions: true, ..SMALL }, false);
    assert!(counts.barriers > many && counts.waits > many && counts.last_uses > many, "{counts:?}");
}

#[test]
fn one_lane_is_ordered_and_nothing_is_needless() {
    let (counts, many) = run_all(2_000_000, 2000, &Profile { max_lanes: 1, ..TINY }, true);
    assert!(counts.barriers > many, "{counts:?}");
}

/// The block has more intervals than are kept apart.
#[test]
fn long_programs_on_one_block_are_ordered_when_coarse() {
    let profile =
        Profile { max_blocks: 1, n_operations: 20..60, max_touches: 2, n_cells: 24, has_exceptions: true, ..SMALL };
    let (counts, many) = run_all(3_000_000, 1000, &profile, false);
    assert!(counts.barriers > many && counts.waits > many, "{counts:?}");
}
