//! A `VkQueue` behind its mutex: Vulkan wants submissions to one queue in turn.

use std::sync::{self, Arc, PoisonError, Weak};

use ash::vk;

use super::{Timeline, loss};
use crate::error::{Error, Result};
use crate::lock::{Mutex, MutexGuard, Rank};

/// Held around every use of a queue by all who use it, inside this library and outside.
pub type QueueLock = Arc<sync::Mutex<()>>;

/// A queue of the device. Many streams share it.
#[derive(Debug)]
pub(crate) struct Queue {
    raw: Mutex<vk::Queue>, // Held across the submit and the note of it.
    family: u32,
    computes: bool,
    /// Whoever else uses the queue holds this meanwhile; nothing if nobody does. Taken after `raw`.
    lock: Option<QueueLock>,
    /// What the newest submission signals.
    newest: Mutex<Option<(Weak<Timeline>, u64)>>,
}

/// Which of a device's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueIndex(pub(crate) usize);

impl QueueIndex {
    /// As the hazard table takes it.
    pub(crate) fn number(self) -> u32 {
        u32::try_from(self.0).expect("a device has few queues")
    }
}

impl Queue {
    pub(crate) fn new(raw: vk::Queue, family: u32, computes: bool) -> Self {
        let (raw, newest) = (Mutex::new(Rank::Queue, raw), Mutex::new(Rank::QueueNewest, None));
        Self { raw, family, computes, lock: None, newest }
    }

    /// A queue that others use too, whenever they hold `lock`.
    pub(crate) fn shared(self, lock: Option<QueueLock>) -> Self {
        Self { lock, ..self }
    }

    pub(crate) fn is(&self, raw: vk::Queue) -> bool {
        *self.raw.lock() == raw
    }

    /// Whether it takes kernels; else only copies and fills, and their stage is the only one it knows.
    pub(crate) fn computes(&self) -> bool {
        self.computes
    }

    pub(crate) fn family(&self) -> u32 {
        self.family
    }

    /// Keeps everybody else from using the queue: Vulkan wants one at a time.
    pub(crate) fn lock(&self) -> LockedQueue<'_> {
        // No caller's code runs under either lock.
        let raw = self.raw.lock();
        let outside = self.lock.as_ref().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        LockedQueue { raw: *raw, _own: raw, _outside: outside }
    }

    /// Notes what a submission signals. The caller has the queue locked.
    pub(crate) fn note_newest(&self, timeline: &Arc<Timeline>, value: u64) {
        *self.newest.lock() = Some((Arc::downgrade(timeline), value));
    }

    /// Whether what this library submitted last is done: a queue's submissions end in their order, nearly. Never blocks.
    pub(crate) fn is_idle(&self) -> bool {
        let newest = self.newest.lock().clone();
        // A timeline goes when its work is done.
        newest.is_none_or(|(timeline, value)| timeline.upgrade().is_none_or(|timeline| timeline.has_reached(value)))
    }

    /// Blocks until the driver is done with everything sent to the queue. A lost device is, says the specification, and
    /// answers within finite time.
    pub(crate) fn wait_idle(&self, device: &ash::Device) -> Result<()> {
        let queue = self.lock();
        // SAFETY: the lock gives exclusive access to the queue, which is one of `device`.
        let idle = loss::retry_wait(|| unsafe { device.queue_wait_idle(queue.raw) });
        idle.map_err(Error::from_call("vkQueueWaitIdle"))
    }
}

/// A queue that nobody else uses meanwhile.
pub(crate) struct LockedQueue<'a> {
    pub(crate) raw: vk::Queue,
    _outside: Option<sync::MutexGuard<'a, ()>>, // Given back first: taken last.
    _own: MutexGuard<'a, vk::Queue>,
}
