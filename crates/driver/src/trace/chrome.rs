//! Writing a trace in the Trace Event format, which Perfetto and `chrome://tracing` open.
//!
//! Process 1 is the host, with a track for each thread. Process 2 is the device, with a track for each queue and
//! further tracks where work on a queue overlaps. Arrows lead from each submission to its batch. Times are microseconds
//! from the start.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use serde_json::{Value, json};

use super::clock::{Bounds, Sample, Ticks, since};
use super::rows::{PlacedSpan, rows};
use super::{BatchId, HostSpans, TraceRecording, TracedBatch};
use crate::error::{Error, Result};
use crate::instance::DeviceInfo;

const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// The most tracks of one queue. Work that overlaps on more tracks shares the last.
const TRACKS_PER_QUEUE: usize = 64;

#[derive(Serialize)]
struct TraceFile {
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEvent>,
    #[serde(rename = "displayTimeUnit")]
    unit: &'static str,
    #[serde(rename = "otherData")]
    about: Value,
}

#[derive(Serialize)]
struct TraceEvent {
    name: String,
    cat: &'static str,
    ph: &'static str,
    pid: u32,
    tid: usize,
    #[serde(rename = "ts", skip_serializing_if = "Option::is_none")]
    at_us: Option<f64>,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(rename = "bp", skip_serializing_if = "Option::is_none")]
    binds_to: Option<&'static str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// A batch and its operations in the host's time, in nanoseconds from the start.
struct Timed<'a> {
    batch: &'a TracedBatch,
    begin_ns: f64,
    end_ns: f64,
    /// The time of each operation; empty where the queue has no timestamps.
    ops: Vec<[f64; 2]>,
}

/// Writes everything recorded, and leaves the recording empty.
pub(crate) fn write(device: &DeviceInfo, recording: &TraceRecording, mut out: impl Write) -> Result<()> {
    let (host, mut batches) = recording.take();
    bound(&host, &mut batches);
    let samples = recording.calibration.lock().samples.clone();
    let mut events = vec![named("process_name", HOST, 0, "host"), named("process_name", DEVICE, 0, &device.name)];
    write_host(&host, recording.started_ns, &mut events);
    let mut queues = BTreeMap::<usize, Vec<&TracedBatch>>::new();
    for batch in &batches {
        queues.entry(batch.queue).or_default().push(batch);
    }
    for (queue, batches) in queues {
        let timed = timed(device, &batches, &samples, recording.started_ns);
        write_queue(queue, &timed, &mut events);
    }
    let n_lost = recording.n_lost.load(Ordering::Relaxed);
    let file = TraceFile { events, unit: "ns", about: about(device, &samples, n_lost) };
    let written = serde_json::to_writer(&mut out, &file).map_err(std::io::Error::from).and_then(|()| out.flush());
    written.map_err(|error| Error::TraceNotWritten(Arc::new(error)))
}

/// Bounds the time at which each batch was done: the end of the first wait for the batch or for a later batch of its
/// stream.
fn bound(host: &HostSpans, batches: &mut [TracedBatch]) {
    let mut waits = HashMap::<u64, Vec<(u64, u64)>>::new();
    for span in host.spans.iter().filter(|span| span.name == "wait") {
        if let Some(BatchId { timeline, value }) = span.batch {
            waits.entry(timeline).or_default().push((value, span.end_ns));
        }
    }
    for batch in batches {
        let ends = waits.get(&batch.id.timeline).into_iter().flatten();
        let ends = ends.filter(|(value, end_ns)| *value >= batch.id.value && *end_ns > batch.submitted_ns);
        batch.seen_ns = ends.map(|(_, end_ns)| *end_ns).fold(batch.seen_ns, u64::min);
    }
}

fn timed<'a>(device: &DeviceInfo, batches: &[&'a TracedBatch], samples: &[Sample], base_ns: u64) -> Vec<Timed<'a>> {
    let Some(family) = batches.first().map(|batch| batch.family) else { return Vec::new() };
    let clock = Ticks::of(device, family);
    let with_ticks = |batch: &&'a TracedBatch| {
        let first = batch.ops.first()?.ticks?[0];
        let ends = batch.ops.iter().filter_map(|op| Some(op.ticks?[1]));
        let last = ends.max_by(|a, b| clock.between(first, *a).total_cmp(&clock.between(first, *b)))?;
        let ticks = [first, last];
        Some(Bounds { submitted_ns: batch.submitted_ns, seen_ns: batch.seen_ns, ticks })
    };
    let bounds: Vec<Option<Bounds>> = batches.iter().map(with_ticks).collect();
    let known: Vec<Bounds> = bounds.iter().flatten().copied().collect();
    let mut begins = match samples {
        [] => clock.anchored(&known, base_ns),
        _ => known.iter().map(|b| clock.calibrated(samples, base_ns, b.submitted_ns, b.ticks[0])).collect(),
    }
    .into_iter();
    let place = |(batch, bounds): (&&'a TracedBatch, &Option<Bounds>)| {
        let begin = bounds.and_then(|bounds| Some((begins.next()?, bounds.ticks[0])));
        let Some((begin_ns, first)) = begin else {
            // Without timestamps only the times that the host saw are known.
            let (begin_ns, end_ns) = (since(base_ns, batch.submitted_ns), since(base_ns, batch.seen_ns));
            return Timed { batch, begin_ns, end_ns, ops: Vec::new() };
        };
        let at = |ticks| begin_ns + clock.between(first, ticks) * clock.period_ns;
        let ops: Vec<_> = batch.ops.iter().filter_map(|op| op.ticks).map(|ticks| ticks.map(at)).collect();
        let end_ns = ops.iter().map(|op| op[1]).fold(begin_ns, f64::max);
        Timed { batch, begin_ns, end_ns, ops }
    };
    batches.iter().zip(&bounds).map(place).collect()
}

fn write_queue(queue: usize, batches: &[Timed<'_>], events: &mut Vec<TraceEvent>) {
    let mut spans = Vec::new();
    let mut shown = Vec::new();
    for timed in batches {
        let (parent, batch) = (spans.len(), timed.batch);
        spans.push(PlacedSpan { begin: timed.begin_ns, end: timed.end_ns, parent: None });
        let args = json!({
            "timeline": batch.id.timeline, "value": batch.id.value, "operations": batch.ops.len(),
            "timestamps": !timed.ops.is_empty(),
        });
        shown.push((format!("batch {}", batch.id.value), "batch", args, Some(batch.id)));
        for (op, &[begin, end]) in batch.ops.iter().zip(&timed.ops) {
            spans.push(PlacedSpan { begin, end: end.max(begin), parent: Some(parent) });
            let name = if op.name.is_empty() { op.kind } else { &op.name };
            shown.push((name.to_owned(), op.kind, Value::Null, None));
        }
    }
    let rows = rows(&spans);
    let track = |row: usize| queue * TRACKS_PER_QUEUE + row.min(TRACKS_PER_QUEUE - 1);
    for row in 0..=rows.iter().copied().max().unwrap_or(0) {
        let name = if row == 0 { format!("queue {queue}") } else { format!("queue {queue}, overlap {row}") };
        events.push(named("thread_name", DEVICE, track(row), &name));
    }
    for ((span, row), (name, cat, args, id)) in spans.iter().zip(rows).zip(shown) {
        let tid = track(row);
        events.push(complete(name, cat, (DEVICE, tid), [span.begin, span.end], args));
        if let Some(id) = id {
            events.push(TraceEvent { binds_to: Some("e"), ..arrow("f", (DEVICE, tid), span.begin, id) });
        }
    }
}

/// Writes what the threads did, each on a track of its own, with an arrow from each submission.
fn write_host(host: &HostSpans, base_ns: u64, events: &mut Vec<TraceEvent>) {
    let mut tracks = HashMap::new();
    for span in &host.spans {
        let next = tracks.len();
        let track = *tracks.entry(span.thread).or_insert_with(|| {
            events.push(named("thread_name", HOST, next, &host.threads[&span.thread]));
            next
        });
        let args = match span.batch {
            Some(BatchId { timeline, value }) => json!({ "timeline": timeline, "value": value }),
            None => Value::Null,
        };
        let times = [since(base_ns, span.begin_ns), since(base_ns, span.end_ns)];
        events.push(complete(span.name.to_owned(), "host", (HOST, track), times, args));
        if let Some(id) = span.batch.filter(|_| span.name == "submit") {
            events.push(arrow("s", (HOST, track), times[0], id));
        }
    }
}

fn about(device: &DeviceInfo, samples: &[Sample], n_lost: u64) -> Value {
    let clock = if samples.is_empty() {
        "anchored: without VK_EXT_calibrated_timestamps, device times are bounded by submission and completion"
    } else {
        "calibrated: VK_EXT_calibrated_timestamps"
    };
    json!({
        "device": device.name,
        "driver": format!("{} {}", device.driver.name, device.driver.info).trim(),
        "clock": clock,
        "calibrations": samples.len(),
        "max_deviation_ns": samples.iter().map(|sample| sample.deviation_ns).max(),
        "lost_batches": n_lost,
    })
}

fn named(what: &'static str, pid: u32, tid: usize, name: &str) -> TraceEvent {
    TraceEvent { args: json!({ "name": name }), ..event(what.to_owned(), "__metadata", "M", (pid, tid)) }
}

fn complete(
    name: String,
    cat: &'static str,
    track: (u32, usize),
    [begin_ns, end_ns]: [f64; 2],
    args: Value,
) -> TraceEvent {
    let (at_us, duration_us) = (Some(begin_ns / 1000.0), Some((end_ns - begin_ns) / 1000.0));
    TraceEvent { at_us, duration_us, args, ..event(name, cat, "X", track) }
}

/// One end of an arrow from a submission to its batch.
fn arrow(end: &'static str, track: (u32, usize), at_ns: f64, id: BatchId) -> TraceEvent {
    let BatchId { timeline, value } = id;
    TraceEvent {
        at_us: Some(at_ns / 1000.0),
        id: Some(format!("{timeline:x}.{value}")),
        ..event("batch".to_owned(), "flow", end, track)
    }
}

fn event(name: String, cat: &'static str, ph: &'static str, (pid, tid): (u32, usize)) -> TraceEvent {
    TraceEvent { name, cat, ph, pid, tid, at_us: None, duration_us: None, id: None, binds_to: None, args: Value::Null }
}
