//! Events: the work that they capture, waits for them on the host and on streams, and elapsed times.

use std::time::{Duration, Instant};

use vkarray::device::Error as DriverError;
use vkarray::{Event, Groups};

use crate::fixture::kernels::{keep_busy, kept_busy, spin, step, stepped};
use crate::fixture::{Fixture, contents, poll, skipped};

#[test]
fn an_event_that_was_never_recorded_is_complete() {
    let fixture = Fixture::open();
    let (event, stream) = (fixture.event(), fixture.stream().unwrap());
    assert!(event.query().unwrap());
    event.synchronize().unwrap();
    event.wait(&stream).unwrap();
    assert_eq!(stream.point().unwrap().value(), 0, "waiting for nothing opened a batch");
}

#[test]
fn an_event_captures_the_work_recorded_before_it() {
    let fixture = Fixture::open();
    let (spin, stream, event) = (spin(&fixture), fixture.stream().unwrap(), fixture.event());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    event.record(&stream).unwrap();
    keep_busy(&stream, &spin, &array);
    assert!(event.query().unwrap(), "the event waits for what came after it");
    event.record(&stream).unwrap();
    assert!(!event.query().unwrap(), "the event does not wait for what came before it");
    event.synchronize().unwrap();
    assert!(event.query().unwrap() && stream.query().unwrap());
    assert_eq!(contents(&array), [kept_busy(1)]);
}

#[test]
fn recording_again_replaces_the_capture() {
    let fixture = Fixture::open();
    let (spin, event) = (spin(&fixture), fixture.event());
    let (busy, idle) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&busy, &spin, &array);
    event.record(&busy).unwrap();
    assert!(!event.query().unwrap());
    event.record(&idle).unwrap();
    assert!(event.query().unwrap());
    event.synchronize().unwrap();
    assert!(!busy.query().unwrap(), "the replaced capture was waited for");
}

#[test]
fn a_wait_uses_the_capture_at_the_time_of_the_call() {
    let fixture = Fixture::open();
    let (spin, step, event) = (spin(&fixture), step(&fixture), fixture.event());
    let (first, second) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let (slow, quick) = (fixture.slice_to_device(&[1_u32]).unwrap(), fixture.slice_to_device(&[2_u32]).unwrap());
    step.dispatch(&first, Groups::exact([1, 1, 1]), (&slow, 1_u32)).unwrap();
    event.record(&first).unwrap();
    event.wait(&second).unwrap();
    keep_busy(&first, &spin, &slow);
    event.record(&first).unwrap();
    step.dispatch(&second, Groups::exact([1, 1, 1]), (&quick, 3_u32)).unwrap();
    second.synchronize().unwrap();
    // On a single queue, as CPU drivers have, the busy work may have been submitted first, and then it is complete
    // first.
    if fixture.device().plan().compute.count > 1 && !fixture.is_cpu() {
        assert!(!event.query().unwrap(), "the wait followed the event to its new capture");
    }
    assert_eq!(contents(&quick), [stepped(2, 3)]);
    assert_eq!(contents(&slow), [kept_busy(stepped(1, 1))]);
}

#[test]
fn waiting_for_an_event_orders_streams_that_share_nothing() {
    let fixture = Fixture::open();
    let (spin, step, event) = (spin(&fixture), step(&fixture), fixture.event());
    let (first, second) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let (slow, quick) = (fixture.slice_to_device(&[1_u32]).unwrap(), fixture.slice_to_device(&[2_u32]).unwrap());
    keep_busy(&first, &spin, &slow);
    event.record(&first).unwrap();
    event.wait(&second).unwrap();
    step.dispatch(&second, Groups::exact([1, 1, 1]), (&quick, 3_u32)).unwrap();
    second.flush().unwrap();
    poll("the second stream", || second.query().unwrap());
    assert!(event.query().unwrap(), "the second stream did not wait");
}

#[test]
fn timed_events_measure_the_work_between_them() {
    let fixture = Fixture::open();
    let Some([start, end]) = timed(&fixture, "timed_events_measure_the_work_between_them") else { return };
    let (spin, stream) = (spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let begun = Instant::now();
    start.record(&stream).unwrap();
    keep_busy(&stream, &spin, &array);
    end.record(&stream).unwrap();
    let early = start.elapsed(&end);
    // On a busy host the work may be done already.
    assert!(matches!(early, Err(DriverError::NotReady)) || end.query().unwrap(), "{early:?} of work that is not done");
    end.synchronize().unwrap();
    let host = begun.elapsed();
    let device = start.elapsed(&end).unwrap();
    // No device computes 46 million dependent iterations in a millisecond; the host's measurement encloses the
    // device's.
    assert!(device > Duration::from_millis(1), "{device:?} for the busy work");
    assert!(device <= host + host / 100, "{device:?} on the device, {host:?} on the host");
    assert_eq!(end.elapsed(&start).unwrap(), Duration::ZERO, "time ran backwards");
    assert_eq!(start.elapsed(&start).unwrap(), Duration::ZERO);
}

#[test]
fn timed_events_can_be_recorded_again_while_they_are_read() {
    let fixture = Fixture::open();
    let Some([start, end]) = timed(&fixture, "timed_events_can_be_recorded_again_while_they_are_read") else { return };
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    start.record(&stream).unwrap();
    for round in 0..200_u32 {
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, round)).unwrap();
        end.record(&stream).unwrap();
        match start.elapsed(&end) {
            Ok(_) | Err(DriverError::NotReady) => {}
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    end.synchronize().unwrap();
    assert!(start.elapsed(&end).unwrap() > Duration::ZERO);
}

#[test]
fn elapsed_time_without_a_timestamp_is_a_specific_error() {
    let fixture = Fixture::open();
    let plain = [fixture.event(), fixture.event()];
    plain.iter().for_each(|event| event.record(fixture.default_stream()).unwrap());
    let error = plain[0].elapsed(&plain[1]).unwrap_err();
    assert!(matches!(error, DriverError::TimingOff), "{error}");
    let Some([recorded, never]) = timed(&fixture, "elapsed_time_without_a_timestamp_is_a_specific_error") else {
        return;
    };
    recorded.record(fixture.default_stream()).unwrap();
    fixture.synchronize().unwrap();
    for (start, end) in [(&recorded, &never), (&never, &recorded), (&never, &never)] {
        let error = start.elapsed(end).unwrap_err();
        assert!(matches!(error, DriverError::NeverRecorded), "{error}");
    }
    let error = recorded.elapsed(&plain[0]).unwrap_err();
    assert!(matches!(error, DriverError::TimingOff), "{error}");
}

fn timed(fixture: &Fixture, test: &str) -> Option<[Event; 2]> {
    match (fixture.timed_event(), fixture.timed_event()) {
        (Ok(start), Ok(end)) => Some([start, end]),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{error}");
            skipped(test, "timestamps");
            None
        }
    }
}

#[test]
fn a_stream_that_only_waits_is_done_when_the_wait_ends() {
    let fixture = Fixture::open();
    let (spin, event) = (spin(&fixture), fixture.event());
    let (busy, waiting) = (fixture.stream().unwrap(), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&busy, &spin, &array);
    event.record(&busy).unwrap();
    event.wait(&waiting).unwrap();
    // Nothing is submitted or waited for; `query` alone finds that the stream is done.
    poll("a stream that only waits", || waiting.query().unwrap());
    assert!(event.query().unwrap(), "the wait ended before the event");
}
