//! What was dropped and may still be in use, kept until it is not: the cleanup queue with a device for a clock.
//!
//! The rule, *never early*, is `cleanup.rs`; how garbage is freed is its owner's. No lock is held while it waits, and
//! none while garbage is freed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use vkarray_driver::{Device, Error as DriverError, Point};

use crate::cleanup::{CleanupQueue, Completion};
use crate::error::{Error, Result};
use crate::ladder::Taken;
use crate::out_of_memory::PendingOn;

/// How long a drain asks a driver that refuses to say whether it is done.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it pauses between two questions.
const PAUSE: Duration = Duration::from_millis(1);

impl Completion for Point {
    type Error = DriverError;

    fn is_complete(&self) -> Result<bool, DriverError> {
        Point::is_complete(self)
    }

    fn wait(&self) -> Result<(), DriverError> {
        Point::wait(self, None)
    }
}

/// Garbage of one device.
#[derive(Debug)]
pub(crate) struct Deferred<T> {
    queue: Mutex<CleanupQueue<Point, T>>,
    device: Arc<Device>,
}

impl<T> Deferred<T> {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self { queue: Mutex::default(), device: Arc::clone(device) }
    }

    /// Adds garbage of `bytes` bytes that may be freed once all of `last_uses` are over.
    pub(crate) fn push(&self, last_uses: Vec<Point>, bytes: u64, garbage: T) {
        self.queue().push(last_uses, bytes, garbage);
    }

    /// How many entries wait, and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        self.queue().pending()
    }

    /// Frees what the device is done with. Never blocks.
    pub(crate) fn try_flush(&self, free: impl FnMut(T)) -> Result<()> {
        self.check_process()?;
        let ready = self.queue().take_ready()?;
        ready.into_iter().for_each(free);
        Ok(())
    }

    /// Frees everything: waits until the device is done with what was there before the call.
    pub(crate) fn flush(&self, mut free: impl FnMut(T)) -> Result<()> {
        self.check_process()?;
        loop {
            let Some(last_uses) = self.queue().oldest().map(<[Point]>::to_vec) else { return Ok(()) };
            // Nothing is locked here: waiting may send work, and other threads may drop blocks.
            last_uses.iter().try_for_each(Completion::wait)?;
            self.try_flush(&mut free)?;
        }
    }

    /// Frees what the device is done with, and says whether that was anything.
    pub(crate) fn reclaim(&self, free: impl FnMut(T)) -> Result<Taken> {
        self.check_process()?;
        let ready = self.queue().take_ready()?;
        let taken = if ready.is_empty() { Taken::Nothing } else { Taken::Relieved };
        ready.into_iter().for_each(free);
        Ok(taken)
    }

    /// Waits until the oldest garbage of so many bytes can be freed, for `limit` at most, and frees what can be.
    pub(crate) fn wait_for(&self, bytes: u64, limit: Duration, free: impl FnMut(T)) -> Result<Taken> {
        self.check_process()?;
        let last_uses = self.queue().enough(bytes);
        let begun = Instant::now();
        for last_use in last_uses {
            match last_use.wait(Some(limit.saturating_sub(begun.elapsed()))) {
                Err(DriverError::Timeout { .. }) => return self.reclaim(free).map(|_| Taken::TimedOut),
                other => other?,
            }
        }
        self.reclaim(free)
    }

    /// How many entries wait, and for which streams.
    pub(crate) fn waiting(&self) -> (usize, Vec<PendingOn>) {
        let mut by_stream = BTreeMap::<Option<u64>, u64>::new();
        let queue = self.queue();
        for (last_uses, bytes) in queue.iter() {
            let streams: BTreeSet<_> = last_uses.iter().map(|last| last.timeline().stream_number()).collect();
            for stream in streams {
                *by_stream.entry(stream).or_default() += bytes;
            }
        }
        let pending = by_stream.into_iter().map(|(stream, bytes)| PendingOn { stream, bytes });
        (queue.iter().len(), pending.collect())
    }

    /// Frees everything at last, also what a device that has failed used, once it is done with it.
    pub(crate) fn drain(&self, mut free: impl FnMut(T)) -> Result<()> {
        self.check_process()?;
        let begun = Instant::now();
        loop {
            match self.flush(&mut free) {
                Err(_) if self.device.check_lost().is_err() => {
                    self.device.settle()?;
                    let all = self.queue().take_all();
                    all.into_iter().for_each(free);
                    return Ok(());
                }
                Err(Error::Driver(refused)) if refused.is_out_of_memory() && begun.elapsed() < DRAIN_TIMEOUT => {
                    thread::sleep(PAUSE);
                }
                other => return other,
            }
        }
    }

    /// In a forked process the locks may be held by threads that are not there.
    fn check_process(&self) -> Result<()> {
        if self.device.is_forked() { Ok(self.device.check_lost()?) } else { Ok(()) }
    }

    fn queue(&self) -> MutexGuard<'_, CleanupQueue<Point, T>> {
        // No caller's code runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
