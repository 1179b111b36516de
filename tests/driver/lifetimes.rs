//! Lifetimes: objects in use are dropped in every order. Their work finishes, and the device is released afterwards.

use std::any::Any;
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use vkarray::memory::MemoryKind;
use vkarray::{Context, Groups};

use crate::fixture::kernels::{spin, spun, step, stepped};
use crate::fixture::{Fixture, child, poll};

/// Iterations that take long enough for work to run still when its objects are dropped, and are short enough to repeat
/// for every permutation.
const ITERATIONS: u32 = 5_000;

#[test]
fn objects_in_use_can_be_dropped_in_every_order() {
    const N: usize = 5;
    let fixture = Fixture::open();
    let before = Arc::strong_count(fixture.device());
    for nth in 0..(1..=N).product() {
        let mut objects = busy_objects(&fixture);
        assert_eq!(objects.len(), N);
        for position in permutation(nth, N) {
            objects[position] = Box::new(());
        }
        let order = permutation(nth, N);
        let what = format!("the release of the device after drops in the order {order:?}");
        poll(&what, || Arc::strong_count(fixture.device()) == before);
    }
}

/// A context, a stream, an array, a kernel and an event, all in use.
fn busy_objects(fixture: &Fixture) -> Vec<Box<dyn Any>> {
    let ctx = Context::on(fixture.device()).unwrap();
    let (stream, array, kernel) = (ctx.stream().unwrap(), ctx.zeros::<u32>([1]).unwrap(), spin(&ctx));
    let event = ctx.timed_event().unwrap_or_else(|_| ctx.event());
    kernel.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, ITERATIONS)).unwrap();
    event.record(&stream).unwrap();
    kernel.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
    vec![Box::new(ctx), Box::new(stream), Box::new(array), Box::new(kernel), Box::new(event)]
}

/// The `nth` order of the numbers below `n`.
fn permutation(mut nth: usize, n: usize) -> Vec<usize> {
    let mut rest: Vec<usize> = (0..n).collect();
    let mut order = Vec::new();
    for left in (1..=n).rev() {
        order.push(rest.remove(nth % left));
        nth /= left;
    }
    order
}

#[test]
fn dropping_a_stream_releases_the_device_at_once() {
    let fixture = Fixture::open();
    let block = fixture.allocator().allocate(256, MemoryKind::Device).unwrap();
    let before = Arc::strong_count(fixture.device());
    for nth in 0..300_u64 {
        let stream = fixture.stream().unwrap();
        block.fill(&stream, 1).unwrap();
        block.fill(&stream, 2).unwrap();
        // The device's waiting thread handles batches after 200 microseconds, so the delays lie around that time.
        thread::sleep(Duration::from_micros(50 + nth));
        drop(stream);
        assert_eq!(Arc::strong_count(fixture.device()), before, "after stream {nth}");
    }
}

#[test]
fn permutations_are_all_different() {
    let mut orders: Vec<_> = (0..120).map(|nth| permutation(nth, 5)).collect();
    orders.sort();
    orders.dedup();
    assert_eq!(orders.len(), 120);
}

#[test]
fn a_dropped_stream_finishes_its_work() {
    let fixture = Fixture::open();
    let (spin, step) = (spin(&fixture), step(&fixture));
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let mut expected = 1;
    for round in 0..20_u32 {
        let stream = fixture.stream().unwrap();
        spin.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, ITERATIONS)).unwrap();
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, round)).unwrap();
        expected = stepped(spun(expected, ITERATIONS), round);
    }
    assert_eq!(array.copy_to_host().unwrap().first(), Some(&expected));
}

#[test]
fn points_and_events_outlive_their_stream() {
    let fixture = Fixture::open();
    let (spin, event) = (spin(&fixture), fixture.event());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let stream = fixture.stream().unwrap();
    spin.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, ITERATIONS)).unwrap();
    event.record(&stream).unwrap();
    let point = stream.point().unwrap();
    drop(stream);
    assert!(point.is_complete().unwrap() && event.query().unwrap());
    point.wait(None).unwrap();
    event.synchronize().unwrap();
    event.wait(fixture.default_stream()).unwrap();
    fixture.default_stream().wait_for(&point).unwrap();
    assert_eq!(array.copy_to_host().unwrap().first(), Some(&spun(1, ITERATIONS)));
}

#[test]
fn arrays_outlive_every_handle_of_their_context() {
    let mut fixture = Fixture::open();
    let context = fixture.take_context();
    let array = context.slice_to_device(&[7_u32; 3]).unwrap();
    step(&context).dispatch(context.default_stream(), Groups::covering([3]), (&array, 2_u32)).unwrap();
    drop(context);
    assert_eq!(array.copy_to_host().unwrap().as_slice(), Some([stepped(7, 2); 3].as_slice()));
    let clone = array.context().clone();
    drop(array);
    assert_eq!(clone.zeros::<u32>([2]).unwrap().copy_to_host().unwrap().as_slice(), Some([0; 2].as_slice()));
}

#[test]
fn a_stream_outlives_its_context_and_is_still_usable() {
    let mut fixture = Fixture::open();
    let context = fixture.take_context();
    let (stream, array, kernel) = (context.stream().unwrap(), context.zeros::<u32>([4]).unwrap(), step(&context));
    drop(context);
    kernel.dispatch(&stream, Groups::covering([4]), (&array, 6_u32)).unwrap();
    drop(kernel);
    assert_eq!(array.on(&stream).copy_to_host().unwrap().as_slice(), Some([6; 4].as_slice()));
}

#[test]
fn streams_can_be_dropped_while_others_wait_for_them() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let mut expected = 1;
    for round in 0..5000_u32 {
        // The second stream waits for the first on the device.
        let streams = [fixture.stream().unwrap(), fixture.stream().unwrap()];
        for (stream, add) in streams.iter().zip([round, 1]) {
            step.dispatch(stream, Groups::covering([8]), (&array, add)).unwrap();
            expected = stepped(expected, add);
        }
        drop(streams);
    }
    assert_eq!(array.copy_to_host().unwrap().as_slice(), Some([expected; 8].as_slice()));
}

/// Work that waits for another stream must not reach the queue before the work of that stream: on one queue it would wait for
/// work behind it, for ever.
#[test]
fn work_behind_a_stream_that_is_dropped_meanwhile_runs() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let arrays = [(); 2].map(|()| fixture.slice_to_device(&[1_u32; 8]).unwrap());
    let mut expected = [1; 2];
    for round in 0..3000_u32 {
        let (send, receive) = channel();
        thread::scope(|scope| {
            let (fixture, step, arrays) = (&fixture, &step, &arrays);
            scope.spawn(move || {
                let stream = fixture.stream().unwrap();
                // The device is busy with the first, so that the others are submitted when the stream is dropped.
                for _ in 0..4 {
                    step.dispatch(&stream, Groups::covering([8]), (&arrays[0], round)).unwrap();
                }
                send.send(stream.point().unwrap()).unwrap();
            });
            let stream = fixture.stream().unwrap();
            stream.wait_for(&receive.recv().unwrap()).unwrap();
            step.dispatch(&stream, Groups::covering([8]), (&arrays[1], round)).unwrap();
            stream.point().unwrap().wait(Some(Duration::from_secs(20))).unwrap();
        });
        expected[0] = (0..4).fold(expected[0], |sum, _| stepped(sum, round));
        expected[1] = stepped(expected[1], round);
    }
    for (array, expected) in arrays.iter().zip(expected) {
        assert_eq!(array.copy_to_host().unwrap().as_slice(), Some([expected; 8].as_slice()));
    }
}

/// glibc does not take back all of the static TLS of a driver that is unmapped, so NVIDIA's driver can be mapped some
/// thirty times only.
#[cfg(target_os = "linux")]
#[test]
fn drivers_stay_loaded_when_the_last_device_closes() {
    const TEST: &str = "driver::lifetimes::drivers_stay_loaded_when_the_last_device_closes";
    if child::argument().is_none() {
        let (passed, text) = child::run(TEST, "", &[]);
        return assert!(passed, "{text}");
    }
    let before = libraries();
    let ctx = Context::open_default().unwrap();
    let open = libraries();
    assert_ne!(open, before);
    drop(ctx);
    assert_eq!(libraries(), open);
    for _ in 0..60 {
        drop(Context::open_default().unwrap());
    }
    assert_eq!(libraries(), open);
}

/// The shared libraries that the process has mapped.
#[cfg(target_os = "linux")]
fn libraries() -> BTreeSet<String> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    paths.filter(|path| path.contains(".so")).map(str::to_owned).collect()
}
