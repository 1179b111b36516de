//! Streams on queues of other code, and points on semaphores that other code signals.
//!
//! Both are `unsafe` to create, since the other code cannot be checked, and safe to use afterwards. Semaphores that other
//! devices and processes share are made in `vulkan/semaphore.rs`; here streams signal and wait for them.
//! Whole devices are adopted in `device/adopt.rs`.

#[cfg(unix)]
use std::mem;
use std::sync::{Arc, Weak};

use ash::vk;

use super::Stream;
use crate::device::{Device, ExternalQueue};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::tracker::Point;
#[cfg(unix)]
use crate::vulkan::{ExternalSemaphore, SemaphoreKind};
use crate::vulkan::{Queue, Timeline};

impl Stream {
    /// Creates a stream whose work goes to that queue alone, its copies too.
    ///
    /// A queue that the device uses already stays under the lock it has there, and `queue.lock` is not taken.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the device was not opened for the queue's family, or the family runs no kernels;
    /// [`Error::Vulkan`] if the driver cannot make another semaphore; [`Error::Forked`].
    ///
    /// # Safety
    ///
    /// `queue.raw` is a queue of `device`, of that family. Until the device is gone no other code uses it, or, where it
    /// has a lock, none without holding that. This library uses it from any thread, at any time.
    #[doc(alias = "external_stream")]
    pub unsafe fn external(device: &Arc<Device>, queue: ExternalQueue) -> Result<Self> {
        device.check_process()?;
        let refused = |reason: String| Error::Unsuitable { device: device.info().name.clone(), reason };
        let ExternalQueue { raw, family, lock } = queue;
        let families = device.plan().families();
        if !families.contains(&family) {
            let reason = format!("it was opened for queues of families {families:?}, and not of {family}");
            return Err(refused(reason));
        }
        if !device.info().queue_families[family as usize].compute {
            return Err(refused(format!("queues of family {family} run no kernels")));
        }
        Self::on_queue(device, device.find_queue(raw, || Queue::new(raw, family, true).shared(lock)))
    }
}

#[cfg(unix)]
impl Stream {
    /// Signals a semaphore when everything recorded so far is complete, on the device. Submits that work, and returns at once.
    ///
    /// `value` is that of a timeline; for a binary semaphore it has no meaning.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`]; those of submitting the work.
    ///
    /// # Safety
    ///
    /// A timeline has not reached the value, and neither this nor another device signals one as large before. A binary
    /// semaphore is not signalled, and each earlier signal was waited for.
    #[doc(alias = "vkQueueSubmit2")]
    pub unsafe fn signal_external(&self, semaphore: &ExternalSemaphore, value: u64) -> Result<()> {
        self.check_device(semaphore)?;
        let point = self.point()?;
        point.flush()?;
        self.submit_between((point.timeline().raw(), point.value()), (semaphore.raw(), value))
    }

    /// Makes later work of this stream start after a semaphore is signalled: a timeline with `value`, a binary one at all. On
    /// the device; returns at once.
    ///
    /// Work that waits holds up its whole queue, and with it other streams of that queue.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`]; those of submitting.
    ///
    /// # Safety
    ///
    /// A timeline does reach the value, and that does not depend on work that waits for it. The signal of a binary semaphore
    /// was submitted before, and nothing else waits for it.
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
        // Checked under the queue's lock: after a failed device's queue was locked once, nothing more is submitted.
        self.device().check_lost()?;
        // SAFETY: the queue is locked. Own timelines live until the device is closed, as external semaphores do, and the
        // callers keep to the rules of values and of binary semaphores.
        unsafe { self.device().raw().queue_submit2(queue.raw, &[info], vk::Fence::null()) }
            .map_err(self.device().failed("vkQueueSubmit2"))
    }
}

impl Point {
    /// The moment a timeline semaphore from outside reaches `value`: raised by the host, by another library on the same
    /// device, or imported from another process.
    ///
    /// Streams, [`Event`](crate::Event)s and the host wait for it as for any other point. Work that waits on the device
    /// holds up its whole queue until the value comes, and with it other streams of that queue.
    ///
    /// # Safety
    ///
    /// `semaphore` is a timeline semaphore of `device`. It lives until the point, its clones and all work that waits for
    /// it are done. It does reach `value`, and that does not depend on work that waits for it.
    #[must_use]
    #[doc(alias = "vkImportSemaphoreFdKHR")]
    pub unsafe fn external(device: &Arc<Device>, semaphore: vk::Semaphore, value: u64) -> Self {
        Self::new(Arc::new(Timeline::external(device.logical(), semaphore)), Weak::<Lane>::new(), value)
    }
}
