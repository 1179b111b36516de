//! Streams: the order of work within a stream and between streams, waits with and without a time limit, failed recordings.

use std::time::Duration;

use vkarray::Groups;
use vkarray::device::Error as DriverError;
use vkarray_driver::Recorder;

use crate::fixture::kernels::{keep_busy, kept_busy, mix, mixed, spin, step, stepped};
use crate::fixture::{Fixture, contents, poll};

#[test]
fn a_new_stream_has_nothing_to_wait_for() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    assert!(stream.query().unwrap());
    stream.flush().unwrap();
    stream.synchronize().unwrap();
    stream.synchronize_for(Duration::ZERO).unwrap();
    assert_eq!(stream.point().unwrap().value(), 0);
    assert!(stream.point().unwrap().is_complete().unwrap());
}

#[test]
fn many_streams_share_one_queue() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let streams: Vec<_> = (0..16).map(|_| fixture.stream().unwrap()).collect();
    let arrays: Vec<_> = (0..16_u32).map(|i| fixture.slice_to_device(&[i; 100]).unwrap()).collect();
    for round in 0..20_u32 {
        for (stream, array) in streams.iter().zip(&arrays) {
            step.dispatch(stream, Groups::covering([100]), (array, round)).unwrap();
        }
    }
    for (first, array) in (0..16_u32).zip(&arrays) {
        let expected = (0..20).fold(first, stepped);
        assert_eq!(contents(array), [expected; 100], "array {first}");
    }
}

#[test]
fn ten_thousand_small_dispatches_run_in_order() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 64]).unwrap();
    for round in 0..10_000_u32 {
        step.dispatch(&stream, Groups::covering([64]), (&array, round)).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(contents(&array), [(0..10_000).fold(1, stepped); 64]);
    let batches = stream.point().unwrap().value();
    assert!((1..10_000).contains(&batches), "{batches} batches: dispatches were not combined into batches");
}

#[test]
fn ping_pong_over_two_streams_gives_the_in_order_answer() {
    let fixture = Fixture::open();
    let mix = mix(&fixture);
    let streams = [fixture.stream().unwrap(), fixture.stream().unwrap()];
    let arrays = [fixture.slice_to_device(&[3_u32; 70]).unwrap(), fixture.slice_to_device(&[4_u32; 70]).unwrap()];
    let mut expected = [3_u32, 4];
    for round in 0..400_u32 {
        let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        mix.dispatch(&streams[from], Groups::covering([70]), (&arrays[from], &arrays[to], round)).unwrap();
        expected[to] = mixed(expected[from], expected[to], round);
    }
    for (array, expected) in arrays.iter().zip(expected) {
        assert_eq!(contents(array), [expected; 70]);
    }
}

#[test]
fn a_wait_with_a_limit_gives_up_and_can_be_tried_again() {
    let fixture = Fixture::open();
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[5_u32]).unwrap();
    keep_busy(&stream, &spin, &array);
    assert!(!stream.query().unwrap());
    for limit in [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(100)] {
        let error = stream.synchronize_for(limit).unwrap_err();
        let DriverError::Timeout { waited } = error else { panic!("{error}") };
        assert!(waited >= limit, "gave up after {waited:?} of {limit:?}");
        assert_eq!(error.to_string(), format!("work not done after {waited:?}"));
    }
    stream.synchronize_for(Duration::MAX).unwrap();
    assert!(stream.query().unwrap());
    assert_eq!(contents(&array), [kept_busy(5)]);
}

#[test]
fn flushed_work_completes_without_a_wait() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[9_u32; 3]).unwrap();
    // There are three operations, since a batch may be submitted after each power of two of operations: the last one
    // stays unsubmitted.
    for round in 0..3_u32 {
        step.dispatch(&stream, Groups::covering([3]), (&array, round)).unwrap();
    }
    stream.flush().unwrap();
    poll("the stream", || stream.query().unwrap());
    assert_eq!(contents(&array), [(0..3).fold(9, stepped); 3]);
}

#[test]
fn waiting_for_a_point_orders_streams_that_share_nothing() {
    let fixture = Fixture::open();
    let (spin, step) = (spin(&fixture), step(&fixture));
    let (first, second) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let (slow, quick) = (fixture.slice_to_device(&[1_u32]).unwrap(), fixture.slice_to_device(&[2_u32]).unwrap());
    keep_busy(&first, &spin, &slow);
    second.wait_for(&first.point().unwrap()).unwrap();
    assert!(!first.query().unwrap(), "waiting for a point blocked the host");
    step.dispatch(&second, Groups::exact([1, 1, 1]), (&quick, 7_u32)).unwrap();
    second.synchronize().unwrap();
    assert!(first.query().unwrap(), "the second stream did not wait for the first");
    assert_eq!(contents(&quick), [stepped(2, 7)]);
}

#[test]
fn a_wait_for_completed_work_opens_no_batch() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[0_u32; 8]).unwrap();
    // A wait for the stream itself or for completed work adds nothing.
    step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
    stream.wait_for(&stream.point().unwrap()).unwrap();
    stream.synchronize().unwrap();
    let other = fixture.stream().unwrap();
    other.wait_for(&stream.point().unwrap()).unwrap();
    assert_eq!(other.point().unwrap().value(), 0, "a wait for completed work opened a batch");
}

#[test]
fn an_operation_that_fails_to_record_leaves_the_stream_usable() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
    for round in 0..300_u32 {
        let fail = |_: &mut Recorder<'_>| -> Result<(), DriverError> { Err(DriverError::NotReady) };
        // SAFETY: nothing is recorded.
        let error = unsafe { stream.record(&[], fail) }.unwrap_err();
        assert!(matches!(error, DriverError::NotReady), "{error}");
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, round)).unwrap();
    }
    assert_eq!(contents(&array), [(0..300).fold(1, stepped); 5]);
}

#[test]
fn clones_are_the_same_stream() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let clone = stream.clone();
    let array = fixture.slice_to_device(&[1_u32; 5]).unwrap();
    step.dispatch(&clone, Groups::exact([1, 1, 1]), (&array, 1_u32)).unwrap();
    drop(clone);
    assert_ne!(stream.point().unwrap().value(), 0);
    stream.synchronize().unwrap();
    assert_eq!(contents(&array), [stepped(1, 1); 5]);
}
