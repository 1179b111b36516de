//! Arrays of every element type: copied to the device, filled, read back.

use ::ndarray::{Array, ArrayD, Axis, IxDyn, ShapeBuilder, Slice, arr0};
use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use vkarray::{DType, Element};
use vkarray_kernel::{Bool, Complex32, Complex64};

use super::counted;
use crate::fixture::{Fixture, contents};

/// Twelve bytes of three types: not a type of shaders, and not a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Record {
    id: u32,
    weight: f32,
    tags: [u16; 2],
}

impl Element for Record {
    const DTYPE: DType = DType::record::<Self>();
}

#[test]
fn every_dtype_is_uploaded_and_read_back() {
    let fixture = Fixture::open();
    round_trip(&fixture, |i| i.cast_signed());
    round_trip(&fixture, |i| i);
    round_trip(&fixture, |i| i16::from(i) * 300);
    round_trip(&fixture, |i| u16::from(i) * 300);
    round_trip(&fixture, |i| i32::from(i) * -70_000);
    round_trip(&fixture, |i| u32::from(i) * 70_000);
    round_trip(&fixture, |i| i64::from(i) * -70_000_000_000);
    round_trip(&fixture, |i| u64::from(i) * 70_000_000_000);
    round_trip(&fixture, |i| f16::from_f32(f32::from(i) / 4.0));
    round_trip(&fixture, |i| bf16::from_f32(f32::from(i) * 3.0));
    round_trip(&fixture, |i| f32::from(i) / 7.0);
    round_trip(&fixture, |i| f64::from(i) / 7.0);
    round_trip(&fixture, |i| Bool::from(i % 3 == 0));
    round_trip(&fixture, |i| Complex32 { re: f32::from(i), im: -0.5 });
    round_trip(&fixture, |i| Complex64 { re: 0.1 * f64::from(i), im: -0.5 });
    round_trip(&fixture, |i| Record { id: i.into(), weight: 0.5 + f32::from(i), tags: [1, i.into()] });
}

/// Copies in both directions, in C and F order, for each way to create an array; 105 elements, so that no size is a power
/// of two.
fn round_trip<T: Element + PartialEq + std::fmt::Debug>(fixture: &Fixture, value: fn(u8) -> T) {
    let name = T::DTYPE;
    let values: Vec<T> = (0..105).map(value).collect();
    let host = Array::from_shape_vec(IxDyn(&[3, 5, 7]), values.clone()).unwrap();
    let device = fixture.to_device(&host).unwrap();
    assert_eq!(
        (device.dtype(), device.itemsize(), device.nbytes()),
        (name, size_of::<T>(), 105 * size_of::<T>() as u64)
    );
    assert_eq!(device.copy_to_host().unwrap(), host, "{name}");
    let f_order = Array::from_shape_vec(IxDyn(&[3, 5, 7]).f(), values.clone()).unwrap();
    let device = fixture.to_device(&f_order).unwrap();
    assert!(device.is_f_contiguous() && !device.is_c_contiguous(), "{name}");
    let back = device.copy_to_host().unwrap();
    assert_eq!(back, f_order, "{name}");
    assert_eq!(back.strides(), f_order.strides(), "{name}: the order changed");
    assert_eq!(contents(&fixture.full([11], value(77)).unwrap()), vec![value(77); 11], "{name}");
    assert_eq!(contents(&fixture.zeros::<T>([13]).unwrap()), vec![T::zeroed(); 13], "{name}");
    assert_eq!(contents(&fixture.slice_to_device(&values).unwrap()), values, "{name}");
}

#[test]
fn arrays_without_axes_or_elements_are_uploaded_and_read_back() {
    let fixture = Fixture::open();
    let scalar = fixture.to_device(&arr0(42_i32)).unwrap();
    assert_eq!((scalar.ndim(), scalar.size(), scalar.nbytes()), (0, 1, 4));
    assert_eq!(scalar.copy_to_host().unwrap(), arr0(42).into_dyn());
    scalar.copy_from_host(&arr0(43)).unwrap();
    assert_eq!(contents(&scalar), [43]);
    for shape in [&[0][..], &[0, 5], &[5, 0], &[2, 0, 3]] {
        let host = counted(shape);
        let device = fixture.to_device(&host).unwrap();
        assert_eq!((device.shape(), device.size(), device.nbytes()), (shape, 0, 0));
        assert!(device.is_c_contiguous() && device.is_f_contiguous());
        assert_eq!(device.copy_to_host().unwrap(), host);
        device.copy_from_host(&host).unwrap();
        assert_eq!(fixture.zeros::<u8>(shape).unwrap().copy_to_host().unwrap().shape(), shape);
        assert_eq!(fixture.full(shape, 1.5_f64).unwrap().copy_to_host().unwrap().shape(), shape);
    }
}

#[test]
fn host_arrays_of_any_strides_are_uploaded() {
    let fixture = Fixture::open();
    let base = counted(&[6, 8, 5]);
    let mut reversed = base.clone();
    reversed.invert_axis(Axis(0));
    reversed.invert_axis(Axis(2));
    let stepped = base.slice_axis(Axis(1), Slice::new(1, None, 3)).to_owned();
    let views: Vec<(&str, ::ndarray::ArrayViewD<'_, i32>)> = vec![
        ("whole", base.view()),
        ("transposed", base.t()),
        ("permuted", base.view().permuted_axes(IxDyn(&[1, 0, 2]))),
        ("stepped", base.slice_axis(Axis(1), Slice::new(1, None, 3))),
        ("stepped backwards", base.slice_axis(Axis(0), Slice::new(0, None, -2))),
        ("one row", base.index_axis(Axis(0), 3)),
        ("one column", base.index_axis(Axis(2), 1)),
        ("reversed", reversed.view()),
        ("owned", stepped.view()),
        ("broadcast", base.broadcast(IxDyn(&[2, 6, 8, 5])).unwrap()),
    ];
    for (name, view) in views {
        assert_eq!(fixture.to_device(&view).unwrap().copy_to_host().unwrap(), view, "{name}");
        let target = fixture.zeros::<i32>(view.shape()).unwrap();
        target.copy_from_host(&view).unwrap();
        assert_eq!(target.copy_to_host().unwrap(), view, "{name}, into an array");
    }
}

#[test]
fn an_upload_is_a_snapshot() {
    let fixture = Fixture::open();
    let mut host: ArrayD<i32> = counted(&[4, 4]);
    let device = fixture.to_device(&host).unwrap();
    host.fill(-1);
    assert_eq!(device.copy_to_host().unwrap(), counted(&[4, 4]));
}
