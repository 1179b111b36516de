//! A `VkQueue` behind its mutex: Vulkan requires that submissions to one queue do not overlap.

use std::sync::{self, Arc, PoisonError, TryLockError, Weak};

use ash::vk;

use super::{Timeline, loss};
use crate::error::{Error, Result};
use crate::lock::{Mutex, MutexGuard, Rank};

/// A lock that this library and other code hold while they use a queue that they share.
pub type QueueLock = Arc<sync::Mutex<()>>;

/// A queue of the device. Many streams share it.
#[derive(Debug)]
pub(crate) struct Queue {
    raw: Mutex<vk::Queue>, // Held until `newest` is updated after a submission.
    pub(crate) family: u32,
    /// Whether the queue runs kernels. Otherwise it runs copies and fills only, and supports only their pipeline stage.
    pub(crate) computes: bool,
    /// The lock of a queue that other code uses too. It is taken after `raw`.
    lock: Option<QueueLock>,
    /// The timeline value that the newest submission signals.
    newest: Mutex<Option<(Weak<Timeline>, u64)>>,
}

/// The position of a queue in the device's list of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueIndex(pub(crate) usize);

impl Queue {
    /// A queue with the lock that other code holds while it uses the queue, if other code uses it.
    pub(crate) fn new(raw: vk::Queue, family: u32, computes: bool, lock: Option<QueueLock>) -> Self {
        let (raw, newest) = (Mutex::new(Rank::Queue, raw), Mutex::new(Rank::QueueNewest, None));
        Self { raw, family, computes, lock, newest }
    }

    pub(crate) fn is(&self, raw: vk::Queue) -> bool {
        *self.raw.lock() == raw
    }

    /// Locks the queue, since Vulkan allows only one thread at a time to use it.
    pub(crate) fn lock(&self) -> LockedQueue<'_> {
        // No code of the program runs under either lock.
        let raw = self.raw.lock();
        let outside = self.lock.as_ref().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        LockedQueue { raw: *raw, _own: raw, _outside: outside }
    }

    /// Locks the queue, unless it is locked.
    pub(crate) fn try_lock(&self) -> Option<LockedQueue<'_>> {
        let raw = self.raw.try_lock()?;
        let outside = match self.lock.as_ref().map(|lock| lock.try_lock()) {
            Some(Err(TryLockError::WouldBlock)) => return None,
            Some(Err(TryLockError::Poisoned(poisoned))) => Some(poisoned.into_inner()),
            outside => outside.and_then(Result::ok),
        };
        Some(LockedQueue { raw: *raw, _own: raw, _outside: outside })
    }

    /// Stores the timeline value that a submission signals. The caller holds the queue's lock.
    pub(crate) fn note_newest(&self, timeline: &Arc<Timeline>, value: u64) {
        *self.newest.lock() = Some((Arc::downgrade(timeline), value));
    }

    /// Whether this library's newest submission to the queue is complete. Submissions complete nearly in order. Never
    /// blocks.
    pub(crate) fn is_idle(&self) -> bool {
        let newest = self.newest.lock().clone();
        // A timeline that was dropped had no pending work.
        newest.is_none_or(|(timeline, value)| {
            timeline.upgrade().is_none_or(|timeline| timeline.has_reached(value).unwrap_or(false))
        })
    }

    /// Blocks until everything submitted to the queue is complete. The specification guarantees that the wait ends on a
    /// lost device.
    pub(crate) fn wait_idle(&self, device: &ash::Device) -> Result<()> {
        let queue = self.lock();
        // SAFETY: the lock gives exclusive access to the queue, which is one of `device`.
        let idle = loss::retry_wait(|| unsafe { device.queue_wait_idle(queue.raw) });
        idle.map_err(Error::from_call("vkQueueWaitIdle"))
    }
}

/// A locked queue.
pub(crate) struct LockedQueue<'a> {
    pub(crate) raw: vk::Queue,
    _outside: Option<sync::MutexGuard<'a, ()>>, // Taken last, so released first.
    _own: MutexGuard<'a, vk::Queue>,
}
