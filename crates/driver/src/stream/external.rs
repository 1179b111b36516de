//! Streams on queues of other code, and points on semaphores that other code signals.
//!
//! Both are `unsafe` to create, since the other code cannot be checked, and safe to use afterwards.
//! Whole devices are adopted in `device/adopt.rs`.

use std::sync::{Arc, Weak};

use ash::vk;

use super::Stream;
use crate::device::{Device, ExternalQueue};
use crate::error::{Error, Result};
use crate::lane::Lane;
use crate::tracker::Point;
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
