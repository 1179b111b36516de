//! Devices: listing and selecting them, opening one twice, and refusing objects of another device.

use std::sync::Arc;
use std::thread;

use vkarray::device::{Device, Error as DriverError};
use vkarray::{Context, Event, Groups, Stream};

use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::kernels::{keep_busy, mix, mixed, spin, step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents, poll};

#[test]
fn every_device_is_listed_and_described() {
    let fixture = Fixture::open();
    let devices = fixture.instance().devices().unwrap();
    assert!(devices.iter().any(|device| device.info().uuid == fixture.info().uuid));
    for device in &devices {
        let info = device.info();
        assert!(!info.name.is_empty() && !info.memory_heaps.is_empty() && !info.queue_families.is_empty());
        assert!(info.uuid.len() == 32 && info.uuid.bytes().all(|b| b.is_ascii_hexdigit()), "{}", info.uuid);
        let heaps = info.memory_heaps.len();
        assert!(info.memory_types.iter().all(|ty| (ty.heap as usize) < heaps), "{:?}", info.memory_types);
        assert!(info.device_memory_bytes() > 0);
    }
    let again: Vec<_> = fixture.instance().devices().unwrap().iter().map(|d| d.info().uuid.clone()).collect();
    assert_eq!(again, devices.iter().map(|d| d.info().uuid.clone()).collect::<Vec<_>>(), "the order changed");
}

#[test]
fn a_selector_finds_the_device_and_an_unknown_one_lists_all_devices() {
    let fixture = Fixture::open();
    let selector = format!("uuid:{}", fixture.info().uuid);
    let same = Device::open_selected(fixture.instance(), Some(&selector)).unwrap();
    assert_eq!(same.info(), fixture.info());
    let error = Device::open_selected(fixture.instance(), Some("no such device")).unwrap_err();
    assert!(matches!(error, DriverError::UnknownDevice { .. }), "{error}");
    assert!(error.to_string().contains(&fixture.info().name), "{error}");
}

#[test]
fn two_contexts_on_one_device_see_each_others_work() {
    let fixture = Fixture::open();
    let other = Context::on(fixture.device()).unwrap();
    let (mine, theirs) = (fixture.slice_to_device(&[1_u32; 40]).unwrap(), other.slice_to_device(&[2_u32; 40]).unwrap());
    let (mix, mix_too) = (mix(&fixture), mix(&other));
    let mut expected = (1, 2);
    for round in 0..50_u32 {
        mix.dispatch(other.default_stream(), Groups::covering([40]), (&mine, &theirs, round)).unwrap();
        expected.1 = mixed(expected.0, expected.1, round);
        mix_too.dispatch(fixture.default_stream(), Groups::covering([40]), (&theirs, &mine, round)).unwrap();
        expected.0 = mixed(expected.1, expected.0, round);
    }
    assert_eq!(contents(&mine), [expected.0; 40]);
    assert_eq!(contents(&theirs), [expected.1; 40]);
}

#[test]
fn an_array_outlives_the_context_that_made_it() {
    let fixture = Fixture::open();
    let array = {
        let short = Context::on(fixture.device()).unwrap();
        let array = short.slice_to_device(&[6_u32; 10]).unwrap();
        step(&short).dispatch(short.default_stream(), Groups::covering([10]), (&array, 1_u32)).unwrap();
        array
    };
    step(&fixture).dispatch(fixture.default_stream(), Groups::covering([10]), (&array, 2_u32)).unwrap();
    assert_eq!(contents(&array), [stepped(stepped(6, 1), 2); 10]);
}

#[test]
fn events_of_one_device_are_not_recorded_or_timed_with_another() {
    let fixture = Fixture::open();
    let other = Device::open(fixture.device().physical()).unwrap();
    let (own, foreign) = (fixture.stream().unwrap(), Stream::new(&other).unwrap());
    // Work is recorded first, so that the points are not reached already.
    let array = fixture.slice_to_device(&[1_u32; 10]).unwrap();
    step(&fixture).dispatch(&own, Groups::covering([10]), (&array, 1_u32)).unwrap();
    let event = fixture.event();
    event.record(&own).unwrap();
    assert!(matches!(event.record(&foreign), Err(DriverError::DifferentDevices)));
    event.synchronize().unwrap(); // The refused record did not change the event.
    if let (Ok(here), Ok(there)) = (fixture.timed_event(), Event::with_timing(&other)) {
        assert!(matches!(here.record(&foreign), Err(DriverError::DifferentDevices)));
        here.record(&own).unwrap();
        there.record(&foreign).unwrap();
        own.synchronize().unwrap();
        foreign.synchronize().unwrap();
        assert!(matches!(here.elapsed(&there), Err(DriverError::DifferentDevices)));
    }
    drop(foreign);
    poll("the release of the second device", || Arc::strong_count(&other) == 1);
}

#[test]
fn a_stream_waits_for_work_of_another_device_and_the_host_does_not() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let (own, foreign) = (fixture.stream().unwrap(), there.stream().unwrap());
        let (x, y) = (fixture.full(1, 3_u32).unwrap(), there.full(10, 4_u32).unwrap());
        let gate = HostSemaphore::new(fixture.device());
        let event = fixture.event();
        event.wait(&foreign).unwrap(); // The event was never recorded, so there is nothing to wait for.
        own.wait_for(&gate.point(1)).unwrap();
        step(&fixture).dispatch(&own, Groups::covering(1), (&x, 1_u32)).unwrap();
        event.record(&own).unwrap();
        event.wait(&foreign).unwrap();
        step(&there).dispatch(&foreign, Groups::covering(10), (&y, 2_u32)).unwrap();
        foreign.flush().unwrap();
        assert!(!event.query().unwrap() && !foreign.query().unwrap(), "the wait was not on the device");
        let point = foreign.point().unwrap();
        own.wait_for(&point).unwrap(); // The wait in the other direction.
        gate.signal(1);
        foreign.synchronize().unwrap();
        assert!(event.query().unwrap(), "the work of {} did not wait", other.info().name);
        own.synchronize().unwrap();
        assert_eq!((contents(&x), contents(&y)), (vec![stepped(3, 1)], vec![stepped(4, 2); 10]));
        own.wait_for(&point).unwrap(); // The point is reached already.
    }
}

#[test]
fn a_wait_for_work_of_another_device_ends_although_its_stream_and_device_are_dropped() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let own = fixture.stream().unwrap();
        let point = {
            let there = Context::on(&other).unwrap();
            let stream = there.stream().unwrap();
            let y = there.full(10, 4_u32).unwrap();
            keep_busy(&stream, &spin(&there), &y);
            own.wait_for(&stream.point().unwrap()).unwrap();
            stream.point().unwrap()
        };
        drop(other);
        own.wait_for(&point).unwrap();
        let x = fixture.full(10, 1_u32).unwrap();
        step(&fixture).dispatch(&own, Groups::covering(10), (&x, 2_u32)).unwrap();
        own.synchronize().unwrap();
        assert_eq!(contents(&x), [stepped(1, 2); 10]);
    }
}

#[test]
fn streams_of_two_devices_that_wait_for_each_other_in_turns_all_end() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let contexts = [Context::on(fixture.device()).unwrap(), Context::on(&other).unwrap()];
        let arrays = contexts.each_ref().map(|ctx| ctx.full(70, 1_u32).unwrap());
        watched("waits in turns", || {
            thread::scope(|scope| {
                for first in 0..4_usize {
                    let (contexts, arrays) = (&contexts, &arrays);
                    scope.spawn(move || {
                        let streams = contexts.each_ref().map(|ctx| ctx.stream().unwrap());
                        let steps = contexts.each_ref().map(step);
                        for round in 0..25 {
                            let at = (first + round) % 2;
                            steps[at].dispatch(&streams[at], Groups::covering(70), (&arrays[at], 0_u32)).unwrap();
                            streams[1 - at].wait_for(&streams[at].point().unwrap()).unwrap();
                        }
                        streams.iter().for_each(|stream| stream.synchronize().unwrap());
                    });
                }
            });
        });
        // Each thread has stepped each array 12 or 13 times: 50 in all.
        let expected = (0..50).fold(1, |x, _| stepped(x, 0));
        arrays.iter().for_each(|array| assert_eq!(contents(array), [expected; 70]));
    }
}

#[test]
fn a_device_that_waits_for_one_that_fails_has_an_error_that_names_it() {
    let fixture = Fixture::open();
    for failing in fixture.other_devices() {
        let waiting = Device::open(fixture.device().physical()).unwrap();
        let name = failing.info().name.clone();
        let (theirs, own) = (Stream::new(&failing).unwrap(), Stream::new(&waiting).unwrap());
        let gate = HostSemaphore::new(&failing);
        theirs.wait_for(&gate.point(1)).unwrap();
        own.wait_for(&theirs.point().unwrap()).unwrap();
        let reason = failing.failed("vkQueueSubmit2")(ash::vk::Result::ERROR_DEVICE_LOST);
        gate.signal(1);
        let error = watched("the end of a wait for a failed device", || own.synchronize().unwrap_err());
        let DriverError::AwaitedDeviceFailed { device, reason: given } = &error else { panic!("{error}") };
        assert_eq!((device, given.to_string()), (&name, reason.to_string()));
        assert_eq!(waiting.check_lost().unwrap_err().to_string(), error.to_string());
        assert!(matches!(Stream::new(&waiting), Err(DriverError::AwaitedDeviceFailed { .. })));
    }
}
