//! Copies of arrays between contexts: views of every kind, the order with work of the streams of both sides, random
//! programs.

use std::sync::Arc;

use ::ndarray::{ArrayD, IxDyn, SliceInfoElem};
use vkarray::device::Device;
use vkarray::memory::managers::PoolManager;
use vkarray::memory::{Allocator, HostOptions};
use vkarray::{Context, DeviceNDArray, Error, Groups, Index, Order, Stream};

use super::counted;
use crate::allocator::unmapped::Unmapped;
use crate::fixture::Fixture;
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};

/// A context with the device's own memory, and a context whose device memory the host cannot address.
pub(super) fn contexts(device: &Arc<Device>) -> [Context; 2] {
    let hidden = Allocator::with_manager(device, Box::new(Unmapped(PoolManager::new()))).unwrap();
    [Context::on(device).unwrap(), Context::with_allocator(&hidden).unwrap()]
}

/// Parts of an array of shape (6, 7), with steps in both directions, an index, and no elements.
fn parts() -> Vec<[SliceInfoElem; 2]> {
    let part = |start, end, step| SliceInfoElem::Slice { start, end, step };
    let whole = part(0, None, 1);
    vec![
        [whole, whole],
        [whole, part(0, None, 2)],
        [part(1, None, 2), whole],
        [part(0, None, -1), part(0, None, -2)],
        [SliceInfoElem::Index(3), whole],
        [whole, SliceInfoElem::Index(-1)],
        [SliceInfoElem::Index(0), SliceInfoElem::Index(0)],
        [part(2, Some(2), 1), whole],
    ]
}

fn view(array: &DeviceNDArray<i32>, part: &[SliceInfoElem; 2]) -> DeviceNDArray<i32> {
    array.slice(part.map(Index::from)).unwrap()
}

#[test]
fn views_are_copied_to_another_context_and_into_its_views() {
    let fixture = Fixture::open();
    for other in fixture.other_devices().iter().chain([fixture.device()]) {
        for (here, there) in contexts(fixture.device()).into_iter().zip(contexts(other)) {
            let host = counted(&[6, 7]);
            for (order, part) in
                [Order::C, Order::F].into_iter().flat_map(|order| parts().into_iter().map(move |p| (order, p)))
            {
                let source = here.device_array_with_order::<i32>([6, 7], order).unwrap();
                source.copy_from_host(&host).unwrap();
                let expected = host.slice(&part[..]).into_owned();
                let copy = view(&source, &part).copy_to_context(&there).unwrap();
                assert!(Arc::ptr_eq(copy.context().device(), other));
                assert_eq!(copy.copy_to_host().unwrap(), expected, "{part:?} in {order:?} order");
                let back = view(&source, &part).t();
                assert_eq!(back.copy_to_context(&there).unwrap().copy_to_host().unwrap(), expected.t().into_owned());
                // The target is a view of an array in C order, whose other elements are unchanged.
                let target = there.full([6, 7], -1_i32).unwrap();
                view(&target, &part).copy_from_context(&view(&source, &part)).unwrap();
                let mut into = ArrayD::from_elem(IxDyn(&[6, 7]), -1);
                into.slice_mut(&part[..]).assign(&expected);
                assert_eq!(target.copy_to_host().unwrap(), into, "{part:?} in {order:?} order");
            }
        }
    }
}

#[test]
fn axes_keep_their_order_in_memory_and_broadcast_views_are_copied() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let host = counted(&[2, 3, 4]);
        let source = fixture.to_device(&host).unwrap().transpose(Some(&[2, 0, 1])).unwrap();
        let copy = source.copy_to_context(&there).unwrap();
        assert_eq!((copy.strides(), copy.shape()), (source.strides(), source.shape()));
        assert_eq!(copy.copy_to_host().unwrap(), host.view().permuted_axes(IxDyn(&[2, 0, 1])).into_owned());
        let row = fixture.slice_to_device(&[5_i32, 6, 7]).unwrap().broadcast_to(&[4, 3][..]).unwrap();
        let copy = row.copy_to_context(&there).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [5, 6, 7].repeat(4));
        let refused = there.zeros::<i32>(3).unwrap().broadcast_to(&[4, 3][..]).unwrap().copy_from_context(&row);
        assert!(matches!(refused, Err(Error::ReadOnly { .. } | Error::SharedElements { .. })), "{refused:?}");
        let refused = there.zeros::<i32>([3, 4]).unwrap().copy_from_context(&row);
        assert!(matches!(refused, Err(Error::Layout(_))), "{refused:?}");
        let stream = Stream::new(&other).unwrap();
        let refused = row.on(&stream).copy_to_context(&there);
        assert!(matches!(refused, Err(Error::ForeignDevice { .. })), "{refused:?}");
        let target = there.zeros::<i32>([4, 3]).unwrap();
        let refused = target.on(fixture.default_stream()).copy_from_context(&row);
        assert!(matches!(refused, Err(Error::ForeignDevice { .. })), "{refused:?}");
    }
}

#[test]
fn arrays_that_the_host_addresses_are_copied_to_and_from_those_of_another_context() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let values: Vec<u32> = (0..3001).collect();
        let source = fixture.pinned_array::<u32>(3001).unwrap();
        source.copy_from_slice(&values).unwrap();
        for target in [
            there.pinned_array::<u32>(3001).unwrap(),
            there.mapped_array(3001, HostOptions::default()).unwrap(),
            there.device_array(3001).unwrap(),
        ] {
            target.fill(9).unwrap();
            target.copy_from_context(&source).unwrap();
            assert_eq!(target.to_vec().unwrap(), values);
            let back = fixture.pinned_array::<u32>(3001).unwrap();
            back.copy_from_context(&target).unwrap();
            assert_eq!(back.read_on_host().unwrap().as_slice(), Some(&values[..]));
        }
        // Memory that the host holds is not copied; it is copied after the guard is dropped.
        let target = there.zeros::<u32>(3001).unwrap();
        let held = source.write_on_host().unwrap();
        assert!(target.copy_from_context(&source).unwrap_err().to_string().contains("the host holds bytes"));
        drop(held);
        target.copy_from_context(&source).unwrap();
        assert_eq!(target.to_vec().unwrap(), values);
    }
}

#[test]
fn a_copy_comes_after_earlier_work_of_both_streams_and_before_their_later_work() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        for (here, there) in contexts(fixture.device()).into_iter().zip(contexts(&other)) {
            let (from, to) = (here.stream().unwrap(), there.stream().unwrap());
            let (x, y) = (here.full(1, 1_u32).unwrap(), there.full(1, 2_u32).unwrap());
            let (step, step_there) = (step(&here), step(&there));
            keep_busy(&from, &spin(&here), &x);
            keep_busy(&to, &spin(&there), &y);
            y.on(&to).copy_from_context(&x.on(&from)).unwrap();
            step.dispatch(&from, Groups::covering(1), (&x, 5_u32)).unwrap();
            step_there.dispatch(&to, Groups::covering(1), (&y, 7_u32)).unwrap();
            let copied = kept_busy(1);
            assert_eq!((x.to_vec().unwrap()[0], y.to_vec().unwrap()[0]), (stepped(copied, 5), stepped(copied, 7)));
        }
    }
}

/// A generator of numbers below `n`: xorshift.
pub(super) struct Random(pub(super) u64);

/// How many random programs are run.
pub(super) fn n_programs(unless_set: u64) -> u64 {
    std::env::var("VKARRAY_TEST_PROGRAMS").map_or(unless_set, |text| text.parse().expect("a number"))
}

impl Random {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

#[test]
fn random_programs_on_two_devices_give_the_results_of_running_in_order() {
    const N: usize = 70;
    let fixture = Fixture::for_round_trips();
    let others = fixture.other_devices();
    for (other, seed) in others.iter().flat_map(|other| (1..=n_programs(15)).map(move |seed| (other, seed))) {
        let mut random = Random(seed * 0x9E37_79B9_7F4A);
        let contexts: Vec<Context> = [fixture.device(), other]
            .into_iter()
            .map(|device| self::contexts(device).into_iter().nth(random.below(2)).unwrap())
            .collect();
        let streams: Vec<[Stream; 2]> =
            contexts.iter().map(|ctx| [ctx.stream().unwrap(), ctx.stream().unwrap()]).collect();
        let kernels: Vec<_> = contexts.iter().map(step).collect();
        let arrays: Vec<[DeviceNDArray<u32>; 2]> =
            contexts.iter().map(|ctx| [ctx.full(N, 1).unwrap(), ctx.full(N, 2).unwrap()]).collect();
        let mut expected = [[1_u32, 2], [1, 2]];
        for round in 0..30_u32 {
            let [device, array, stream, to, into, on] = [(); 6].map(|()| random.below(2));
            match random.below(3) {
                0 => {
                    let args = (&arrays[device][array], round);
                    kernels[device].dispatch(&streams[device][stream], Groups::covering(N), args).unwrap();
                    expected[device][array] = stepped(expected[device][array], round);
                }
                1 => {
                    let (source, target) = (&arrays[device][array], &arrays[to][into]);
                    if !Arc::ptr_eq(source.block(), target.block()) {
                        target.on(&streams[to][on]).copy_from_context(&source.on(&streams[device][stream])).unwrap();
                        expected[to][into] = expected[device][array];
                    }
                }
                _ => {
                    let event = contexts[device].event();
                    event.record(&streams[device][stream]).unwrap();
                    event.wait(&streams[to][on]).unwrap();
                }
            }
        }
        for (arrays, expected) in arrays.iter().zip(expected) {
            for (array, expected) in arrays.iter().zip(expected) {
                assert_eq!(array.to_vec().unwrap(), [expected; N], "seed {seed}");
            }
        }
        drop((arrays, kernels, streams, contexts));
        fixture.assert_no_messages("the program");
    }
}

#[test]
fn the_bandwidth_is_measured_once() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let measured = there.copy_bandwidth(&fixture).unwrap();
        assert!(measured > 0.0 && measured.is_finite());
        assert_eq!(there.copy_bandwidth(&fixture).unwrap(), measured);
    }
}
