//! Traces: what the host and the device did when. The folder has the recorded data, the device's clock, and the writer
//! of the file.
//!
//! While no recording is on, each place that could add to one costs one relaxed load. `device/trace.rs` starts and ends
//! recordings; `lane/timestamps.rs` puts timestamps into batches. Here `clock.rs` relates the device's time to the
//! host's, `rows.rs` lays out overlapping work, and `chrome.rs` writes. Read them in this order. The folder uses no
//! queue, and of a device only its description and its clock.

#[cfg(feature = "trace")]
mod chrome;
mod clock;
mod rows;

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

#[cfg(feature = "trace")]
pub(crate) use self::chrome::write;
pub(crate) use self::clock::{Calibration, Ticks, now_ns};
use crate::error::{Error, Result};
use crate::lock::{Mutex, Rank};

/// The place in a device for the recording that is in progress.
#[derive(Debug)]
pub(crate) struct TraceSlot {
    is_on: AtomicBool, // Read at every place that could record, so outside the lock.
    recording: Mutex<Option<Arc<TraceRecording>>>,
}

impl Default for TraceSlot {
    fn default() -> Self {
        Self { is_on: AtomicBool::new(false), recording: Mutex::new(Rank::TraceSlot, None) }
    }
}

impl TraceSlot {
    /// The recording, if one is on.
    pub(crate) fn recording(&self) -> Option<Arc<TraceRecording>> {
        if self.is_on.load(Ordering::Relaxed) { self.recording.lock().clone() } else { None }
    }

    /// Times an activity of this thread until the guard is dropped. `batch` is the batch that the activity is about, if
    /// any.
    #[must_use = "the guard's end is the span's end"]
    pub(crate) fn span(&self, name: &'static str, batch: Option<BatchId>) -> Option<SpanGuard> {
        self.recording().map(|recording| recording.span(name, batch))
    }

    pub(crate) fn put(&self, recording: &Arc<TraceRecording>) -> Result<()> {
        let mut slot = self.recording.lock();
        if slot.is_some() {
            return Err(Error::AlreadyTraced);
        }
        *slot = Some(Arc::clone(recording));
        self.is_on.store(true, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn take(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let recording = self.recording.lock().take();
        drop(recording); // Without the lock.
    }
}

/// Identifies a batch of a device: the one at whose end the semaphore of the number `timeline` reaches `value`. The
/// identity stays unique when a semaphore is reused, since the semaphore's values continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BatchId {
    pub(crate) timeline: u64,
    pub(crate) value: u64,
}

/// The data recorded so far. Its locks are held for a push or a take, which a panic cannot halve.
pub(crate) struct TraceRecording {
    started_ns: u64,
    host: Mutex<HostSpans>,
    batches: Mutex<Vec<TracedBatch>>,
    calibration: Mutex<Calibration>,
    /// Batches whose timestamps could not be taken or read.
    n_lost: AtomicU64,
}

#[derive(Default)]
struct HostSpans {
    spans: Vec<HostSpan>,
    threads: HashMap<ThreadId, String>,
}

/// A timed activity of a host thread.
#[derive(Clone, Copy)]
pub(crate) struct HostSpan {
    thread: ThreadId,
    name: &'static str,
    batch: Option<BatchId>,
    pub(crate) begin_ns: u64,
    end_ns: u64,
}

impl TraceRecording {
    pub(crate) fn new(mut calibration: Calibration) -> Self {
        calibration.sample();
        Self {
            calibration: Mutex::new(Rank::Trace, calibration),
            started_ns: now_ns(),
            host: Mutex::new(Rank::Trace, HostSpans::default()),
            batches: Mutex::new(Rank::Trace, Vec::new()),
            n_lost: AtomicU64::new(0),
        }
    }

    /// Times an activity of this thread until the guard is dropped. `batch` is the batch that the activity is about, if
    /// any.
    #[must_use = "the guard's end is the span's end"]
    pub(crate) fn span(self: Arc<Self>, name: &'static str, batch: Option<BatchId>) -> SpanGuard {
        let span = HostSpan { thread: thread::current().id(), name, batch, begin_ns: now_ns(), end_ns: 0 };
        SpanGuard { recording: self, span }
    }

    /// Reads both clocks again.
    pub(crate) fn calibrate(&self) {
        self.calibration.lock().sample();
    }

    fn push_span(&self, span: HostSpan) {
        let mut host = self.host.lock();
        host.threads
            .entry(span.thread)
            .or_insert_with(|| thread::current().name().map_or_else(|| format!("{:?}", span.thread), str::to_owned));
        host.spans.push(span);
    }

    pub(crate) fn push_batch(&self, done: TracedBatch) {
        self.batches.lock().push(done);
        self.calibration.lock().sample_if_old();
    }

    pub(crate) fn lost(&self, error: &Error) {
        log::warn!("a batch is left out of the trace: {error}");
        self.n_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the recorded data out: the host spans with their threads' names, and the batches in the order of
    /// submission.
    fn take(&self) -> (HostSpans, Vec<TracedBatch>) {
        let mut batches = mem::take(&mut *self.batches.lock());
        batches.sort_by_key(|batch| batch.submitted_ns);
        (mem::take(&mut *self.host.lock()), batches)
    }
}

crate::debug_fields!(TraceRecording, this => started_ns: this.started_ns);

/// A batch as the trace shows it.
#[derive(Debug)]
pub(crate) struct TracedBatch {
    pub(crate) id: BatchId,
    pub(crate) queue: usize,
    pub(crate) family: u32,
    /// The host's time at which the submission of the batch began.
    pub(crate) submitted_ns: u64,
    /// The host's time at which the host saw that the batch was complete, which may be much later than the completion.
    pub(crate) seen_ns: u64,
    pub(crate) ops: Vec<TracedOperation>,
}

/// An operation: its name, and the device's time before and after it.
#[derive(Debug)]
pub(crate) struct TracedOperation {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    /// The device's time before and after the operation; `None` on a queue that has no timestamps.
    pub(crate) ticks: Option<[u64; 2]>,
}

/// A host span that ends when the guard is dropped.
pub(crate) struct SpanGuard {
    recording: Arc<TraceRecording>,
    /// The span, which has no end yet.
    pub(crate) span: HostSpan,
}

impl SpanGuard {
    /// Ends the span under another name.
    pub(crate) fn rename(mut self, name: &'static str) {
        self.span.name = name;
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        self.recording.push_span(HostSpan { end_ns: now_ns(), ..self.span });
    }
}
