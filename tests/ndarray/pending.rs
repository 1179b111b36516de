//! Copies to the host that do not block, single elements, and streams.

use std::sync::Arc;

use pollster::block_on;
use vkarray::device::Device;
use vkarray::kernel::signature::limits_of;
use vkarray::memory::Error as MemoryError;
use vkarray::{Context, Error, Index, Order};

use super::counted;
use crate::fixture::kernels::{keep_busy, kept_busy, spin};
use crate::fixture::{Fixture, contents, poll, with_limits};

#[test]
fn a_pending_copy_returns_the_elements_at_the_time_of_the_call() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    let array = fixture.slice_to_device(&[1_u32; 9]).unwrap();
    keep_busy(&stream, &spin(&fixture), &array);
    let pending = array.on(&stream).copy_to_host_async().unwrap();
    array.fill(3).unwrap();
    let expected = [kept_busy(1), 1, 1, 1, 1, 1, 1, 1, 1];
    assert_eq!(pending.wait().unwrap().as_slice(), Some(expected.as_slice()));
    assert_eq!(contents(&array), [3; 9]);
}

#[test]
fn a_pending_copy_can_be_polled_awaited_and_dropped() {
    let fixture = Fixture::open();
    let (stream, host) = (fixture.default_stream(), counted(&[4, 6, 5]));
    let device = fixture.to_device(&host).unwrap();
    let polled = device.on(stream).copy_to_host_async().unwrap();
    poll("the copy", || polled.is_complete().unwrap());
    assert_eq!(polled.wait().unwrap(), host);
    let turned = device.transpose(None).unwrap();
    assert_eq!(block_on(turned.on(stream).copy_to_host_async().unwrap()).unwrap(), host.t());
    let view = device.slice([Index::stepped(.., -1), Index::At(2)]).unwrap();
    let pending = view.on(stream).copy_to_host_async().unwrap();
    drop((view, turned, device));
    assert_eq!(block_on(pending).unwrap(), host.slice(::ndarray::s![..;-1, 2, ..]).into_dyn());
    let empty = fixture.zeros::<f64>([0, 2]).unwrap();
    assert_eq!(empty.on(stream).copy_to_host_async().unwrap().wait().unwrap().shape(), [0, 2]);
    drop(fixture.zeros::<u8>([1 << 20]).unwrap().on(stream).copy_to_host_async().unwrap());
}

#[test]
fn a_pending_copy_across_a_reset_is_refused() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[4, 6])).unwrap();
    let [waited, awaited] = [(); 2].map(|()| array.on(fixture.default_stream()).copy_to_host_async().unwrap());
    fixture.reset().unwrap();
    // The reset has also ended the pinned memory of the pending copy.
    for result in [waited.wait(), block_on(awaited)] {
        assert!(matches!(result, Err(Error::Memory(MemoryError::DeadMemory { .. }))), "{result:?}");
    }
}

#[test]
fn copies_follow_the_work_of_other_streams() {
    let fixture = Fixture::open();
    let streams = [fixture.stream().unwrap(), fixture.stream().unwrap()];
    let [a, b] = [1_u32, 2].map(|value| fixture.slice_to_device(&[value; 64]).unwrap());
    keep_busy(&streams[0], &spin(&fixture), &a);
    let every_other = |array: &vkarray::DeviceNDArray<u32>| array.slice([Index::stepped(.., 2)]).unwrap();
    every_other(&b).on(&streams[1]).copy_from_device(&every_other(&a)).unwrap();
    a.on(&streams[0]).fill(0).unwrap();
    let mut expected: Vec<u32> = [[1, 2]; 32].concat();
    expected[0] = kept_busy(1);
    assert_eq!(contents(&b), expected);
    assert_eq!(contents(&a), [0; 64]);
}

#[test]
fn single_elements_are_read_and_written() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[3, 4])).unwrap();
    assert_eq!(array.get([1, 2]).unwrap(), 6);
    assert_eq!(array.transpose(None).unwrap().get([-1, -1]).unwrap(), 11);
    array.slice([Index::At(2), Index::stepped(.., -1)]).unwrap().set([0], 99).unwrap();
    assert_eq!(contents(&array), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99]);
    for refused in [array.get([3, 0]), array.get([0]), array.get([0, 0, 0])] {
        assert!(matches!(refused, Err(Error::Layout(_))));
    }
    let scalar = fixture.full([], 2.5_f64).unwrap();
    assert_eq!(scalar.get(()).unwrap(), 2.5);
}

#[test]
fn host_targets_of_any_strides_are_filled() {
    let fixture = Fixture::open();
    let device = fixture.to_device(&counted(&[5, 6])).unwrap();
    for source in [device.clone(), device.slice([Index::stepped(.., -1)]).unwrap()] {
        let expected = source.copy_to_host().unwrap();
        let mut c_order = ::ndarray::Array2::zeros((5, 6));
        source.copy_to_host_into(&mut c_order).unwrap();
        assert_eq!(c_order.clone().into_dyn(), expected);
        let mut turned = ::ndarray::Array2::<i32>::zeros((6, 5));
        source.copy_to_host_into(&mut turned.view_mut().reversed_axes()).unwrap();
        assert_eq!(turned.t().into_dyn(), expected);
        source.copy_to_host_into(&mut c_order.slice_mut(::ndarray::s![..;-1, ..;-1])).unwrap();
        assert_eq!(c_order.slice(::ndarray::s![..;-1, ..;-1]).into_dyn(), expected);
        let error = source.copy_to_host_into(&mut turned).unwrap_err();
        assert_eq!(error.to_string(), "host array of shape (6, 5) does not match the device array's shape (5, 6)");
    }
}

#[test]
fn contiguous_arrays_are_not_copied_to_make_them_contiguous() {
    let fixture = Fixture::open();
    let array = fixture.to_device(&counted(&[2, 3, 4])).unwrap();
    let axes = array.transpose(Some(&[1, 0, 2])).unwrap();
    assert!(Arc::ptr_eq(array.to_contiguous(Order::C).unwrap().block(), array.block()));
    assert!(Arc::ptr_eq(axes.to_contiguous(Order::K).unwrap().block(), array.block()));
    let copy = axes.to_contiguous(Order::A).unwrap();
    assert!(copy.is_c_contiguous() && !Arc::ptr_eq(copy.block(), array.block()));
    let gaps = axes.slice([Index::stepped(.., 2)]).unwrap().to_contiguous(Order::K).unwrap();
    assert_eq!((gaps.shape(), gaps.strides()), ([2, 2, 4].as_slice(), [4, 8, 1].as_slice()));
    assert_eq!(contents(&gaps), contents(&axes.slice([Index::stepped(.., 2)]).unwrap()));
}

#[test]
fn arrays_and_streams_of_other_devices_are_refused() {
    let fixture = Fixture::open();
    let foreign = Context::on(&Device::open(fixture.device().physical()).unwrap()).unwrap();
    let (own, other) = (fixture.full([4], 1_i32).unwrap(), foreign.full([4], 2_i32).unwrap());
    assert!(matches!(own.copy_from_device(&other), Err(Error::ForeignDevice { .. })));
    let stream = foreign.default_stream();
    assert!(matches!(own.on(stream).copy_from_device(&own), Err(Error::ForeignDevice { .. })));
    assert!(matches!(own.on(stream).fill(5), Err(Error::ForeignDevice { .. })));
    assert!(matches!(own.on(stream).astype::<f32>(), Err(Error::ForeignDevice { .. })));
    assert!(matches!(own.on(stream).copy_to_host_async(), Err(Error::ForeignDevice { .. })));
    assert_eq!(contents(&own), [1; 4]);
}

#[test]
fn arrays_larger_than_one_binding_are_copied_in_windows() {
    with_limits(r#"{"max_storage_buffer_range": 65536}"#, |ctx| assert_copied_in_windows(&ctx));
    let fixture = Fixture::open();
    if fixture.info().limits.max_storage_buffer_range <= 256 << 20 {
        assert_copied_in_windows(&fixture); // The driver's own limit, which the validation layer knows.
    }
}

fn assert_copied_in_windows(ctx: &Context) {
    let limit = usize::try_from(limits_of(ctx.info()).max_storage_buffer_range).unwrap();
    let n = limit / 4 + 1_000_003;
    let values: Vec<u32> = (0..u32::try_from(n).unwrap()).collect();
    let source = ctx.slice_to_device(&values).unwrap();
    let target = ctx.zeros::<u32>([n]).unwrap();
    target.copy_from_device(&source.slice([Index::stepped(.., -1)]).unwrap()).unwrap();
    let found = target.copy_to_host().unwrap();
    assert!(values.iter().rev().eq(found.iter()));
    let halves = target.astype::<u8>().unwrap().copy_to_host().unwrap();
    assert!(found.iter().zip(&halves).all(|(&value, &byte)| u32::from(byte) == value & 0xff));
}
