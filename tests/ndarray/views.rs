//! Views: their elements equal those of the host's views, for every slice of a small array and many reshapes.

use ::ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, SliceInfoElem};
use vkarray::{DeviceNDArray, Index, Order};

use super::counted;
use crate::fixture::Fixture;

#[test]
fn every_slice_of_two_axes_equals_that_of_the_host() {
    let fixture = Fixture::open();
    let host = counted(&[4, 5]);
    let f_order = ArrayD::from_shape_fn(IxDyn(&[4, 5]).f(), |at| host[at]);
    let devices = [fixture.to_device(&host).unwrap(), fixture.to_device(&f_order).unwrap()];
    for first in slices(4) {
        for second in slices(5) {
            let expected = host.slice(&[first, second][..]);
            for device in &devices {
                let view = device.slice([Index::from(first), Index::from(second)]).unwrap();
                assert_eq!(view.copy_to_host().unwrap(), expected, "{first:?} {second:?}");
            }
        }
    }
}

/// Starts, ends and steps, also negative steps, empty slices, and single elements.
fn slices(len: isize) -> Vec<SliceInfoElem> {
    let mut slices: Vec<_> = (0..len).step_by(3).map(SliceInfoElem::Index).collect();
    for step in [1, 2, -1, -3] {
        for start in [0, 1, len - 1] {
            for end in [start, len - 1, len] {
                slices.extend((start <= end).then_some(SliceInfoElem::Slice { start, end: Some(end), step }));
            }
        }
    }
    slices
}

#[test]
fn views_of_views_equal_those_of_the_host() {
    let fixture = Fixture::open();
    let host = counted(&[6, 7, 8]);
    let device = fixture.to_device(&host).unwrap();
    // A view that is reversed, then sliced, then transposed; numba's second step is wrong.
    let back = Index::stepped(.., -1);
    let reversed = device.slice([back, (..).into(), back]).unwrap();
    let part = reversed.slice([(1..5).into(), Index::At(2), Index::stepped(.., 3)]).unwrap();
    let turned = part.transpose(None).unwrap();
    let expected = ArrayD::from_shape_fn(IxDyn(&[3, 4]), |at| host[[5 - (at[1] + 1), 2, 7 - 3 * at[0]]]);
    assert_eq!(turned.copy_to_host().unwrap(), expected);
    let again = turned.slice([Index::At(-1), Index::stepped(.., -2)]).unwrap();
    let expected = ArrayD::from_shape_fn(IxDyn(&[2]), |at| expected[[2, 3 - 2 * at[0]]]);
    assert_eq!(again.copy_to_host().unwrap(), expected);
}

#[test]
fn reshapes_read_the_elements_in_the_order_asked_for() {
    let fixture = Fixture::open();
    let host = counted(&[4, 6]);
    let f_order = ArrayD::from_shape_fn(IxDyn(&[4, 6]).f(), |at| host[at]);
    let (c, f) = (fixture.to_device(&host).unwrap(), fixture.to_device(&f_order).unwrap());
    for shape in [&[24_usize][..], &[2, 12], &[3, 8], &[2, 2, 6], &[1, 24, 1], &[4, 1, 6]] {
        let signed: Vec<isize> = shape.iter().map(|&len| len.cast_signed()).collect();
        assert_same(&c.reshape(&signed).unwrap(), host.to_shape(shape).unwrap().into_dyn().view());
        let in_f_order = host.to_shape((shape, ::ndarray::Order::F)).unwrap().into_dyn();
        assert_same(&f.reshape_with_order(&signed, Order::F).unwrap(), in_f_order.view());
    }
    assert_same(&c.reshape([3, -1]).unwrap(), host.to_shape((3, 8)).unwrap().into_dyn().view());
    assert_same(&c.ravel(Order::C).unwrap(), host.flatten().into_dyn().view());
    assert_same(&f.ravel(Order::F).unwrap(), host.t().flatten().into_dyn().view());
    // A reshape that no view can express is an error, never a wrong order.
    for refused in [f.reshape([24]), f.ravel(Order::C), c.ravel(Order::F), c.reshape([5, 5]), c.reshape([7, -1])] {
        assert!(matches!(refused, Err(vkarray::Error::Layout(_))));
    }
}

#[test]
fn transposes_equal_those_of_the_host() {
    let fixture = Fixture::open();
    let host = counted(&[2, 3, 4]);
    let device = fixture.to_device(&host).unwrap();
    assert_same(&device.transpose(None).unwrap(), host.t());
    for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let signed = axes.map(|axis: usize| axis.cast_signed());
        assert_same(&device.transpose(Some(&signed)).unwrap(), host.view().permuted_axes(IxDyn(&axes)));
    }
}

#[test]
fn a_view_shares_memory_both_ways() {
    let fixture = Fixture::open();
    let array = fixture.zeros::<i32>([4, 4]).unwrap();
    let row = array.slice([Index::At(2)]).unwrap();
    let clone = array.clone();
    row.copy_from_host(&counted(&[4])).unwrap();
    let mut expected = ArrayD::zeros(IxDyn(&[4, 4]));
    expected.index_axis_mut(Axis(0), 2).assign(&counted(&[4]));
    assert_eq!(clone.copy_to_host().unwrap(), expected);
    array.block().fill(fixture.default_stream(), 5).unwrap();
    assert_eq!(row.copy_to_host().unwrap(), ArrayD::from_elem(IxDyn(&[4]), 5));
}

fn assert_same(device: &DeviceNDArray<i32>, host: ArrayViewD<'_, i32>) {
    assert_eq!(device.copy_to_host().unwrap(), host);
}
