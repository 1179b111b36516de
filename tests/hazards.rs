//! Random programs over several streams, compared with a sequential execution on the host.
//!
//! The library guarantees that the results do not depend on the streams to which operations are given: memory ends as if
//! the operations had run one after the other. A program reads, writes and accumulates overlapping parts of a few blocks
//! with kernels, copies, fills and host copies, and creates and drops streams and blocks. The validation layer also checks
//! the order, and reports errors that do not change the bytes. `program.rs` makes a program from a seed, `machine.rs`
//! runs it on the device, `reference.rs` on the host. `graphs.rs` adds replays of graphs.

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

/// The number of programs unless `VKARRAY_TEST_PROGRAMS` is set.
const N_PROGRAMS: u64 = 400;

#[test]
fn random_programs_on_many_streams_give_the_results_of_running_in_order() {
    let n_programs = n_programs(N_PROGRAMS);
    let fixture = Fixture::for_round_trips();
    let machine = Machine::new(&fixture);
    for seed in 0..n_programs {
        let run = || {
            compare(&machine, &Program::random(seed));
            fixture.assert_no_messages("the program");
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

/// Runs the program on the device and on the host, and compares all memory and all host reads.
fn compare(machine: &Machine<'_>, program: &Program) {
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

/// Checks the generator: each kind of operation and each number of streams must occur often.
#[test]
fn random_programs_contain_every_kind_of_operation() {
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
    assert_eq!(
        format!("{:?}", Program::random(7)),
        format!("{:?}", Program::random(7)),
        "a seed determines its program"
    );
}
