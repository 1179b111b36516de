//! Kinds of streams: blocking and default streams in the legacy ordering, external queues and semaphores, and waits for
//! several events.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ash::vk;
use vkarray::device::Error as DriverError;
use vkarray::vulkan::ExternalQueue;
use vkarray::{Context, Event, Groups, Stream};
use vkarray_driver::{DefaultStreams, Device};

use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::{Fixture, contents, poll};

const ONE: Groups = Groups::exact([1, 1, 1]);

#[test]
fn legacy_work_waits_for_all_blocking_streams() {
    let fixture = Fixture::open();
    let (spin, step, legacy) = (spin(&fixture), step(&fixture), fixture.legacy_default_stream().unwrap());
    let streams = [(); 3].map(|()| fixture.blocking_stream().unwrap());
    let slow = [(); 3].map(|()| fixture.slice_to_device(&[1_u32]).unwrap());
    let quick = fixture.slice_to_device(&[2_u32]).unwrap();
    fixture.synchronize().unwrap();
    for (stream, array) in streams.iter().zip(&slow) {
        keep_busy(stream, &spin, array);
    }
    step.dispatch(&legacy, ONE, (&quick, 3_u32)).unwrap();
    let event = fixture.event();
    event.record(&legacy).unwrap();
    assert!(streams.iter().any(|stream| !stream.query().unwrap()), "recording on the legacy stream blocked the host");
    event.synchronize().unwrap();
    assert!(streams.iter().all(|stream| stream.query().unwrap()), "legacy work did not wait");
    assert_eq!(contents(&quick), [stepped(2, 3)]);
    for array in &slow {
        assert_eq!(contents(array), [kept_busy(1)]);
    }
}

#[test]
fn blocking_streams_wait_for_earlier_legacy_work() {
    let fixture = Fixture::open();
    let (spin, step, legacy) = (spin(&fixture), step(&fixture), fixture.legacy_default_stream().unwrap());
    let streams = [(); 3].map(|()| fixture.blocking_stream().unwrap());
    let quick = [(); 3].map(|()| fixture.slice_to_device(&[2_u32]).unwrap());
    let slow = fixture.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&legacy, &spin, &slow);
    let event = fixture.event();
    event.record(&legacy).unwrap();
    for (stream, array) in streams.iter().zip(&quick) {
        step.dispatch(stream, ONE, (array, 3_u32)).unwrap();
    }
    for stream in &streams {
        stream.synchronize().unwrap();
        // The event is queried, since a query of the legacy stream would include the blocking streams.
        assert!(event.query().unwrap(), "a blocking stream did not wait for legacy work");
    }
    assert_eq!(contents(&slow), [kept_busy(1)]);
}

#[test]
fn waits_of_the_legacy_ordering_are_not_repeated() {
    let fixture = Fixture::open();
    let (spin, step, legacy) = (spin(&fixture), step(&fixture), fixture.legacy_default_stream().unwrap());
    let (blocking, ordinary) = (fixture.blocking_stream().unwrap(), fixture.stream().unwrap());
    let arrays = [(); 3].map(|()| fixture.slice_to_device(&[1_u32]).unwrap());
    keep_busy(&blocking, &spin, &arrays[0]);
    let batches = |stream: &Stream| stream.point().unwrap().value();
    step.dispatch(&legacy, ONE, (&arrays[1], 1_u32)).unwrap();
    let after_first = batches(&blocking);
    // As long as the blocking stream records nothing new, legacy work needs no further submission or wait.
    for round in 0..100_u32 {
        step.dispatch(&legacy, ONE, (&arrays[1], round)).unwrap();
    }
    assert!(batches(&blocking) <= after_first + 1, "legacy work touched the blocking stream each time");
    for round in 0..100_u32 {
        step.dispatch(&ordinary, ONE, (&arrays[2], round)).unwrap();
    }
    legacy.synchronize().unwrap();
    assert!(blocking.query().unwrap(), "synchronizing the legacy stream did not wait for the blocking stream");
    ordinary.synchronize().unwrap();
}

#[test]
fn the_legacy_ordering_holds_for_many_rounds_and_threads() {
    let fixture = Fixture::for_round_trips();
    let step = step(&fixture);
    let legacy = fixture.legacy_default_stream().unwrap();
    let arrays: Vec<_> = (0..4_u32).map(|i| fixture.slice_to_device(&[i]).unwrap()).collect();
    thread::scope(|scope| {
        for array in &arrays {
            let (fixture, step, legacy) = (&fixture, &step, &legacy);
            scope.spawn(move || {
                let own = fixture.blocking_stream().unwrap();
                for round in 0..100_u32 {
                    step.dispatch(if round % 3 == 0 { legacy } else { &own }, ONE, (array, round)).unwrap();
                }
                own.synchronize().unwrap();
            });
        }
    });
    for (i, array) in (0..4_u32).zip(&arrays) {
        assert_eq!(contents(array), [(0..100).fold(i, stepped)], "array {i}");
    }
}

#[test]
fn each_device_has_one_legacy_stream_and_each_thread_one_default_stream() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let same = |a: &Stream, b: &Stream| Arc::ptr_eq(a.point().unwrap().timeline(), b.point().unwrap().timeline());
    let other = Context::on(fixture.device()).unwrap();
    assert!(same(&fixture.legacy_default_stream().unwrap(), &other.legacy_default_stream().unwrap()));
    let mine = fixture.per_thread_default_stream().unwrap();
    assert!(same(&mine, &fixture.per_thread_default_stream().unwrap()));
    assert!(same(&mine, &other.per_thread_default_stream().unwrap()));
    assert!(!same(&mine, &fixture.legacy_default_stream().unwrap()));
    assert!(!same(&mine, fixture.default_stream()));
    thread::scope(|scope| {
        let theirs = scope.spawn(|| fixture.per_thread_default_stream().unwrap()).join().unwrap();
        assert!(!same(&mine, &theirs));
    });
    let opened_twice = Device::open(fixture.device().physical()).unwrap();
    let elsewhere = DefaultStreams::of(&opened_twice);
    assert!(!same(&elsewhere.legacy().unwrap(), &fixture.legacy_default_stream().unwrap()));
    assert!(!same(&elsewhere.per_thread().unwrap(), &mine));
    drop(elsewhere);
    opened_twice.close(Duration::from_secs(2)).unwrap();
    // The per-thread stream takes part in the legacy ordering.
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    step.dispatch(&mine, ONE, (&array, 1_u32)).unwrap();
    fixture.legacy_default_stream().unwrap().synchronize().unwrap();
    assert!(mine.query().unwrap());
}

#[test]
fn a_per_thread_stream_is_released_when_its_thread_ends() {
    let fixture = Fixture::open();
    let spin = spin(&fixture);
    let arrays: Vec<_> = (0..8_u32).map(|_| fixture.slice_to_device(&[1_u32]).unwrap()).collect();
    fixture.synchronize().unwrap();
    let before = Arc::strong_count(fixture.device());
    let threads: Vec<_> = arrays
        .iter()
        .map(|array| {
            let (context, spin, array) = (Context::clone(&fixture), spin.clone(), array.clone());
            thread::spawn(move || {
                let stream = context.per_thread_default_stream().unwrap();
                spin.dispatch(&stream, ONE, (&array, 5_000_u32)).unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    poll("the release of the threads' streams", || Arc::strong_count(fixture.device()) <= before);
}

#[test]
fn a_wait_on_the_legacy_stream_orders_blocking_streams() {
    let fixture = Fixture::open();
    let (step, legacy) = (step(&fixture), fixture.legacy_default_stream().unwrap());
    let [first, second] = [(); 2].map(|()| fixture.blocking_stream().unwrap());
    let [a, b] = [(); 2].map(|()| fixture.slice_to_device(&[1_u32]).unwrap());
    fixture.synchronize().unwrap();
    let semaphores = [(); 2].map(|()| HostSemaphore::new(fixture.device()));
    first.wait_for(&semaphores[0].point(1)).unwrap();
    step.dispatch(&first, ONE, (&a, 2_u32)).unwrap();
    legacy.wait_for(&semaphores[1].point(1)).unwrap();
    // This work has its own array and stream, so only the legacy ordering puts it after the two semaphores.
    step.dispatch(&second, ONE, (&b, 2_u32)).unwrap();
    second.flush().unwrap();
    let wait = second.pending_wait().unwrap().expect("the legacy stream waits, so the blocking one does");
    assert!(!second.query().unwrap() && !wait.is_complete().unwrap());
    semaphores[1].signal(1);
    assert!(!second.query().unwrap(), "the legacy stream's wait comes after the first stream's work");
    semaphores[0].signal(1);
    second.synchronize().unwrap();
    assert!(first.query().unwrap() && wait.is_complete().unwrap() && second.pending_wait().unwrap().is_none());
    assert_eq!((contents(&a), contents(&b)), (vec![stepped(1, 2)], vec![stepped(1, 2)]));
    legacy.synchronize().unwrap();
}

#[test]
fn an_event_completes_when_the_host_signals_its_semaphore() {
    let fixture = Fixture::open();
    let semaphore = HostSemaphore::new(fixture.device());
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    fixture.synchronize().unwrap();
    let point = semaphore.point(5);
    let event = Event::of(fixture.device(), point.clone()).unwrap();
    assert!(!point.is_complete().unwrap() && !event.query().unwrap());
    let error = point.wait(Some(Duration::from_millis(1))).unwrap_err();
    assert!(matches!(error, DriverError::Timeout { .. }), "{error}");
    event.wait(&stream).unwrap();
    step.dispatch(&stream, ONE, (&array, 2_u32)).unwrap();
    stream.flush().unwrap();
    assert!(!stream.query().unwrap(), "the stream ran ahead of the semaphore");
    semaphore.signal(4);
    assert!(!stream.query().unwrap(), "the stream did not wait for the value");
    semaphore.signal(5);
    stream.synchronize().unwrap();
    event.synchronize().unwrap();
    assert_eq!(contents(&array), [stepped(1, 2)]);
    assert!(matches!(event.elapsed(&event), Err(DriverError::TimingOff)));
}

#[test]
fn callbacks_wait_for_an_external_semaphore() {
    let fixture = Fixture::open();
    let (semaphore, stream) = (HostSemaphore::new(fixture.device()), fixture.stream().unwrap());
    stream.wait_for(&semaphore.point(1)).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    stream.add_callback(move |outcome| note.lock().unwrap().push(outcome.is_ok())).unwrap();
    assert!(seen.lock().unwrap().is_empty());
    semaphore.signal(1);
    poll("the callback", || !seen.lock().unwrap().is_empty());
    assert_eq!(*seen.lock().unwrap(), [true]);
}

#[test]
fn wait_any_and_wait_all_wait_for_the_first_and_the_last_event() {
    let fixture = Fixture::open();
    let semaphores = [(); 3].map(|()| HostSemaphore::new(fixture.device()));
    let events = semaphores.each_ref().map(|semaphore| Event::of(fixture.device(), semaphore.point(1)).unwrap());
    let events = events.each_ref();
    let brief = Duration::from_millis(2);
    let timed_out = |result: Result<(), DriverError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, DriverError::Timeout { waited } if waited >= brief), "{error}");
    };
    timed_out(Event::wait_any(&events, Some(brief)).map(|_| ()));
    timed_out(Event::wait_all(&events, Some(brief)));
    semaphores[1].signal(1);
    assert_eq!(Event::wait_any(&events, Some(brief)).unwrap(), 1);
    timed_out(Event::wait_all(&events, Some(brief)));
    semaphores[0].signal(1);
    assert_eq!(Event::wait_any(&events, None).unwrap(), 0);
    semaphores[2].signal(1);
    Event::wait_all(&events, None).unwrap();
    let never = fixture.event();
    assert_eq!(Event::wait_any(&[events[0], &never], Some(brief)).unwrap(), 0);
    assert_eq!(Event::wait_any(&[&never], Some(brief)).unwrap(), 0, "never recorded is complete");
    Event::wait_all(&[&never, events[0]], None).unwrap();
    Event::wait_all(&[], None).unwrap();
    assert!(matches!(Event::wait_any(&[], None), Err(DriverError::NoEvents)));
}

#[test]
fn events_of_several_devices_are_waited_for_together() {
    let fixture = Fixture::open();
    let others = fixture.other_devices();
    let devices: Vec<_> = [fixture.device()].into_iter().chain(&others).collect();
    let gates: Vec<_> = devices.iter().map(|device| HostSemaphore::new(device)).collect();
    let streams: Vec<_> = devices.iter().map(|device| Stream::new(device).unwrap()).collect();
    for (gate, stream) in gates.iter().zip(&streams) {
        stream.wait_for(&gate.point(1)).unwrap();
    }
    let record = |(device, stream): (&&Arc<Device>, &Stream)| {
        let event = Event::new(device);
        event.record(stream).unwrap();
        event
    };
    let events: Vec<_> = devices.iter().zip(&streams).map(record).collect();
    let events: Vec<_> = events.iter().collect();
    let brief = Duration::from_millis(2);
    let is_timeout = |error: DriverError| matches!(error, DriverError::Timeout { waited } if waited >= brief);
    assert!(is_timeout(Event::wait_any(&events, Some(brief)).unwrap_err()));
    assert!(is_timeout(Event::wait_all(&events, Some(brief)).unwrap_err()));
    let last = gates.len() - 1;
    thread::scope(|scope| {
        let waiting = scope.spawn(|| Event::wait_any(&events, None).unwrap());
        gates[last].signal(1);
        assert_eq!(waiting.join().unwrap(), last);
    });
    assert!(is_timeout(Event::wait_all(&events, Some(brief)).unwrap_err()));
    gates[..last].iter().for_each(|gate| gate.signal(1));
    Event::wait_all(&events, None).unwrap();
    assert!(events.iter().all(|event| event.query().unwrap()));
    assert_eq!(Event::wait_any(&events, Some(brief)).unwrap(), 0);
    drop(streams);
}

#[test]
fn a_wait_for_events_of_several_devices_ends_when_one_of_them_fails() {
    let fixture = Fixture::open();
    for failing in fixture.other_devices() {
        let gates = [fixture.device(), &failing].map(HostSemaphore::new);
        let devices = [fixture.device(), &failing];
        let streams = devices.map(|device| Stream::new(device).unwrap());
        let events = devices.map(Event::new);
        for ((stream, gate), event) in streams.iter().zip(&gates).zip(&events) {
            stream.wait_for(&gate.point(1)).unwrap();
            event.record(stream).unwrap();
        }
        let reason = thread::scope(|scope| {
            let waiting = scope.spawn(|| Event::wait_any(&events.each_ref(), None).unwrap_err().to_string());
            let reason = failing.failed("vkQueueSubmit2")(vk::Result::ERROR_DEVICE_LOST).to_string();
            gates[1].signal(1); // Signalled so that no thread still waits in the driver.
            assert_eq!(waiting.join().unwrap(), reason);
            reason
        });
        let refused = Event::wait_all(&[&events[1], &events[0]], None).unwrap_err();
        assert_eq!(refused.to_string(), reason);
        gates[0].signal(1);
        streams[0].synchronize().unwrap();
        assert_eq!(Event::wait_any(&[&events[0]], None).unwrap(), 0, "the other device works on");
    }
}

#[test]
fn waiting_for_several_events_submits_their_work() {
    let fixture = Fixture::open();
    let (spin, step) = (spin(&fixture), step(&fixture));
    let streams = [(); 4].map(|()| fixture.stream().unwrap());
    let arrays = [(); 4].map(|()| fixture.slice_to_device(&[1_u32]).unwrap());
    let events = [(); 4].map(|()| fixture.event());
    keep_busy(&streams[0], &spin, &arrays[0]);
    for ((stream, array), event) in streams.iter().zip(&arrays).zip(&events) {
        step.dispatch(stream, ONE, (array, 4_u32)).unwrap();
        event.record(stream).unwrap();
    }
    let first = Event::wait_any(&events.each_ref(), None).unwrap();
    assert!(events[first].query().unwrap());
    Event::wait_all(&events.each_ref(), None).unwrap();
    assert!(streams.iter().all(|stream| stream.query().unwrap()));
    assert_eq!(contents(&arrays[0]), [stepped(kept_busy(1), 4)]);
}

#[test]
fn an_external_stream_uses_its_queue_and_an_unknown_family_is_refused() {
    let fixture = Fixture::open();
    let family = fixture.device().plan().compute.family;
    // SAFETY: the device was opened with a queue of this family.
    let raw = unsafe { fixture.device().raw().get_device_queue(family, 0) };
    let step = step(&fixture);
    // SAFETY: the queue is the device's own, and only the device uses it.
    let stream = unsafe { Stream::external(fixture.device(), ExternalQueue { raw, family, lock: None }) }.unwrap();
    let array = fixture.slice_to_device(&[1_u32; 9]).unwrap();
    for round in 0..200_u32 {
        let stream = if round % 2 == 0 { &stream } else { fixture.default_stream() };
        step.dispatch(stream, Groups::covering([9]), (&array, round)).unwrap();
    }
    assert_eq!(contents(&array), [(0..200).fold(1, stepped); 9]);
    // SAFETY: the stream is refused before the handle is used.
    let refused = unsafe { Stream::external(fixture.device(), ExternalQueue { raw, family: 77, lock: None }) };
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("families") && error.contains("77"), "{error}");
}
