//! Devices: listing and selecting them, opening one twice, and refusing objects of another device.

use std::sync::Arc;

use vkarray::device::{Device, Error as DriverError};
use vkarray::{Context, Event, Groups, Stream};

use crate::fixture::kernels::{mix, mixed, step, stepped};
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
fn events_and_points_of_another_device_are_refused() {
    let fixture = Fixture::open();
    let other = Device::open(fixture.device().physical()).unwrap();
    let (own, foreign) = (fixture.stream().unwrap(), Stream::new(&other).unwrap());
    // Work, so that the points are not done already.
    let array = fixture.slice_to_device(&[1_u32; 10]).unwrap();
    step(&fixture).dispatch(&own, Groups::covering([10]), (&array, 1_u32)).unwrap();
    let event = fixture.event();
    event.record(&own).unwrap();
    assert!(matches!(foreign.wait_for(&own.point().unwrap()), Err(DriverError::DifferentDevices)));
    assert!(matches!(event.wait(&foreign), Err(DriverError::DifferentDevices)));
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
