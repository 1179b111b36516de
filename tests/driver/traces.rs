//! Traces: the file's spans for work whose order in time is known.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::Value;
use vkarray::device::Error as DriverError;
use vkarray::stream::{GraphRecorder, Trace};
use vkarray::{Graph, Groups};

use crate::fixture::kernels::{keep_busy, kept_busy, mix, spin, step, stepped};
use crate::fixture::{Fixture, contents, skipped};

/// Drivers round to nanoseconds. The deviation of the calibrated clock is in the trace.
const ROUNDING_US: f64 = 0.002;

#[test]
fn device_spans_lie_between_submission_and_the_end_of_the_wait() {
    let fixture = Fixture::open();
    let (spin, step, stream) = (spin(&fixture), step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    keep_busy(&stream, &spin, &array);
    stream.synchronize().unwrap();
    for round in 0..3_u32 {
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, round)).unwrap();
        stream.synchronize().unwrap();
    }
    let trace = ParsedTrace::of(trace);
    let slack = trace.slack_us();
    let (mut n_waited, batches) = (0, trace.named("batch "));
    assert!(batches.len() >= 4, "{} batches", batches.len());
    for batch in &batches {
        let submit = trace.host("submit", |span| span.id() == batch.id());
        let [submit] = submit.as_slice() else { panic!("{} submissions of {batch:?}", submit.len()) };
        assert!(batch.begin() >= submit.begin() - slack, "{batch:?} began before {submit:?}");
        let later = |span: &Span| span.id().0 == batch.id().0 && span.id().1 >= batch.id().1;
        for wait in trace.host("wait", |span| later(span) && span.end() > submit.begin()) {
            assert!(batch.end() <= wait.end() + slack, "{batch:?} was not done when {wait:?} ended");
            n_waited += 1;
        }
    }
    assert!(n_waited >= 4, "{n_waited} waits");
    assert_eq!(contents(&array), [(0..3).fold(kept_busy(1), stepped)]);
}

#[test]
fn spans_of_a_track_nest_and_tracks_have_names() {
    let fixture = Fixture::open();
    let (mix, streams) = (mix(&fixture), [(); 3].map(|()| fixture.stream().unwrap()));
    let arrays = [(); 4].map(|()| fixture.slice_to_device(&[1_u32; 500]).unwrap());
    let trace = Trace::start(fixture.device()).unwrap();
    for round in 0..90_u32 {
        let (stream, own) = (&streams[round as usize % 3], &arrays[round as usize % 3]);
        let shared = if round % 10 == 9 { &arrays[3] } else { own };
        if !std::ptr::eq(shared, own) {
            mix.dispatch(stream, Groups::covering([500]), (own, shared, round)).unwrap();
        }
        step(&fixture).dispatch(stream, Groups::covering([500]), (own, round)).unwrap();
    }
    let _ = contents(&arrays[3]);
    let trace = ParsedTrace::of(trace);
    let mut tracks = HashMap::<_, Vec<&Span>>::new();
    for span in &trace.spans {
        assert!(span.end() >= span.begin() && span.end() - span.begin() < 60e6, "{span:?}");
        tracks.entry(span.track()).or_default().push(span);
    }
    for (track, mut spans) in tracks {
        assert!(trace.track_names.contains_key(&track), "track {track:?} has no name");
        spans.sort_by(|a, b| a.begin().total_cmp(&b.begin()).then(b.end().total_cmp(&a.end())));
        let mut open: Vec<&Span> = Vec::new();
        for span in spans {
            // Microseconds are in floating point: an end is the beginning plus the duration, rounded.
            while open.last().is_some_and(|top| top.end() <= span.begin() + ROUNDING_US) {
                open.pop();
            }
            if let Some(top) = open.last() {
                assert!(span.end() <= top.end() + ROUNDING_US, "{span:?} begins inside {top:?} and ends outside");
            }
            open.push(span);
        }
    }
    let queue = trace.track_names.iter().filter(|((pid, _), name)| *pid == 2 && name.starts_with("queue "));
    assert!(queue.count() >= 1, "{:?}", trace.track_names);
}

#[test]
fn a_large_copy_that_is_waited_for_alone_stays_on_the_queue_of_its_stream() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let pinned = fixture.pinned_array::<u32>([2 << 20]).unwrap(); // 8 MiB
    let (target, other) = (fixture.zeros::<u32>([2 << 20]).unwrap(), fixture.zeros::<u32>([4]).unwrap());
    fixture.synchronize().unwrap();
    // The queues of the batches, in the order of their beginnings.
    let queues = |copies: bool, kernels: bool| {
        let trace = Trace::start(fixture.device()).unwrap();
        for round in 0..4_u32 {
            if copies {
                target.on(&stream).assign(&pinned).unwrap();
            }
            if kernels {
                step.dispatch(&stream, Groups::exact([1, 1, 1]), (&other, round)).unwrap();
            }
            stream.synchronize().unwrap();
        }
        let trace = ParsedTrace::of(trace);
        let mut batches = trace.named("batch ");
        batches.sort_by(|a, b| a.begin().total_cmp(&b.begin()));
        batches.into_iter().map(Span::track).collect::<Vec<_>>()
    };
    let own = queues(false, true)[0];
    let both = queues(true, true);
    assert_eq!(both.iter().any(|queue| *queue != own), fixture.device().plan().transfer.is_some(), "{both:?}");
    let copies = queues(true, false); // The first copy runs on the queue where a longer job would run it.
    assert!(copies.len() == 4 && copies[1..].iter().all(|queue| *queue == own), "{copies:?}");
    if fixture.device().plan().transfer.is_some() {
        let (spin, busy, array) = (spin(&fixture), fixture.stream().unwrap(), fixture.zeros::<u32>([1]).unwrap());
        keep_busy(&busy, &spin, &array);
        busy.point().unwrap().flush().unwrap();
        assert_ne!(queues(true, false)[0], own);
    }
}

#[test]
fn dependent_dispatches_do_not_overlap_in_time() {
    let fixture = Fixture::open();
    let test = "dependent_dispatches_do_not_overlap_in_time";
    if fixture.timed_event().is_err() {
        return skipped(test, "timestamps");
    }
    let (step, spin, stream) = (step(&fixture), spin(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32]).unwrap();
    fixture.synchronize().unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    for round in 0..40_u32 {
        // Two kernels in turn, each dependent on the kernel before.
        spin.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, 500_u32)).unwrap();
        step.dispatch(&stream, Groups::exact([1, 1, 1]), (&array, round)).unwrap();
    }
    let _ = fixture.zeros::<u32>([64]).unwrap();
    let _ = contents(&array);
    let trace = ParsedTrace::of(trace);
    let mut dispatches: Vec<_> = trace.spans.iter().filter(|span| span.category == "dispatch").collect();
    dispatches.sort_by(|a, b| a.begin().total_cmp(&b.begin()));
    assert_eq!(dispatches.len(), 80);
    for (pair, names) in dispatches.windows(2).zip([["spin", "step"], ["step", "spin"]].iter().cycle()) {
        assert_eq!([pair[0].name.as_str(), pair[1].name.as_str()], *names);
        assert!(pair[1].begin() >= pair[0].end() - ROUNDING_US, "{:?} overlaps {:?}", pair[1], pair[0]);
    }
    assert!(trace.spans.iter().any(|span| span.category == "copy"), "no fill in the trace");
}

#[test]
fn a_replayed_graph_is_one_span() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let record = |graph: &mut GraphRecorder| -> anyhow::Result<()> {
        for round in 0..7_u32 {
            step.record(graph, Groups::covering([8]), (&array, round))?;
        }
        Ok(())
    };
    let (graph, ()) = Graph::record(&stream, record).unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    for _ in 0..5 {
        graph.replay(&stream).unwrap();
    }
    let trace = ParsedTrace::of(trace);
    assert_eq!(contents(&array), [(0..5).flat_map(|_| 0..7).fold(1, stepped); 8]);
    if fixture.timed_event().is_err() {
        return skipped("a_replayed_graph_is_one_span", "timestamps");
    }
    let mut replays: Vec<_> = trace.spans.iter().filter(|span| span.category == "graph").collect();
    replays.sort_by(|a, b| a.begin().total_cmp(&b.begin()));
    assert_eq!(replays.len(), 5);
    assert!(replays.iter().all(|span| span.name == "graph of 7 steps" && span.end() > span.begin()), "{replays:?}");
    assert!(replays.windows(2).all(|pair| pair[1].begin() >= pair[0].end() - ROUNDING_US), "{replays:?}");
}

#[test]
fn each_submission_is_linked_to_its_batch() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    for round in 0..20_u32 {
        step.dispatch(&stream, Groups::covering([8]), (&array, round)).unwrap();
        stream.flush().unwrap();
    }
    let trace = ParsedTrace::of(trace);
    let ends = |ph| {
        let mut ids: Vec<_> = trace.events.iter().filter(|event| event["ph"] == ph).map(|e| e["id"].clone()).collect();
        ids.sort_by_key(ToString::to_string);
        ids
    };
    assert_eq!(ends("s"), ends("f"));
    assert_eq!(ends("s").len(), trace.named("batch ").len());
}

#[test]
fn a_trace_has_callbacks_and_no_work_from_before_its_start() {
    let fixture = Fixture::open();
    let (step, stream) = (step(&fixture), fixture.stream().unwrap());
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    step.dispatch(&stream, Groups::covering([8]), (&array, 1_u32)).unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    stream.add_callback(move |outcome| send.send(outcome.is_ok()).unwrap()).unwrap();
    assert!(receive.recv().unwrap());
    // The waiting thread ends the callback's span after the callback, and then runs the next callback.
    let (send, receive) = std::sync::mpsc::channel();
    stream.add_callback(move |_| send.send(()).unwrap()).unwrap();
    receive.recv().unwrap();
    let trace = ParsedTrace::of(trace);
    let callbacks = trace.host("callback", |_| true);
    assert!(!callbacks.is_empty());
    assert_eq!(trace.track_names[&callbacks[0].track()], "vkarray-waiter");
    assert!(trace.spans.iter().all(|span| span.category != "dispatch"), "work from before the trace is in it");
}

#[test]
fn a_device_has_one_trace_at_a_time() {
    let fixture = Fixture::open();
    let first = Trace::start(fixture.device()).unwrap();
    assert!(matches!(Trace::start(fixture.device()), Err(DriverError::AlreadyTraced)));
    drop(first);
    let step = step(&fixture);
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    for n_operations in [0_u32, 1, 300] {
        let trace = Trace::start(fixture.device()).unwrap();
        for round in 0..n_operations {
            step.dispatch(fixture.default_stream(), Groups::covering([8]), (&array, round)).unwrap();
        }
        let trace = ParsedTrace::of(trace);
        let timed = trace.named("batch ").iter().map(|batch| batch.args["operations"].as_u64().unwrap()).sum::<u64>();
        assert_eq!(timed, u64::from(n_operations));
        assert_eq!(trace.about["lost_batches"], 0);
    }
}

#[test]
fn streams_dropped_before_the_end_are_in_the_trace() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let array = fixture.slice_to_device(&[1_u32; 8]).unwrap();
    fixture.synchronize().unwrap();
    let trace = Trace::start(fixture.device()).unwrap();
    for round in 0..5_u32 {
        step.dispatch(&fixture.stream().unwrap(), Groups::covering([8]), (&array, round)).unwrap();
    }
    let trace = ParsedTrace::of(trace);
    let timed = trace.named("batch ").iter().map(|batch| batch.args["operations"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(timed, 5);
}

#[test]
fn a_failed_write_of_a_trace_is_reported_with_its_cause() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let fixture = Fixture::open();
    let error = Trace::start(fixture.device()).unwrap().finish(Full).unwrap_err();
    assert_eq!(error.to_string(), "the trace could not be written: the disk is full");
    drop(Trace::start(fixture.device()).unwrap());
}

/// A finished trace, parsed.
struct ParsedTrace {
    events: Vec<Value>,
    spans: Vec<Span>,
    track_names: HashMap<(u64, u64), String>,
    about: Value,
}

#[derive(Debug)]
struct Span {
    name: String,
    category: String,
    track: (u64, u64),
    at_us: f64,
    duration_us: f64,
    args: Value,
}

impl Span {
    fn begin(&self) -> f64 {
        self.at_us
    }

    fn end(&self) -> f64 {
        self.at_us + self.duration_us
    }

    fn track(&self) -> (u64, u64) {
        self.track
    }

    /// The timeline and value of the span's batch; two times the largest number if the span has no batch.
    fn id(&self) -> (u64, u64) {
        let number = |key: &str| self.args[key].as_u64().unwrap_or(u64::MAX);
        (number("timeline"), number("value"))
    }
}

impl ParsedTrace {
    fn of(trace: Trace) -> Self {
        let mut text = Vec::new();
        trace.finish(&mut text).unwrap();
        let file: Value = serde_json::from_slice(&text).unwrap();
        let events = file["traceEvents"].as_array().unwrap().clone();
        let track = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let is_span = |event: &&Value| event["ph"] == "X";
        let spans = events.iter().filter(is_span).map(|event| Span {
            name: event["name"].as_str().unwrap().to_owned(),
            category: event["cat"].as_str().unwrap().to_owned(),
            track: track(event),
            at_us: event["ts"].as_f64().unwrap(),
            duration_us: event["dur"].as_f64().unwrap(),
            args: event["args"].clone(),
        });
        let is_track_name = |event: &&Value| event["name"] == "thread_name";
        let names = events.iter().filter(is_track_name);
        let track_names = names.map(|e| (track(e), e["args"]["name"].as_str().unwrap().to_owned())).collect();
        Self { spans: spans.collect(), track_names, about: file["otherData"].clone(), events }
    }

    fn named(&self, prefix: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.track.0 == 2 && span.name.starts_with(prefix)).collect()
    }

    fn host(&self, name: &str, is_meant: impl Fn(&Span) -> bool) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.track.0 == 1 && span.name == name && is_meant(span)).collect()
    }

    /// The largest error of a time on the device.
    fn slack_us(&self) -> f64 {
        let deviation_ns = self.about["max_deviation_ns"].as_f64().unwrap_or(0.0);
        let is_calibrated = self.about["clock"].as_str().unwrap().starts_with("calibrated");
        assert_eq!(is_calibrated, self.about["calibrations"].as_u64().unwrap() >= 2, "{}", self.about);
        deviation_ns / 1000.0 + ROUNDING_US
    }
}
