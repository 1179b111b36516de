//! Refused calls: their messages, and that they change nothing.

use vkarray::device::Device;
use vkarray::kernel::{Arg, AsArg};
use vkarray::{Context, Groups, Index, Source};

use super::kernel;
use crate::fixture::kernels::{SAXPY, saxpy};
use crate::fixture::{Fixture, contents};

type Args<'a> = Vec<(&'a str, Arg<'a>)>;

#[test]
fn wrong_arguments_are_named_with_both_sides() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.full([64], 1.0_f32).unwrap(), fixture.full([64], 2.0_f32).unwrap());
    let (doubles, columns) = (fixture.zeros::<f64>([8]).unwrap(), fixture.zeros::<f32>([4, 16]).unwrap());
    let transposed = columns.transpose(None).unwrap();
    let (constant, two) = (fixture.const_array(&[1.0_f32; 64], [64]).unwrap(), 2.0_f32);
    let (x, y, a) = (("x", x.as_arg()), ("y", y.as_arg()), ("a", two.as_arg()));
    let cases: Vec<(Args<'_>, &str)> = vec![
        (vec![x.clone(), y.clone()], "kernel `saxpy`: no value for `a`, which is f32; it takes `x`, `y`, `a`"),
        (
            vec![x.clone(), y.clone(), a.clone(), ("b", two.as_arg())],
            "kernel `saxpy` has no argument `b`; it takes `x`, `y`, `a`",
        ),
        (vec![x.clone(), y.clone(), a.clone(), a.clone()], "kernel `saxpy`: `a` is given twice"),
        (
            vec![("x", doubles.as_arg()), y.clone(), a.clone()],
            "kernel `saxpy`: `x` is array<f32>, got an array of f64 with shape (8,); convert it to f32",
        ),
        (
            vec![("x", transposed.as_arg()), y.clone(), a.clone()],
            "kernel `saxpy`: `x` needs a contiguous array, got an array of f32 with shape (16, 4), which is not; copy it first, with `to_contiguous`",
        ),
        (
            vec![x.clone(), ("y", constant.as_arg()), a.clone()],
            "kernel `saxpy`: `y` is written by the kernel, got an array of f32 with shape (64,), which is read-only",
        ),
        (vec![x.clone(), y.clone(), ("a", Arg::Scalar(2_u32.into()))], "kernel `saxpy`: `a` is f32, got 2 (u32)"),
        (
            vec![x.clone(), y.clone(), ("a", x.1.clone())],
            "kernel `saxpy`: `a` is a scalar, f32, got an array of f32 with shape (64,)",
        ),
        (vec![("x", two.as_arg()), y.clone(), a.clone()], "kernel `saxpy`: `x` is an array, array<f32>, got 2 (f32)"),
        (
            vec![("x", y.1.clone()), y.clone(), a.clone()],
            "kernel `saxpy`: `y` is written and shares memory with `x`; the result would depend on the order of its invocations",
        ),
    ];
    let stream = fixture.stream().unwrap();
    for (args, message) in cases {
        let refused = saxpy.dispatch(&stream, Groups::covering([64]), args);
        assert_eq!(refused.unwrap_err().to_string(), message);
        assert_eq!(stream.point().unwrap().value(), 0, "recorded: {message}");
    }
}

#[test]
fn a_refused_call_changes_nothing() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.full([64], 1.0_f32).unwrap(), fixture.full([64], 2.0_f32).unwrap());
    fixture.synchronize().unwrap();
    let (usage, point) = (fixture.allocator().usage(), fixture.default_stream().point().unwrap().value());
    for _ in 0..10 {
        saxpy.dispatch(fixture.default_stream(), Groups::covering([64]), (&x, &x, 1.0_f32)).unwrap_err();
        saxpy.dispatch(fixture.default_stream(), Groups::covering([64]), (&x,)).unwrap_err();
        saxpy.dispatch(fixture.default_stream(), Groups::covering(usize::MAX), (&x, &y, 1.0_f32)).unwrap_err();
    }
    assert_eq!(fixture.allocator().usage(), usage);
    assert_eq!(fixture.default_stream().point().unwrap().value(), point);
    assert!(fixture.default_stream().query().unwrap());
    saxpy.dispatch(fixture.default_stream(), Groups::covering([64]), (&x, &y, 5.0_f32)).unwrap();
    assert_eq!((contents(&x), contents(&y)), (vec![1.0; 64], vec![7.0; 64]));
}

#[test]
fn positions_and_counts_are_checked() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let x = fixture.zeros::<f32>([4]).unwrap();
    let message = |given| format!("kernel `saxpy` takes 3 arguments (`x`, `y`, `a`), got {given}");
    let (stream, groups) = (fixture.default_stream(), Groups::covering([4]));
    assert_eq!(saxpy.dispatch(stream, groups, ()).unwrap_err().to_string(), message(0));
    assert_eq!(saxpy.dispatch(stream, groups, (&x,)).unwrap_err().to_string(), message(1));
    assert_eq!(saxpy.dispatch(stream, groups, (&x, &x, 1.0_f32, 2.0_f32)).unwrap_err().to_string(), message(4));
}

#[test]
fn too_many_workgroups_and_empty_arrays_are_refused() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.zeros::<f32>([4]).unwrap(), fixture.zeros::<f32>([4]).unwrap());
    let empty = fixture.zeros::<f32>([0]).unwrap();
    let limits = fixture.info().limits.max_compute_work_group_count;
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        let Some(wanted) = limits[axis].checked_add(1) else { continue };
        let mut counts = [1; 3];
        counts[axis] = wanted;
        if axis == 0 {
            counts[1] = 2; // A launch along x alone would be folded.
        }
        let refused = saxpy.dispatch(fixture.default_stream(), Groups::exact(counts), (&x, &y, 1.0_f32));
        let message = format!("{wanted} workgroups on axis {name}, the device allows {}", limits[axis]);
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    for (args, name) in [((&empty, &y, 1.0_f32), "x"), ((&x, &empty, 1.0_f32), "y")] {
        let refused = saxpy.dispatch(fixture.default_stream(), Groups::covering([4]), args);
        assert_eq!(
            refused.unwrap_err().to_string(),
            format!("kernel `saxpy`: `{name}` is empty, but the launch is not")
        );
    }
}

#[test]
fn views_with_gaps_or_in_reverse_are_refused() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let (x, y) = (fixture.zeros::<f32>([600]).unwrap(), fixture.zeros::<f32>([600]).unwrap());
    let reversed = x.slice([Index::stepped(.., -1)]).unwrap();
    let refused = saxpy.dispatch(fixture.default_stream(), Groups::covering([64]), (&reversed, &y, 1.0_f32));
    let message = "kernel `saxpy`: `x` needs a contiguous array, got an array of f32 with shape (600,), which is not; copy it first, with `to_contiguous`";
    assert_eq!(refused.unwrap_err().to_string(), message);
}

#[test]
fn parts_of_one_block_alias_only_where_they_overlap() {
    let fixture = Fixture::open();
    let saxpy = saxpy(&fixture);
    let all = fixture.full([512], 1.0_f32).unwrap();
    let part = |from: usize, to: usize| all.slice([Index::from(from..to)]).unwrap();
    let stream = fixture.default_stream();
    saxpy.dispatch(stream, Groups::covering([128]), (&part(0, 128), &part(128, 256), 2.0_f32)).unwrap();
    let refused = saxpy.dispatch(stream, Groups::covering([128]), (&part(0, 129), &part(128, 256), 2.0_f32));
    let message = "kernel `saxpy`: `y` is written and shares memory with `x`; the result would depend on the order of its invocations";
    assert_eq!(refused.unwrap_err().to_string(), message);
    let expected: Vec<f32> = (0..512).map(|i| if (128..256).contains(&i) { 3.0 } else { 1.0 }).collect();
    assert_eq!(contents(&all), expected);
    // Two read-only arguments may overlap.
    let wgsl = "
        @group(0) @binding(0) var<storage, read> a: array<f32>;
        @group(0) @binding(1) var<storage, read> b: array<f32>;
        @group(0) @binding(2) var<storage, read_write> sum: array<f32>;
        @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
            sum[id.x] = a[id.x] + b[id.x];
        }";
    let sum = fixture.zeros::<f32>([512]).unwrap();
    kernel(&fixture, wgsl).dispatch(stream, Groups::covering([512]), (&all, &all, &sum)).unwrap();
    assert_eq!(contents(&sum), expected.iter().map(|x| x + x).collect::<Vec<_>>());
}

#[test]
fn objects_of_two_devices_are_refused() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let own = (fixture.zeros::<f32>([4]).unwrap(), fixture.zeros::<f32>([4]).unwrap());
    let theirs = foreign.zeros::<f32>([4]).unwrap();
    let saxpy = fixture.kernel(Source::wgsl(SAXPY)).build().unwrap();
    let name = &fixture.info().name;
    let message =
        |what| format!("kernel `saxpy` was built on {name}, but {what} belongs to {name}: they were opened separately");
    let groups = Groups::covering([4]);
    let refused = saxpy.dispatch(foreign.default_stream(), groups, (&own.0, &own.1, 1.0_f32));
    assert_eq!(refused.unwrap_err().to_string(), message("the stream"));
    let refused = saxpy.dispatch(fixture.default_stream(), groups, (&own.0, &theirs, 1.0_f32));
    assert_eq!(refused.unwrap_err().to_string(), message("an array"));
    let constant = foreign.const_array(&[1.0_f32; 4], [4]).unwrap();
    let refused = saxpy.dispatch(fixture.default_stream(), groups, (&constant, &own.1, 1.0_f32));
    assert_eq!(refused.unwrap_err().to_string(), message("constant memory"));
    assert_eq!(contents(&own.1), [0.0; 4]);
}

#[test]
fn a_group_beyond_what_the_device_binds_is_refused() {
    let fixture = Fixture::open();
    let wgsl = "
        @group(31) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn far() { x[0] = 1u; }";
    // No driver of the suite has that many sets; a device that has may build the kernel.
    if let Err(error) = fixture.kernel(Source::wgsl(wgsl)).build() {
        assert!(error.to_string().starts_with("kernel `far`: `x` is in group 31, the device binds "), "{error}");
    }
}
