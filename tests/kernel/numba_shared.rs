//! Numba's tests of shared and local memory and of barriers, ported by behaviour; `docs/conformance/kernels.md` lists all
//! of them.

use vkarray::{Groups, Source};

use super::kernel;
use crate::fixture::{Fixture, contents};

/// Runs a kernel whose one parameter is `x`, over `groups` workgroups, and returns `x`.
fn run(fixture: &Fixture, wgsl: &str, x: &[i32], groups: u32) -> Vec<i32> {
    let array = fixture.slice_to_device(x).unwrap();
    let wgsl = format!("@group(0) @binding(0) var<storage, read_write> x: array<i32>;\n{wgsl}");
    kernel(fixture, wgsl).dispatch(fixture.default_stream(), Groups::exact([groups, 1, 1]), (&array,)).unwrap();
    contents(&array)
}

/// test_simple_smem: one invocation fills the memory, and all read it.
#[test]
fn all_invocations_read_what_one_wrote_before_a_barrier() {
    let fixture = Fixture::open();
    let wgsl = "
        var<workgroup> tile: array<i32, 100>;
        @compute @workgroup_size(100) fn share(@builtin(local_invocation_index) i: u32) {
            if i == 0u { for (var j = 0; j < 100; j++) { tile[j] = j * j; } }
            workgroupBarrier();
            x[i] = tile[i];
        }";
    assert_eq!(run(&fixture, wgsl, &[0; 100], 1), (0..100).map(|i| i * i).collect::<Vec<_>>());
}

/// test_coop_smem2d: a tile of two axes, filled by its rows and read by its columns.
#[test]
fn a_tile_of_two_axes_is_transposed() {
    let fixture = Fixture::open();
    let wgsl = "
        var<workgroup> tile: array<array<i32, 9>, 5>;
        @compute @workgroup_size(9, 5) fn transpose(@builtin(local_invocation_id) i: vec3<u32>) {
            tile[i.y][i.x] = x[i.y * 9u + i.x];
            workgroupBarrier();
            x[i.x * 5u + i.y] = tile[i.y][i.x];
        }";
    let x: Vec<i32> = (0..45).map(|i| 7 * i - 50).collect();
    let expected: Vec<i32> = (0..9).flat_map(|column| (0..5).map(move |row| 7 * (row * 9 + column) - 50)).collect();
    assert_eq!(run(&fixture, wgsl, &x, 1), expected);
}

/// test_dynshared_slice_* (8): parts of one tile by offset, overlap, gap, step and in reverse; the rest of the tile is
/// unchanged.
#[test]
fn parts_of_a_tile_sized_at_dispatch_are_separate() {
    let fixture = Fixture::open();
    let wgsl = "
        override LEN: u32 = 1;
        @group(0) @binding(0) var<storage, read_write> out: array<i32>;
        var<immediate> part: vec3<i32>; // Start, step, elements.
        var<workgroup> tile: array<i32, LEN>;
        @compute @workgroup_size(1) fn write_part() {
            for (var i = 0u; i < LEN; i++) { tile[i] = -1; }
            for (var i = 0; i < part.z; i++) { tile[part.x + i * part.y] = i; }
            for (var i = 0u; i < LEN; i++) { out[i] = tile[i]; }
        }";
    let write_part = fixture.kernel(Source::wgsl(wgsl)).build().unwrap();
    // Elements of the tile; start, step and elements of the part.
    let cases = [
        (4, [0, 1, 4]),
        (4, [2, 1, 2]),  // An upper half.
        (7, [1, 1, 5]),  // A gap on both sides.
        (7, [0, 2, 4]),  // Every second element.
        (6, [5, -1, 6]), // Backwards.
        (9, [7, -3, 3]), // Backwards by threes.
    ];
    for (len, [start, step, n]) in cases {
        let out = fixture.full([len], 9_i32).unwrap();
        let sized = write_part.shared("tile", u32::try_from(len).unwrap()).unwrap();
        sized.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&out, [start, step, n])).unwrap();
        let mut expected = vec![-1; len];
        for i in 0..n {
            expected[usize::try_from(start + i * step).unwrap()] = i;
        }
        assert_eq!(contents(&out), expected, "{n} from {start} by {step} of {len}");
    }
}

/// test_shared_bool, test_shared_recarray: truth values, and structs with members of several sizes.
#[test]
fn booleans_and_structs_are_stored_in_shared_memory() {
    let fixture = Fixture::open();
    let wgsl = "
        struct Item { odd: bool, value: vec2<i32>, last: i32 }
        var<workgroup> flags: array<bool, 33>;
        var<workgroup> items: array<Item, 33>;
        @compute @workgroup_size(33) fn share(@builtin(local_invocation_index) local: u32) {
            let i = i32(local);
            flags[i] = i % 3 == 0;
            items[i] = Item(i % 2 == 1, vec2(i, -i), 100 * i);
            workgroupBarrier();
            if i > 0 { return; }
            for (var j = 0; j < 33; j++) {
                let item = items[32 - j];
                x[j] = item.last + item.value.y + select(0, 10000, item.odd) + select(0, 50000, flags[j]);
            }
        }";
    let expected = |j: i32| {
        let k = 32 - j;
        100 * k - k + if k % 2 == 1 { 10000 } else { 0 } + if j % 3 == 0 { 50000 } else { 0 }
    };
    assert_eq!(run(&fixture, wgsl, &[0; 33], 1), (0..33).map(expected).collect::<Vec<_>>());
}

/// test_issue_953: a function that a kernel calls has shared memory of its own.
#[test]
fn shared_memory_of_functions_does_not_overlap() {
    let fixture = Fixture::open();
    let wgsl = "
        var<workgroup> outer: array<i32, 16>;
        var<workgroup> inner: array<i32, 16>;
        fn turned(i: u32, value: i32) -> i32 {
            inner[i] = value;
            workgroupBarrier();
            return inner[15u - i];
        }
        @compute @workgroup_size(16) fn call(@builtin(local_invocation_index) i: u32) {
            outer[i] = i32(i);
            let other = turned(i, 100 + i32(i));
            workgroupBarrier();
            x[i] = outer[15u - i] * 1000 + other;
        }";
    let expected: Vec<i32> = (0..16).rev().map(|i| i * 1000 + 100 + i).collect();
    assert_eq!(run(&fixture, wgsl, &[0; 16], 1), expected);
}

/// test_local_array (1000 integers, which no registers hold), test_local_array_complex.
#[test]
fn each_invocation_has_its_own_local_memory() {
    let fixture = Fixture::open();
    let wgsl = "
        @compute @workgroup_size(8) fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
            var mine: array<i32, 1000>;
            var pairs: array<vec2<i32>, 5>;
            for (var i = 0u; i < 1000u; i++) { mine[i] = x[id.x * 1000u + i]; }
            for (var i = 0u; i < 5u; i++) { pairs[i] = vec2(mine[i], mine[999u - i]); }
            for (var i = 0u; i < 1000u; i++) { x[id.x * 1000u + i] = mine[999u - i] + pairs[i % 5u].y; }
        }";
    let x: Vec<i32> = (0..24_000).map(|i| 3 * i + i / 1000).collect();
    let own = |mine: &[i32]| (0..1000).map(|i| mine[999 - i] + mine[999 - i % 5]).collect::<Vec<_>>();
    let expected: Vec<i32> = x.chunks(1000).flat_map(own).collect();
    assert_eq!(run(&fixture, wgsl, &x, 3), expected);
}

/// test_useless_syncthreads, test_threadfence_block: barriers that nothing needs, and one for memory of buffers.
#[test]
fn barriers_order_accesses_to_buffers_within_a_workgroup() {
    let fixture = Fixture::open();
    let wgsl = "
        @compute @workgroup_size(64) fn turn(@builtin(global_invocation_id) id: vec3<u32>) {
            workgroupBarrier();
            let mine = x[id.x];
            storageBarrier();
            x[id.x ^ 63u] = mine * 2;
            storageBarrier();
            let other = x[id.x];
            storageBarrier();
            x[id.x ^ 1u] = other + 1;
        }";
    let x: Vec<i32> = (0..256).collect();
    let expected: Vec<i32> = (0..256).map(|i: i32| ((i ^ 1) ^ 63) * 2 + 1).collect();
    assert_eq!(run(&fixture, wgsl, &x, 4), expected);
}
