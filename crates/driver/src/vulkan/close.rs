//! The end of a `VkDevice`.
//!
//! A thread of the library may drop the last handle of a device, as the waiting thread does after a callback that owned
//! a context. It may do so while the process exits, and closing the device would then make the loader unmap drivers
//! whose handlers `exit` still runs. So the device is kept, and a thread of the program closes it with the next device
//! that it opens or closes. At the end of the process a kept device is left open.

use std::mem;
use std::sync::Arc;

use ash::vk;

use super::Queue;
use crate::instance::PhysicalDevice;
use crate::lock::{Mutex, Rank};
use crate::sync::{is_background_thread, log_in_drop};

/// Devices whose last handle a thread of the library dropped. They are state of the process, since nothing of the
/// program holds them.
static KEPT: Mutex<Vec<OpenDevice>> = Mutex::new(Rank::KeptDevices, Vec::new());

/// A device without any handle, and what is destroyed together with it. Dropping this closes the device.
pub(super) struct OpenDevice {
    pub(super) raw: ash::Device,
    pub(super) queues: Vec<Arc<Queue>>,
    pub(super) semaphores: Vec<vk::Semaphore>,
    /// Whether other code created the device and destroys it.
    pub(super) is_adopted: bool,
    pub(super) physical: PhysicalDevice, // Last: holds the instance, which must outlive the device.
}

impl OpenDevice {
    /// Closes the device, or keeps it for a thread of the program. A device of other code is closed at once, since its
    /// owner may destroy it.
    pub(super) fn close(self) {
        if !is_background_thread() || self.is_adopted {
            drop(self);
            return close_kept();
        }
        // The lock is not waited for, since in a forked process it may be held for ever.
        if let Some(mut kept) = KEPT.try_lock() {
            kept.push(self);
        }
    }
}

/// Closes the kept devices, unless another thread is doing so.
pub(super) fn close_kept() {
    if !is_background_thread() {
        let kept = KEPT.try_lock().map(|mut kept| mem::take(&mut *kept));
        drop(kept); // Without the lock.
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        if self.physical.instance().process.is_forked() {
            return; // The device belongs to the parent process.
        }
        // Lanes have waited for their work; this waits until the driver has released what the work used.
        if let Err(error) = self.queues.iter().try_for_each(|queue| queue.wait_idle(&self.raw)) {
            log_in_drop(|| log::warn!("the device is closed before it is idle: {error}"));
        }
        for semaphore in self.semaphores.drain(..) {
            // SAFETY: the semaphore's owner was dropped, so nothing uses the semaphore, and it is destroyed once.
            unsafe { self.raw.destroy_semaphore(semaphore, None) };
        }
        if !self.is_adopted {
            // SAFETY: every handle made from the device holds it, so none is left, and the device is idle.
            unsafe { self.raw.destroy_device(None) };
        }
    }
}
