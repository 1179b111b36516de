//! What was dropped and may still be in use, kept until it is not and is due: the cleanup queue with a device for a
//! clock.
//!
//! The rules, *never early* and *when too much waits*, are `cleanup.rs`; how garbage is freed is its owner's. No lock
//! is held while it waits, and none while garbage is freed.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vkarray_driver::lock::{Mutex, MutexGuard, Rank, assert_none_held};
use vkarray_driver::{Device, Error as DriverError, Point};

use super::cleanup_queue::{CleanupQueue, Completion, HeapLimits};
use super::defer_guard::DeferCount;
use super::pending_limits::PendingLimits;
use crate::error::{Error, Result};
use crate::oom::{PendingOn, StepOutcome};

/// How long a drain waits for work, and asks a driver that refuses to say whether it is done.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it pauses between two questions.
const PAUSE: Duration = Duration::from_millis(1);

impl Completion for Point {
    type Error = DriverError;
    type Timeline = usize;

    /// The timeline's address: the point keeps it alive.
    fn timeline(&self) -> usize {
        Arc::as_ptr(self.timeline()).addr()
    }

    fn value(&self) -> u64 {
        Point::value(self)
    }

    fn is_complete(&self) -> Result<bool, DriverError> {
        Point::is_complete(self)
    }
}

/// Garbage of one device.
#[derive(Debug)]
pub(crate) struct Deferred<T> {
    queue: Mutex<CleanupQueue<Point, T>>,
    limits: HeapLimits,
    deferrals: DeferCount,
    device: Arc<Device>,
}

impl<T> Deferred<T> {
    /// Frees what is over `limits`, except while `deferrals` is on.
    pub(crate) fn new(device: &Arc<Device>, limits: PendingLimits, deferrals: DeferCount) -> Self {
        let limits = limits.on(&device.info().memory_heaps);
        let queue = Mutex::new(Rank::CleanupQueue, CleanupQueue::default());
        Self { queue, limits, deferrals, device: Arc::clone(device) }
    }

    /// Adds garbage of `bytes` bytes on that heap, which may be freed once all of `last_uses` are over. Frees nothing.
    pub(crate) fn push(&self, last_uses: Vec<Point>, heap: usize, bytes: u64, garbage: T) {
        self.queue().push(last_uses, heap, bytes, garbage);
    }

    /// How many entries wait, and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        self.queue().pending()
    }

    /// The bytes that wait on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.queue().bytes_on(heap)
    }

    /// If more waits than may, frees what the device is done with. Never blocks.
    pub(crate) fn free_due(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() || !self.queue().is_due(&self.limits) {
            return Ok(());
        }
        self.free_eligible(free).map(drop)
    }

    /// Frees what the device is done with, due or not, unless it is held back. Never blocks.
    pub(crate) fn try_flush(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() { Ok(()) } else { self.free_eligible(free).map(drop) }
    }

    /// Frees everything, unless it is held back: waits until the device is done with what was there before the call.
    pub(crate) fn flush(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() {
            return Ok(());
        }
        // Nothing is locked here: waiting may send work, and other threads may drop blocks.
        let last_uses = self.queue().last_uses();
        last_uses.iter().try_for_each(|last| last.wait(None))?;
        self.free_eligible(free).map(drop)
    }

    /// For when memory runs out: frees what the device is done with, held back or not as asked.
    pub(crate) fn reclaim(&self, held_back: bool, free: impl FnMut(T)) -> Result<StepOutcome> {
        self.device.check_process()?;
        if self.deferrals.is_active() != held_back {
            return Ok(if held_back { StepOutcome::Absent } else { StepOutcome::Nothing });
        }
        let n_freed = self.free_eligible(free)?;
        Ok(if n_freed == 0 { StepOutcome::Nothing } else { StepOutcome::Relieved })
    }

    /// For when memory runs out: waits, for `limit` at most, until the oldest garbage of that heap with so many bytes
    /// can be freed, held back or not, and frees what can be.
    pub(crate) fn wait_for_enough(
        &self,
        heap: usize,
        bytes: u64,
        limit: Duration,
        free: impl FnMut(T),
    ) -> Result<StepOutcome> {
        self.device.check_process()?;
        let last_uses = self.queue().last_uses_of_oldest(heap, bytes);
        self.wait_and_free(&last_uses, limit, free)
    }

    /// For when memory runs out: as before, with all there is.
    pub(crate) fn wait_for_all(&self, limit: Duration, free: impl FnMut(T)) -> Result<StepOutcome> {
        self.device.check_process()?;
        let last_uses = self.queue().last_uses();
        self.wait_and_free(&last_uses, limit, free)
    }

    fn wait_and_free(&self, last_uses: &[Point], limit: Duration, free: impl FnMut(T)) -> Result<StepOutcome> {
        let begun = Instant::now();
        let waited = last_uses.iter().try_for_each(|last| last.wait(Some(limit.saturating_sub(begun.elapsed()))));
        let timed_out = match waited {
            Err(DriverError::Timeout { .. }) => true,
            other => other.map(|()| false)?,
        };
        let n_freed = self.free_eligible(free)?;
        Ok(match n_freed {
            _ if timed_out => StepOutcome::TimedOut,
            0 => StepOutcome::Nothing,
            _ => StepOutcome::Relieved,
        })
    }

    /// How many entries wait, and their bytes by stream.
    pub(crate) fn pending_by_stream(&self) -> (usize, Vec<PendingOn>) {
        let queue = self.queue();
        (queue.iter().len(), bytes_by_stream(queue.iter()))
    }

    /// Frees everything at last, also what is held back or what a device that has failed used, once it is done with it.
    ///
    /// Waits for ten seconds at most. What cannot be freed by then stays, and the error says why.
    pub(crate) fn drain(&self, mut free: impl FnMut(T)) -> Result<()> {
        let begun = Instant::now();
        loop {
            let left = DRAIN_TIMEOUT.saturating_sub(begun.elapsed());
            match self.wait_for_all(left, &mut free) {
                Err(_) if !self.device.is_forked() && self.device.check_lost().is_err() => {
                    self.device.drain_after_loss()?;
                    let all = self.queue().take_all();
                    return free_each(all.into_iter(), free).map(drop);
                }
                Err(Error::Driver(refused)) if refused.is_out_of_memory() && !left.is_zero() => thread::sleep(PAUSE),
                Err(error @ Error::CleanupPanicked { .. }) => {
                    log::error!("dropped memory was freed, but destructors panicked: {error}")
                }
                Err(error) => return Err(error),
                Ok(StepOutcome::TimedOut) => return Err(DriverError::Timeout { waited: begun.elapsed() }.into()),
                Ok(_) if self.pending().0 == 0 => return Ok(()),
                Ok(_) => {} // A destructor dropped more.
            }
        }
    }

    /// Frees what the device is done with and says how many that were. What cannot be asked about stays.
    fn free_eligible(&self, free: impl FnMut(T)) -> Result<usize> {
        let settled = self.queue().poll();
        // Locked for each, and never while it is freed: whatever happens there, the rest is in the queue.
        let eligible = std::iter::from_fn(|| self.queue().take_eligible());
        let freed = free_each(eligible, free);
        settled?;
        freed
    }

    fn queue(&self) -> MutexGuard<'_, CleanupQueue<Point, T>> {
        // No caller's code runs under the lock.
        self.queue.lock()
    }
}

/// Sums bytes by the streams whose work may still use them. Bytes with uses on several streams count for each.
pub(crate) fn bytes_by_stream(entries: impl Iterator<Item = (impl AsRef<[Point]>, u64)>) -> Vec<PendingOn> {
    let mut by_stream = BTreeMap::<Option<u64>, u64>::new();
    for (last_uses, bytes) in entries {
        let streams: BTreeSet<_> = last_uses.as_ref().iter().map(|last| last.timeline().stream_number()).collect();
        for stream in streams {
            *by_stream.entry(stream).or_default() += bytes;
        }
    }
    by_stream.into_iter().map(|(stream, bytes)| PendingOn { stream, bytes }).collect()
}

/// Frees all of them, also when freeing one panics, and then says so.
fn free_each<T>(garbage: impl Iterator<Item = T>, mut free: impl FnMut(T)) -> Result<usize> {
    let (mut n_freed, mut panicked) = (0, Vec::new());
    for item in garbage {
        n_freed += 1;
        assert_none_held("the end of memory");
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| free(item))) {
            panicked.push(message(&*payload));
        }
    }
    if panicked.is_empty() { Ok(n_freed) } else { Err(Error::CleanupPanicked { messages: panicked }) }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_destructor_keeps_nothing_else_from_being_freed() {
        let mut freed = Vec::new();
        let outcome = free_each(0..5, |item| {
            freed.push(item);
            match item {
                1 => panic!("the second"),
                3 => std::panic::panic_any(7),
                _ => {}
            }
        });
        assert_eq!(freed, [0, 1, 2, 3, 4]);
        let Err(Error::CleanupPanicked { messages }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(messages, ["the second", "no message"]);
        assert_eq!(free_each(0..3, drop).unwrap(), 3);
    }
}
