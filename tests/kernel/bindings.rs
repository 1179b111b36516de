//! How buffers reach a kernel: groups, gaps between numbers, and more bindings than can be pushed.

use vkarray::{AsArg, Context, DeviceNDArray, Groups, KernelError};

use super::kernel;
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
    let (c, out) = (fixture.const_array(&[5_u32, 6, 7, 8], &[4]).unwrap(), fixture.zeros::<u32>([4]).unwrap());
    gather.dispatch(fixture.default_stream(), Groups::exact([1, 1, 1]), (&b, &c, &out)).unwrap();
    assert_eq!(contents(&out), [15, 26, 37, 48]);
}

#[test]
fn groups_may_be_several_and_have_gaps() {
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
    let c = fixture.const_array(&[7_u32, 8, 9, 1], &[4]).unwrap();
    // Many calls in one batch, so that sets come from more than one pool.
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
    idle.dispatch(fixture.default_stream(), Groups::exact([2, 2, 2]), ()).unwrap();
    fixture.synchronize().unwrap();
}

#[test]
fn more_buffers_than_can_be_pushed_are_bound_by_sets() {
    let fixture = Fixture::open();
    let limits = &fixture.info().limits;
    let n = limits.max_push_descriptors + 3;
    if n > limits.max_per_stage_descriptor_storage_buffers {
        return skipped("more_buffers_than_can_be_pushed", "the device binds no more than it pushes");
    }
    assert_eq!(sum_of_buffers(&fixture, n).unwrap(), expected_sum(n));
}

#[test]
fn as_many_buffers_as_the_device_has_and_one_more() {
    let fixture = Fixture::open();
    let limit = fixture.info().limits.max_per_stage_descriptor_storage_buffers;
    if limit > 200 {
        return skipped("as_many_buffers_as_the_device_has", &format!("the device binds {limit} buffers"));
    }
    assert_eq!(sum_of_buffers(&fixture, limit).unwrap(), expected_sum(limit));
    let refused = sum_of_buffers(&fixture, limit + 1);
    assert!(refused.is_err(), "{} storage buffers were accepted, the device binds {limit}", limit + 1);
}

/// Binds `n` buffers, the last of which gets the weighted sum of the others.
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
