//! Refused calls on arrays: each returns a typed error that names both sides, and changes nothing.
//!
//! Read-only arrays are in `more_views.rs`, targets with overlapping elements in `peer_defects.rs`, invalid files and
//! array interfaces in the array crate and in `interchange.rs`.

use ::ndarray::arr1;
use vkarray::array::LayoutError;
use vkarray::device::Device;
use vkarray::memory::Error as MemoryError;
use vkarray::{Context, DeviceNDArray, Error, Index, Order, Result, Source};
use vkarray_kernel::DType;

use super::counted;
use crate::fixture::{Fixture, contents};

/// The refused calls, with names.
type Refusals<'a> = Vec<(&'a str, Result<()>)>;

fn nothing<T>(result: Result<T>) -> Result<()> {
    result.map(|_| ())
}

/// One element repeated: an array of few bytes on the device, for which the host would need 256 TiB.
#[test]
fn host_arrays_that_do_not_fit_the_host_are_refused_before_anything_is_allocated() {
    let fixture = Fixture::open();
    let x = fixture.full([1], 1.5_f64).unwrap().broadcast_to([1 << 45]).unwrap();
    let before = fixture.allocator().usage();
    let path = std::env::temp_dir().join(format!("vkarray-{}-large.npy", std::process::id()));
    let refused: Refusals<'_> = vec![
        ("to_vec", nothing(x.to_vec())),
        ("copy_to_host", nothing(x.copy_to_host())),
        ("copy_to_host_as", nothing(x.copy_to_host_as::<::ndarray::Ix1>())),
        ("to_dlpack_host", nothing(x.to_dlpack_host())),
        ("save_npy", x.save_npy(&path)),
    ];
    for (name, result) in refused {
        let error = result.expect_err(name);
        let expected = "the host has no memory for (35184372088832,) of f64: 281474976710656 bytes";
        assert!(matches!(&error, Error::HostMemory { .. }) && error.to_string() == expected, "{name}: {error}");
    }
    assert!(!path.exists());
    assert!(serde_json::to_string(&x).unwrap_err().to_string().starts_with("the host has no memory"));
    assert!(matches!(x.copy_to_host_async(), Err(Error::Memory(_))));
    assert!(matches!(x.split(1), Err(Error::Layout(LayoutError::TooManyParts { .. }))));
    assert!(matches!(x.array_split(1 << 45, 0), Err(Error::Layout(LayoutError::TooManyParts { .. }))));
    assert_eq!(fixture.allocator().usage().in_use, before.in_use);
}

/// No two elements have one address, but a mutable array of the `ndarray` crate cannot have such strides.
#[test]
fn interleaved_axes_are_read_on_the_host_and_not_written() {
    let fixture = Fixture::open();
    let x = fixture.pinned_array::<i32>(40).unwrap();
    x.copy_from_slice(&(0..40).collect::<Vec<_>>()).unwrap();
    let interleaved = x.as_strided([4, 8], &[3, 4]).unwrap();
    let refused = interleaved.write_on_host().unwrap_err();
    assert!(matches!(refused, Error::InterleavedAxes { .. }), "{refused}");
    assert_eq!(interleaved.read_on_host().unwrap().view()[[3, 7]], 37);
    interleaved.fill(5).unwrap(); // The device writes it.
    assert_eq!(x.get([37]).unwrap(), 5);
}

#[test]
fn shapes_that_cannot_be_counted_take_no_memory() {
    let fixture = Fixture::open();
    let small = fixture.zeros::<u8>([3]).unwrap();
    let before = fixture.allocator().usage();
    // The number of elements wraps to 0; bytes overflow, though elements do not; one axis is longer than can be
    // counted.
    for shape in [&[1 << 32, 1 << 32][..], &[1 << 60, 1], &[0, usize::MAX, 2], &[usize::MAX]] {
        let refused: Refusals<'_> = vec![
            ("device_array", nothing(fixture.device_array::<f64>(shape))),
            ("in F order", nothing(fixture.device_array_with_order::<f64>(shape, Order::F))),
            ("zeros", nothing(fixture.zeros::<f64>(shape))),
            ("full", nothing(fixture.full(shape, 1.0))),
            ("pinned_array", nothing(fixture.pinned_array::<f64>(shape))),
            ("shared_array", nothing(fixture.shared_array::<f64>(shape))),
            ("shaped_to_device", nothing(fixture.shaped_to_device::<f64>(&[], shape))),
        ];
        for (name, result) in refused {
            let error = result.expect_err(name);
            let is_meant = match &error {
                Error::Layout(LayoutError::Overflow { shape: given, .. }) => given == shape,
                Error::Memory(MemoryError::TooLarge { bytes, .. }) => (*bytes, shape) == (1 << 63, &[1 << 60, 1]),
                Error::LengthMismatch { given, expected, .. } => (*given, *expected) == (0, 1 << 60),
                _ => false,
            };
            assert!(is_meant, "{name} of {shape:?}: {error:?}");
        }
    }
    // Views of such shapes are refused too.
    let views = [small.broadcast_to([1 << 40, 1 << 40, 3]), small.reshape([isize::MAX, 2]), small.reshape([0, -1, 0])];
    assert!(views.into_iter().all(|view| matches!(view, Err(Error::Layout(_)))));
    assert!(matches!(fixture.arange(0_u64, u64::MAX, 1), Err(Error::Layout(_) | Error::Range { .. })));
    assert!(matches!(fixture.linspace(0.0, 1.0, usize::MAX, true), Err(Error::Layout(_))));
    assert_eq!(fixture.allocator().usage(), before);
}

#[test]
fn lengths_that_differ_are_reported_with_the_shape() {
    let fixture = Fixture::open();
    let array = fixture.shaped_to_device(&[1_i32, 2, 3, 4, 5, 6], [2, 3]).unwrap();
    assert_eq!((array.shape(), array.to_vec().unwrap()), ([2, 3].as_slice(), vec![1, 2, 3, 4, 5, 6]));
    array.transpose(None).unwrap().copy_from_slice(&[6, 5, 4, 3, 2, 1]).unwrap();
    assert_eq!(array.to_vec().unwrap(), [6, 4, 2, 5, 3, 1]);
    let mut target = [0; 7];
    let refused: Refusals<'_> = vec![
        ("5 values", array.copy_from_slice(&[0; 5])),
        ("7 values", array.copy_from_slice(&[0; 7])),
        ("0 values", array.copy_from_slice(&[])),
        ("5 values", array.copy_to_slice(&mut target[..5])),
        ("7 values", array.copy_to_slice(&mut target)),
        ("4 values", nothing(fixture.shaped_to_device(&[0_i32; 4], [2, 3]))),
        ("7 values", nothing(fixture.const_array(&[0_i32; 7], [2, 3]))),
    ];
    for (given, result) in refused {
        let error = result.expect_err(given);
        assert!(matches!(error, Error::LengthMismatch { expected: 6, dtype: DType::I32, .. }), "{error:?}");
        assert_eq!(error.to_string(), format!("{given} of i32 do not fill shape (2, 3), which has 6"));
    }
    assert_eq!((array.to_vec().unwrap(), target), (vec![6, 4, 2, 5, 3, 1], [0; 7]));
}

#[test]
fn indices_out_of_range_are_reported_with_the_axis() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[2, 3])).unwrap();
    let view = array.transpose(None).unwrap(); // (3, 2)
    type Case<'a> = (&'a [isize], &'a str);
    const CASES: &[Case<'_>] = &[
        (&[3, 0], "index 3 is out of range for axis 0 of length 3"), // One past the end.
        (&[-4, 0], "index -4 is out of range for axis 0 of length 3"), // One before the start.
        (&[0, 2], "index 2 is out of range for axis 1 of length 2"), // In range of the other axis.
        (&[0, isize::MIN], "index -9223372036854775808 is out of range for axis 1 of length 2"), // The least index.
        (&[0, 0, 0], "3 axes indexed, the array has 2"),
    ];
    for &(index, message) in CASES {
        let items: Vec<_> = index.iter().map(|&at| Index::At(at)).collect();
        let refused: Refusals<'_> = vec![
            ("get", nothing(view.get(index))),
            ("set", view.set(index, 9)),
            ("index", nothing(view.index(index))),
            ("slice", nothing(view.slice(&items))),
        ];
        for (name, result) in refused {
            let error = result.expect_err(name);
            assert!(matches!(error, Error::Layout(_)), "{name}: {error:?}");
            assert_eq!(error.to_string(), message, "{name}");
        }
    }
    assert_eq!(contents(&array), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn element_types_that_differ_are_both_reported() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[4])).unwrap();
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(4) fn clear(@builtin(local_invocation_index) i: u32) { x[i] = 0.0; }";
    let kernel = fixture.kernel(Source::wgsl(text)).build().unwrap();
    let launched = kernel.dispatch(fixture.default_stream(), vkarray::Groups::exact([1, 1, 1]), (&array,));
    let folder = std::env::temp_dir().join(format!("vkarray-refusals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.npy");
    array.save_npy(&path).unwrap();
    let refused: Refusals<'_> = vec![
        ("a kernel", launched.map(|_| ()).map_err(Error::from)),
        ("a description", nothing(fixture.as_device_array::<f32, _>(array.clone()))),
        ("a file", nothing(fixture.load_npy::<f32>(&path))),
    ];
    for (name, result) in refused {
        let error = result.expect_err(name).to_string();
        assert!(error.contains("f32") && (error.contains("i32") || error.contains("<i4")), "{name}: {error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(contents(&array), [0, 1, 2, 3]);
}

#[test]
fn arrays_and_streams_of_another_device_change_nothing() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let (ours, theirs) = (fixture.to_device(&counted(&[4])).unwrap(), foreign.to_device(&counted(&[4])).unwrap());
    let stream = foreign.default_stream();
    let gaps = ours.slice([Index::stepped(.., 2)]).unwrap();
    let before = (fixture.allocator().usage(), foreign.allocator().usage());
    let refused: Refusals<'_> = vec![
        ("copy_from_device", ours.copy_from_device(&theirs)),
        ("assign", ours.assign(&theirs.index([0]).unwrap())),
        ("copy_from_device", ours.on(stream).copy_from_device(&ours)),
        ("assign", ours.on(stream).assign(&ours)),
        ("fill", ours.on(stream).fill(9)),
        ("astype", nothing(ours.on(stream).astype::<f32>())),
        ("to_contiguous", nothing(gaps.on(stream).to_contiguous(Order::C))),
        ("reshape_copy", nothing(gaps.on(stream).reshape_copy([2, 1], Order::C))),
        ("copy_to_host_async", nothing(ours.on(stream).copy_to_host_async())),
        ("copy_to_host_into", ours.on(stream).copy_to_host_into(&mut arr1(&[0; 4]))),
    ];
    let name = &fixture.info().name;
    for (operation, result) in refused {
        let error = result.expect_err(operation);
        let Error::ForeignDevice { array, stream } = &error else { panic!("{operation}: {error:?}") };
        assert_eq!((array, stream), (name, name), "{operation}");
    }
    assert_eq!((fixture.allocator().usage(), foreign.allocator().usage()), before);
    assert_eq!((contents(&ours), contents(&theirs)), (vec![0, 1, 2, 3], vec![0, 1, 2, 3]));
}

/// All methods that access an array's elements. Views and properties of the handle still work.
fn uses(ctx: &Context, array: &DeviceNDArray<i32>, fresh: &DeviceNDArray<i32>) -> Refusals<'static> {
    vec![
        ("copy_to_host", nothing(array.copy_to_host())),
        ("copy_to_host_into", array.copy_to_host_into(&mut counted(&[2, 4]))),
        (
            "copy_to_host_async",
            nothing(array.on(ctx.default_stream()).copy_to_host_async().and_then(|copy| copy.wait())),
        ),
        ("to_vec", nothing(array.to_vec())),
        ("get", nothing(array.get([0, 0]))),
        ("set", array.set([0, 0], 9)),
        ("fill", array.fill(9)),
        ("copy_from_host", array.copy_from_host(&counted(&[2, 4]))),
        ("copy_from_slice", array.copy_from_slice(&[9; 8])),
        ("copy_from_device", array.copy_from_device(fresh)),
        ("as a source", fresh.copy_from_device(array)),
        ("assign", array.assign(&fresh.index([0]).unwrap())),
        ("assigned", fresh.assign(&array.index([0]).unwrap())),
        ("astype", nothing(array.astype::<f32>())),
        ("to_contiguous", nothing(array.to_contiguous(Order::F))),
        ("reshape_copy", nothing(array.reshape_copy([8], Order::F))),
    ]
}

#[test]
fn every_method_refuses_an_array_after_a_reset() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[2, 4])).unwrap();
    fixture.reset().unwrap();
    let fresh = fixture.to_device(&counted(&[2, 4])).unwrap();
    for (name, result) in uses(&fixture, &array, &fresh) {
        let error = result.expect_err(name);
        let is_meant = matches!(error, Error::Memory(MemoryError::DeadMemory { size: 32, .. }));
        assert!(is_meant, "{name}: {error:?}");
    }
    // The calls work on new arrays.
    for (name, result) in uses(&fixture, &fresh, &fixture.to_device(&counted(&[2, 4])).unwrap()) {
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(array.transpose(None).unwrap().shape(), [4, 2]);
    drop((array, fresh));
}
