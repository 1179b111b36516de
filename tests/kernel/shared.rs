//! Workgroup (shared) memory and barriers.

use vkarray::kernel::signature::{Module, Options};
use vkarray::{Groups, Source};

use super::kernel;
use crate::fixture::{Fixture, contents};

#[test]
fn a_tile_is_reversed_through_shared_memory() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        var<workgroup> tile: array<u32, 64>;
        @compute @workgroup_size(64) fn reverse(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32,
        ) {
            tile[local] = x[id.x];
            workgroupBarrier();
            x[id.x] = tile[63u - local];
        }";
    let x: Vec<u32> = (0..64 * 9).collect();
    let array = fixture.slice_to_device(&x).unwrap();
    kernel(&fixture, wgsl).dispatch(fixture.default_stream(), Groups::covering([64 * 9]), (&array,)).unwrap();
    let expected: Vec<u32> = x.chunks(64).flat_map(|tile| tile.iter().rev().copied()).collect();
    assert_eq!(contents(&array), expected);
}

#[test]
fn a_tree_of_barriers_sums_a_workgroup() {
    let fixture = Fixture::open();
    let wgsl = "
        override WIDTH: u32 = 128;
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
        var<workgroup> partial: array<u32, WIDTH>;
        @compute @workgroup_size(WIDTH) fn sum(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            partial[local] = select(0u, x[id.x], id.x < arrayLength(&x));
            workgroupBarrier();
            for (var half = WIDTH / 2u; half > 0u; half /= 2u) {
                if local < half { partial[local] += partial[local + half]; }
                workgroupBarrier();
            }
            if local == 0u { sums[group.x] = partial[0]; }
        }";
    for width in [32_u32, 128] {
        let sum = fixture.kernel(Source::wgsl(wgsl)).constant("WIDTH", width).build().unwrap();
        assert_eq!(sum.signature().workgroup_size, [width, 1, 1]);
        assert_eq!(sum.signature().shared_bytes, u64::from(width) * 4);
        for n in [1, 31, 32, 33, 127, 128, 129, 1000, 4099] {
            let x: Vec<u32> = (0..n).map(|i| i * i + 1).collect();
            let (dx, sums) =
                (fixture.slice_to_device(&x).unwrap(), fixture.zeros::<u32>([n.div_ceil(width) as usize]).unwrap());
            sum.dispatch(fixture.default_stream(), Groups::covering(n as usize), (&dx, &sums)).unwrap();
            let expected: Vec<u32> = x.chunks(width as usize).map(|tile| tile.iter().sum()).collect();
            assert_eq!(contents(&sums), expected, "{n} elements by {width}");
        }
    }
}

#[test]
fn shared_memory_starts_as_zeros() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> tile: array<u32, 200>;
        @compute @workgroup_size(64) fn leftovers(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32,
        ) {
            var found = 0u;
            for (var i = local; i < 200u; i += 64u) { found |= tile[i]; }
            out[id.x] = found;
            workgroupBarrier();
            for (var i = local; i < 200u; i += 64u) { tile[i] = 0xdeadbeefu; }
        }";
    let zeroed = kernel(&fixture, wgsl);
    let out = fixture.full([64 * 50], 7_u32).unwrap();
    for _ in 0..3 {
        zeroed.dispatch(fixture.default_stream(), Groups::covering([64 * 50]), (&out,)).unwrap();
        assert_eq!(contents(&out), [0; 64 * 50]);
    }
}

/// Every kind of type, zeroed by the driver and by code in the kernel. Each workgroup overwrites its memory at the end.
#[test]
fn shared_memory_of_every_type_starts_as_zeros() {
    let fixture = Fixture::open();
    let wgsl = "
        override LEN: u32 = 70;
        struct Inner { v: vec3<f32>, b: bool, turn: mat2x3<f32> }
        struct Item { n: atomic<u32>, many: array<vec2<i32>, 37>, inner: Inner }
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> items: array<Item, 3>;
        var<workgroup> grid: array<array<u32, 11>, 13>;
        var<workgroup> sized: array<atomic<i32>, LEN>;
        var<workgroup> flag: bool;
        var<workgroup> one: Inner;
        @compute @workgroup_size(8, 4) fn leftovers(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            var found = u32(flag) | u32(one.b) | u32(any(one.v != vec3(0.0))) | u32(one.turn[1].z != 0.0);
            for (var i = local; i < 3u * 37u; i += 32u) {
                found |= u32(any(items[i / 37u].many[i % 37u] != vec2(0)));
            }
            for (var i = local; i < 3u; i += 32u) {
                found |= atomicLoad(&items[i].n) | u32(items[i].inner.b) | u32(items[i].inner.v.z != 0.0);
                found |= u32(any(items[i].inner.turn[0] != vec3(0.0)));
            }
            for (var i = local; i < 143u; i += 32u) { found |= grid[i / 11u][i % 11u]; }
            for (var i = local; i < LEN; i += 32u) { found |= u32(atomicLoad(&sized[i])); }
            out[group.x * 32u + local] = found;
            workgroupBarrier();
            for (var i = local; i < 3u * 37u; i += 32u) { items[i / 37u].many[i % 37u] = vec2(-1, 7); }
            for (var i = local; i < 3u; i += 32u) {
                atomicStore(&items[i].n, 0xffffffffu);
                items[i].inner = Inner(vec3(1.5), true, mat2x3<f32>(vec3(2.5), vec3(3.5)));
            }
            for (var i = local; i < 143u; i += 32u) { grid[i / 11u][i % 11u] = 0xdeadbeefu; }
            for (var i = local; i < LEN; i += 32u) { atomicStore(&sized[i], -1); }
            if local == 5u { flag = true; one = Inner(vec3(1.5), true, mat2x3<f32>(vec3(2.5), vec3(3.5))); }
        }";
    let module = Module::parse(&Source::wgsl(wgsl)).unwrap();
    // The kernel's own code zeroes the memory: its SPIR-V declares no initial value.
    let by_kernel = |len: f64| {
        let constants = [("LEN".to_owned(), len)].into();
        let translated = module.translate(None, &constants, &Options::default()).unwrap();
        fixture.kernel(Source::spirv_words(&translated.spirv)).build().unwrap()
    };
    let kernels = [kernel(&fixture, wgsl), by_kernel(70.0), by_kernel(1.0), by_kernel(2000.0)];
    for (i, zeroed) in kernels.iter().enumerate() {
        let out = fixture.full([32 * 40], 7_u32).unwrap();
        for _ in 0..3 {
            zeroed.dispatch(fixture.default_stream(), Groups::exact([40, 1, 1]), (&out,)).unwrap();
            assert_eq!(contents(&out), [0; 32 * 40], "kernel {i}");
        }
    }
}

/// Three kernels that read shared memory before they write it, which is correct since it starts as zeros.
#[test]
fn an_atomic_counter_in_shared_memory_starts_at_zero() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> n: atomic<u32>;
        var<workgroup> votes: array<atomic<u32>, 5>;
        struct Best { value: u32, flags: vec2<bool> }
        var<workgroup> best: Best;
        @compute @workgroup_size(64) fn counts(@builtin(workgroup_id) group: vec3<u32>) {
            let before = atomicAdd(&n, 1u);
            if before == 63u { out[group.x] = before; }
        }
        @compute @workgroup_size(64) fn votes_(
            @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32,
        ) {
            atomicMax(&votes[i % 3u], i);
            workgroupBarrier();
            if i == 0u { out[group.x] = atomicLoad(&votes[0]) + 100u * atomicLoad(&votes[4]); }
        }
        @compute @workgroup_size(64) fn flags(
            @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32,
        ) {
            if i == 63u { if best.flags.y { out[group.x] = 1u; } else { out[group.x] = best.value + 7u; } }
        }";
    for (entry, expected) in [("counts", 63), ("votes_", 63), ("flags", 7)] {
        for is_sanitized in [false, true] {
            let out = fixture.full([17], 1000_u32).unwrap();
            let builder = fixture.kernel(Source::wgsl(wgsl)).entry(entry).sanitize(is_sanitized);
            let kernel = builder.build().unwrap();
            kernel.dispatch(fixture.default_stream(), Groups::exact([17, 1, 1]), (&out,)).unwrap();
            assert_eq!(contents(&out), [expected; 17], "{entry}, sanitized: {is_sanitized}");
        }
    }
}

#[test]
fn two_shared_arrays_do_not_overlap() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;
        var<workgroup> bytes: array<u32, 33>;
        var<workgroup> pairs: array<vec4<u32>, 33>;
        @compute @workgroup_size(33) fn both(@builtin(local_invocation_index) i: u32) {
            bytes[i] = i + 1u;
            pairs[i] = vec4(i, 2u * i, 3u * i, 1000u + i);
            workgroupBarrier();
            out[i] = vec2(bytes[32u - i], pairs[32u - i].w);
        }";
    let out = fixture.zeros::<u32>([33, 2]).unwrap();
    kernel(&fixture, wgsl).dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&out,)).unwrap();
    let expected: Vec<u32> = (0..33).rev().flat_map(|i| [i + 1, 1000 + i]).collect();
    assert_eq!(contents(&out), expected);
}

/// The device lays out shared memory and the shader lays out buffers, so a copied value changes its layout.
#[test]
fn structs_are_copied_between_buffers_and_shared_memory() {
    let fixture = Fixture::open();
    let wgsl = "
        struct Item { first: u32, pairs: array<vec3<u32>, 2>, last: u32 } // At 0, 16 and 32, 48; 64 bytes in all.
        @group(0) @binding(0) var<storage, read_write> items: array<Item>;
        var<workgroup> tile: array<Item, 8>;
        var<private> kept: Item = Item(7u, array(vec3(1u, 2u, 3u), vec3(4u, 5u, 6u)), 8u);
        @compute @workgroup_size(8) fn swap(@builtin(local_invocation_index) i: u32) {
            tile[i] = items[i];
            workgroupBarrier();
            var mine = tile[7u - i];
            mine.pairs[i % 2u].y += kept.pairs[i % 2u].z;
            kept = mine;
            kept.last *= 2u;
            items[i] = kept;
        }";
    // Words 1 to 3, 7, 11 and 13 to 15 of an item are padding, which may have any value.
    let members = [0, 4, 5, 6, 8, 9, 10, 12];
    let x: Vec<u32> = (0..8 * 16).map(|i| i * i + 3).collect();
    let array = fixture.slice_to_device(&x).unwrap();
    kernel(&fixture, wgsl).dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&array,)).unwrap();
    let found = contents(&array);
    for (i, item) in found.chunks(16).enumerate() {
        let mut expected = x[(7 - i) * 16..(8 - i) * 16].to_vec();
        expected[[5, 9][i % 2]] += [3, 6][i % 2];
        expected[12] *= 2;
        assert_eq!(members.map(|word| item[word]), members.map(|word| expected[word]), "item {i}");
    }
}

/// Reverses tiles of a length that the dispatch sets.
const REVERSE: &str = "
    override LEN: u32 = 64;
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    var<workgroup> tile: array<u32, LEN>;
    @compute @workgroup_size(32) fn reverse(
        @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
    ) {
        for (var i = local; i < LEN; i += 32u) { tile[i] = x[group.x * LEN + i]; }
        workgroupBarrier();
        for (var i = local; i < LEN; i += 32u) { x[group.x * LEN + i] = tile[LEN - 1u - i]; }
    }";

#[test]
fn a_dispatch_sets_the_length_of_shared_memory() {
    let fixture = Fixture::open();
    let reverse = fixture.kernel(Source::wgsl(REVERSE)).build().unwrap();
    for len in [1_u32, 31, 64, 100, 4000, 100] {
        let x: Vec<u32> = (0..len * 3).map(|i| i * i + 1).collect();
        let array = fixture.slice_to_device(&x).unwrap();
        let sized = reverse.shared("tile", len).unwrap();
        assert_eq!(sized.signature().shared_bytes, u64::from(len) * 4);
        sized.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&array,)).unwrap();
        fixture.synchronize().unwrap(); // Idle memory is read without a kernel, which would be counted below.
        let expected: Vec<u32> = x.chunks(len as usize).flat_map(|tile| tile.iter().rev().copied()).collect();
        assert_eq!(contents(&array), expected, "{len} elements");
    }
    assert_eq!(
        fixture.kernel_cache().len(),
        6,
        "the first, and one for each other length; 64 is built as a length too"
    );
}

#[test]
fn a_variant_for_a_length_is_built_once_and_outlives_its_context() {
    let mut fixture = Fixture::open();
    let reverse = fixture.kernel(Source::wgsl(REVERSE)).shared("tile", 8).build().unwrap();
    let is_same = |a: &vkarray::Kernel, b: &vkarray::Kernel| std::ptr::eq(a.signature(), b.signature());
    let other = reverse.shared("tile", 16).unwrap();
    assert!(is_same(&other, &reverse.shared("tile", 16).unwrap()));
    assert!(is_same(&reverse, &other.shared("tile", 8).unwrap()));
    // More lengths than the kernel's own cache of variants holds.
    for len in 1..40 {
        assert_eq!(reverse.shared("tile", len).unwrap().signature().shared_bytes, u64::from(len) * 4);
    }
    assert!(is_same(&other, &reverse.shared("tile", 16).unwrap()));
    drop(fixture.take_context());
    assert_eq!(other.shared("tile", 24).unwrap().signature().shared_bytes, 96);
    drop((reverse, other));
}

#[test]
fn all_shared_memory_of_the_device_can_be_used_and_no_more() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_compute_shared_memory_size;
    let reverse = fixture.kernel(Source::wgsl(REVERSE)).build().unwrap();
    let len = limit / 4;
    let x: Vec<u32> = (0..len).collect();
    let array = fixture.slice_to_device(&x).unwrap();
    let sized = reverse.shared("tile", len).unwrap();
    sized.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&array,)).unwrap();
    assert_eq!(contents(&array), x.into_iter().rev().collect::<Vec<_>>());
    let refusals = [
        (
            len + 1,
            format!("kernel `reverse`: {} bytes of shared memory (`tile`), the device has {limit}", (len + 1) * 4),
        ),
        (0, "kernel `reverse`: not valid with the constants LEN = 0: ".to_owned()),
    ];
    for (len, message) in refusals {
        let error = reverse.shared("tile", len).unwrap_err().to_string();
        assert!(error.starts_with(&message), "{error}");
    }
    let error = reverse.shared("tiles", 1).unwrap_err().to_string();
    assert_eq!(error, "kernel `reverse`: no shared variable `tiles`; there is `tile` (did you mean `tile`?)");
}

#[test]
fn a_builder_sets_the_workgroup_size() {
    let fixture = Fixture::open();
    let wgsl = "
        override W: u32 = 4;
        override H: u32 = 2;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> count: atomic<u32>;
        @compute @workgroup_size(W, H) fn count_up(
            @builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32,
        ) {
            if local == 0u { atomicStore(&count, 0u); }
            workgroupBarrier();
            atomicAdd(&count, 1u);
            workgroupBarrier();
            if local == 0u { out[group.x] = atomicLoad(&count); }
        }";
    for size in [[4, 2, 1], [16, 8, 1], [1, 1, 1], [3, 5, 1]] {
        let count_up = fixture.kernel(Source::wgsl(wgsl)).workgroup_size(size).build().unwrap();
        assert_eq!(count_up.signature().workgroup_size, size);
        let out = fixture.zeros::<u32>([5]).unwrap();
        count_up.dispatch(fixture.default_stream(), Groups::exact([5, 1, 1]), (&out,)).unwrap();
        assert_eq!(contents(&out), [size[0] * size[1]; 5]);
    }
    let limit = fixture.info().limits.max_compute_work_group_size[0];
    let error = fixture.kernel(Source::wgsl(wgsl)).workgroup_size([limit + 1, 1, 1]).build().unwrap_err().to_string();
    let expected = format!("kernel `count_up`: workgroup size {} on axis x, the device allows {limit}", limit + 1);
    assert_eq!(error, expected);
}
