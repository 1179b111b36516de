//! The functions of `shaders/library` that any shader may include, compared with loops on the host.

use vkarray::kernel::Library;
use vkarray::{Context, Groups, Kernel, Source};
use vkarray_shaders::library;

use crate::fixture::{Fixture, contents};

fn kernel(ctx: &Context, text: String, with: Library) -> Kernel {
    ctx.kernel(Source::wgsl(text).with(with)).build().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn barrier_count_counts_true_predicates() {
    let fixture = Fixture::open();
    for group in [1_u32, 7, 64, 128] {
        let text = format!(
            "@group(0) @binding(0) var<storage, read> x: array<u32>;
            @group(0) @binding(1) var<storage, read_write> out: array<vec4<u32>>;
            @compute @workgroup_size({group}) fn count(
                @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>
            ) {{
                let n = barrier_count(i, x[id.x] > 3u);
                let all = barrier_and(i, x[id.x] > 0u);
                let any = barrier_or(i, x[id.x] > 8u);
                out[id.x] = vec4(n, u32(all), u32(any), barrier_count(i, true));
            }}"
        );
        let count = kernel(&fixture, text, Library::new("barrier.wgsl", library::BARRIER));
        let values: Vec<u32> = (0..4 * group).map(|i| i * 7 % 10).collect();
        let x = fixture.slice_to_device(&values).unwrap();
        let out = fixture.zeros::<u32>([16 * group as usize]).unwrap();
        count.dispatch(fixture.default_stream(), Groups::exact([4, 1, 1]), (&x, &out)).unwrap();
        let found = contents(&out);
        let (parts, found) = (values.chunks(group as usize), found.chunks(4 * group as usize));
        for (part, found) in parts.zip(found) {
            let above = |limit: u32| u32::try_from(part.iter().filter(|&&value| value > limit).count()).unwrap();
            let expected = [above(3), u32::from(above(0) == group), u32::from(above(8) > 0), group];
            found.chunks(4).for_each(|one| assert_eq!(one, expected, "{group}: {part:?}"));
        }
    }
}

#[test]
fn barrier_count_orders_accesses_to_buffers() {
    let fixture = Fixture::open();
    // Every invocation reads an element that another invocation wrote before the last call, and then writes its own
    // element. A second call in between ensures that no invocation still reads the element that is written next.
    let calls = ["u32(barrier_and(i, n == 64u))", "u32(barrier_or(i, i == 3u))", "barrier_count(i, i < 9u)"];
    for (call, counted) in calls.into_iter().zip([1_u32, 1, 9]) {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @group(0) @binding(1) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(64) fn exchange(
                @builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3<u32>,
            ) {{
                let n = 64u;
                var sum = 0u;
                for (var round = 1u; round < 6u; round++) {{
                    x[w.x * n + i] = i * round;
                    sum += {call} * x[w.x * n + (i + 37u * round) % n];
                    sum += {call} - {counted}u;
                }}
                out[w.x * n + i] = sum;
            }}"
        );
        let expected: Vec<u32> =
            (0..3 * 64).map(|at| (1..6).map(|round| counted * ((at + 37 * round) % 64) * round).sum()).collect();
        for checks in [false, true] {
            let source = Source::wgsl(text.clone()).with(Library::new("barrier.wgsl", library::BARRIER));
            let exchange = fixture.kernel(source).sanitize(checks).build().unwrap();
            let (x, out) = (fixture.zeros::<u32>([3 * 64]).unwrap(), fixture.zeros::<u32>([3 * 64]).unwrap());
            let result = exchange.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&x, &out));
            result.unwrap_or_else(|error| panic!("{call}: {error}"));
            assert_eq!(contents(&out), expected, "{call}");
        }
    }
}

#[test]
fn floats_are_added_and_compared_atomically() {
    let fixture = Fixture::open();
    let text = "@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
        @compute @workgroup_size(64) fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x >= arrayLength(&x) { return; }
            bins_add(0u, x[id.x]);
            bins_min(1u, x[id.x]);
            bins_max(2u, x[id.x]);
        }";
    let gather = kernel(&fixture, text.to_owned(), Library::new("bins.wgsl", library::float_atomics("bins")));
    // Quarters of small numbers, whose sums are exact in any order.
    let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 1000) / 4.0 - 100.0).collect();
    let x = fixture.slice_to_device(&values).unwrap();
    let bins = fixture.slice_to_device(&[1.5_f32, f32::INFINITY, f32::NAN].map(f32::to_bits)).unwrap();
    gather.dispatch(fixture.default_stream(), Groups::covering([1000]), (&x, &bins)).unwrap();
    let [sum, least, most] = contents(&bins).try_into().map(|bits: [u32; 3]| bits.map(f32::from_bits)).unwrap();
    assert_eq!((sum, least), (1.5 + values.iter().sum::<f32>(), -100.0));
    assert!(most.is_nan(), "{most}"); // No number is larger than NaN.
}

#[test]
fn workgroup_sum_works_without_subgroups() {
    let fixture = Fixture::open();
    for group in [1_u32, 2, 5, 64, 100, 128] {
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> x: array<i32>;
            @compute @workgroup_size({group}) fn sum(
                @builtin(local_invocation_index) i: u32, @builtin(global_invocation_id) id: vec3<u32>
            ) {{
                let first = workgroup_sum(i, x[id.x]);
                x[id.x] = first + workgroup_sum(i, 1);
            }}"
        );
        let sum = kernel(&fixture, text, Library::new("sum.wgsl", library::workgroup_sum("i32", group)));
        let n = i32::try_from(group).unwrap();
        let values: Vec<i32> = (0..3 * n).map(|i| i * i - 50).collect();
        let x = fixture.slice_to_device(&values).unwrap();
        sum.dispatch(fixture.default_stream(), Groups::exact([3, 1, 1]), (&x,)).unwrap();
        for (part, found) in values.chunks(group as usize).zip(contents(&x).chunks(group as usize)) {
            found.iter().for_each(|&found| assert_eq!(found, part.iter().sum::<i32>() + n, "{group}"));
        }
    }
}

#[test]
fn ravel_and_unravel_are_inverse() {
    let fixture = Fixture::open();
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<vec4<u32>>;
        @compute @workgroup_size(64) fn places(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x;
            if i >= arrayLength(&out) { return; }
            let shape = vec3(5u, 3u, 4u);
            let at = unravel3(i, shape);
            let flat = unravel2(i, shape.xy);
            out[i] = vec4(at.x + 10u * at.y + 100u * at.z, ravel3(at, shape), ravel2(flat, shape.xy), div_ceil(i, 7u));
        }";
    let places = kernel(&fixture, text.to_owned(), Library::new("index.wgsl", library::INDEX));
    let out = fixture.zeros::<u32>([4 * 60]).unwrap();
    places.dispatch(fixture.default_stream(), Groups::covering([60]), (&out,)).unwrap();
    for (i, found) in (0..60_u32).zip(contents(&out).chunks(4)) {
        assert_eq!(found, [i % 5 + 10 * (i / 5 % 3) + 100 * (i / 15), i, i, i.div_ceil(7)], "{i}");
    }
}
