//! Flips, diagonals, slices of an axis, equal splits, more axes, fields of records, any strides, and overlaps.
//!
//! The oracle is the `ndarray` crate where it has the operation, else a loop over indices. Bases are contiguous, with gaps,
//! reversed and empty.

use ::ndarray::{Array, Array2, ArrayD, ArrayViewD, Axis, Ix0, Ix1, Ix2, Ix3, IxDyn, Slice};
use bytemuck::{Pod, Zeroable};
use vkarray::array::LayoutError;
use vkarray::{DType, DeviceNDArray, Element, Error, Index, Order, s};
use vkarray_kernel::Complex32;

use super::counted;
use crate::fixture::{Fixture, contents};

/// A host array and views of the same elements on a device: contiguous, in F order, with gaps, and reversed in memory.
fn with_bases(fixture: &Fixture, shape: &[usize], check: impl Fn(&ArrayD<i32>, &DeviceNDArray<i32>)) {
    let host = counted(shape);
    check(&host, &fixture.to_device(&host).unwrap());
    let columns = fixture.device_array_with_order::<i32>(shape, Order::F).unwrap();
    columns.copy_from_host(&host).unwrap();
    check(&host, &columns);
    let wide: Vec<usize> = shape.iter().map(|len| 2 * len + 1).collect();
    let every_other = vec![Index::stepped(1.., 2); shape.len()];
    let gaps = fixture.full(&wide, -1_i32).unwrap().slice(&every_other).unwrap();
    gaps.copy_from_host(&host).unwrap();
    check(&host, &gaps);
    let reversed = fixture.device_array::<i32>(shape).unwrap().flip(None).unwrap();
    reversed.copy_from_host(&host).unwrap();
    check(&host, &reversed);
}

fn assert_equal(device: &DeviceNDArray<i32>, host: ArrayViewD<'_, i32>, what: &str) {
    assert_eq!(device.copy_to_host().unwrap(), host, "{what} of strides {:?}", device.strides());
}

const SHAPES: [&[usize]; 6] = [&[5], &[1], &[0], &[3, 4], &[2, 0, 3], &[3, 2, 5]];

#[test]
fn flips_reverse_the_named_axes() {
    let fixture = Fixture::open();
    for shape in SHAPES {
        with_bases(&fixture, shape, |host, device| {
            let mut expected = host.view();
            expected.invert_axis(Axis(shape.len() - 1));
            assert_equal(&device.flip(Some(&[-1])).unwrap(), expected.view(), "the last axis");
            (0..shape.len() - 1).for_each(|axis| expected.invert_axis(Axis(axis)));
            assert_equal(&device.flip(None).unwrap(), expected, "all axes");
            assert_equal(&device.flip(Some(&[])).unwrap(), host.view(), "no axis");
        });
    }
    let x = fixture.zeros::<i32>([2, 3]).unwrap();
    assert!(matches!(x.flip(Some(&[2])), Err(Error::Layout(LayoutError::AxisOutOfRange { axis: 2, ndim: 2 }))));
    assert!(matches!(x.flip(Some(&[0, -2])), Err(Error::Layout(LayoutError::RepeatedAxis { .. }))));
    x.flip(None).unwrap().slice(s![0, 0]).unwrap().fill(7).unwrap(); // A view can be written.
    assert_eq!(contents(&x), [0, 0, 0, 0, 0, 7]);
}

#[test]
fn diagonals_have_the_elements_whose_indices_differ_by_the_shift() {
    let fixture = Fixture::open();
    for shape in [[3, 3], [2, 5], [5, 2], [1, 1], [0, 3]] {
        with_bases(&fixture, &shape, |host, device| {
            for shift in -6_isize..=6 {
                let at = |k: usize| Some([k.checked_add_signed((-shift).max(0))?, k.checked_add_signed(shift.max(0))?]);
                let expected: Vec<i32> = (0..9).filter_map(|k| host.get(at(k)?.as_slice()).copied()).collect();
                let diagonal = device.diagonal(shift, 0, 1).unwrap();
                assert_eq!(contents(&diagonal), expected, "{shape:?} by {shift}");
                assert_eq!(contents(&device.t().diagonal(shift, -1, 0).unwrap()), expected, "{shape:?} by {shift}");
            }
        });
    }
    let stack = fixture.to_device(&counted(&[2, 3, 3])).unwrap();
    assert_eq!(contents(&stack.diagonal(0, 1, 2).unwrap()), [0, 4, 8, 9, 13, 17]);
    let row = fixture.zeros::<i32>(3).unwrap();
    assert!(matches!(row.diagonal(0, 0, 1), Err(Error::Layout(LayoutError::DiagonalRank { ndim: 1 }))));
}

#[test]
fn one_axis_is_sliced_and_the_others_are_whole() {
    let fixture = Fixture::open();
    for shape in SHAPES {
        with_bases(&fixture, shape, |host, device| {
            for (axis, number) in (0..shape.len()).zip(0_isize..) {
                for step in [1, 2, -1, -2] {
                    let expected = host.slice_axis(Axis(axis), Slice::new(0, None, step));
                    let view = device.slice_axis(number, Index::stepped(.., step)).unwrap();
                    assert_equal(&view, expected, "a step");
                }
                let expected = host.slice_axis(Axis(axis), Slice::from(shape[axis].min(1)..));
                assert_equal(&device.slice_axis(number, 1..).unwrap(), expected, "a start");
                if shape[axis] > 0 {
                    let last = host.index_axis(Axis(axis), shape[axis] - 1);
                    assert_equal(&device.slice_axis(number, -1).unwrap(), last, "a position");
                }
            }
        });
    }
    let x = fixture.zeros::<i32>([2, 3]).unwrap();
    assert!(matches!(x.slice_axis(2, ..), Err(Error::Layout(LayoutError::AxisOutOfRange { .. }))));
    assert!(matches!(x.slice_axis(0, 2), Err(Error::Layout(LayoutError::IndexOutOfRange { .. }))));
}

#[test]
fn equal_splits_have_equal_parts_or_are_refused() {
    let fixture = Fixture::open();
    with_bases(&fixture, &[6, 4], |host, device| {
        for sections in [1, 2, 3, 6] {
            let parts = device.split_equally(sections, 0).unwrap();
            assert_eq!(parts.len(), sections);
            for (part, expected) in parts.iter().zip(host.axis_chunks_iter(Axis(0), 6 / sections)) {
                assert_equal(part, expected, "a part");
            }
        }
        assert_eq!(device.split_equally(4, -1).unwrap()[3].shape(), [6, 1]);
        let refused = device.split_equally(4, 0);
        assert!(matches!(refused, Err(Error::Layout(LayoutError::UnequalSplit { len: 6, sections: 4 }))));
        assert!(matches!(device.split_equally(0, 0), Err(Error::Layout(LayoutError::ZeroSplit { len: 6 }))));
    });
    assert_eq!(fixture.zeros::<i32>([0]).unwrap().split_equally(3, 0).unwrap().len(), 3);
}

#[test]
fn few_axes_become_at_least_so_many() {
    let fixture = Fixture::open();
    // A shape, and the results of NumPy's `atleast_1d`, `atleast_2d` and `atleast_3d`.
    type Case<'a> = (&'a [usize], [&'a [usize]; 3]);
    let cases: [Case<'_>; 6] = [
        (&[], [&[1], &[1, 1], &[1, 1, 1]]),
        (&[5], [&[5], &[1, 5], &[1, 5, 1]]),
        (&[0], [&[0], &[1, 0], &[1, 0, 1]]),
        (&[2, 3], [&[2, 3], &[2, 3], &[2, 3, 1]]),
        (&[2, 3, 1], [&[2, 3, 1], &[2, 3, 1], &[2, 3, 1]]),
        (&[2, 1, 2, 3], [&[2, 1, 2, 3], &[2, 1, 2, 3], &[2, 1, 2, 3]]),
    ];
    for (shape, expected) in cases {
        let x = fixture.to_device(&counted(shape)).unwrap();
        for (view, shape) in [x.atleast_1d(), x.atleast_2d(), x.atleast_3d()].iter().zip(expected) {
            assert_eq!(view.copy_to_host().unwrap(), counted(shape));
        }
        assert_eq!(x.t().copy_to_host().unwrap(), counted(shape).t());
    }
}

#[test]
fn strided_views_stay_in_the_memory() {
    let fixture = Fixture::open();
    let x = fixture.to_device(&counted(&[7])).unwrap();
    let inner = x.slice(s![2..5]).unwrap(); // The bounds are the bounds of the memory, not of the slice.
    // The array, the shape, the strides, and the index of the last element in the memory or the end of the elements.
    type Case<'a> = (&'a DeviceNDArray<i32>, &'a [usize], &'a [isize], Result<(), usize>);
    let cases: [Case<'_>; 10] = [
        (&x, &[3, 5], &[1, 1], Ok(())),
        (&x, &[4, 5], &[1, 1], Err(8)),
        (&x, &[2, 2], &[4, 2], Ok(())),
        (&x, &[3], &[3], Ok(())),
        (&x, &[4], &[3], Err(10)),
        (&x, &[4], &[0], Ok(())), // Repeated.
        (&inner, &[3], &[-1], Ok(())),
        (&inner, &[5], &[1], Ok(())),
        (&inner, &[6], &[1], Err(8)),
        (&x, &[0, 9], &[100, 100], Ok(())), // No elements.
    ];
    for (array, shape, strides, expected) in cases {
        match (array.as_strided(shape, strides), expected) {
            (Ok(view), Ok(())) => {
                let step = |axis: usize, at: usize| strides[axis] * at.cast_signed();
                let start = array.offset().cast_signed();
                let value = |index: IxDyn| start + (0..shape.len()).map(|axis| step(axis, index[axis])).sum::<isize>();
                let host = ArrayD::from_shape_fn(IxDyn(shape), |index| i32::try_from(value(index)).unwrap());
                assert_equal(&view, host.view(), "strides");
            }
            (Err(Error::Layout(LayoutError::OutsideMemory { end, len, .. })), Err(expected)) => {
                assert_eq!((end, len), (expected, 7));
            }
            (found, _) => panic!("{shape:?} {strides:?}: {found:?}"),
        }
    }
    // A view that starts before the memory; and a different number of strides and lengths.
    assert!(matches!(inner.as_strided([4], &[-1]), Err(Error::Layout(LayoutError::OutOfBounds { .. }))));
    assert!(matches!(x.as_strided([2], &[1, 1]), Err(Error::Layout(LayoutError::StrideCount { .. }))));
    let message = x.as_strided([4, 5], &[1, 1]).unwrap_err().to_string();
    assert_eq!(
        message,
        "shape (4, 5) with strides (1, 1) from element 0 ends at element 8, outside memory of 7 elements"
    );
}

#[test]
fn overlapping_views_are_not_written() {
    let fixture = Fixture::open();
    let x = fixture.to_device(&counted(&[7])).unwrap();
    let windows = x.as_strided([3, 5], &[1, 1]).unwrap();
    assert!(matches!(windows.fill(0), Err(Error::SharedElements { .. })));
    assert!(matches!(windows.copy_from_host(&counted(&[3, 5])), Err(Error::SharedElements { .. })));
    x.as_strided([2, 3], &[4, 1]).unwrap().fill(0).unwrap(); // Its elements do not overlap.
    assert_eq!(contents(&x), [0, 0, 0, 3, 0, 0, 0]);
    assert!(x.clone().read_only().as_strided([2], &[1]).unwrap().fill(1).is_err());
}

#[test]
fn arrays_overlap_where_they_have_an_element_in_common() {
    let fixture = Fixture::open();
    let (x, other) = (fixture.zeros::<i32>([4, 6]).unwrap(), fixture.zeros::<i32>([4, 6]).unwrap());
    let views = [
        x.clone(),
        x.t(),
        x.slice(s![..;2, ..;2]).unwrap(),
        x.slice(s![1..;2, ..]).unwrap(),
        x.slice(s![.., 1..;2]).unwrap(),
        x.slice(s![3..0;-1, 4]).unwrap(),
        x.slice(s![0..0]).unwrap(),
        x.diagonal(0, 0, 1).unwrap(),
    ];
    let elements = |view: &DeviceNDArray<i32>| view.layout().offsets().collect::<std::collections::HashSet<_>>();
    for (a, b) in views.iter().flat_map(|a| views.iter().map(move |b| (a, b))) {
        assert_eq!(a.overlaps(b), !elements(a).is_disjoint(&elements(b)), "{:?} {:?}", a.layout(), b.layout());
        assert!(!a.overlaps(&other));
    }
}

/// Fields at several offsets, of several sizes.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Particle {
    position: [f32; 2],
    mass: f32,
    id: u16,
    flags: [u8; 2],
}

impl Element for Particle {
    const DTYPE: DType = DType::record::<Self>();
}

#[test]
fn fields_of_records_are_views() {
    let fixture = Fixture::open();
    let particle = |i: u8| {
        let [x, mass] = [f32::from(i), f32::from(i) * 0.5];
        Particle { position: [x, -x], mass, id: u16::from(i) * 300, flags: [i, 255 - i] }
    };
    let host = Array2::from_shape_fn((3, 5), |(i, j)| particle(u8::try_from(10 * i + j).unwrap()));
    let device = fixture.to_device(&host).unwrap();
    for (device, host) in [
        (device.clone(), host.view()),
        (device.t(), host.t()),
        (device.slice(s![1.., ..;-2]).unwrap(), host.slice(::ndarray::s![1.., ..;-2])),
        (device.slice(s![0..0]).unwrap(), host.slice(::ndarray::s![0..0, ..])),
    ] {
        let mass = device.field::<f32>(std::mem::offset_of!(Particle, mass)).unwrap();
        assert_eq!(mass.copy_to_host_as::<Ix2>().unwrap(), host.map(|particle| particle.mass));
        let id = device.field::<u16>(std::mem::offset_of!(Particle, id)).unwrap();
        assert_eq!(id.copy_to_host_as::<Ix2>().unwrap(), host.map(|particle| particle.id));
        let flag = device.field::<u8>(std::mem::offset_of!(Particle, flags) + 1).unwrap();
        assert_eq!(flag.copy_to_host_as::<Ix2>().unwrap(), host.map(|particle| particle.flags[1]));
    }
    // Of arrays without records, whose memory may have no bytes at all.
    for shape in [[0, 5], [3, 0]] {
        let none = fixture.zeros::<Particle>(shape).unwrap();
        assert_eq!(none.field::<u8>(15).unwrap().shape(), shape);
        assert!(none.t().field::<u16>(12).unwrap().to_vec().unwrap().is_empty());
    }
    // Writing a field does not change the other fields.
    device.field::<f32>(4).unwrap().fill(9.0).unwrap();
    let changed = host.map(|particle| Particle { position: [particle.position[0], 9.0], ..*particle });
    assert_eq!(device.copy_to_host_as::<Ix2>().unwrap(), changed);
    // The last byte that fits, an offset past the end, and an offset that is no multiple of the size.
    assert!(device.field::<u8>(15).is_ok());
    let refused = device.field::<f32>(13).map(drop);
    assert!(matches!(refused, Err(Error::Layout(LayoutError::FieldOutOfBounds { at: 13, size: 4, record: 16 }))));
    let refused = device.field::<u8>(usize::MAX).map(drop);
    assert!(matches!(refused, Err(Error::Layout(LayoutError::FieldOutOfBounds { .. }))));
    let refused = device.field::<f32>(2).map(drop);
    assert!(matches!(refused, Err(Error::Layout(LayoutError::FieldMisaligned { at: 2, size: 4 }))));
    let whole = fixture.slice_to_device(&[Complex32 { re: 1.0, im: 2.0 }]).unwrap();
    assert_eq!(contents(&whole.field::<f32>(4).unwrap()), [2.0]);
}

#[test]
fn a_shape_is_a_number_or_any_list_of_lengths() {
    let fixture = Fixture::open();
    let (list, len) = (vec![2_usize, 3], 6_usize);
    let x = fixture.zeros::<f32>([2, 3]).unwrap();
    for same in [fixture.zeros::<f32>(&list), fixture.zeros(list.clone()), fixture.zeros(x.shape())] {
        assert_eq!(same.unwrap().shape(), [2, 3]);
    }
    for one_axis in [fixture.zeros::<f32>(len), fixture.zeros(6), fixture.ones([len])] {
        assert_eq!(one_axis.unwrap().shape(), [6]);
    }
    let y = fixture.zeros::<f32>(len).unwrap();
    for matrix in [y.reshape(x.shape()), y.reshape([2, -1]), y.reshape(&list), y.reshape(vec![-1_isize, 3])] {
        assert_eq!(matrix.unwrap().shape(), [2, 3]);
    }
    assert_eq!(x.reshape(-1).unwrap().shape(), [6]);
    assert_eq!(x.reshape(len).unwrap().shape(), [6]);
    assert!(matches!(x.reshape([usize::MAX]), Err(Error::Layout(LayoutError::ReshapeMismatch { .. }))));
    assert!(matches!(x.reshape(-2), Err(Error::Layout(LayoutError::NegativeLength { .. }))));
}

#[test]
fn ones_are_ones_of_each_type() {
    let fixture = Fixture::open();
    assert_eq!(contents(&fixture.ones::<u8>(5).unwrap()), [1; 5]);
    assert_eq!(contents(&fixture.ones::<i64>([1, 3]).unwrap()), [1; 3]);
    assert_eq!(contents(&fixture.ones::<f64>([2, 2]).unwrap()), [1.0; 4]);
    assert_eq!(contents(&fixture.ones::<half::f16>(3).unwrap()), [half::f16::ONE; 3]);
    assert_eq!(contents(&fixture.ones::<half::bf16>(3).unwrap()), [half::bf16::ONE; 3]);
    assert_eq!(fixture.ones::<f32>(0).unwrap().size(), 0);
}

#[test]
fn arrays_are_copied_to_hosts_arrays_of_known_rank() {
    let fixture = Fixture::open();
    let x = fixture.to_device(&counted(&[2, 3])).unwrap();
    let host: Array2<i32> = x.copy_to_host_as().unwrap();
    assert_eq!(host.into_dyn(), counted(&[2, 3]));
    assert_eq!(x.t().copy_to_host_as::<Ix2>().unwrap().strides(), [1, 3]); // F order is kept.
    assert_eq!(x.index([1, 2]).unwrap().copy_to_host_as::<Ix0>().unwrap().into_scalar(), 5);
    assert_eq!(x.copy_to_host_as::<IxDyn>().unwrap(), counted(&[2, 3]));
    let empty: Array<i32, Ix3> = x.slice(s![0..0]).unwrap().expand_dims([1]).unwrap().copy_to_host_as().unwrap();
    assert_eq!(empty.shape(), [0, 1, 3]);
    let refused = x.copy_to_host_as::<Ix1>();
    assert_eq!(refused.unwrap_err().to_string(), "an array of shape (2, 3) has 2 axes, not 1");
}
