//! [`Deferred`]: the cleanup queue with the device's timelines.
//!
//! The rules are `cleanup_queue.rs`; how an item is freed is given by the caller. No lock is held while this waits or while
//! an item is freed.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use vkarray_driver::lock::{Mutex, MutexGuard, Rank, assert_none_held};
use vkarray_driver::{Device, Error as DriverError, Point, catch_panic, log_in_drop};

use super::cleanup_queue::{CleanupQueue, Completion, HeapLimits};
use super::defer_guard::DeferCount;
use super::pending_limits::PendingLimits;
use crate::error::{Error, Result};
use crate::oom::{PendingOn, StepOutcome};

/// How long a drain waits for work, and repeats queries that the driver refuses.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two such queries.
const PAUSE: Duration = Duration::from_millis(1);

impl Completion for Point {
    type Error = DriverError;
    type Timeline = usize;

    /// The timeline's address, which is unique since the point keeps the timeline alive.
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

/// Dropped items of one device.
#[derive(Debug)]
pub(crate) struct Deferred<T> {
    queue: Mutex<CleanupQueue<Point, T>>,
    limits: HeapLimits,
    deferrals: DeferCount,
    device: Arc<Device>,
}

impl<T> Deferred<T> {
    /// Items are due above `limits`, except while `deferrals` counts a guard.
    pub(crate) fn new(device: &Arc<Device>, limits: PendingLimits, deferrals: DeferCount) -> Self {
        let limits = limits.on(&device.info().memory_heaps);
        let queue = Mutex::new(Rank::CleanupQueue, CleanupQueue::default());
        Self { queue, limits, deferrals, device: Arc::clone(device) }
    }

    /// Adds an item of `bytes` bytes on that heap, which may be freed once all of `last_uses` are over. Frees nothing.
    pub(crate) fn push(&self, last_uses: Vec<Point>, heap: usize, bytes: u64, item: T) {
        self.queue().push(last_uses, heap, bytes, item);
    }

    /// The number of items and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        self.queue().pending()
    }

    /// The bytes of items on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.queue().bytes_on(heap)
    }

    /// If the limits are exceeded, frees the items that the device no longer uses. Never blocks.
    pub(crate) fn free_due(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() || !self.queue().is_due(&self.limits) {
            return Ok(());
        }
        self.free_eligible(free).map(drop)
    }

    /// Frees the items that the device no longer uses, unless a guard holds them back. Never blocks.
    pub(crate) fn try_flush(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() { Ok(()) } else { self.free_eligible(free).map(drop) }
    }

    /// Frees the items that were dropped before the call, unless a guard holds them back. Waits for their uses.
    pub(crate) fn flush(&self, free: impl FnMut(T)) -> Result<()> {
        self.device.check_process()?;
        if self.deferrals.is_active() {
            return Ok(());
        }
        // No lock is held here: waiting may submit work, and other threads may drop blocks.
        let last_uses = self.queue().last_uses();
        last_uses.iter().try_for_each(|last| last.wait(None))?;
        self.free_eligible(free).map(drop)
    }

    /// A step when memory runs out: frees items that the device no longer uses, either those held back by a guard or others.
    pub(crate) fn reclaim(&self, held_back: bool, free: impl FnMut(T)) -> Result<StepOutcome> {
        self.device.check_process()?;
        if self.deferrals.is_active() != held_back {
            return Ok(if held_back { StepOutcome::Absent } else { StepOutcome::Nothing });
        }
        let n_freed = self.free_eligible(free)?;
        Ok(if n_freed == 0 { StepOutcome::Nothing } else { StepOutcome::Relieved })
    }

    /// A step when memory runs out: waits, for `limit` at most, for the oldest items of a heap with `bytes` bytes in total,
    /// held back or not, and frees all that is eligible.
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

    /// A step when memory runs out: the same for all items.
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

    /// The number of items, and their bytes by stream.
    pub(crate) fn pending_by_stream(&self) -> (usize, Vec<PendingOn>) {
        let queue = self.queue();
        (queue.iter().len(), bytes_by_stream(queue.iter()))
    }

    /// Frees all items at the end of their owner, also those held back, and those of a failed device once it is idle.
    ///
    /// Waits for ten seconds at most. Items that cannot be freed by then stay, and the error says why.
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
                    log_in_drop(|| log::error!("dropped memory was freed, but destructors panicked: {error}"));
                }
                Err(error) => return Err(error),
                Ok(StepOutcome::TimedOut) => return Err(DriverError::Timeout { waited: begun.elapsed() }.into()),
                Ok(_) if self.pending().0 == 0 => return Ok(()),
                Ok(_) => {} // A destructor dropped more.
            }
        }
    }

    /// Frees the items that the device no longer uses, and returns their number. Items whose query fails stay.
    fn free_eligible(&self, free: impl FnMut(T)) -> Result<usize> {
        let polled = self.queue().poll();
        // Locked for each item, and not while it is freed. If freeing one fails, the others are still in the queue.
        let eligible = iter::from_fn(|| self.queue().take_eligible());
        let freed = free_each(eligible, free);
        polled?;
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

/// Frees an item whose last uses are over. It is freed when this returns.
///
/// # Errors
///
/// [`Error::CleanupPanicked`] if freeing it panicked.
pub(crate) fn free_now<T>(item: T, free: impl FnMut(T)) -> Result<()> {
    free_each(iter::once(item), free).map(drop)
}

/// Frees all items, also when freeing one panics, which becomes the error.
fn free_each<T>(items: impl Iterator<Item = T>, mut free: impl FnMut(T)) -> Result<usize> {
    let (mut n_freed, mut panicked) = (0, Vec::new());
    for item in items {
        n_freed += 1;
        assert_none_held("freeing memory");
        panicked.extend(catch_panic(|| free(item)).err());
    }
    if panicked.is_empty() { Ok(n_freed) } else { Err(Error::CleanupPanicked { messages: panicked }) }
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
