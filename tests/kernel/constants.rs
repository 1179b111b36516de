//! Constant memory: snapshots and arrays, read through `var<uniform>`; a shorter array is refused, or padded with
//! zeros.

use vkarray::{Graph, Groups};

use super::kernel;
use crate::fixture::{Fixture, contents};

const TAPS: &str = "
    @group(0) @binding(0) var<uniform> taps: array<vec4<u32>, 4>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32, 16>;
    @compute @workgroup_size(16) fn copy(@builtin(local_invocation_index) i: u32) { out[i] = taps[i / 4u][i % 4u]; }";

fn continued(values: &[u32]) -> Vec<u32> {
    values.iter().copied().chain(std::iter::repeat(0)).take(16).collect()
}

#[test]
fn a_padded_constant_is_zero_after_its_values() {
    let fixture = Fixture::open();
    let copy = kernel(&fixture, TAPS);
    for n in [1, 3, 4, 5, 15, 16] {
        let values: Vec<u32> = (100..100 + n).collect();
        let taps = fixture.const_array(&values, [values.len()]).unwrap().padded();
        let out = fixture.full([16], 9_u32).unwrap();
        for _ in 0..2 {
            copy.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&taps, &out)).unwrap();
            assert_eq!(contents(&out), continued(&values), "{n} values");
        }
    }
}

#[test]
fn a_constant_is_a_snapshot() {
    let fixture = Fixture::open();
    let copy = kernel(&fixture, TAPS);
    let mut values = vec![1_u32, 2, 3];
    let taps = fixture.const_array(&values, [3]).unwrap().padded();
    values.fill(77);
    let clone = taps.clone();
    drop(taps);
    let out = fixture.zeros::<u32>([16]).unwrap();
    copy.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&clone, &out)).unwrap();
    drop(clone); // Dropped while the call may still run.
    assert_eq!(contents(&out), continued(&[1, 2, 3]));
}

#[test]
fn an_array_is_bound_as_constant_memory() {
    let fixture = Fixture::open();
    let copy = kernel(&fixture, TAPS);
    for n in [1, 7, 16] {
        let values: Vec<u32> = (50..50 + n).collect();
        let (taps, out) = (fixture.slice_to_device(&values).unwrap().padded(), fixture.full([16], 9_u32).unwrap());
        copy.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&taps, &out)).unwrap();
        // Later writes do not affect the call before.
        taps.block().fill(fixture.default_stream(), 1).unwrap();
        assert_eq!(contents(&out), continued(&values), "{n} values");
        copy.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&taps, &out)).unwrap();
        assert_eq!(contents(&out), continued(&vec![1; values.len()]), "{n} values");
    }
}

#[test]
fn one_constant_is_bound_by_kernels_with_different_sizes() {
    let fixture = Fixture::open();
    let wgsl = |n: u32| {
        format!(
            "@group(0) @binding(0) var<uniform> taps: array<vec4<u32>, {n}>;
            @group(0) @binding(1) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(1) fn total() {{
                var sum = 0u;
                for (var i = 0u; i < {n}u; i++) {{ let t = taps[i]; sum += t.x + t.y + t.z + t.w + (1u << 16u); }}
                out[0] = sum;
            }}"
        )
    };
    let taps = fixture.const_array(&[1_u32, 2, 3, 4, 5], [5]).unwrap().padded();
    let out = fixture.zeros::<u32>([1]).unwrap();
    for n in [2, 3, 100, 1024, 2] {
        kernel(&fixture, wgsl(n)).dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&taps, &out)).unwrap();
        assert_eq!(contents(&out), [15 + (n << 16)], "declared as {n}");
    }
}

#[test]
fn a_short_constant_is_refused_unless_it_is_padded() {
    let fixture = Fixture::open();
    // A table of 256 entries.
    let look_up = kernel(
        &fixture,
        "@group(0) @binding(0) var<uniform> table: array<vec4<u32>, 64>;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn look_up() { out[0] = table[25].x; }",
    );
    let (stream, out) = (fixture.default_stream(), fixture.full([1], 9_u32).unwrap());
    let values: Vec<u32> = (1..=256).collect();
    for n in [1, 100, 255] {
        out.fill(9).unwrap();
        let array = fixture.slice_to_device(&values[..n]).unwrap();
        let constant = fixture.const_array(&values[..n], [n]).unwrap();
        let message = format!(
            "kernel `look_up`: `table` is array<vec4<u32>, 64> in constant memory, 1024 bytes, got {} bytes; \
             give the rest, or use `padded`, which reads it as zeros",
            4 * n
        );
        let refused = look_up.dispatch(stream, Groups::exact([1, 1, 1]), (&array, &out)).unwrap_err();
        assert_eq!(refused.to_string(), message);
        let refused = look_up.dispatch(stream, Groups::exact([1, 1, 1]), (&constant, &out)).unwrap_err();
        assert_eq!(refused.to_string(), message);
        let refused = Graph::record(stream, |graph| look_up.record(graph, Groups::exact([1, 1, 1]), (&array, &out)));
        assert_eq!(refused.unwrap_err().to_string(), message);
        assert_eq!(contents(&out), [9], "a refused call changes nothing");
        let expected = if n > 100 { 101 } else { 0 };
        for round in 0..2 {
            out.fill(9).unwrap();
            let groups = Groups::exact([1, 1, 1]);
            match round {
                0 => look_up.dispatch(stream, groups, (array.clone().padded(), &out)).unwrap(),
                _ => look_up.dispatch(stream, groups, (constant.clone().padded(), &out)).unwrap(),
            }
            assert_eq!(contents(&out), [expected], "{n} of 256");
        }
    }
    // A constant of full length needs no padding.
    let table = fixture.slice_to_device(&values).unwrap();
    look_up.dispatch(stream, Groups::exact([1, 1, 1]), (&table, &out)).unwrap();
    assert_eq!(contents(&out), [101]);
}

#[test]
fn a_constant_longer_than_declared_is_refused() {
    let fixture = Fixture::open();
    let copy = kernel(&fixture, TAPS);
    let (taps, out) = (fixture.const_array(&[1_u32; 17], [17]).unwrap(), fixture.zeros::<u32>([16]).unwrap());
    let refused = copy.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&taps, &out)).unwrap_err();
    let message = "kernel `copy`: `taps` is array<vec4<u32>, 4> in constant memory, at most 64 bytes, got 68 bytes";
    assert_eq!(refused.to_string(), message);
    let error = fixture.const_array(&[1_u32; 5], [2, 3]).unwrap_err();
    assert_eq!(error.to_string(), "5 values of u32 do not fill shape (2, 3), which has 6");
}
