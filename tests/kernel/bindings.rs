//! Bindings: several groups, gaps between binding numbers, and more buffers than push descriptors hold.

use std::thread;

use vkarray::kernel::{ArgList, AsArg, Error as KernelError, ShaderError, SpirvError};
use vkarray::{Context, DeviceNDArray, Groups, Source};

use super::kernel;
use crate::fixture::kernels::{step, stepped};
use crate::fixture::{Fixture, contents, skipped};

#[test]
fn bindings_may_have_gaps_and_any_order() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(9) var<storage, read_write> out: array<u32>;
        @group(0) @binding(2) var<storage, read> b: array<u32>;
        @group(0) @binding(5) var<uniform> c: vec4<u32>;
        @compute @workgroup_size(4) fn gather(@builtin(local_invocation_index) i: u32) { out[i] = b[i] * 10u + c[i]; }";
    let gather = kernel(&fixture, wgsl);
    assert_eq!(names(&gather), ["b", "c", "out"]);
    let b = fixture.slice_to_device(&[1_u32, 2, 3, 4]).unwrap();
    let (c, out) = (fixture.const_array(&[5_u32, 6, 7, 8], [4]).unwrap(), fixture.zeros::<u32>([4]).unwrap());
    gather.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&b, &c, &out)).unwrap();
    assert_eq!(contents(&out), [15, 26, 37, 48]);
}

#[test]
fn bind_groups_may_be_several_with_gaps_between_them() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(0) @binding(1) var<storage, read> a: array<u32>;
        @group(1) @binding(0) var<storage, read> b: array<u32>;
        @group(3) @binding(0) var<uniform> c: vec4<u32>;
        @group(3) @binding(7) var<storage, read_write> out: array<u32>;
        var<immediate> factor: u32;
        @compute @workgroup_size(4) fn gather(@builtin(local_invocation_index) i: u32) {
            out[i] = (a[i] * 100u + b[i] * 10u + c[i]) * factor;
        }";
    let gather = kernel(&fixture, wgsl);
    assert_eq!(names(&gather), ["a", "b", "c", "out"]);
    let c = fixture.const_array(&[7_u32, 8, 9, 1], [4]).unwrap();
    // Many calls in one batch, so that descriptor sets are allocated from more than one pool.
    let outs: Vec<DeviceNDArray<u32>> = (0..600).map(|_| fixture.zeros([4]).unwrap()).collect();
    let (a, b) =
        (fixture.slice_to_device(&[1_u32, 2, 3, 4]).unwrap(), fixture.slice_to_device(&[5_u32, 6, 7, 8]).unwrap());
    for (out, factor) in outs.iter().zip(1_u32..) {
        gather.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&a, &b, &c, out, factor)).unwrap();
    }
    for (out, factor) in outs.iter().zip(1_u32..) {
        assert_eq!(contents(out), [157, 268, 379, 481].map(|value| value * factor), "call {factor}");
    }
}

#[test]
fn a_kernel_without_buffers_runs() {
    let fixture = Fixture::open();
    let idle = kernel(&fixture, "@compute @workgroup_size(8) fn idle() {}");
    assert_eq!(names(&idle), [""; 0]);
    let (step, array) = (step(&fixture), fixture.slice_to_device(&[3_u32; 9]).unwrap());
    // The kernel is called between two calls of another kernel, whose bindings must stay.
    for add in [5_u32, 7] {
        step.dispatch(fixture.default_stream(), Groups::covering([9]), (&array, add)).unwrap();
        idle.dispatch(fixture.default_stream(), Groups::exact([2, 2, 2]), ()).unwrap();
    }
    assert_eq!(contents(&array), [stepped(stepped(3, 5), 7); 9]);
    let refused = idle.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&array,)).unwrap_err();
    assert!(matches!(refused, KernelError::ArgumentCount { expected: 0, given: 1, .. }), "{refused}");
}

#[test]
fn more_buffers_than_can_be_pushed_are_bound_by_sets() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let n = limits.max_push_descriptors + 3;
    if n > limits.max_per_stage_descriptor_storage_buffers {
        let refused = sum_of_buffers(&fixture, n).unwrap_err();
        assert!(
            matches!(refused, KernelError::Shader(ShaderError::Spirv(SpirvError::BufferCount { .. }))),
            "{refused}"
        );
        return;
    }
    assert_eq!(sum_of_buffers(&fixture, n).unwrap(), expected_sum(n));
}

#[test]
fn the_largest_number_of_buffers_is_accepted_and_one_more_refused() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_per_stage_descriptor_storage_buffers;
    if limit > 200 {
        assert_eq!(sum_of_buffers(&fixture, 200).unwrap(), expected_sum(200));
        return skipped(
            "the_largest_number_of_buffers_is_accepted_and_one_more_refused",
            "a limit of buffers below 200",
        );
    }
    assert_eq!(sum_of_buffers(&fixture, limit).unwrap(), expected_sum(limit));
    let refused = sum_of_buffers(&fixture, limit + 1);
    assert!(refused.is_err(), "{} storage buffers were accepted, the device binds {limit}", limit + 1);
}

/// Binds `n` buffers and writes the weighted sum of all others to the last.
fn sum_of_buffers(ctx: &Context, n: u32) -> Result<u32, KernelError> {
    let declared: String =
        (0..n - 1).map(|i| format!("@group(0) @binding({i}) var<storage, read> x{i}: array<u32>;\n")).collect();
    let sum: Vec<String> = (0..n - 1).map(|i| format!("{}u * x{i}[0]", i + 1)).collect();
    let wgsl = format!(
        "{declared}@group(0) @binding({}) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn sum() {{ out[0] = {}; }}",
        n - 1,
        sum.join(" + ")
    );
    let sum = ctx.kernel(vkarray::Source::wgsl(wgsl)).build()?;
    let arrays: Vec<_> = (0..n).map(|i| ctx.slice_to_device(&[i + 3]).unwrap()).collect();
    let labels: Vec<String> = (0..n - 1).map(|i| format!("x{i}")).chain(["out".to_owned()]).collect();
    let args: Vec<_> = labels.iter().zip(&arrays).map(|(name, array)| (name.as_str(), array.as_arg())).collect();
    sum.dispatch(ctx.default_stream(), Groups::exact([1, 1, 1]), args)?;
    Ok(contents(arrays.last().unwrap())[0])
}

fn expected_sum(n: u32) -> u32 {
    (0..n - 1).map(|i| (i + 1) * (i + 3)).sum()
}

fn names(kernel: &vkarray::Kernel) -> Vec<&str> {
    kernel.signature().params.iter().map(|param| param.name.as_str()).collect()
}

const ADD: &str = "
    @group(0) @binding(0) var<storage, read> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x % 2u == 0u { y[id.x] += x[id.x]; }
    }";

#[test]
fn views_at_unaligned_offsets_are_bound() {
    let fixture = Fixture::open();
    let (add, stream) = (kernel(&fixture, ADD), fixture.default_stream());
    let numbers: Vec<f32> = (0..300_u16).map(f32::from).collect();
    for (from_x, from_y) in [(0, 1), (1, 0), (1, 3), (5, 7), (64, 65)] {
        let (x, y) = (fixture.slice_to_device(&numbers).unwrap(), fixture.full([300], 1000.0_f32).unwrap());
        let part = |array: &DeviceNDArray<f32>, from: usize| array.slice([(from..from + 90).into()]).unwrap();
        let (part_x, part_y) = (part(&x, from_x), part(&y, from_y));
        add.dispatch(stream, Groups::covering([90]), (&part_x, &part_y)).unwrap();
        let sum = |at: usize| {
            let i = at.wrapping_sub(from_y);
            if i < 90 && i % 2 == 0 { 1000.0 + numbers[from_x + i] } else { 1000.0 }
        };
        assert_eq!(contents(&y), (0..300).map(sum).collect::<Vec<_>>(), "{from_x} {from_y}");
        assert_eq!(contents(&x), numbers);
    }
    // Parts of one array, each of which is copied to an aligned buffer and back.
    let both = fixture.slice_to_device(&numbers).unwrap();
    let part = |from: usize| both.slice([(from..from + 64).into()]).unwrap();
    add.dispatch(stream, Groups::covering([64]), (&part(1), &part(65))).unwrap();
    let sum =
        |at: usize| if (65..129).contains(&at) && at % 2 == 1 { numbers[at] + numbers[at - 64] } else { numbers[at] };
    assert_eq!(contents(&both), (0..300).map(sum).collect::<Vec<_>>());
}

/// Runs with and without the checks of the sanitizer.
#[test]
fn a_kernel_on_an_unaligned_view_keeps_what_others_write_meanwhile() {
    let fixture = Fixture::open();
    let source = Source::wgsl(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @compute @workgroup_size(1) fn touch() { x[0] += 1u; }",
    );
    for is_sanitized in [false, true] {
        let touch = fixture.kernel(source.clone()).sanitize(is_sanitized).build().unwrap();
        let x = fixture.zeros::<u32>([1000]).unwrap();
        let view = x.slice([(1..).into()]).unwrap();
        let n = 100;
        thread::scope(|scope| {
            let stream = fixture.stream().unwrap();
            let (touch, view) = (&touch, &view);
            let others = scope.spawn(move || {
                for _ in 0..n {
                    touch.dispatch(&stream, Groups::exact([1, 1, 1]), &[view.as_arg()][..]).unwrap();
                }
            });
            let mut value = 0;
            while !others.is_finished() {
                value += 1;
                x.set([500], value).unwrap();
                assert_eq!(x.get([500]).unwrap(), value, "{is_sanitized}");
            }
            others.join().unwrap();
        });
        assert_eq!(x.get([1]).unwrap(), n);
    }
}

#[test]
fn a_copy_back_that_the_host_holds_off_is_refused_before_the_kernel_runs() {
    let fixture = Fixture::open();
    let both = kernel(
        &fixture,
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @group(0) @binding(1) var<storage, read_write> y: array<u32>;
         @compute @workgroup_size(1) fn both() { x[0] += 1u; y[0] += 1u; }",
    );
    let (x, y) = (fixture.pinned_array::<u32>([100]).unwrap(), fixture.zeros::<u32>([1]).unwrap());
    x.fill(0).unwrap();
    let view = x.slice([(1..).into()]).unwrap();
    let groups = Groups::exact([1, 1, 1]);
    let held = x.read_on_host().unwrap();
    let refused = both.dispatch(fixture.default_stream(), groups, (&view, &y)).unwrap_err();
    assert!(format!("{:#}", anyhow::Error::from(refused)).contains("host"));
    drop(held);
    assert_eq!((contents(&x)[1], contents(&y)[0]), (0, 0));
    both.dispatch(fixture.default_stream(), groups, (&view, &y)).unwrap();
    assert_eq!((contents(&x)[1], contents(&y)[0]), (1, 1));
}

#[test]
fn replays_bind_views_at_unaligned_offsets() {
    let fixture = Fixture::open();
    let (add, stream) = (kernel(&fixture, ADD), fixture.stream().unwrap());
    let (x, y) = (fixture.full([100], 2.0_f32).unwrap(), fixture.zeros::<f32>([100]).unwrap());
    let part = |array: &DeviceNDArray<f32>| array.slice([(1..65).into()]).unwrap();
    let (part_x, part_y) = (part(&x), part(&y));
    let record =
        |graph: &mut vkarray::stream::GraphRecorder| add.record(graph, Groups::covering([64]), (&part_x, &part_y));
    let (graph, _) = vkarray::Graph::record(&stream, record).unwrap();
    for replay in [1.0_f32, 2.0, 3.0] {
        graph.replay(&stream).unwrap();
        let sum = |at: usize| if (1..65).contains(&at) && at % 2 == 1 { 2.0 * replay } else { 0.0 };
        assert_eq!(contents(&y), (0..100).map(sum).collect::<Vec<_>>());
    }
}

#[test]
fn arguments_are_given_as_tuples_slices_or_by_name() {
    let fixture = Fixture::open();
    let (add, stream) = (kernel(&fixture, ADD), fixture.default_stream());
    let (x, y) = (fixture.full([2], 2.0_f32).unwrap(), fixture.zeros::<f32>([2]).unwrap());
    let groups = Groups::covering([2]);
    add.dispatch(stream, groups, (&x, &y)).unwrap();
    add.dispatch(stream, groups, [x.as_arg(), y.as_arg()].as_slice()).unwrap();
    add.dispatch(stream, groups, vec![x.as_arg(), y.as_arg()]).unwrap();
    add.dispatch(stream, groups, [("y", &y), ("x", &x)]).unwrap();
    add.dispatch(stream, groups, ArgList::new().next(&x).name("y", &y)).unwrap();
    add.dispatch(stream, groups, ArgList::new().name("y", &y).name("x", &x)).unwrap();
    assert_eq!(contents(&y), [12.0, 0.0]);
}
