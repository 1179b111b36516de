//! Arrays without axes, without elements, and with the largest number of axes: every operation accepts them.

use ::ndarray::{ArrayD, Axis, IxDyn, arr0};
use vkarray::array::LayoutError;
use vkarray::{Error, Index, Order};

use super::counted;
use crate::fixture::{Fixture, contents};

const MAX_NDIM: usize = 32;

#[test]
fn thirty_two_axes_are_copied_viewed_and_converted() {
    let fixture = Fixture::open();
    let mut shape = [1; MAX_NDIM];
    (shape[0], shape[7], shape[18], shape[30], shape[31]) = (2, 3, 2, 5, 2);
    let host: ArrayD<i32> = counted(&shape);
    let device = fixture.to_device(&host).unwrap();
    assert_eq!(device.copy_to_host().unwrap(), host);
    let turned = device.transpose(None).unwrap();
    assert_eq!(turned.copy_to_host().unwrap(), host.t());
    assert_eq!(turned.to_contiguous(Order::C).unwrap().copy_to_host().unwrap(), host.t());
    assert_eq!(turned.astype::<i64>().unwrap().copy_to_host().unwrap(), host.t().mapv(i64::from));
    let index = shape.map(|len| if len == 5 { Index::stepped(.., -2) } else { Index::from(..) });
    let (part, mut expected) = (device.slice(index).unwrap(), host.clone());
    expected.slice_axis_inplace(Axis(30), ::ndarray::Slice::new(0, None, -2));
    assert_eq!(part.copy_to_host().unwrap(), expected);
    part.fill(-1).unwrap();
    assert_eq!(contents(&device).iter().filter(|&&value| value == -1).count(), host.len() / 5 * 3);
    device
        .copy_from_device(&fixture.to_device(&host).unwrap().transpose(None).unwrap().transpose(None).unwrap())
        .unwrap();
    assert_eq!(device.copy_to_host().unwrap(), host);
    assert_eq!(device.squeeze(None).unwrap().shape(), [2, 3, 2, 5, 2]);
    assert_eq!(device.get([0; MAX_NDIM]).unwrap(), 0);
}

#[test]
fn a_thirty_third_axis_is_refused_by_every_method_that_adds_axes() {
    let fixture = Fixture::open();
    let device = fixture.full([1; MAX_NDIM], 7_u8).unwrap();
    let before = fixture.allocator().usage();
    let refused = [
        ("device_array", fixture.device_array::<u8>([1; 33])),
        ("to_device", fixture.to_device(&ArrayD::from_elem(IxDyn(&[1; 33]), 7))),
        ("reshape", device.reshape([1; 33])),
        ("expand_dims", device.expand_dims([0])),
        ("broadcast_to", device.broadcast_to([1; 33])),
        ("slice", device.slice([Index::NewAxis])),
    ];
    for (name, result) in refused {
        let error = result.expect_err(name);
        let is_meant = matches!(error, Error::Layout(LayoutError::RankTooLarge { ndim: 33, limit: MAX_NDIM }));
        assert!(is_meant, "{name}: {error}");
    }
    assert_eq!(fixture.allocator().usage(), before);
    assert_eq!(device.get([0; MAX_NDIM]).unwrap(), 7);
}

#[test]
fn an_array_of_no_axes_is_one_element() {
    let fixture = Fixture::open();
    let scalar = fixture.to_device(&arr0(5_i16)).unwrap();
    let one = [scalar.reshape([1]).unwrap(), scalar.expand_dims([0]).unwrap(), scalar.ravel(Order::K).unwrap()];
    for view in one {
        assert_eq!((view.shape(), contents(&view)), ([1].as_slice(), vec![5]));
    }
    assert_eq!(contents(&scalar.broadcast_to([2, 3]).unwrap()), [5; 6]);
    assert_eq!(scalar.transpose(None).unwrap().copy_to_host().unwrap(), arr0(5).into_dyn());
    assert_eq!(scalar.slice([Index::Ellipsis]).unwrap().get(()).unwrap(), 5);
    scalar.set((), 6).unwrap();
    assert_eq!(scalar.astype::<f64>().unwrap().copy_to_host().unwrap(), arr0(6.0).into_dyn());
    scalar.fill(7).unwrap();
    assert_eq!(scalar.to_contiguous(Order::F).unwrap().to_vec().unwrap(), [7]);
    let other = fixture.zeros::<i16>([]).unwrap();
    other.copy_from_device(&scalar).unwrap();
    assert_eq!((other.to_vec().unwrap(), format!("{other}")), (vec![7], "7".to_owned()));
    assert!(matches!(scalar.get([0]), Err(Error::Layout(LayoutError::TooManyIndices { given: 1, ndim: 0 }))));
    assert!(matches!(scalar.outer_iter().map(|_| ()), Err(Error::NoAxis { .. })));
}

#[test]
fn arrays_of_no_elements_are_taken_by_every_operation() {
    let fixture = Fixture::open();
    for shape in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 4]] {
        let empty = fixture.to_device(&counted(shape)).unwrap();
        assert!(empty.is_c_contiguous() && empty.is_f_contiguous(), "{shape:?}");
        empty.fill(1).unwrap();
        empty.copy_from_device(&empty).unwrap();
        empty.assign(&fixture.full([], 3).unwrap()).unwrap();
        empty.copy_from_slice(&[]).unwrap();
        for order in [Order::C, Order::F, Order::A, Order::K] {
            assert_eq!(empty.to_contiguous(order).unwrap().shape(), shape);
            assert_eq!(empty.ravel(order).unwrap().shape(), [0]);
        }
        assert_eq!(empty.transpose(None).unwrap().copy_to_host().unwrap(), counted(shape).t());
        assert_eq!(empty.reshape_copy([7, 0], Order::F).unwrap().shape(), [7, 0]);
        assert_eq!(empty.astype::<u8>().unwrap().copy_to_host().unwrap().shape(), shape);
        assert_eq!(empty.view::<u16>().map(|view| view.size()).unwrap_or(0), 0);
        assert_eq!(empty.to_vec().unwrap(), [0_i32; 0]);
        assert_eq!(empty.on(fixture.default_stream()).copy_to_host_async().unwrap().wait().unwrap(), counted(shape));
    }
    // An empty slice of an array that is not empty, also a slice whose start lies past the end.
    let array = fixture.to_device(&counted(&[3, 4])).unwrap();
    let backwards = Index::Range { start: Some(2), stop: Some(1), step: 2 };
    for rows in [Index::from(1..1), Index::from(9..), backwards, Index::stepped(0..2, -1)] {
        let none = array.slice([rows]).unwrap();
        none.fill(9).unwrap();
        assert_eq!((none.shape(), none.to_vec().unwrap()), ([0, 4].as_slice(), vec![]), "{rows:?}");
    }
    assert_eq!(array.copy_to_host().unwrap(), counted(&[3, 4]));
}
