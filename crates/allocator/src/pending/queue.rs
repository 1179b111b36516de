//! [`PendingQueue`]: the list of dropped items with the device. Items are freed by dropping them.
//!
//! The rules are `list.rs`. No lock is held while this waits or while an item is freed.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{iter, mem, thread};

use vkarray_driver::lock::{Mutex, Rank, assert_none_held};
use vkarray_driver::{Device, Error as DriverError, catch_panic, log_in_drop};

use super::defer_guard::DeferCount;
use super::limits::PendingLimits;
use super::list::{HeapLimits, PendingList};
use super::uses::{CompletionQuery, PendingUses, Uses, bytes_by_stream};
use crate::error::{Error, PendingOn, Result};

/// How long the end of a queue waits for work, and repeats queries that the driver refuses.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two such queries.
const PAUSE: Duration = Duration::from_millis(1);

/// Dropped items of one device. The end of the queue waits for their uses, for a limited time, and leaks the items that
/// are still used then.
#[derive(Debug)]
pub(crate) struct PendingQueue<T> {
    /// No caller's code runs under the lock.
    list: Mutex<PendingList<PendingUses, T>>,
    limits: HeapLimits,
    deferrals: DeferCount,
    device: Arc<Device>,
}

impl<T> PendingQueue<T> {
    /// A queue that no guard holds back.
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self::with_limits(device, PendingLimits::default(), DeferCount::default())
    }

    /// A queue whose items are due above `limits`, except while `deferrals` counts a guard.
    pub(crate) fn with_limits(device: &Arc<Device>, limits: PendingLimits, deferrals: DeferCount) -> Self {
        let limits = limits.on(&device.info().memory_heaps);
        let list = Mutex::new(Rank::PendingQueue, PendingList::default());
        Self { list, limits, deferrals, device: Arc::clone(device) }
    }

    /// Adds an item of `bytes` bytes on that heap, which may be freed once `uses` are over. Frees nothing.
    pub(crate) fn push(&self, uses: PendingUses, heap: usize, bytes: u64, item: T) {
        self.list.lock().push(uses, heap, bytes, item);
    }

    /// Frees an item, at once if its uses are over. Otherwise adds it, and frees what is over by now. Never blocks.
    pub(crate) fn free_or_push(&self, mut uses: PendingUses, bytes: u64, item: T) {
        let freed = match uses.forget_complete(&self.device) {
            // The item is freed here and not through the list: another thread could take it from the list, and still
            // be busy with it when this returns.
            Ok(()) if uses.are_over() => free_each(iter::once(item)).map(drop),
            _ => {
                self.push(uses, 0, bytes, item);
                self.try_flush()
            }
        };
        if let Err(error) = freed {
            log::warn!("dropped memory stays pending: {error}");
        }
    }

    /// The number of items and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        self.list.lock().pending()
    }

    /// The bytes of items on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.list.lock().bytes_on(heap)
    }

    /// Whether a guard holds the items back.
    pub(crate) fn is_held_back(&self) -> bool {
        self.deferrals.is_active()
    }

    /// If the limits are exceeded, frees the items that the device no longer uses. Never blocks.
    pub(crate) fn free_due(&self) -> Result<()> {
        self.device.check_process()?;
        if self.is_held_back() || !self.list.lock().is_due(&self.limits) { Ok(()) } else { self.free_over().map(drop) }
    }

    /// Frees the items that the device no longer uses, unless a guard holds them back. Never blocks.
    pub(crate) fn try_flush(&self) -> Result<()> {
        self.device.check_process()?;
        if self.is_held_back() { Ok(()) } else { self.free_over().map(drop) }
    }

    /// Frees the items that were dropped before the call, unless a guard holds them back. Waits for their uses.
    pub(crate) fn flush(&self) -> Result<()> {
        self.device.check_process()?;
        if self.is_held_back() { Ok(()) } else { self.wait_for_all(None).map(drop) }
    }

    /// Waits, for `limit` at most, for the oldest items of a heap with `bytes` bytes in total, held back or not, and
    /// frees all that is over. Returns the number of freed items, or `None` if the time was too short.
    pub(crate) fn wait_for_enough(&self, heap: usize, bytes: u64, limit: Duration) -> Result<Option<usize>> {
        self.wait_and_free(|list| list.uses_of_oldest(heap, bytes), Some(limit))
    }

    /// Does for all items what [`PendingQueue::wait_for_enough`] does for the oldest.
    pub(crate) fn wait_for_all(&self, limit: Option<Duration>) -> Result<Option<usize>> {
        self.wait_and_free(PendingList::uses, limit)
    }

    fn wait_and_free(
        &self,
        select: impl FnOnce(&PendingList<PendingUses, T>) -> PendingUses,
        limit: Option<Duration>,
    ) -> Result<Option<usize>> {
        self.device.check_process()?;
        let uses = select(&self.list.lock());
        // No lock is held here: waiting may submit work, and other threads may drop blocks.
        let is_over = uses.wait(&self.device, limit)?;
        let n_freed = self.free_over()?;
        Ok(is_over.then_some(n_freed))
    }

    /// The number of items, and their bytes by stream.
    pub(crate) fn pending_by_stream(&self) -> (usize, Vec<PendingOn>) {
        let list = self.list.lock();
        (list.iter().len(), bytes_by_stream(&self.device, list.iter()))
    }

    /// Frees the items that the device no longer uses, also those that a guard holds back, and returns their number.
    /// Items whose query fails stay. Never blocks.
    pub(crate) fn free_over(&self) -> Result<usize> {
        let mut query = CompletionQuery::new(|uses: &mut PendingUses| uses.forget_complete(&self.device));
        let polled = self.list.lock().poll(&mut query);
        // The list is locked for each item, and not while it is freed. If freeing one fails, the others are still in it.
        let freed = free_each(iter::from_fn(|| self.list.lock().take_over()));
        polled?;
        freed
    }

    /// Frees all items, also those held back, and those of a failed device once it is idle. Waits for ten seconds at
    /// most. Items that cannot be freed by then stay, and the error says why.
    fn drain(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let left = DRAIN_TIMEOUT.saturating_sub(begun.elapsed());
            match self.wait_for_all(Some(left)) {
                Err(_) if !self.device.is_forked() && self.device.check_lost().is_err() => {
                    self.device.drain_after_loss()?;
                    let all = self.list.lock().take_all();
                    return free_each(all).map(drop);
                }
                Err(Error::Driver(refused)) if refused.is_out_of_memory() && !left.is_zero() => thread::sleep(PAUSE),
                Err(error @ Error::CleanupPanicked { .. }) => {
                    log_in_drop(|| log::error!("dropped memory was freed, but destructors panicked: {error}"));
                }
                Err(error) => return Err(error),
                Ok(None) => return Err(DriverError::Timeout { waited: begun.elapsed() }.into()),
                Ok(Some(_)) if self.pending().0 == 0 => return Ok(()),
                Ok(Some(_)) => {} // A destructor dropped more.
            }
        }
    }
}

impl<T> Drop for PendingQueue<T> {
    fn drop(&mut self) {
        if let Err(error) = self.drain() {
            log_in_drop(|| log::error!("memory is leaked: its last use never ended: {error}"));
        }
        mem::forget(mem::take(self.list.get_mut()));
    }
}

/// Frees all items, also when freeing one panics, which becomes the error. Returns their number.
fn free_each<T>(items: impl Iterator<Item = T>) -> Result<usize> {
    let (mut n_freed, mut panicked) = (0, Vec::new());
    for item in items {
        n_freed += 1;
        assert_none_held("freeing memory");
        panicked.extend(catch_panic(|| drop(item)).err());
    }
    if panicked.is_empty() { Ok(n_freed) } else { Err(Error::CleanupPanicked { messages: panicked }) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// An item that is noted when it is dropped, and may panic then.
    struct Noted<'a>(u32, &'a RefCell<Vec<u32>>);

    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
            match self.0 {
                1 => panic!("the second"),
                3 => std::panic::panic_any(7),
                _ => {}
            }
        }
    }

    #[test]
    fn a_failing_destructor_keeps_nothing_else_from_being_freed() {
        let freed = RefCell::default();
        let outcome = free_each((0..5).map(|item| Noted(item, &freed)));
        assert_eq!(*freed.borrow(), [0, 1, 2, 3, 4]);
        let Err(Error::CleanupPanicked { messages }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(messages, ["the second", "no message"]);
        assert_eq!(free_each(0..3).unwrap(), 3);
    }
}
