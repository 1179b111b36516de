//! Pointers as arguments of functions, which read and write through them, in every mode.

use vkarray::kernel::KernelBuilder;
use vkarray::{Groups, Source};

use crate::fixture::{Fixture, contents};

/// The three modes of a kernel: with bounds checks, unchecked, and with the sanitizer.
fn ways(fixture: &Fixture, text: &'static str) -> [KernelBuilder; 3] {
    let builder = fixture.kernel(Source::wgsl(text));
    // SAFETY: the kernels below use no index out of range.
    let unchecked = unsafe { builder.clone().unchecked() };
    [builder.clone(), unchecked, builder.sanitize(true)]
}

#[test]
fn an_element_of_a_private_array_is_passed() {
    let fixture = Fixture::open();
    let text = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        struct Pair { first: u32, second: array<u32, 3> }
        var<private> kept: array<u32, 5>;
        fn bump(p: ptr<function, u32>, by: u32) -> u32 { let before = *p; *p += by; return before; }
        fn keep(p: ptr<private, u32>, value: u32) { *p = value; }
        @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x;
            var a = array(10u, 20u, 30u, 40u);
            var pair: Pair;
            let before = bump(&a[i & 3u], 5u) + bump(&a[(i + 1u) & 3u], i);
            bump(&pair.second[i % 3u], before);
            let p = &pair.first;
            bump(p, 3u);
            keep(&kept[i % 5u], i * i);
            out[i] = a[0] + 2u * a[1] + 3u * a[2] + 4u * a[3] + 5u * pair.first + 7u * pair.second[1] + kept[3];
        }";
    let expected = |i: u32| {
        let mut a = [10, 20, 30, 40];
        let (one, two) = ((i & 3) as usize, ((i + 1) & 3) as usize);
        let before = a[one] + a[two];
        a[one] += 5;
        a[two] += i;
        let second = if i % 3 == 1 { before } else { 0 };
        let kept = if i % 5 == 3 { i * i } else { 0 };
        a[0] + 2 * a[1] + 3 * a[2] + 4 * a[3] + 15 + 7 * second + kept
    };
    for builder in ways(&fixture, text) {
        let out = fixture.zeros::<u32>([96]).unwrap();
        builder.build().unwrap().dispatch(fixture.default_stream(), Groups::covering([96]), (&out,)).unwrap();
        assert_eq!(contents(&out), (0..96).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn shared_memory_is_reached_through_functions() {
    let fixture = Fixture::open();
    let text = "
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> totals: array<u32>;
        var<workgroup> tile: array<u32, 48>;
        var<workgroup> counts: array<atomic<u32>, 3>;
        fn put(tile: ptr<workgroup, array<u32, 48>>, i: u32, value: u32) { (*tile)[i] = value; }
        fn count(p: ptr<workgroup, atomic<u32>>, by: u32) { atomicAdd(p, by); }
        fn twice(p: ptr<workgroup, atomic<u32>>, by: u32) { count(p, by); count(p, by); }
        fn take(p: ptr<workgroup, u32>) -> u32 { return *p + 1u; }
        @compute @workgroup_size(48) fn main(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32,
            @builtin(workgroup_id) group: vec3<u32>,
        ) {
            put(&tile, 47u - i, x[id.x]);
            twice(&counts[i % 3u], i);
            workgroupBarrier();
            x[id.x] = take(&tile[i]);
            if i < 3u { totals[group.x * 3u + i] = atomicLoad(&counts[i]); }
        }";
    for builder in ways(&fixture, text) {
        let values: Vec<u32> = (0..48 * 5).map(|i| i * 7 + 1).collect();
        let (x, totals) = (fixture.slice_to_device(&values).unwrap(), fixture.zeros::<u32>([15]).unwrap());
        builder.build().unwrap().dispatch(fixture.default_stream(), Groups::exact([5, 1, 1]), (&x, &totals)).unwrap();
        let expected: Vec<u32> = values.chunks(48).flat_map(|tile| tile.iter().rev().map(|value| value + 1)).collect();
        assert_eq!(contents(&x), expected);
        let total = |k: u32| 2 * (0..48).filter(|i| i % 3 == k).sum::<u32>();
        assert_eq!(contents(&totals), [total(0), total(1), total(2)].repeat(5));
    }
}

#[test]
fn buffers_are_reached_through_functions() {
    let fixture = Fixture::open();
    let text = "
        @group(0) @binding(0) var<storage, read_write> x: array<vec2<u32>>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @group(0) @binding(2) var<storage, read> z: array<u32>;
        fn last(p: ptr<storage, array<u32>, read_write>) -> u32 { return (*p)[arrayLength(p) - 1u]; }
        fn sum(p: ptr<storage, array<u32>>, n: u32) -> u32 {
            var total = 0u;
            for (var k = 0u; k < n; k++) { total += (*p)[k]; }
            return total;
        }
        fn swap(p: ptr<storage, vec2<u32>, read_write>) { *p = (*p).yx; }
        fn both(p: ptr<storage, array<vec2<u32>>, read_write>, i: u32) { swap(&(*p)[i]); (*p)[i].x += 1u; }
        @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= arrayLength(&x) { return; }
            both(&x, id.x);
            if id.x < arrayLength(&y) - 1u { y[id.x] = last(&y) + sum(&z, id.x % 7u); }
        }";
    for builder in ways(&fixture, text) {
        let pairs: Vec<[u32; 2]> = (0..37).map(|i| [i, 100 + 3 * i]).collect();
        let z: Vec<u32> = (0..7).map(|i| i * i + 2).collect();
        let x = fixture.slice_to_device(pairs.as_flattened()).unwrap().reshape([37, 2]).unwrap();
        let (y, dz) = (fixture.full([21], 5_u32).unwrap(), fixture.slice_to_device(&z).unwrap());
        builder.build().unwrap().dispatch(fixture.default_stream(), Groups::covering([37]), (&x, &y, &dz)).unwrap();
        assert_eq!(contents(&x), pairs.iter().flat_map(|[a, b]| [b + 1, *a]).collect::<Vec<_>>());
        let sum = |i: usize| if i < 20 { 5 + z[..i % 7].iter().sum::<u32>() } else { 5 };
        assert_eq!(contents(&y), (0..21).map(sum).collect::<Vec<_>>());
    }
}
