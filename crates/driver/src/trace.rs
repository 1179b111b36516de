//! Recording what the host and the device do, as a picture in time.
//!
//! While a [`Trace`] is on, each operation is put between two timestamps of the device, and submissions, waits and
//! callbacks are timed on the host. [`Trace::finish`] writes one file that Perfetto and `chrome://tracing` open. While none
//! is on, each place that could record something costs one relaxed load.
//!
//! `trace/batch.rs` puts the timestamps into batches, `trace/clock.rs` relates the device's time to the host's,
//! `trace/rows.rs` lays overlapping work out, and `trace/chrome.rs` writes. Read them in this order.

mod batch;
mod chrome;
mod clock;
mod rows;

use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use ash::vk;
use ash::vk::Handle;

pub(crate) use batch::BatchTrace;
use batch::DoneBatch;
use clock::{Calibration, now_ns};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::lock::{Mutex, MutexGuard, Rank};
use crate::owned::Owned;
use crate::timeline::Timeline;

/// A recording of everything that happens on a device, from [`Trace::start`] on.
///
/// Takes memory for every operation until it is finished or dropped.
pub struct Trace {
    recording: Arc<Recording>,
    device: Arc<Device>,
}

impl Trace {
    /// Starts to record. Work that streams hold unsent is sent, so that what follows is in the trace from its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyTraced`]; those of sending the work, and of asking for the device's time.
    pub fn start(device: &Arc<Device>) -> Result<Self> {
        device.check_lost()?;
        let recording = Arc::new(Recording::new(device)?);
        device.trace().put(&recording)?;
        let trace = Self { recording, device: Arc::clone(device) };
        let lanes = device.tracker().lanes(); // The lock is given back: sending takes it.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        Ok(trace)
    }

    /// Stops to record and writes the trace, as JSON. Blocks until all work recorded so far is done.
    ///
    /// Work that another thread records at the same time is in the trace or not.
    ///
    /// # Errors
    ///
    /// [`Error::Forked`]; [`Error::TraceNotWritten`], whatever else happens; those of waiting for the work, after the rest is written.
    pub fn finish(self, out: impl Write) -> Result<()> {
        self.device.check_process()?;
        let settled = self.settle();
        self.device.trace().take();
        self.recording.calibrate();
        chrome::write(&self.device, &self.recording, out)?;
        settled
    }

    fn settle(&self) -> Result<()> {
        self.device.check_lost()?;
        let lanes = self.device.tracker().lanes();
        // All are sent before the first is waited for.
        lanes.iter().try_for_each(|lane| lane.flush())?;
        lanes.iter().try_for_each(|lane| lane.settle())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        if self.device.is_forked() {
            return; // In a forked process the lock may stay locked for ever.
        }
        self.device.trace().take();
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("device", &self.device.info().name).finish_non_exhaustive()
    }
}

/// Where a device keeps the recording that is on.
#[derive(Debug)]
pub(crate) struct TraceSlot {
    is_on: AtomicBool, // Read at every place that could record, so outside the lock.
    recording: Mutex<Option<Arc<Recording>>>,
}

impl Default for TraceSlot {
    fn default() -> Self {
        Self { is_on: AtomicBool::new(false), recording: Mutex::new(Rank::TraceSlot, None) }
    }
}

impl TraceSlot {
    /// The recording, if one is on.
    pub(crate) fn recording(&self) -> Option<Arc<Recording>> {
        if self.is_on.load(Ordering::Relaxed) { self.slot().clone() } else { None }
    }

    /// Times the host until the guard is dropped. `batch` is the one it is about.
    #[must_use = "the guard's end is the span's end"]
    pub(crate) fn span(&self, name: &'static str, batch: Option<BatchId>) -> Option<SpanGuard> {
        self.recording().map(|recording| SpanGuard { recording, name, batch, begin_ns: now_ns() })
    }

    fn put(&self, recording: &Arc<Recording>) -> Result<()> {
        let mut slot = self.slot();
        if slot.is_some() {
            return Err(Error::AlreadyTraced);
        }
        *slot = Some(Arc::clone(recording));
        self.is_on.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn take(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let recording = self.slot().take();
        drop(recording); // Without the lock.
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Recording>>> {
        self.recording.lock()
    }
}

/// A batch of a device, for ever: semaphores are used again, and go on from where they stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BatchId {
    timeline: u64,
    value: u64,
}

impl BatchId {
    pub(crate) fn new(timeline: &Timeline, value: u64) -> Self {
        Self { timeline: timeline.raw().as_raw(), value }
    }
}

/// What has been recorded so far.
pub(crate) struct Recording {
    started_ns: u64,
    host: Mutex<HostSpans>,
    batches: Mutex<Vec<DoneBatch>>,
    /// Query pools that no batch uses now.
    pools: Mutex<Vec<Owned<vk::QueryPool>>>,
    calibration: Mutex<Calibration>,
    /// Batches whose timestamps could not be taken or read.
    n_lost: AtomicU64,
}

#[derive(Default)]
struct HostSpans {
    spans: Vec<HostSpan>,
    threads: HashMap<ThreadId, String>,
}

/// Something a host thread did.
struct HostSpan {
    thread: ThreadId,
    name: &'static str,
    batch: Option<BatchId>,
    begin_ns: u64,
    end_ns: u64,
}

impl Recording {
    fn new(device: &Arc<Device>) -> Result<Self> {
        Ok(Self {
            calibration: Mutex::new(Rank::Trace, Calibration::new(device)?),
            started_ns: now_ns(),
            host: Mutex::new(Rank::Trace, HostSpans::default()),
            batches: Mutex::new(Rank::Trace, Vec::new()),
            pools: Mutex::new(Rank::Trace, Vec::new()),
            n_lost: AtomicU64::new(0),
        })
    }

    /// Relates the clocks once more.
    fn calibrate(&self) {
        lock(&self.calibration).sample();
    }

    fn push_span(&self, span: HostSpan) {
        let mut host = lock(&self.host);
        host.threads
            .entry(span.thread)
            .or_insert_with(|| thread::current().name().map_or_else(|| format!("{:?}", span.thread), str::to_owned));
        host.spans.push(span);
    }

    fn push_batch(&self, done: DoneBatch, pool: Option<Owned<vk::QueryPool>>) {
        lock(&self.pools).extend(pool);
        lock(&self.batches).push(done);
        lock(&self.calibration).sample_if_old();
    }

    fn lost(&self, error: &Error) {
        tracing::warn!(%error, "a batch is left out of the trace");
        self.n_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// What was recorded, taken out: host spans with their threads' names, and batches in the order they were sent.
    fn take(&self) -> (HostSpans, Vec<DoneBatch>) {
        let mut batches = mem::take(&mut *lock(&self.batches));
        batches.sort_by_key(|batch| batch.submitted_ns);
        (mem::take(&mut *lock(&self.host)), batches)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("started_ns", &self.started_ns).finish_non_exhaustive()
    }
}

/// A host span that ends when this is dropped.
pub(crate) struct SpanGuard {
    recording: Arc<Recording>,
    name: &'static str,
    batch: Option<BatchId>,
    begin_ns: u64,
}

impl SpanGuard {
    /// Ends the span under another name: it was not what it was begun as.
    pub(crate) fn rename(mut self, name: &'static str) {
        self.name = name;
    }
}

impl Drop for SpanGuard {
    fn drop(&mut self) {
        let (name, batch, begin_ns) = (self.name, self.batch, self.begin_ns);
        let span = HostSpan { thread: thread::current().id(), name, batch, begin_ns, end_ns: now_ns() };
        self.recording.push_span(span);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock() // For a push or a take, which a panic cannot halve.
}
