//! Which bytes a value fills, and what a report becomes. Where notes go is tested with a front end, in `vkarray-shader`.

use std::collections::BTreeMap;

use super::layout::{LayoutRules, Layouts, Run};
use super::*;
use crate::binary::constants::Values;
use crate::binary::tests::assemble;

fn run(offset: u32, bytes: u32, stride: u32, count: u32) -> Run {
    Run { offset, bytes, stride, count }
}

#[test]
fn values_fill_their_bytes_and_no_padding() {
    let module = assemble(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpName %gap \"gap\"
        OpName %gaps \"gaps\"
        OpName %deep \"deep\"
        OpName %rows \"rows\"
        OpName %vectors \"vectors\"
        OpName %whole \"whole\"
        OpMemberDecorate %gap 0 Offset 0
        OpMemberDecorate %gap 1 Offset 16
        OpMemberDecorate %gap 2 Offset 28
        OpDecorate %gaps ArrayStride 32
        OpMemberDecorate %deep 0 Offset 0
        OpMemberDecorate %deep 1 Offset 96
        OpMemberDecorate %rows 0 Offset 0
        OpMemberDecorate %rows 0 RowMajor
        OpMemberDecorate %rows 0 MatrixStride 16
        OpDecorate %vectors ArrayStride 16
        %u32 = OpTypeInt 32 0
        %half = OpTypeInt 16 0
        %f32 = OpTypeFloat 32
        %three = OpConstant %u32 3
        %v3 = OpTypeVector %f32 3
        %m2 = OpTypeMatrix %v3 2
        %gap = OpTypeStruct %u32 %v3 %u32
        %gaps = OpTypeArray %gap %three
        %deep = OpTypeStruct %gaps %half
        %rows = OpTypeStruct %m2
        %vectors = OpTypeArray %v3 %three
        %whole = OpTypeArray %u32 %three",
    );
    let words: Vec<u32> = module.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let contents = crate::binary::read::read(&words).unwrap();
    let values = Values::compute(&contents, &BTreeMap::new());
    let layouts = Layouts { contents: &contents, values: &values };
    // As declared, and as the checks number shared memory.
    let cases: [(&str, &[Run], &[Run]); 6] = [
        ("gap", &[run(0, 4, 0, 1), run(16, 16, 0, 1)], &[run(0, 20, 0, 1)]),
        ("gaps", &[run(0, 4, 32, 3), run(16, 16, 32, 3)], &[run(0, 60, 0, 1)]),
        ("deep", &[run(0, 4, 32, 3), run(16, 16, 32, 3), run(96, 2, 0, 1)], &[run(0, 62, 0, 1)]),
        // Two columns, whose numbers lie a row apart.
        ("rows", &[run(0, 4, 16, 3), run(4, 4, 16, 3)], &[run(0, 24, 0, 1)]),
        ("vectors", &[run(0, 12, 16, 3)], &[run(0, 36, 0, 1)]),
        ("whole", &[run(0, 4, 4, 3)], &[run(0, 12, 0, 1)]),
    ];
    for (name, declared, packed) in cases {
        let (&ty, _) = contents.names.iter().find(|(_, known)| *known == name).unwrap();
        assert_eq!(layouts.runs(layouts.whole(ty, LayoutRules::Packed)), packed, "{name}, packed");
        if name != "whole" {
            assert_eq!(layouts.runs(layouts.whole(ty, LayoutRules::Declared)), declared, "{name}");
        }
    }
    assert_eq!(
        ["deep", "gaps"].map(|name| {
            let (&ty, _) = contents.names.iter().find(|(_, known)| *known == name).unwrap();
            layouts.granule(ty)
        }),
        [2, 4]
    );
}

#[test]
fn shared_memory_with_more_bytes_than_numbers_has_as_many_as_can_be_numbered() {
    let module = assemble(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpName %larger \"larger\"
        %u32 = OpTypeInt 32 0
        %most = OpConstant %u32 4294967295
        %large = OpTypeArray %u32 %most
        %larger = OpTypeStruct %large %u32",
    );
    let words: Vec<u32> = module.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let contents = crate::binary::read::read(&words).unwrap();
    let values = Values::compute(&contents, &BTreeMap::new());
    let layouts = Layouts { contents: &contents, values: &values };
    let (&larger, _) = contents.names.iter().find(|(_, known)| *known == "larger").unwrap();
    assert_eq!(layouts.packed(larger), (u32::MAX, 4));
    assert_eq!(layouts.runs(layouts.whole(larger, LayoutRules::Packed)), [run(0, u32::MAX, 0, 1)]);
}

fn sanitized() -> Sanitized {
    let site = |line, subject| Site { place: SitePlace::Line { file: None, line, column: 5 }, subject };
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
            site(5, Subject::Shared(span("tile", 0, 64, Some(4)))),
            site(6, Subject::Barrier),
            site(7, Subject::Buffer(span("y", 0, u32::MAX, Some(8)))),
            site(8, Subject::Shared(span("v", 64, 12, None))),
            Site { place: SitePlace::Word(90), subject: Subject::Shift { is_signed: true } },
            Site { place: SitePlace::Line { file: Some("a.glsl".into()), line: 9, column: 0 }, subject: Subject::Loop },
        ],
        shadow_bytes_per_group: 0,
        buffers: vec![1],
        buffer_granule: 4,
        shared_bytes: 112,
    }
}

/// Site, code, two numbers, the message.
const REPORTS: &[([u32; 4], &str)] = &[
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
        [7, 4, 64, 1 << 13 | 3 << 11 | 6],
        "s:8:5: kernel `k`: `v` in shared memory is read here and written by invocation 6 of the workgroup, with no barrier in between (invocation 7, 8, 9)",
    ),
    (
        [7, 5, 72, 1 << 13 | 1 << 11 | 2047],
        "s:8:5: kernel `k`: `v at byte 8` in shared memory is written here and read by invocation 2047 of the workgroup, with no barrier in between (invocation 7, 8, 9)",
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
        "s:7:5: kernel `k`: `y[2]` is read here and written by invocation 6 of the workgroup, with no barrier of buffers in between (invocation 7, 8, 9)",
    ),
    (
        [6, 5, 0, 1 << 13 | 2 << 11 | 6],
        "s:7:5: kernel `k`: `y[0]` is written here and read by other invocations of the workgroup, with no barrier of buffers in between (invocation 7, 8, 9)",
    ),
    (
        [6, 9, 20, 4],
        "s:7:5: kernel `k`: `y[2]` is read here and written by workgroup 3, and nothing orders the two (invocation 7, 8, 9)",
    ),
    (
        [6, 11, 20, u32::MAX],
        "s:7:5: kernel `k`: `y[2]` is written here and read by other workgroups, and nothing orders the two (invocation 7, 8, 9)",
    ),
    ([8, 7, u32::MAX, 32], "s: word 90: kernel `k`: an integer of 32 bits is shifted by -1 (invocation 7, 8, 9)"),
    (
        [9, 8, 1000, 0],
        "a.glsl:9: kernel `k`: this loop does not end: the loops of the invocation have had 1000 rounds (invocation 7, 8, 9)",
    ),
    (
        [99, 3, 500, 0],
        "s:0: kernel `k`: `byte 500` in shared memory is read, and nothing was written there (invocation 7, 8, 9)",
    ), // Garbage.
];

#[test]
fn a_report_becomes_a_finding() {
    for &([site, what, a, b], message) in REPORTS {
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
