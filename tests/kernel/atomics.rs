//! Atomics, and shaders with several entry points.

use vkarray::{Groups, Source};

use super::kernel;
use crate::fixture::{Fixture, contents};

const ATOMICS: &str = "
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
    @group(0) @binding(2) var<storage, read_write> extremes: array<atomic<i32>, 2>;
    @compute @workgroup_size(64) fn histogram(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) { atomicAdd(&bins[x[id.x] % arrayLength(&bins)], 1u); }
    }
    @compute @workgroup_size(32) fn range(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x < arrayLength(&x) {
            atomicMin(&extremes[0], i32(x[id.x]) - 500);
            atomicMax(&extremes[1], i32(x[id.x]) - 500);
        }
    }";

#[test]
fn each_entry_point_of_a_shader_takes_only_the_bindings_it_uses() {
    let fixture = Fixture::open();
    let build = |entry: &str| fixture.kernel(Source::wgsl(ATOMICS)).entry(entry).build().unwrap();
    let (histogram, range) = (build("histogram"), build("range"));
    assert_eq!(histogram.signature().workgroup_size, [64, 1, 1]);
    assert_eq!(range.signature().workgroup_size, [32, 1, 1]);
    let x: Vec<u32> = (0..5000_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 22).collect();
    let array = fixture.slice_to_device(&x).unwrap();
    let (bins, extremes) =
        (fixture.zeros::<u32>([17]).unwrap(), fixture.slice_to_device(&[i32::MAX, i32::MIN]).unwrap());
    let groups = Groups::covering([5000]);
    histogram.dispatch(fixture.default_stream(), groups, (&array, &bins)).unwrap();
    range.dispatch(fixture.default_stream(), groups, (&array, &extremes)).unwrap();
    let mut expected = [0; 17];
    x.iter().for_each(|&value| expected[value as usize % 17] += 1);
    assert_eq!(contents(&bins), expected);
    let signed = || x.iter().map(|&value| i32::try_from(value).unwrap() - 500);
    assert_eq!(contents(&extremes), [signed().min().unwrap(), signed().max().unwrap()]);
}

#[test]
fn a_shader_with_several_entry_points_needs_the_name_of_one() {
    let fixture = Fixture::open();
    let source = || Source::wgsl(ATOMICS).named("atomics.wgsl");
    let cases = [
        (None, "atomics.wgsl: name the entry point to use, one of `histogram`, `range`"),
        (
            Some("histogramm"),
            "atomics.wgsl: no compute entry point `histogramm`; there is `histogram`, `range` (did you mean `histogram`?)",
        ),
    ];
    for (entry, message) in cases {
        let builder = fixture.kernel(source());
        let builder = entry.map_or(builder.clone(), |entry| builder.entry(entry));
        assert_eq!(builder.build().unwrap_err().to_string(), message);
    }
}

#[test]
fn atomic_exchange_and_compare_exchange_return_each_value_once() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> next: atomic<u32>;
        @group(0) @binding(1) var<storage, read_write> taken: array<atomic<u32>>;
        @compute @workgroup_size(64) fn take() {
            let ticket = atomicAdd(&next, 1u);
            if ticket < arrayLength(&taken) { atomicExchange(&taken[ticket], ticket + 1u); }
        }";
    let (next, taken) = (fixture.zeros::<u32>([1]).unwrap(), fixture.zeros::<u32>([64 * 20]).unwrap());
    kernel(&fixture, wgsl).dispatch(fixture.default_stream(), Groups::exact([20, 1, 1]), (&next, &taken)).unwrap();
    assert_eq!(contents(&next), [64 * 20]);
    assert_eq!(contents(&taken), (1..=64 * 20).collect::<Vec<u32>>());
}
