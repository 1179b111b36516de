//! Defects of numba's device arrays: one test for each wrong result or refusal. Results are compared with the `ndarray`
//! crate.

use ::ndarray::{Array2, ArrayD, Axis, IxDyn, ShapeBuilder, arr1, s};
use vkarray::{DeviceNDArray, Error, Index, Order};

use super::counted;
use crate::fixture::{Fixture, contents};

fn back() -> Index {
    Index::stepped(.., -1)
}

/// numba/numba#3553: a download into a strided host target overwrote the bytes between its elements.
#[test]
fn a_download_into_a_strided_target_keeps_the_gaps() {
    let fixture = Fixture::open();
    let device = fixture.to_device(&counted(&[4, 3])).unwrap();
    let mut host = Array2::from_elem((8, 9), -1);
    device.copy_to_host_into(&mut host.slice_mut(s![1..;2, ..;3])).unwrap();
    for ((row, column), &value) in host.indexed_iter() {
        let is_element = row % 2 == 1 && column % 3 == 0;
        let index = i32::try_from(row / 2 * 3 + column / 3).unwrap();
        assert_eq!(value, if is_element { index } else { -1 }, "at {row}, {column}");
    }
}

/// An upload into a strided device view is refused by numba, after it once copied the wrong bytes (#2663).
#[test]
fn an_upload_into_a_strided_view_keeps_the_gaps() {
    let fixture = Fixture::open();
    let device = fixture.full([6, 8], -1_i16).unwrap();
    let odd = device.slice([Index::stepped(1.., 2), Index::stepped(.., 2)]).unwrap();
    let values = Array2::from_shape_fn((3, 4), |(i, j)| i16::try_from(10 * i + j).unwrap());
    odd.copy_from_host(&values).unwrap();
    let mut expected = Array2::from_elem((6, 8), -1_i16);
    expected.slice_mut(s![1..;2, ..;2]).assign(&values);
    assert_eq!(device.copy_to_host().unwrap(), expected.into_dyn());
}

/// NVIDIA/numba-cuda-mlir#311: a reshape in an order other than the array's gave a view of the wrong elements.
#[test]
fn a_reshape_across_orders_copies_the_right_elements() {
    let fixture = Fixture::open();
    let host = counted(&[4, 6]);
    let f_order = ArrayD::from_shape_fn(IxDyn(&[4, 6]).f(), |at| host[at]);
    for array in [fixture.to_device(&host).unwrap(), fixture.to_device(&f_order).unwrap()] {
        for shape in [&[24][..], &[3, 8], &[2, 2, 6], &[8, -1]] {
            let known: Vec<usize> = shape.iter().map(|&len| usize::try_from(len).unwrap_or(3)).collect();
            let in_c = host.to_shape(known.as_slice()).unwrap().into_dyn();
            assert_eq!(array.reshape_copy(shape, Order::C).unwrap().copy_to_host().unwrap(), in_c, "{shape:?}");
            let in_f = host.to_shape((known.as_slice(), ::ndarray::Order::F)).unwrap().into_dyn();
            assert_eq!(array.reshape_copy(shape, Order::F).unwrap().copy_to_host().unwrap(), in_f, "{shape:?}");
        }
    }
}

/// A reshape of an array that is not packed raises `NotImplementedError` in numba.
#[test]
fn a_reshape_of_a_view_with_gaps_copies_only_if_it_must() {
    let fixture = Fixture::open();
    let host = counted(&[4, 8]);
    let device = fixture.to_device(&host).unwrap();
    let gaps = device.slice([Index::from(..), Index::stepped(.., 2)]).unwrap();
    let split = gaps.reshape_copy([2, 2, 4], Order::C).unwrap();
    assert!(std::sync::Arc::ptr_eq(split.block(), device.block()), "a view was to be had");
    let flat = gaps.reshape_copy([-1], Order::F).unwrap();
    assert!(!std::sync::Arc::ptr_eq(flat.block(), device.block()));
    assert_eq!(contents(&flat), host.slice(s![.., ..;2]).t().iter().copied().collect::<Vec<_>>());
    assert!(matches!(gaps.reshape_copy([5, 5], Order::C), Err(Error::Layout(_))));
    assert!(matches!(gaps.reshape_copy([16], Order::K), Err(Error::Layout(_))));
}

/// In numba, `d[:, :, i]` of an array in F order has its elements permuted.
#[test]
fn an_index_into_an_array_in_f_order_takes_the_right_elements() {
    let fixture = Fixture::open();
    let host = counted(&[2, 3, 4]);
    let f_order = ArrayD::from_shape_fn(IxDyn(&[2, 3, 4]).f(), |at| host[at]);
    let device = fixture.to_device(&f_order).unwrap();
    for i in 0..4 {
        let plane = device.slice([Index::from(..), Index::from(..), Index::At(i)]).unwrap();
        assert_eq!(plane.strides(), [1, 2]);
        assert_eq!(plane.copy_to_host().unwrap(), host.index_axis(Axis(2), i.cast_unsigned()));
        assert_eq!(contents(&plane.to_contiguous(Order::C).unwrap()), contents(&plane));
    }
}

/// numba/numba#3705: slicing a reversed view again gives an empty view, and downloads of reversed views are refused.
#[test]
fn a_view_reversed_twice_is_whole() {
    let fixture = Fixture::open();
    let host = counted(&[7]);
    let device = fixture.to_device(&host).unwrap();
    let reversed = device.slice([back()]).unwrap();
    assert_eq!(contents(&reversed), [6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(contents(&reversed.slice([Index::from(..)]).unwrap()), [6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(contents(&reversed.slice([back()]).unwrap()), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(reversed.get([2]).unwrap(), 4);
    reversed.copy_from_host(&arr1(&[10, 11, 12, 13, 14, 15, 16])).unwrap();
    assert_eq!(contents(&device), [16, 15, 14, 13, 12, 11, 10]);
}

/// In numba, a slice of a broadcast axis has length one, and any index on it is accepted.
#[test]
fn a_slice_of_a_broadcast_axis_keeps_its_length() {
    let fixture = Fixture::open();
    let row = fixture.to_device(&counted(&[3])).unwrap();
    let rows = row.broadcast_to([4, 3]).unwrap();
    let part = rows.slice([Index::from(1..3)]).unwrap();
    assert_eq!(part.copy_to_host().unwrap(), counted(&[3]).broadcast((2, 3)).unwrap().into_dyn());
    assert!(matches!(rows.get([9, 0]), Err(Error::Layout(_))));
    assert_eq!(rows.get([3, 2]).unwrap(), 2);
}

/// In numba, an array that is packed in both orders has order F under 'A'; in NumPy it has order C.
#[test]
fn order_a_is_f_only_for_what_is_f_and_not_c() {
    let fixture = Fixture::open();
    let host = counted(&[6]);
    let both = fixture.to_device(&host).unwrap();
    assert_eq!(contents(&both.reshape_copy([2, 3], Order::A).unwrap()), [0, 1, 2, 3, 4, 5]);
    let matrix = counted(&[2, 3]);
    let f_order = fixture.to_device(&ArrayD::from_shape_fn(IxDyn(&[2, 3]).f(), |at| matrix[at])).unwrap();
    assert_eq!(contents(&f_order.reshape_copy([6], Order::A).unwrap()), [0, 3, 1, 4, 2, 5]);
    assert_eq!(contents(&f_order.reshape_copy([6], Order::C).unwrap()), [0, 1, 2, 3, 4, 5]);
    let turned = f_order.to_contiguous(Order::C).unwrap();
    assert_eq!((turned.strides(), contents(&turned)), ([3, 1].as_slice(), vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(f_order.to_contiguous(Order::A).unwrap().strides(), [1, 2]);
}

/// numba refuses copies between device arrays of other strides, or in the other order.
#[test]
fn device_arrays_of_any_strides_are_copied_to_each_other() {
    let fixture = Fixture::open();
    let host = counted(&[5, 7]);
    let c_order = fixture.to_device(&host).unwrap();
    let f_order = fixture.device_array_with_order::<i32>([5, 7], Order::F).unwrap();
    f_order.copy_from_device(&c_order).unwrap();
    assert!(f_order.is_f_contiguous());
    assert_eq!(f_order.copy_to_host().unwrap(), host);
    c_order.fill(0).unwrap();
    c_order.slice([back(), back()]).unwrap().copy_from_device(&f_order).unwrap();
    assert_eq!(c_order.copy_to_host().unwrap(), host.slice(s![..;-1, ..;-1]).into_dyn());
}

/// In numba, a target that overlaps its source was a data race.
#[test]
fn an_array_is_copied_onto_itself_as_if_the_source_were_copied_first() {
    let fixture = Fixture::open();
    let large = counted(&[100_003]);
    let cases: &[(Index, Index)] = &[
        (Index::from(1..), Index::from(..-1)),                         // Down by one.
        (Index::from(..-1), Index::from(1..)),                         // Up by one.
        (Index::from(40_000..), Index::from(..-40_000)),               // In a few parts.
        (Index::from(..-40_000), Index::from(40_000..)),               // In a few parts, in the other direction.
        (Index::from(..), back()),                                     // Reversed in place.
        (Index::stepped(..100_002, 2), Index::stepped(1..100_003, 2)), // Interleaved in the same order.
        // Interleaved in reverse order.
        (Index::stepped(..-3, 3), Index::Range { start: Some(-4), stop: None, step: -3 }),
    ];
    for &(source, target) in cases {
        let device = fixture.to_device(&large).unwrap();
        let (from, to) = (device.slice([source]).unwrap(), device.slice([target]).unwrap());
        let mut expected: Vec<i32> = large.iter().copied().collect();
        for (value, at) in contents(&from).into_iter().zip(to.layout().offsets()) {
            expected[at] = value;
        }
        to.copy_from_device(&from).unwrap();
        assert!(contents(&device) == expected, "{source:?} to {target:?}");
    }
    // A square is transposed in place.
    let square = fixture.to_device(&counted(&[40, 40])).unwrap();
    square.copy_from_device(&square.transpose(None).unwrap()).unwrap();
    assert_eq!(square.copy_to_host().unwrap(), counted(&[40, 40]).t());
}

/// numba/numba#5170: `a[...] = value` and assignment with broadcasting from a strided value of lower rank fail.
#[test]
fn assignment_broadcasts() {
    let fixture = Fixture::open();
    let target = fixture.zeros::<i32>([4, 3]).unwrap();
    let base = fixture.to_device(&counted(&[6])).unwrap();
    target.assign(&base.slice([Index::stepped(.., 2)]).unwrap()).unwrap();
    let expected = arr1(&[0, 2, 4]);
    assert_eq!(target.copy_to_host().unwrap(), expected.broadcast((4, 3)).unwrap().into_dyn());
    target.slice([Index::stepped(.., 2)]).unwrap().fill(7).unwrap();
    assert_eq!(contents(&target), [7, 7, 7, 0, 2, 4, 7, 7, 7, 0, 2, 4]);
    target.assign(&fixture.to_device(&::ndarray::arr0(5)).unwrap()).unwrap();
    assert_eq!(contents(&target), [5; 12]);
    assert!(matches!(target.assign(&base), Err(Error::Layout(_))));
}

/// numba copies a source without elements unchecked.
#[test]
fn copies_of_empty_arrays_are_still_checked() {
    let fixture = Fixture::open();
    let empty = fixture.zeros::<f32>([0, 3]).unwrap();
    let full = fixture.full([2, 3], 1.5_f32).unwrap();
    assert!(matches!(full.copy_from_device(&empty), Err(Error::Layout(_))));
    assert!(matches!(empty.copy_from_device(&full), Err(Error::Layout(_))));
    empty.copy_from_device(&empty.clone()).unwrap();
    empty.fill(2.0).unwrap();
    assert_eq!(empty.to_contiguous(Order::F).unwrap().shape(), [0, 3]);
    assert_eq!(contents(&full), [1.5; 6]);
}

/// Writing through a view of which several elements share memory has no defined result, and NumPy refuses it.
#[test]
fn targets_whose_elements_share_memory_are_refused() {
    let fixture = Fixture::open();
    let row = fixture.full([3], 1_u8).unwrap();
    let rows = row.broadcast_to([2, 3]).unwrap();
    let other: DeviceNDArray<u8> = fixture.zeros([2, 3]).unwrap();
    let message = "cannot write to shape (2, 3) with strides (0, 1): several of its elements share memory";
    for refused in [rows.copy_from_device(&other), rows.fill(9), rows.assign(&other), rows.set([0, 0], 9)] {
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    assert_eq!(contents(&row), [1; 3]);
}
