//! Which workgroups the parts of a folded launch are, and that a shader folds however it asks for its numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::translate::module::tests::spirv::spirv_val;
use crate::{Options, Source};

#[test]
fn the_parts_are_each_workgroup_once_and_no_other() {
    for row in 1..=4 {
        for n_rows in 1..=3 {
            let n_planes = 4;
            let fold = Fold { axes: [row, n_rows, n_planes], n_workgroups: None };
            for n in 1..=Fold::capacity(fold.axes) {
                let parts = fold.parts(n);
                let mut seen = BTreeSet::new();
                for Part { base, counts } in &parts {
                    for axis in 0..3 {
                        assert!(counts[axis] > 0 && base[axis] + counts[axis] <= fold.axes[axis], "{n}: {parts:?}");
                    }
                    let along = |axis: usize| base[axis]..base[axis] + counts[axis];
                    for (x, y, z) in along(2)
                        .flat_map(|z| along(1).map(move |y| (y, z)))
                        .flat_map(|(y, z)| along(0).map(move |x| (x, y, z)))
                    {
                        assert!(seen.insert((z * n_rows + y) * row + x), "{n}: {parts:?} has {x}, {y}, {z} twice");
                    }
                }
                assert!(seen.into_iter().eq(0..n), "{n}: {parts:?}");
            }
        }
    }
}

#[test]
fn as_much_folds_as_32_bits_number() {
    let cases = [
        ([65535, 65535, 65535], u32::MAX),
        ([65535, 65535, 1], 65535 * 65535),
        ([2, 3, 4], 24),
        ([u32::MAX, 1, 1], u32::MAX),
        ([u32::MAX; 3], u32::MAX),
    ];
    for (axes, expected) in cases {
        assert_eq!(Fold::capacity(axes), expected, "{axes:?}");
        let fold = Fold { axes, n_workgroups: None };
        let total: u64 =
            fold.parts(expected).iter().map(|part| part.counts.map(u64::from).iter().product::<u64>()).sum();
        assert_eq!(total, u64::from(expected), "{axes:?}");
    }
}

/// Ways to ask for the numbers that change, or for none; whether for how many there are.
const SHADERS: &[(&str, bool)] = &[
    ("@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.y; }", false),
    ("@builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) { x[w.x] = n.x; }", true),
    ("in: Numbers) { x[in.id.x + in.local.x] = in.n.x; }", true),
    (
        "@builtin(local_invocation_id) l: vec3<u32>, @builtin(global_invocation_id) i: vec3<u32>) { x[i.x] = l.x; }",
        false,
    ),
    (") { x[0] = 1u; }", false),
    // Whole workgroups come to the barrier: that is known of the number only where it is built in.
    ("@builtin(workgroup_id) w: vec3<u32>) { if w.x > 2u { workgroupBarrier(); x[w.x] = 1u; } }", false),
];

#[test]
fn shaders_fold_however_they_ask() {
    for &(text, counts) in SHADERS {
        let wgsl = format!(
            "struct Numbers {{ @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
                @builtin(local_invocation_id) local: vec3<u32> }}
            @group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(4, 2) fn k({text}"
        );
        let module = crate::Module::parse(&Source::wgsl(wgsl)).unwrap();
        let translated = |fold| {
            let options = Options { fold, ..Options::default() };
            module.translate(None, &BTreeMap::new(), &options).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        let plain = translated(None);
        assert_eq!(plain.counts_workgroups, counts, "{text}");
        let folded = translated(Some(Fold { axes: [5, 3, 2], n_workgroups: counts.then_some(17) }));
        assert_eq!(folded.signature, plain.signature, "{text}");
        let asks = !text.starts_with(')');
        assert_eq!(folded.spirv != plain.spirv, asks, "{text}");
        assert_eq!(spirv_val(&folded.spirv), None, "{text}");
    }
}
