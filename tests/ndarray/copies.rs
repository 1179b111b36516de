//! Copies into views, which keep the elements in the gaps, and refused copies.

use std::fmt::Debug;

use ::ndarray::{ArrayD, IxDyn, ShapeBuilder, SliceInfoElem};
use vkarray::device::Device;
use vkarray::{Context, Element, Index, Order};

use super::counted;
use crate::fixture::Fixture;
use crate::fixture::kernels::{keep_busy, kept_busy, spin};

#[test]
fn a_copy_into_a_view_keeps_the_elements_in_the_gaps() {
    let fixture = Fixture::open();
    let part = |start, end, step| SliceInfoElem::Slice { start, end, step };
    let whole = part(0, None, 1);
    let cases = [
        [whole, part(0, None, 2)],
        [part(1, None, 2), whole],
        [part(1, Some(5), 3), part(2, Some(6), 1)],
        [part(0, None, -1), part(0, None, -2)],
        [SliceInfoElem::Index(3), whole],
        [whole, SliceInfoElem::Index(-1)],
        [SliceInfoElem::Index(0), SliceInfoElem::Index(0)],
        [part(2, Some(2), 1), whole], // No elements.
    ];
    for order in [Order::C, Order::F] {
        for case in cases {
            let device = fixture.device_array_with_order::<i32>([6, 7], order).unwrap();
            device.block().fill(fixture.default_stream(), u32::MAX).unwrap();
            let mut expected = ArrayD::from_elem(IxDyn(&[6, 7]), -1);
            let values = counted(expected.slice(&case[..]).shape());
            expected.slice_mut(&case[..]).assign(&values);
            device.slice(case.map(Index::from)).unwrap().copy_from_host(&values).unwrap();
            assert_eq!(device.copy_to_host().unwrap(), expected, "{case:?} in {order:?} order");
        }
    }
}

#[test]
fn a_copy_into_a_view_of_an_array_in_use_comes_after_its_work() {
    let fixture = Fixture::open();
    let array = fixture.slice_to_device(&[1_u32; 9]).unwrap();
    keep_busy(fixture.default_stream(), &spin(&fixture), &array);
    let odd = array.slice([Index::stepped(1.., 2)]).unwrap();
    odd.copy_from_host(&::ndarray::arr1(&[20_u32, 21, 22, 23])).unwrap();
    let expected = [kept_busy(1), 20, 1, 21, 1, 22, 1, 23, 1];
    assert_eq!(array.copy_to_host().unwrap().as_slice(), Some(expected.as_slice()));
}

#[test]
fn copies_between_c_and_f_order_keep_every_element() {
    let fixture = Fixture::open();
    let host = counted(&[3, 4, 5]);
    let hosts = [host.clone(), ArrayD::from_shape_fn(IxDyn(&[3, 4, 5]).f(), |at| host[at])];
    assert_eq!(hosts[0], hosts[1]);
    assert_ne!(hosts[0].strides(), hosts[1].strides());
    for host in &hosts {
        for order in [Order::C, Order::F] {
            let device = fixture.device_array_with_order::<i32>([3, 4, 5], order).unwrap();
            device.copy_from_host(host).unwrap();
            assert_eq!(device.copy_to_host().unwrap(), hosts[0], "{order:?}");
        }
    }
}

#[test]
fn arrays_like_others_have_their_shape_and_order() {
    let fixture = Fixture::open();
    let c = fixture.zeros::<i32>([3, 4]).unwrap();
    let f = fixture.device_array_with_order::<i32>([3, 4], Order::F).unwrap();
    let (like_c, like_f) =
        (fixture.device_array_like_as::<u8>(&c).unwrap(), fixture.device_array_like_as::<f64>(&f).unwrap());
    assert!(like_c.is_c_contiguous() && like_f.is_f_contiguous() && !like_f.is_c_contiguous());
    let gaps = c.slice([(..).into(), Index::stepped(.., 2)]).unwrap();
    let packed = fixture.device_array_like(&gaps).unwrap();
    assert_eq!((packed.shape(), packed.is_c_contiguous()), ([3, 2].as_slice(), true));
}

#[test]
fn shapes_that_differ_are_refused_with_both() {
    let fixture = Fixture::open();
    let device = fixture.full([2, 3], 7_i32).unwrap();
    let cases = [
        (vec![3, 2], "host array of shape (3, 2) does not match the device array's shape (2, 3)"),
        (vec![6], "host array of shape (6,) does not match the device array's shape (2, 3)"),
        (vec![2, 3, 1], "host array of shape (2, 3, 1) does not match the device array's shape (2, 3)"),
        (vec![], "host array of shape () does not match the device array's shape (2, 3)"),
    ];
    for (shape, message) in cases {
        assert_eq!(device.copy_from_host(&counted(&shape)).unwrap_err().to_string(), message);
    }
    assert_eq!(device.copy_to_host().unwrap(), ArrayD::from_elem(IxDyn(&[2, 3]), 7));
}

#[test]
fn impossible_shapes_are_refused_before_an_allocation() {
    let fixture = Fixture::open();
    for shape in [vec![usize::MAX, 2], vec![1 << 40, 1 << 40], vec![1; 65]] {
        let error = fixture.zeros::<f64>(&shape).unwrap_err();
        assert!(matches!(error, vkarray::Error::Layout(_)), "{shape:?}: {error}");
    }
    assert_eq!(fixture.allocator().usage().in_use, 0);
}

#[test]
fn streams_of_another_device_are_refused() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let array = fixture.full([4], 1_i32).unwrap();
    let name = &fixture.info().name;
    let message = format!("the array belongs to {name} and the stream to {name}: they were opened separately");
    let stream = foreign.default_stream();
    assert_eq!(array.on(stream).copy_to_host().unwrap_err().to_string(), message);
    assert_eq!(array.on(stream).copy_from_host(&counted(&[4])).unwrap_err().to_string(), message);
    assert_eq!(fixture.to_device_on(stream, &counted(&[4])).unwrap_err().to_string(), message);
    assert_eq!(array.copy_to_host().unwrap(), ArrayD::from_elem(IxDyn(&[4]), 1));
}

/// Tiles of all kinds: whole ones, ones cut off at either end, and several planes of them.
#[test]
fn large_transposes_move_every_element() {
    let fixture = Fixture::open();
    for shape in [vec![128, 64], vec![132, 200], vec![129, 200], vec![3, 68, 132], vec![2, 65, 67], vec![300, 4]] {
        turned_and_back(&fixture, &counted(&shape));
        turned_and_back(&fixture, &counted(&shape).mapv(|value| value.to_le_bytes()[0]));
        turned_and_back(&fixture, &counted(&shape).mapv(|value| i16::try_from(value % 30_000).unwrap()));
    }
}

fn turned_and_back<T: Element + PartialEq + Default + Debug>(ctx: &Context, host: &ArrayD<T>) {
    let (shape, n) = (host.shape(), host.ndim());
    let device = ctx.to_device(host).unwrap();
    let axes: Vec<isize> = (0..n as isize - 2).chain([n as isize - 1, n as isize - 2]).collect();
    let turned = device.transpose(Some(&axes)).unwrap();
    let mut expected = host.clone();
    expected.swap_axes(n - 2, n - 1);
    assert_eq!(turned.to_contiguous(Order::C).unwrap().copy_to_host().unwrap(), expected, "{shape:?}");
    // The target is a view with a gap after each row, which does not change.
    let rows = shape[n - 2];
    let wider: Vec<usize> = expected.shape()[..n - 1].iter().copied().chain([rows + 4]).collect();
    let around = ctx.zeros::<T>(&wider).unwrap();
    let last = |part: Index| (0..n - 1).map(|_| Index::from(..)).chain([part]).collect::<Vec<_>>();
    let view = around.slice(last((..rows as isize).into())).unwrap();
    view.copy_from_device(&turned).unwrap();
    assert_eq!(view.copy_to_host().unwrap(), expected, "{shape:?}");
    let gap = around.slice(last((rows as isize..).into())).unwrap().copy_to_host().unwrap();
    assert!(gap.iter().all(|value| *value == T::default()), "{shape:?}");
}

#[test]
fn rows_of_pinned_arrays_are_copied_both_ways() {
    let fixture = Fixture::open();
    // Rows of 80 KiB with a gap after each, long enough to be regions of one command on any device; and short rows.
    for columns in [20_480, 100] {
        let pinned = fixture.pinned_array::<i32>([5, columns + 24]).unwrap();
        let host = counted(&[5, columns + 24]);
        pinned.copy_from_host(&host).unwrap();
        let rows =
            |array: &vkarray::DeviceNDArray<i32>| array.slice([(..).into(), (8..8 + columns as isize).into()]).unwrap();
        let device = fixture.zeros::<i32>([5, columns]).unwrap();
        device.copy_from_device(&rows(&pinned)).unwrap();
        let expected = host.slice_axis(::ndarray::Axis(1), (8..8 + columns).into());
        assert_eq!(device.copy_to_host().unwrap(), expected, "{columns}");
        let back = fixture.pinned_array::<i32>([5, columns + 24]).unwrap();
        back.fill(7).unwrap();
        rows(&back).copy_from_device(&device).unwrap();
        assert_eq!(rows(&back).copy_to_host().unwrap(), expected, "{columns}");
        let gap = back.slice([(..).into(), (8 + columns as isize..).into()]).unwrap();
        assert!(gap.copy_to_host().unwrap().iter().all(|&value| value == 7), "{columns}");
    }
}
