//! Launches: sizes around a multiple of the workgroup size, one to three axes, and empty launches.

use vkarray::kernel::{AsArg, CacheSettings, Error, KernelCache};
use vkarray::{Groups, Source};

use super::kernel;
use crate::fixture::kernels::{SAXPY, saxpy};
use crate::fixture::{Fixture, contents};

/// Sizes around the workgroup size of 64, a prime, and a million and three.
const SIZES: [usize; 9] = [1, 2, 63, 64, 65, 127, 128, 251, 1_000_003];

#[test]
fn saxpy_is_correct_at_every_size() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    for n in SIZES {
        let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
        let y: Vec<f32> = (0..n).map(|i| (i % 777) as f32 + 0.5).collect();
        let (dx, dy) = (fixture.slice_to_device(&x).unwrap(), fixture.slice_to_device(&y).unwrap());
        saxpy.dispatch(fixture.default_stream(), Groups::covering(n), (&dx, &dy, 3.0_f32)).unwrap();
        // The values are small integers and halves, so that the results are exact also with a fused multiply-add.
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
        assert!(contents(&dy) == expected, "{n} elements");
        assert!(contents(&dx) == x, "{n} elements: the input changed");
    }
}

#[test]
fn an_empty_launch_runs_no_workgroup() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.full([10], 1.0_f32).unwrap(), fixture.full([10], 2.0_f32).unwrap());
    let stream = fixture.stream().unwrap();
    for groups in
        [Groups::covering([0]), Groups::exact([0, 5, 5]), Groups::covering([7, 0]), Groups::covering([7, 7, 0])]
    {
        saxpy.dispatch(&stream, groups, (&x, &y, 1.0_f32)).unwrap();
        assert!(stream.query().unwrap(), "{groups:?} recorded something");
    }
    assert_eq!(contents(&y), [2.0; 10]);
    // Empty arrays are accepted only by a launch without workgroups.
    let (x, y) = (fixture.zeros::<f32>([0]).unwrap(), fixture.zeros::<f32>([0]).unwrap());
    saxpy.dispatch(&stream, Groups::covering([0]), (&x, &y, 1.0_f32)).unwrap();
}

#[test]
fn workgroup_and_invocation_indices_match_the_launch() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> seen: array<u32>;
        var<immediate> size: vec3<u32>;
        @compute @workgroup_size(4, 2, 3) fn visit(
            @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>,
            @builtin(local_invocation_id) local: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        ) {
            if any(id >= size) { return; }
            let is_right = all(id == group * vec3(4u, 2u, 3u) + local) && all(group < groups);
            seen[(id.z * size.y + id.y) * size.x + id.x] = select(0u, id.x + 100u * id.y + 10000u * id.z + 1u, is_right);
        }";
    let visit = kernel(&fixture, wgsl);
    for [x, y, z] in [[1, 1, 1], [4, 2, 3], [5, 3, 4], [17, 1, 1], [1, 9, 2], [3, 1, 11]] {
        let seen = fixture.zeros::<u32>([(x * y * z) as usize]).unwrap();
        let groups = Groups::covering([x, y, z].map(|n| n as usize));
        visit.dispatch(fixture.default_stream(), groups, (&seen, [x, y, z])).unwrap();
        let mut expected = Vec::new();
        for k in 0..z {
            for j in 0..y {
                expected.extend((0..x).map(|i| i + 100 * j + 10_000 * k + 1));
            }
        }
        assert_eq!(contents(&seen), expected, "{x} by {y} by {z}");
    }
}

#[test]
fn exact_groups_are_workgroups_not_items() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
        @compute @workgroup_size(32) fn count() { atomicAdd(&n[0], 1u); }";
    let count = kernel(&fixture, wgsl);
    let n = fixture.zeros::<u32>([1]).unwrap();
    count.dispatch(fixture.default_stream(), Groups::exact([3, 2, 5]), (&n,)).unwrap();
    count.dispatch(fixture.default_stream(), Groups::covering([33]), (&n,)).unwrap();
    assert_eq!(contents(&n), [3 * 2 * 5 * 32 + 2 * 32]);
}

#[test]
fn arguments_are_matched_by_position_or_by_name() {
    let fixture = Fixture::open();
    let kernel = fixture.kernel(Source::wgsl(SAXPY)).entry("saxpy").build().unwrap();
    let (x, y) = (fixture.full([70], 2.0_f32).unwrap(), fixture.full([70], 1.0_f32).unwrap());
    let (groups, stream) = (Groups::covering([70]), fixture.default_stream());
    kernel.dispatch(stream, groups, (&x, &y, 10.0_f32)).unwrap();
    use vkarray::kernel::AsArg;
    let a = 100.0_f32;
    kernel.dispatch(stream, groups, [("y", y.as_arg()), ("a", a.as_arg()), ("x", x.as_arg())]).unwrap();
    assert_eq!(contents(&y), [1.0 + 20.0 + 200.0; 70]);
}

#[test]
fn a_kernel_works_on_part_of_an_array() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let align = usize::try_from(fixture.info().limits.min_storage_buffer_offset_alignment).unwrap().div_ceil(4).max(1);
    let n = 3 * align + 10;
    let (x, y) = (fixture.full([n], 1.0_f32).unwrap(), fixture.full([n], 5.0_f32).unwrap());
    let part = |from: usize, to: usize| [(from..to).into()];
    let (px, py) = (x.slice(part(align, align + 9)).unwrap(), y.slice(part(2 * align, 2 * align + 9)).unwrap());
    saxpy.dispatch(fixture.default_stream(), Groups::covering([64]), (&px, &py, 1.0_f32)).unwrap();
    let mut expected = vec![5.0; n];
    expected[2 * align..2 * align + 9].fill(6.0);
    assert_eq!(contents(&y), expected);
}

#[test]
fn a_kernel_is_launched_on_the_default_stream_of_its_context() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.full([65], 2.0_f32).unwrap(), fixture.full([65], 1.0_f32).unwrap());
    saxpy.launch(Groups::covering(x.shape()), (&x, &y, 3.0_f32)).unwrap();
    assert_eq!(contents(&y), [7.0; 65]);
    let own = KernelCache::with_disk(fixture.device(), CacheSettings::off()).unwrap();
    let alone = own.kernel(Source::wgsl(SAXPY)).build().unwrap();
    let error = alone.launch(Groups::covering(65), (&x, &y, 3.0_f32)).unwrap_err();
    assert!(matches!(&error, Error::NoDefaultStream { kernel } if kernel == "saxpy"), "{error}");
    alone.dispatch(fixture.default_stream(), Groups::covering(65), (&x, &y, 1.0_f32)).unwrap();
    assert_eq!(contents(&y), [9.0; 65]);
}

#[test]
fn numbers_may_stand_anywhere_among_the_arrays() {
    let fixture = Fixture::open();
    let wgsl = "
        var<immediate> args: Args;
        struct Args { a: u32, b: vec2<u32> }
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn main() { y[0] = x[0] + 10u * args.a + 100u * args.b.x + 1000u * args.b.y; }";
    let kernel = kernel(&fixture, wgsl);
    let (x, y) = (fixture.full([1], 1_u32).unwrap(), fixture.zeros::<u32>([1]).unwrap());
    let (one, b, stream) = (Groups::exact([1; 3]), [3_u32, 4], fixture.default_stream());
    let check = |what: &str| {
        assert_eq!(contents(&y), [4321], "{what}");
        y.fill(0).unwrap();
    };
    kernel.dispatch(stream, one, (&x, &y, 2_u32, b)).unwrap();
    check("arrays first");
    kernel.dispatch(stream, one, (2_u32, b, &x, &y)).unwrap();
    check("numbers first");
    kernel.dispatch(stream, one, (2_u32, &x, b, &y)).unwrap();
    check("in turn");
    let constant = fixture.const_array(&[1_u32], [1]).unwrap(); // Constants go through the full check.
    kernel.dispatch(stream, one, (2_u32, &constant, b, &y)).unwrap();
    check("with constant memory");
    // Numbers are named in their own order, and surplus arguments of a kind are refused by name.
    let refused = |args: &[_]| kernel.dispatch(stream, one, args).unwrap_err().to_string();
    let (x, y, a, b) = (x.as_arg(), y.as_arg(), 2_u32.as_arg(), b.as_arg());
    let swapped = refused(&[b.clone(), a.clone(), x.clone(), y.clone()]);
    assert_eq!(swapped, "kernel `main`: `a` is u32, 1 numbers, got 2");
    let surplus = refused(&[x.clone(), a.clone(), b, a]);
    assert_eq!(surplus, "kernel `main`: `y` is an array, array<u32>, got 2 (u32)");
    let missing = refused(&[y, x]);
    assert_eq!(missing, "kernel `main` takes 4 arguments (`x`, `y`, `a`, `b`), got 2");
}
