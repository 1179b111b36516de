//! Streams on queues of other code, and points on semaphores that other code signals.
//!
//! Such streams and points are `unsafe` to create, since the other code cannot be checked, and safe to use afterwards.
//! `vulkan/semaphore.rs` makes the semaphores that other devices and processes share; here streams signal them and wait
//! for them. `device/adopt.rs` adopts whole devices.

#[cfg(unix)]
use std::mem;
use std::sync::{Arc, Weak};

use ash::vk;

use super::{LegacyRole, Stream};
use crate::device::{Device, ExternalQueue};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::tracker::Point;
#[cfg(unix)]
use crate::vulkan::{ExternalSemaphore, SemaphoreKind};
use crate::vulkan::{Queue, Timeline};

impl Stream {
    /// Creates a stream whose work, copies included, goes to the given queue alone.
    ///
    /// A queue that the device already uses keeps the lock it has, and `queue.lock` is not taken.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the device was not opened for the queue's family, or if the family runs no kernels,
    /// [`Error::Vulkan`] if the driver cannot make another semaphore, [`Error::Forked`] in a forked process.
    ///
    /// # Safety
    ///
    /// `queue.raw` is a queue of `device`, of the family `queue.family`. Until the device is gone, no other code uses
    /// the queue or, if the queue has a lock, other code uses it only while it holds the lock. This library uses the
    /// queue from any thread, at any time.
    #[doc(alias = "external_stream")]
    pub unsafe fn external(device: &Arc<Device>, queue: ExternalQueue) -> Result<Self> {
        device.check_process()?;
        let ExternalQueue { raw, family, lock } = queue;
        let families = device.plan().families();
        if !families.contains(&family) {
            let reason = format!("it was opened for queues of families {families:?}, and not of {family}");
            return Err(device.info().unsuitable(reason));
        }
        if !device.info().queue_families[family as usize].compute {
            return Err(device.info().unsuitable(format!("queues of family {family} run no kernels")));
        }
        let queue = device.find_queue(raw, || Queue::new(raw, family, true, lock));
        Self::on_queues(device, LegacyRole::Ordinary, queue, None)
    }
}

#[cfg(unix)]
impl Stream {
    /// Signals a semaphore on the device when everything recorded so far is complete. Submits the recorded work, and
    /// returns at once.
    ///
    /// `value` is the value that a timeline semaphore is set to; for a binary semaphore it has no meaning.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`] if the semaphore is of another device, [`Error::DeviceLost`] if the device is lost,
    /// [`Error::Vulkan`] if the driver refuses a submission, [`Error::Forked`] in a forked process.
    ///
    /// # Safety
    ///
    /// A timeline semaphore has not reached `value`, and no device signals a value as large before this signal. A
    /// binary semaphore is not signalled, and each earlier signal was waited for.
    #[doc(alias = "vkQueueSubmit2")]
    pub unsafe fn signal_external(&self, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.check_device(semaphore)?;
        let point = self.point()?;
        point.flush()?;
        self.submit_between((point.timeline().raw(), point.value()), (semaphore.raw(), value))
    }

    /// Makes later work of this stream start after a semaphore is signalled, on the device: a timeline semaphore with
    /// `value`, a binary semaphore at all. Returns at once.
    ///
    /// Work that waits holds up its whole queue, and with it other streams of that queue.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`] if the semaphore is of another device, [`Error::DeviceLost`] if the device is lost,
    /// [`Error::Vulkan`] if the driver refuses a submission, [`Error::Forked`] in a forked process.
    ///
    /// # Safety
    ///
    /// A timeline semaphore does reach `value`, and its signal does not depend on work that waits for it. The signal of
    /// a binary semaphore was submitted before, and nothing else waits for it.
    #[doc(alias = "vkQueueSubmit2")]
    pub unsafe fn wait_external(&self, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.check_device(semaphore)?;
        let logical = self.device().logical();
        if semaphore.kind() == SemaphoreKind::Timeline {
            // The handle lives until the device is closed.
            let timeline = Arc::new(Timeline::external(logical, semaphore.raw()));
            return self.wait_for(&Point::new(timeline, Weak::<Lane>::new(), value));
        }
        // All lanes of the stream wait for a timeline that is signalled when the binary semaphore was.
        let timeline = Arc::new(Timeline::new(logical, 0)?);
        let value = timeline.submitted() + 1;
        self.submit_between((semaphore.raw(), 0), (timeline.raw(), value))?;
        timeline.set_submitted(value);
        let waiting = self.wait_for(&Point::new(Arc::clone(&timeline), Weak::<Lane>::new(), value));
        if waiting.is_err() {
            mem::forget(timeline); // Another stream must not have the semaphore before it is signalled.
        }
        waiting
    }

    fn check_device(&self, semaphore: &ExternalSemaphore) -> Result<()> {
        if !Arc::ptr_eq(self.device().logical(), semaphore.device()) {
            return Err(Error::DifferentDevices);
        }
        self.device().check_lost()
    }

    /// Submits a batch without commands to the stream's queue, which waits for one semaphore and signals another.
    fn submit_between(&self, wait: (vk::Semaphore, u64), signal: (vk::Semaphore, u64)) -> Result<()> {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        let at =
            |(semaphore, value)| [vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value).stage_mask(all)];
        let (waits, signals) = (at(wait), at(signal));
        let info = vk::SubmitInfo2::default().wait_semaphore_infos(&waits).signal_semaphore_infos(&signals);
        let queue = self.work_queue().lock();
        // The check is repeated under the queue's lock: a thread that locks a queue after the device has failed submits
        // nothing more to it.
        self.device().check_lost()?;
        // SAFETY: the queue is locked. The stream's timelines and external semaphores live until the device is closed,
        // and the callers keep to the rules of values and of binary semaphores.
        unsafe { self.device().raw().queue_submit2(queue.raw, &[info], vk::Fence::null()) }
            .map_err(self.device().failed("vkQueueSubmit2"))
    }
}

impl Point {
    /// The moment at which a timeline semaphore from outside reaches `value`. The host, another library on the same
    /// device or another process may signal the semaphore.
    ///
    /// Streams, [`Event`](crate::Event)s and the host wait for this point as for any other. Work that waits on the
    /// device holds up its whole queue until the value is reached, and with it other streams of that queue.
    ///
    /// # Safety
    ///
    /// `semaphore` is a timeline semaphore of `device`. It lives until the point, its clones and all work that waits
    /// for it are done. It does reach `value`, and its signal does not depend on work that waits for it.
    #[must_use]
    #[doc(alias = "vkImportSemaphoreFdKHR")]
    pub unsafe fn external(device: &Arc<Device>, semaphore: vk::Semaphore, value: u64) -> Self {
        Self::new(Arc::new(Timeline::external(device.logical(), semaphore)), Weak::<Lane>::new(), value)
    }
}
