//! Numba's tests of streams, events and contexts, ported by behaviour. `docs/conformance/streams.md` has the whole table.
//!
//! A test is named after the numba test that it ports. Behaviour that other files of this folder test is not repeated.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::task::{Context as TaskContext, Poll, Waker};
use std::thread;
use std::time::Duration;

use pollster::block_on;
use vkarray::device::{Device, Error as DriverError};
use vkarray::vulkan::ExternalQueue;
use vkarray::{Context, Groups, Stream};
use vkarray_driver::Completion;

use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::{Fixture, contents, poll, skipped};

const ONE: Groups = Groups::exact([1, 1, 1]);

#[test]
fn test_add_callback() {
    let fixture = Fixture::open();
    let (stream, (send, receive)) = (fixture.stream().unwrap(), channel());
    stream.add_callback(move |outcome| send.send(outcome.is_ok()).unwrap()).unwrap();
    assert_eq!(receive.recv_timeout(Duration::from_secs(60)), Ok(true), "the stream was idle");
}

#[test]
fn a_callback_runs_after_earlier_work_and_a_panic_in_one_does_not_stop_others() {
    let fixture = Fixture::open();
    let (spin, stream, (send, receive)) = (spin(&fixture), fixture.stream().unwrap(), channel());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&stream, &spin, &array);
    let point = stream.point().unwrap();
    stream.add_callback(|_| panic!("on purpose")).unwrap();
    stream.add_callback(move |outcome| send.send(outcome.and_then(|()| point.is_complete())).unwrap()).unwrap();
    assert!(!stream.query().unwrap(), "adding a callback blocked the host");
    assert!(receive.recv_timeout(Duration::from_secs(60)).unwrap().unwrap(), "the callback came too early");
    assert_eq!(contents(&array), [kept_busy(1)]);
}

#[test]
fn test_async_done() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    block_on(stream.async_done().unwrap()).unwrap();
    let (spin, array) = (spin(&fixture), fixture.slice_to_device(&[1_u32]).unwrap());
    keep_busy(&stream, &spin, &array);
    let done = stream.async_done().unwrap();
    assert!(!stream.query().unwrap());
    block_on(done).unwrap();
    assert!(stream.query().unwrap(), "the future was ready too early");
}

#[test]
fn test_parallel_tasks() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    thread::scope(|scope| {
        for task in 0..4_u32 {
            let (fixture, step) = (&fixture, &step);
            scope.spawn(move || {
                block_on(async {
                    let stream = fixture.stream().unwrap();
                    let array = fixture.slice_to_device(&[task; 500]).unwrap();
                    for round in 0..10_u32 {
                        step.dispatch(&stream, Groups::covering([500]), (&array, round)).unwrap();
                    }
                    stream.async_done().unwrap().await.unwrap();
                    assert_eq!(contents(&array), [(0..10).fold(task, stepped); 500]);
                });
            });
        }
    });
}

#[test]
fn test_multiple_async_done() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let done: Vec<Completion> = (0..10_u32)
        .map(|round| {
            step.dispatch(&stream, Groups::covering([8]), (&array, round)).unwrap();
            stream.async_done().unwrap()
        })
        .collect();
    // Awaited in reverse order: each future completes independently of the others.
    for done in done.into_iter().rev() {
        block_on(done).unwrap();
    }
}

#[test]
fn test_multiple_async_done_multiple_streams() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let streams = [(); 10].map(|()| fixture.stream().unwrap());
    let arrays = [(); 10].map(|()| fixture.slice_to_device(&[1_u32; 8]).unwrap());
    let mut done = Vec::new();
    for (stream, array) in streams.iter().zip(&arrays) {
        step.dispatch(stream, Groups::covering([8]), (array, 3_u32)).unwrap();
        done.push(stream.async_done().unwrap());
    }
    block_on(All(done));
    assert!(streams.iter().all(|stream| stream.query().unwrap()));
}

#[test]
fn test_cancelled_future() {
    let fixture = Fixture::open();
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&stream, &spin, &array);
    let (mut first, second) = (Box::pin(stream.async_done().unwrap()), stream.async_done().unwrap());
    // The future is dropped after it was polled, when its waker is registered.
    let polled = first.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    drop(first);
    block_on(second).unwrap();
    assert_eq!(contents(&array), [kept_busy(1)]);
}

#[test]
fn test_cuda_driver_stream_operations() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&(0..100).collect::<Vec<u32>>()).unwrap();
    {
        let _synchronized = stream.auto_synchronize();
        step.dispatch(&stream, Groups::covering([100]), (&array, 5_u32)).unwrap();
    }
    assert!(stream.query().unwrap(), "the scope ended before the work did");
    assert_eq!(contents(&array), (0..100).map(|x| stepped(x, 5)).collect::<Vec<u32>>());
}

/// Numba does not wait if the body raises; here `drop` waits.
#[test]
fn auto_synchronize_waits_when_a_panic_unwinds() {
    let fixture = Fixture::open();
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let body = || {
        let _synchronized = stream.auto_synchronize();
        keep_busy(&stream, &spin, &array);
        panic!("on purpose");
    };
    catch_unwind(AssertUnwindSafe(body)).unwrap_err();
    assert!(stream.query().unwrap(), "the unwound scope left work running");
    stream.auto_synchronize().finish().unwrap();
}

#[test]
fn test_stream_api_create_and_synchronize() {
    let fixture = Fixture::open();
    let family = fixture.device().plan().compute.family;
    // SAFETY: the device was opened with a queue of this family.
    let raw = unsafe { fixture.device().raw().get_device_queue(family, 0) };
    // SAFETY: the queue is the device's own.
    let external = unsafe { Stream::external(fixture.device(), ExternalQueue { raw, family, lock: None }) };
    let streams = [
        fixture.stream().unwrap(),
        fixture.blocking_stream().unwrap(),
        fixture.default_stream().clone(),
        fixture.legacy_default_stream().unwrap(),
        fixture.per_thread_default_stream().unwrap(),
        external.unwrap(),
    ];
    let step = step(&fixture);
    for (kind, stream) in streams.iter().enumerate() {
        stream.synchronize().unwrap();
        let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
        step.dispatch(stream, Groups::covering([5]), (&array, 2_u32)).unwrap();
        stream.synchronize().unwrap();
        assert!(stream.query().unwrap(), "kind {kind}");
        assert_eq!(contents(&array), [stepped(1, 2); 5], "kind {kind}");
    }
}

#[test]
fn test_event_elapsed_on_every_kind_of_stream() {
    let fixture = Fixture::open();
    let streams = [
        fixture.default_stream().clone(),
        fixture.stream().unwrap(),
        fixture.legacy_default_stream().unwrap(),
        fixture.per_thread_default_stream().unwrap(),
    ];
    for stream in streams {
        let (start, end) = match (fixture.timed_event(), fixture.timed_event()) {
            (Ok(start), Ok(end)) => (start, end),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("{error}");
                return skipped("test_event_elapsed_on_every_kind_of_stream", "timestamps");
            }
        };
        start.record(&stream).unwrap();
        let array = fixture.slice_to_device(&[0_u32; 10_000]).unwrap();
        end.record(&stream).unwrap();
        end.wait(&stream).unwrap();
        end.synchronize().unwrap();
        start.elapsed(&end).unwrap();
        assert!(matches!(start.elapsed(&fixture.timed_event().unwrap()), Err(DriverError::NeverRecorded)));
        drop(array);
    }
}

/// Numba distinguishes pinned from pageable memory; here the library stages or maps an upload depending on the device.
#[test]
fn test_unpinned_round_trips() {
    let fixture = Fixture::open();
    let (stream, step) = (fixture.stream().unwrap(), step(&fixture));
    let host: Vec<u32> = (0..3 << 20).collect(); // 12 MiB, enough for a transfer queue if there is one.
    let array = fixture.zeros::<u32>([host.len()]).unwrap();
    array.on(&stream).copy_from_host(&ndarray::ArrayView1::from(&host)).unwrap();
    step.dispatch(&stream, Groups::covering([3 << 20]), (&array, 9_u32)).unwrap();
    let back = array.on(&stream).copy_to_host().unwrap();
    assert!(back.iter().zip(&host).all(|(&back, &host)| back == stepped(host, 9)));
}

#[test]
fn test_manual_stream_with_500_launches_and_copies() {
    let fixture = Fixture::open();
    let (add, stream) = (crate::fixture::kernels::add(&fixture), fixture.stream().unwrap());
    let host: Vec<u32> = (0..640).collect();
    let array = fixture.slice_to_device(&host).unwrap();
    for _ in 0..500 {
        add.dispatch(&stream, Groups::covering([640]), (&array, 1_u32)).unwrap();
    }
    let back = array.on(&stream).copy_to_host().unwrap();
    assert!(back.iter().zip(&host).all(|(&back, &host)| back == host + 500));
}

#[test]
fn test_mempool_amd_example() {
    let fixture = Fixture::open();
    let (step, spin) = (step(&fixture), spin(&fixture));
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let events = [fixture.event(), fixture.event()];
    // The second thread's stream waits for an event that the first thread records.
    let (send, receive) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let stream = fixture.stream().unwrap();
            keep_busy(&stream, &spin, &array);
            events[0].record(&stream).unwrap();
            send.send(()).unwrap();
        });
        let (fixture, events, step, array) = (&fixture, &events, &step, &array);
        scope.spawn(move || {
            receive.recv().unwrap();
            let stream = fixture.stream().unwrap();
            events[0].wait(&stream).unwrap();
            step.dispatch(&stream, ONE, (array, 4_u32)).unwrap();
            events[1].record(&stream).unwrap();
            events[1].synchronize().unwrap();
        });
    });
    assert!(events[0].query().unwrap() && events[1].query().unwrap());
    assert_eq!(contents(&array), [stepped(kept_busy(1), 4)]);
}

#[test]
fn test_ptds() {
    let fixture = Fixture::open();
    let (step, legacy) = (step(&fixture), fixture.legacy_default_stream().unwrap());
    let before = legacy.point().unwrap().value();
    thread::scope(|scope| {
        for nth in 0..10_u32 {
            let (fixture, step) = (&fixture, &step);
            scope.spawn(move || {
                let stream = fixture.per_thread_default_stream().unwrap();
                let array = fixture.slice_to_device(&[nth; 100]).unwrap();
                for round in 0..50_u32 {
                    step.dispatch(&stream, Groups::covering([100]), (&array, round)).unwrap();
                }
                let back = array.on(&stream).copy_to_host().unwrap();
                assert_eq!(back.as_slice(), Some([(0..50).fold(nth, stepped); 100].as_slice()), "thread {nth}");
            });
        }
    });
    assert_eq!(legacy.point().unwrap().value(), before, "work of the threads went to the legacy stream");
}

#[test]
fn test_select_device() {
    let fixture = Fixture::open();
    let physical = fixture.device().physical().clone();
    for nth in 0..10_u32 {
        let physical = physical.clone();
        let used = thread::spawn(move || {
            let context = Context::on(&Device::open(&physical).unwrap()).unwrap();
            let stream = context.stream().unwrap();
            let array = context.slice_to_device(&[nth; 256]).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(array.on(&stream).copy_to_host().unwrap().as_slice(), Some([nth; 256].as_slice()));
        });
        used.join().unwrap();
    }
}

#[test]
fn test_reset_device() {
    let fixture = Fixture::open();
    let physical = fixture.device().physical();
    for round in 1..4_u32 {
        let device = Device::open(physical).unwrap();
        let context = Context::on(&device).unwrap();
        let array = context.slice_to_device(&[round; 100]).unwrap();
        assert_eq!(contents(&array), [round; 100]);
        drop((array, context));
        device.close(Duration::from_secs(10)).unwrap();
    }
}

#[test]
fn test_multithreaded_downloads_of_one_array() {
    let fixture = Fixture::open();
    let array = fixture.slice_to_device(&(0..1000).collect::<Vec<u32>>()).unwrap();
    let expected: Vec<u32> = (0..1000).collect();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| assert_eq!(contents(&array), expected));
        }
    });
    poll("the default stream", || fixture.default_stream().query().unwrap());
}

/// A future that is ready when all of its completions are.
struct All(Vec<Completion>);

impl Future for All {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        self.0.retain_mut(|done| match Pin::new(done).poll(context) {
            Poll::Ready(outcome) => {
                outcome.unwrap();
                false
            }
            Poll::Pending => true,
        });
        if self.0.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }
}
