//! The sanitizer: it reports planted faults with their lines, and does not change the results of correct kernels.
//!
//! The shaders are in `sanitizer/`, one entry point per kernel. A comment `//~ name` marks the faulty line of the kernel
//! of that name, so that the tests need no line numbers.

mod glsl;

use vkarray::kernel::signature::limits_of;
use vkarray::kernel::{Error as KernelError, KernelBuilder};
use vkarray::sanitizer::{Fault, Finding, OtherAccess};
use vkarray::stream::GraphRecorder;
use vkarray::{Context, DeviceNDArray, Graph, Groups, Source};

use crate::fixture::{Fixture, contents};

const OUT_OF_RANGE: &str = include_str!("sanitizer/out_of_range.wgsl");
const DIVISION: &str = include_str!("sanitizer/division.wgsl");
const UNINITIALISED: &str = include_str!("sanitizer/uninitialised.wgsl");
const RACES: &str = include_str!("sanitizer/races.wgsl");
const BUFFERS: &str = include_str!("sanitizer/buffers.wgsl");
const DIVERGENCE: &str = include_str!("sanitizer/divergence.wgsl");
const ZEROED: &str = include_str!("sanitizer/zeroed.wgsl");
const CORRECT: &str = include_str!("sanitizer/correct.wgsl");

/// The arrays that the shaders take, by name.
struct Arrays {
    x: DeviceNDArray<i32>,
    y: DeviceNDArray<i32>,
}

impl Arrays {
    fn new(ctx: &Context) -> Self {
        let x: Vec<i32> = (0..64).collect();
        Self { x: ctx.slice_to_device(&x).unwrap(), y: ctx.zeros([64]).unwrap() }
    }

    /// Runs the kernel once, on the arrays that it takes.
    fn run(&self, builder: KernelBuilder, groups: u32) -> Result<(), KernelError> {
        let kernel = builder.build()?;
        let array = |name| if name == "y" { &self.y } else { &self.x };
        let arguments: Vec<_> = kernel.signature().arguments().map(|a| (a.name(), array(a.name()))).collect();
        kernel.dispatch(self.x.context().default_stream(), Groups::exact([groups, 1, 1]), &arguments)
    }
}

/// A kernel whose workgroup memory is not initialised.
fn builder(ctx: &Context, text: &'static str, entry: &str) -> KernelBuilder {
    // SAFETY: no address depends on memory that the kernels read without having written it.
    unsafe { zeroed(ctx, text, entry).assume_written() }
}

/// A kernel whose workgroup memory starts as zeros, as WGSL requires.
fn zeroed(ctx: &Context, text: &'static str, entry: &str) -> KernelBuilder {
    ctx.kernel(Source::wgsl(text).named("planted.wgsl")).entry(entry).sanitize(true)
}

/// The sanitizer's reports about the kernel.
fn finding(ctx: &Context, text: &'static str, entry: &str) -> Finding {
    match Arrays::new(ctx).run(builder(ctx, text, entry), 1) {
        Err(KernelError::Found(finding)) => *finding,
        other => panic!("{entry}: {other:?}"),
    }
}

/// The line that is marked with the kernel's name.
fn marked(text: &str, entry: &str) -> u32 {
    let mark = format!("//~ {entry}");
    let is_marked = |line: &str| line.ends_with(&mark);
    let lines: Vec<_> = text.lines().enumerate().filter(|(_, line)| is_marked(line)).collect();
    assert_eq!(lines.len(), 1, "{entry} has one mark");
    u32::try_from(lines[0].0 + 1).unwrap()
}

/// A kernel, and whether a fault is the fault planted in it.
type Planted<'a> = (&'a str, &'a dyn Fn(&Fault) -> bool);

/// Checks that the fault of every kernel of the shader is reported at its line.
fn check(text: &'static str, cases: &[Planted<'_>]) {
    let fixture = Fixture::open();
    let marks = text.lines().filter(|line| line.contains("//~")).count();
    assert_eq!(marks, cases.len(), "every planted fault is looked for");
    let mut wrong = Vec::new();
    for (entry, is_planted) in cases {
        let finding = finding(&fixture, text, entry);
        if finding.line != marked(text, entry) || finding.kernel != *entry || !is_planted(&finding.fault) {
            wrong.push(format!("{entry}, marked at line {}: {finding}", marked(text, entry)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn out_of_range(array: &str, is_possible: impl Fn(i64) -> bool, expected: u32) -> impl Fn(&Fault) -> bool {
    move |fault| match fault {
        Fault::OutOfRange { array: found, index, length } => {
            found == array && is_possible(*index) && *length == expected
        }
        _ => false,
    }
}

#[test]
fn indices_out_of_range_are_found() {
    check(
        OUT_OF_RANGE,
        &[
            ("past_end", &out_of_range("x", |i| i == 64, 64)),
            ("before_start", &out_of_range("x", |i| i == -1, 64)),
            ("write_past_end", &out_of_range("y", |i| (64..67).contains(&i), 64)),
            ("surplus", &out_of_range("x", |i| (64..128).contains(&i), 64)),
            ("private_array", &out_of_range("squares", |i| (8..64).contains(&i), 8)),
            ("shared_array", &out_of_range("tile", |i| i == 16, 16)), // The length is a constant of the kernel.
            ("component", &out_of_range("v", |i| i == 4, 4)),
            ("member", &out_of_range("items[…].values", |i| (4..8).contains(&i), 4)),
            ("fixed_index", &out_of_range("x", |i| i == 64, 64)),
            ("in_function", &out_of_range("x", |i| i >= 64 && i % 3 == 0, 64)),
            ("atomic_index", &out_of_range("counts", |i| (16..32).contains(&i), 16)),
            ("guard_too_late", &out_of_range("x", |i| i == 64, 64)),
            ("loop_too_long", &out_of_range("x", |i| i == 64, 64)),
        ],
    );
}

#[test]
fn divisions_without_a_result_are_found() {
    let by_zero = |expected: i128| move |fault: &Fault| matches!(fault, Fault::DivisionByZero { dividend } if *dividend == expected);
    check(
        DIVISION,
        &[
            ("by_zero", &by_zero(100)),
            ("remainder_by_zero", &by_zero(7)),
            ("overflow", &|fault| *fault == Fault::DivisionOverflow { dividend: i128::from(i32::MIN) }),
            ("by_zero_component", &by_zero(-18)),
            ("in_place", &by_zero(0)),
        ],
    );
}

#[test]
fn reads_of_uninitialised_shared_memory_are_found() {
    let uninitialised = |expected: &'static str| move |fault: &Fault| matches!(fault, Fault::Uninitialised { variable } if variable.starts_with(expected));
    check(
        UNINITIALISED,
        &[
            ("half_filled", &uninitialised("tile[")),
            ("half_a_struct", &uninitialised("pair.product[1]")),
            ("counter", &uninitialised("count")),
            ("uniform_load", &uninitialised("limit")),
            ("one_component", &uninitialised("vectors[")),
        ],
    );
}

#[test]
fn races_on_shared_memory_are_found() {
    let race = |expected: &'static str| move |fault: &Fault| matches!(fault, Fault::Race { variable, .. } if variable.starts_with(expected));
    check(
        RACES,
        &[
            ("all_write", &|fault| {
                let Fault::Race { variable, is_write: true, other: OtherAccess::WrittenBy(other) } = fault else {
                    return false;
                };
                variable == "total" && *other < 64
            }),
            ("neighbour", &race("tile[")),
            ("reduction", &race("tile[")),
            ("through_a_pointer", &race("tile[")),
            ("wrong_barrier", &race("tile[")),
            ("whole_struct", &race("pairs[")),
            ("small_values", &race("flags[")),
            ("second_round", &race("tile[")),
            ("first_round", &race("tile[")),
        ],
    );
}

#[test]
fn races_on_zero_initialised_shared_memory_are_found() {
    let fixture = Fixture::open();
    let builder = zeroed(&fixture, RACES, "first_round");
    let error = Arrays::new(&fixture).run(builder, 1).unwrap_err();
    let KernelError::Found(finding) = error else { panic!("{error}") };
    assert!(matches!(&finding.fault, Fault::Race { variable, .. } if variable.starts_with("tile[")), "{finding}");
    assert_eq!(finding.line, marked(RACES, "first_round"));
}

#[test]
fn races_on_buffers_are_found() {
    let race = |expected: &'static str| move |fault: &Fault| matches!(fault, Fault::BufferRace { variable, .. } if variable.starts_with(expected));
    check(
        BUFFERS,
        &[
            ("accumulate", &race("y[0]")),
            ("all_write_the_same", &|fault| {
                let Fault::BufferRace { variable, is_write: true, other: OtherAccess::WrittenBy(other) } = fault else {
                    return false;
                };
                variable == "y[3]" && *other < 64
            }),
            ("no_barrier", &race("y[")),
            ("barrier_of_shared_memory", &race("y[")),
            ("next_round", &race("y[")),
            ("in_a_function", &race("y[")),
            ("through_a_pointer", &race("y[")),
            ("member", &race("items[")),
            ("whole_item", &race("items[")),
            ("before_the_array", &race("whole")),
        ],
    );
}

#[test]
fn divergent_barriers_are_found() {
    let arrived = |n: u32| move |fault: &Fault| *fault == Fault::DivergentBarrier { arrived: n, expected: 64 };
    check(
        DIVERGENCE,
        &[
            ("in_a_branch", &arrived(20)),
            ("after_return", &arrived(50)),
            ("in_a_loop", &arrived(48)),
            ("storage_too", &arrived(32)),
        ],
    );
}

const CORRECT_KERNELS: [&str; 28] = [
    "guarded",
    "returns_early",
    "short_circuit",
    "divides",
    "reduction",
    "scan",
    "two_buffers",
    "transposed",
    "histogram",
    "broadcast",
    "padding",
    "vectors_of_three",
    "columns",
    "truth",
    "pointers",
    "uniform_branch",
    "nested_loops",
    "own_items",
    "members",
    "private_arrays",
    "halo",
    "switches",
    "one_accumulates",
    "exchanged",
    "read_by_all_then_written",
    "atomic_hits",
    "parts_of_workgroups",
    "own_members",
];

#[test]
fn correct_kernels_give_the_same_results_with_checks() {
    let fixture = Fixture::open();
    assert_eq!(CORRECT.matches("@compute").count(), CORRECT_KERNELS.len());
    for entry in CORRECT_KERNELS {
        let groups = if ["guarded", "halo", "uniform_branch", "parts_of_workgroups"].contains(&entry) { 4 } else { 1 };
        let results = [true, false].map(|checks| {
            let arrays = Arrays::new(&fixture);
            let builder = builder(&fixture, CORRECT, entry).sanitize(checks);
            arrays.run(builder, groups).unwrap_or_else(|error| panic!("{error}"));
            (contents(&arrays.x), contents(&arrays.y))
        });
        assert_eq!(results[0], results[1], "{entry}");
        assert_ne!(results[0].1, [0; 64], "{entry} computes something");
    }
}

#[test]
fn reads_of_zero_initialised_shared_memory_are_not_reported() {
    let fixture = Fixture::open();
    let x = (0..64).collect::<Vec<i32>>();
    let expected: [(&str, Vec<i32>); 4] = [
        ("counts_at_once", vec![22; 64]),
        ("histogram_at_once", {
            let counts = (0..8).map(|bin| x.iter().filter(|&x| x % 7 == bin).map(|_| 1).sum::<i32>() + 1);
            counts.chain([0; 56]).collect()
        }),
        ("half_filled", x.iter().map(|l| if l ^ 16 < 32 { l ^ 16 } else { 0 }).collect()),
        ("never_written", vec![1; 64]),
    ];
    assert_eq!(ZEROED.matches("@compute").count(), expected.len());
    for (entry, expected) in expected {
        let arrays = Arrays::new(&fixture);
        arrays.run(zeroed(&fixture, ZEROED, entry), 1).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(contents(&arrays.y), expected, "{entry}");
    }
}

#[test]
fn a_buffer_too_large_for_race_records_is_not_checked() {
    let fixture = Fixture::open();
    // The race records take twice the bytes of the buffer and must fit into one binding of this device.
    let n = usize::try_from(fixture.info().limits.max_storage_buffer_range.min(1 << 30) / 8).unwrap();
    let text = "
        @group(0) @binding(0) var<storage, read_write> large: array<u32>;
        @group(0) @binding(1) var<storage, read_write> small: array<u32>;
        @compute @workgroup_size(64) fn both(@builtin(local_invocation_index) l: u32) {
            large[0] = l;
            if arrayLength(&small) == 2u { small[0] = l; }
        }";
    let kernel = fixture.kernel(Source::wgsl(text)).sanitize(true).build().unwrap();
    let large = fixture.device_array::<u32>([n]).unwrap();
    let one = fixture.zeros::<u32>([1]).unwrap();
    let two = fixture.zeros::<u32>([2]).unwrap();
    let run = |small| kernel.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&large, small));
    run(&one).unwrap();
    let error = run(&two).unwrap_err();
    assert!(error.to_string().contains("`small[0]` is written here"), "{error}");
}

#[test]
fn race_records_too_large_for_shared_memory_are_kept_in_a_buffer() {
    let fixture = Fixture::open();
    let n = limits_of(fixture.info()).max_shared_bytes / 4 - 64;
    // Each workgroup uses a part of the array, so that records mixed up between workgroups change the reports.
    let text = |barrier: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
             @group(2) @binding(7) var<storage, read_write> y: array<u32>;
             override N: u32;
             var<workgroup> tile: array<u32, N>;
             @compute @workgroup_size(64) fn reverse(
                 @builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3<u32>,
             ) {{
                 for (var i = l; i < N; i += 64u) {{ tile[i] = x[w.y * N + i]; }}
                 {barrier}
                 for (var i = l; i < N; i += 64u) {{ y[w.y * N + i] = tile[N - 1u - i]; }}
             }}"
        )
    };
    let values: Vec<u32> = (0..3 * n).map(|i| i * 7 + 1).collect();
    let (x, y) = (fixture.slice_to_device(&values).unwrap(), fixture.zeros::<u32>([3 * n as usize]).unwrap());
    let run = |barrier| {
        let builder = fixture.kernel(Source::wgsl(text(barrier))).constant("N", n).sanitize(true);
        builder.build().unwrap().dispatch(fixture.default_stream(), Groups::exact([1, 3, 1]), (&x, &y))
    };
    run("workgroupBarrier();").unwrap();
    let expected: Vec<u32> = values.chunks(n as usize).flat_map(|part| part.iter().rev().copied()).collect();
    assert_eq!(contents(&y), expected);
    let error = run("").unwrap_err();
    assert!(matches!(&error, KernelError::Found(finding) if matches!(finding.line, 8 | 10)), "{error}");
}

#[test]
fn a_graph_refuses_a_kernel_with_checks() {
    let fixture = Fixture::open();
    let arrays = Arrays::new(&fixture);
    let kernel = builder(&fixture, CORRECT, "guarded").build().unwrap();
    let record = |graph: &mut GraphRecorder| kernel.record(graph, Groups::exact([1, 1, 1]), (&arrays.x, &arrays.y));
    let message = Graph::record(fixture.default_stream(), record).unwrap_err().to_string();
    let expected = "kernel `guarded` cannot be sanitized: a graph cannot return what is found; build the kernel with `sanitize(false)`";
    assert_eq!(message, expected);
}
