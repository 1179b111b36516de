//! Random programs over several streams, judged by running them in order on the host.
//!
//! The runtime promises that whatever streams the operations of a program are given to, memory ends as if they had run
//! one after the other. A program reads, writes and accumulates overlapping parts of a few blocks by kernels, copies,
//! fills and host copies; its streams and blocks come and go. The validation layer judges the order too, and finds
//! what the bytes do not show. `program.rs` makes a program from a seed, `machine.rs` runs it on the device,
//! `reference.rs` on the host. `graphs.rs` mixes in replays of graphs.

mod graphs;
mod machine;
mod program;
mod reference;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use self::machine::Machine;
use self::program::Program;
use self::reference::Reference;
use crate::fixture::Fixture;

/// Programs run unless `VKARRAY_TEST_PROGRAMS` says otherwise.
const N_PROGRAMS: u64 = 400;

#[test]
fn programs_on_many_streams_end_as_if_run_in_order() {
    let n_programs = n_programs(N_PROGRAMS);
    let fixture = Fixture::for_round_trips();
    let machine = Machine::new(&fixture);
    for seed in 0..n_programs {
        let run = || {
            judge(&machine, &Program::random(seed));
            fixture.assert_silent("the program");
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            eprintln!("failed: seed {seed} of {n_programs}");
            resume_unwind(panic);
        }
    }
}

fn n_programs(default: u64) -> u64 {
    env::var("VKARRAY_TEST_PROGRAMS").map_or(default, |text| text.parse().expect("a number"))
}

/// Runs the program on both, and compares all memory and all that the host read on the way.
fn judge(machine: &Machine<'_>, program: &Program) {
    let seen = machine.run(program);
    let expected = Reference::run(program);
    assert_eq!(seen.read.len(), expected.read.len());
    for (nth, (seen, expected)) in seen.read.iter().zip(&expected.read).enumerate() {
        assert_same(&format!("host read {nth}"), seen, expected, program);
    }
    for (nth, (seen, expected)) in seen.blocks.iter().zip(&expected.blocks).enumerate() {
        assert_same(&format!("block {nth}"), seen, expected, program);
    }
}

fn assert_same(what: &str, seen: &[u8], expected: &[u8], program: &Program) {
    let differs = seen.iter().zip(expected).position(|(a, b)| a != b);
    assert!(seen.len() == expected.len() && differs.is_none(), "{what} differs at byte {differs:?} after {program:#?}");
}

/// The programs are worth what they hold: each kind of operation must occur, and conflicts across streams.
#[test]
fn random_programs_hold_everything_they_should() {
    let programs: Vec<_> = (0..N_PROGRAMS).map(Program::random).collect();
    let count = |is: fn(&program::Op) -> bool| programs.iter().flat_map(|p| &p.ops).filter(|op| is(op)).count();
    use program::Op as O;
    let counts = [
        count(|op| matches!(op, O::Mix { .. })),
        count(|op| matches!(op, O::Step { .. })),
        count(|op| matches!(op, O::Copy { .. })),
        count(|op| matches!(op, O::Fill { .. })),
        count(|op| matches!(op, O::Upload { .. })),
        count(|op| matches!(op, O::Download { .. })),
        count(|op| matches!(op, O::Wait { .. })),
        count(|op| matches!(op, O::Flush { .. })),
        count(|op| matches!(op, O::NewStream { .. })),
        count(|op| matches!(op, O::NewBlock { .. })),
    ];
    assert!(counts.iter().all(|&n| n >= 100), "{counts:?}");
    for n_streams in 2..=4 {
        assert!(programs.iter().filter(|program| program.n_streams == n_streams).count() >= 50);
    }
    assert_eq!(format!("{:?}", Program::random(7)), format!("{:?}", Program::random(7)), "a seed is a program");
}
