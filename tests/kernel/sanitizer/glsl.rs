//! Forty kernels in GLSL with a planted fault each, and right ones that come close to a fault. The pass sees SPIR-V alone, so
//! these are its tests for SPIR-V too.

use vkarray::kernel::{Error as KernelError, KernelBuilder};
use vkarray::sanitizer::Fault;
use vkarray::{Context, Source};

use super::{Arrays, marked};
use crate::fixture::{Fixture, contents};

const PLANTED: &str = include_str!("planted.comp");
const RIGHT: &str = include_str!("right.comp");

/// The kernels of `right.comp`.
const RIGHT_KERNELS: [&str; 32] = [
    "GUARDED",
    "RETURNS_EARLY",
    "SHORT_CIRCUIT",
    "CHOSEN",
    "DIVIDES",
    "SHIFTS",
    "REDUCTION",
    "SCAN",
    "TWO_BUFFERS",
    "TRANSPOSED",
    "HISTOGRAM",
    "BROADCAST",
    "STRUCTS",
    "COMPONENTS",
    "FLAGS",
    "LOCALS",
    "STACK",
    "UNIFORM_BRANCH",
    "NESTED_LOOPS",
    "DO_WHILE",
    "RETURNS_IN_A_LOOP",
    "SWITCHES",
    "HALO",
    "ONE_ACCUMULATES",
    "EXCHANGED",
    "ATOMIC_HITS",
    "GROUPS_APART",
    "SUBGROUP",
    "LAST_GROUP",
    "MANY_ROUNDS",
    "MANY_NOTES",
    "OWN_ELEMENTS",
];

/// A kernel of GLSL, which a macro chooses.
fn glsl(ctx: &Context, text: &'static str, entry: &str) -> KernelBuilder {
    ctx.kernel(Source::glsl(text).named("planted.comp").define(entry, "")).sanitize(true)
}

/// Whether a fault is of the kind that is planted, and the kernels with that kind.
type Expected<'a> = (&'a dyn Fn(&Fault) -> bool, &'a [&'a str]);

#[test]
fn planted_faults_in_glsl_are_found_at_their_lines() {
    let fixture = Fixture::open();
    let index = |fault: &Fault| matches!(fault, Fault::OutOfRange { .. });
    let division = |fault: &Fault| matches!(fault, Fault::DivisionByZero { .. } | Fault::DivisionOverflow { .. });
    let shift = |fault: &Fault| matches!(fault, Fault::ShiftTooFar { bits: 32, .. });
    let race = |fault: &Fault| matches!(fault, Fault::Race { .. });
    let buffer_race = |fault: &Fault| matches!(fault, Fault::BufferRace { .. });
    let group_race = |fault: &Fault| matches!(fault, Fault::GroupRace { .. });
    let barrier = |fault: &Fault| matches!(fault, Fault::DivergentBarrier { .. });
    let uninitialised = |fault: &Fault| matches!(fault, Fault::Uninitialised { .. });
    let endless = |fault: &Fault| matches!(fault, Fault::EndlessLoop { .. });
    let planted: [Expected<'_>; 9] = [
        (
            &index,
            &[
                "PAST_END",
                "BEFORE_START",
                "WRITE_PAST_END",
                "SHARED_ARRAY",
                "LOCAL_ARRAY",
                "COMPONENT",
                "COLUMN",
                "MEMBER",
                "FIXED_INDEX",
                "IN_FUNCTION",
                "LOOP_TOO_LONG",
                "GUARD_TOO_LATE",
                "ATOMIC_INDEX",
            ],
        ),
        (&division, &["BY_ZERO", "REMAINDER", "OVERFLOW", "VECTOR", "IN_PLACE", "WIDE"]),
        (&shift, &["SHIFT_LEFT", "SHIFT_RIGHT", "SHIFT_NEGATIVE"]),
        (&race, &["ALL_WRITE", "NEIGHBOUR", "REDUCTION", "SECOND_ROUND", "MEMORY_BARRIER_ALONE", "WHOLE_STRUCT"]),
        (&buffer_race, &["ACCUMULATE", "EXCHANGED", "SAME_VALUE"]),
        (&barrier, &["IN_A_BRANCH", "AFTER_RETURN", "IN_A_LOOP"]),
        (&uninitialised, &["HALF_FILLED", "ONE_COMPONENT"]),
        (&endless, &["WHILE", "FOR"]),
        (&group_race, &["TWO_WRITERS", "NEIGHBOURING_GROUP"]),
    ];
    let mut wrong = Vec::new();
    let has_i64 = fixture.info().features.shader_int64;
    let each = planted.iter().flat_map(|(is, names)| names.iter().map(move |name| (is, name)));
    for (is_planted, entry) in each.filter(|(_, name)| has_i64 || **name != "WIDE") {
        let groups = if ["TWO_WRITERS", "NEIGHBOURING_GROUP"].contains(entry) { 4 } else { 1 };
        let line = marked(PLANTED, entry);
        match Arrays::new(&fixture).run(glsl(&fixture, PLANTED, entry), groups) {
            Err(KernelError::Found(found)) if found.line == line && is_planted(&found.fault) => {}
            other => wrong.push(format!("{entry}, marked at line {line}: {:?}", other.map_err(|e| e.to_string()))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn right_kernels_in_glsl_give_the_same_results_with_checks() {
    let fixture = Fixture::open();
    let mut wrong = Vec::new();
    for entry in RIGHT_KERNELS {
        let of_groups =
            ["GUARDED", "RETURNS_EARLY", "UNIFORM_BRANCH", "HALO", "ONE_ACCUMULATES", "ATOMIC_HITS", "GROUPS_APART"];
        let groups = if of_groups.contains(&entry) || entry == "LAST_GROUP" { 4 } else { 1 };
        let results = [true, false].map(|checks| {
            let arrays = Arrays::new(&fixture);
            let ran = arrays.run(glsl(&fixture, RIGHT, entry).sanitize(checks), groups);
            ran.map(|()| (contents(&arrays.x), contents(&arrays.y))).map_err(|error| error.to_string())
        });
        if results[0].is_err() || results[0] != results[1] || results[0].as_ref().is_ok_and(|(_, y)| *y == [0; 64]) {
            wrong.push(format!("{entry}: {results:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
