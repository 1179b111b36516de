//! Which bytes a value fills, what a report becomes, and where notes go.

use super::shared::{Run, runs};
use super::*;
use crate::{Module, Options, Source};

fn run(offset: u32, bytes: u32, stride: u32, count: u32) -> Run {
    Run { offset, bytes, stride, count }
}

#[test]
fn values_fill_their_bytes_and_no_padding() {
    let text = "
        struct Two { a: u32, b: f32 }
        struct Gap { a: u32, b: vec3<f32>, c: u32 }
        struct Deep { gaps: array<Gap, 2>, tail: bool }
        var<workgroup> a: f32; var<workgroup> b: vec3<u32>; var<workgroup> c: array<u32, 7>; var<workgroup> d: mat2x2<f32>;
        var<workgroup> e: mat2x3<f32>; var<workgroup> f: Two; var<workgroup> g: array<Two, 5>; var<workgroup> h: Gap;
        var<workgroup> i: array<Gap, 3>; var<workgroup> j: Deep; var<workgroup> k: array<vec3<f32>, 4>;
        var<workgroup> l: array<atomic<u32>, 3>;";
    let module = naga::front::wgsl::parse_str(text).unwrap();
    let gap = |at: u32| [run(at, 4, 0, 1), run(at + 16, 16, 0, 1)]; // `c` follows `b` without padding.
    let cases: [(&str, Vec<Run>); 12] = [
        ("a", vec![run(0, 4, 0, 1)]),
        ("b", vec![run(0, 12, 0, 1)]),
        ("c", vec![run(0, 28, 0, 1)]),
        ("d", vec![run(0, 16, 0, 1)]),
        ("e", vec![run(0, 12, 16, 2)]), // A column of three lies in the room of four.
        ("f", vec![run(0, 8, 0, 1)]),
        ("g", vec![run(0, 40, 0, 1)]),
        ("h", gap(0).to_vec()),
        ("i", vec![run(0, 4, 32, 3), run(16, 16, 32, 3)]),
        ("j", vec![run(0, 4, 32, 2), run(16, 16, 32, 2), run(64, 1, 0, 1)]),
        ("k", vec![run(0, 12, 16, 4)]),
        ("l", vec![run(0, 12, 0, 1)]),
    ];
    for (name, expected) in cases {
        let (_, variable) = module.global_variables.iter().find(|(_, v)| v.name.as_deref() == Some(name)).unwrap();
        assert_eq!(runs(&module, &module.types[variable.ty].inner), expected, "{name}");
    }
}

fn sanitized() -> Sanitized {
    let site = |line, subject| Site { line, column: 5, subject };
    let division = |is_signed, width| Subject::Division { is_signed, width };
    let span = |name: &str, start, bytes, stride| MemorySpan { name: name.into(), start, bytes, stride };
    Sanitized {
        group: 0,
        binding: 3,
        sites: vec![
            site(1, Subject::Index { array: "x".into(), is_signed: true }),
            site(2, Subject::Index { array: "x".into(), is_signed: false }),
            site(3, division(true, 8)),
            site(4, division(false, 4)),
            site(5, Subject::Shared),
            site(6, Subject::Barrier),
            site(7, Subject::Buffer(span("y", 0, u32::MAX, Some(8)))),
        ],
        shared: vec![span("tile", 0, 64, Some(4)), span("v", 64, 12, None)],
        shadow_bytes_per_group: 0,
        buffers: vec![1],
        buffer_granule: 4,
        shared_bytes: 112,
    }
}

#[test]
fn a_report_becomes_a_finding() {
    // Site, code, two numbers, the message.
    let cases = [
        (
            [0, 0, u32::MAX, 9],
            "s:1:5: kernel `k`: index -1 is out of range of `x`, which has 9 elements (invocation 7, 8, 9)",
        ),
        (
            [1, 0, u32::MAX, 9],
            "s:2:5: kernel `k`: index 4294967295 is out of range of `x`, which has 9 elements (invocation 7, 8, 9)",
        ),
        ([2, 1, 5, 1], "s:3:5: kernel `k`: 4294967301 is divided by zero (invocation 7, 8, 9)"),
        ([2, 2, 0, 1 << 31], "s:3:5: kernel `k`: -9223372036854775808 divided by -1 overflows (invocation 7, 8, 9)"),
        ([3, 1, u32::MAX, 0], "s:4:5: kernel `k`: 4294967295 is divided by zero (invocation 7, 8, 9)"),
        (
            [4, 3, 60, 0],
            "s:5:5: kernel `k`: `tile[15]` in shared memory is read, and nothing was written there (invocation 7, 8, 9)",
        ),
        (
            [4, 4, 64, 1 << 13 | 3 << 11 | 6],
            "s:5:5: kernel `k`: `v` in shared memory is read here and written by invocation 6 of the workgroup, with no barrier in between (invocation 7, 8, 9)",
        ),
        (
            [4, 5, 72, 1 << 13 | 1 << 11 | 2047],
            "s:5:5: kernel `k`: `v at byte 8` in shared memory is written here and read by invocation 2047 of the workgroup, with no barrier in between (invocation 7, 8, 9)",
        ),
        (
            [4, 5, 8, 1 << 13 | 2 << 11 | 6],
            "s:5:5: kernel `k`: `tile[2]` in shared memory is written here and read by other invocations of the workgroup, with no barrier in between (invocation 7, 8, 9)",
        ),
        (
            [5, 6, 3, 8],
            "s:6:5: kernel `k`: 3 of the 8 invocations of the workgroup come to this barrier (invocation 7, 8, 9)",
        ),
        (
            [5, 6, 8, 8],
            "s:6:5: kernel `k`: the 8 invocations of the workgroup wait at different barriers (invocation 7, 8, 9)",
        ),
        (
            [6, 4, 20, 1 << 13 | 3 << 11 | 6],
            "s:7:5: kernel `k`: `y[2]` is read here and written by invocation 6 of the workgroup, with no storageBarrier in between (invocation 7, 8, 9)",
        ),
        (
            [6, 5, 0, 1 << 13 | 2 << 11 | 6],
            "s:7:5: kernel `k`: `y[0]` is written here and read by other invocations of the workgroup, with no storageBarrier in between (invocation 7, 8, 9)",
        ),
        (
            [99, 3, 500, 0],
            "s:0:0: kernel `k`: `byte 500` in shared memory is read, and nothing was written there (invocation 7, 8, 9)",
        ), // Garbage.
    ];
    for ([site, what, a, b], message) in cases {
        let mut report = [0; REPORT_WORDS];
        report[..8].copy_from_slice(&[1, site, what, a, b, 7, 8, 9]);
        assert_eq!(sanitized().read("k", "s", &report).unwrap().to_string(), message);
        report[0] = 0;
        assert_eq!(sanitized().read("k", "s", &report), None, "nothing was found");
    }
}

#[test]
fn memory_read_before_it_was_written_counts_only_where_nothing_else_was_found() {
    let uninitialised = [1, 4, 3, 60, 0, 1, 0, 0];
    let race = [1, 4, 5, 60, 1 << 13 | 1 << 11 | 6, 2, 0, 0];
    // First finding, second, the invocation that is named.
    for (first, second, invocation) in [(race, uninitialised, 2), ([0; 8], uninitialised, 1), (race, [0; 8], 2)] {
        let report: [u32; REPORT_WORDS] = [first, second].concat().try_into().unwrap();
        let finding = sanitized().read("k", "s", &report).unwrap();
        assert_eq!(finding.invocation, [invocation, 0, 0], "{finding}");
        assert_eq!(matches!(finding.fault, Fault::Uninitialised { .. }), invocation == 1, "{finding}");
    }
}

#[test]
fn a_workgroup_too_large_to_tell_apart_is_refused() {
    let text = "@compute @workgroup_size(64, 8, 5) fn main() {}";
    let options = Options { sanitize: Some(Sanitize { max_shared_bytes: 1 << 15 }), ..Options::default() };
    let error = Module::parse(&Source::wgsl(text)).unwrap().translate(None, &Default::default(), &options).unwrap_err();
    let expected =
        "kernel `main` cannot be sanitized: a workgroup has 2560 invocations, the checks support at most 2048";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn notes_go_where_they_fit() {
    let text = "var<workgroup> w: array<u32, 100>; @compute @workgroup_size(1) fn main() { w[0] = 1u; }";
    let module = Module::parse(&Source::wgsl(text)).unwrap();
    // Shared memory of the device, of the checks, in the buffer.
    for (max_shared_bytes, shared, in_buffer) in [(836, 436, 0), (835, 36, 400)] {
        let options = Options { sanitize: Some(Sanitize { max_shared_bytes }), ..Options::default() };
        let sanitized = module.translate(None, &Default::default(), &options).unwrap().sanitized.unwrap();
        assert_eq!((sanitized.shared_bytes, sanitized.shadow_bytes_per_group), (shared, in_buffer));
    }
}
