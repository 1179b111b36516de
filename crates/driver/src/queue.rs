//! A `VkQueue` behind its mutex: Vulkan wants submissions to one queue in turn.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::error::{Error, Result};

/// Held around every use of a queue by all who use it, inside this library and outside.
pub type QueueLock = Arc<Mutex<()>>;

/// A queue of the device. Many streams share it.
#[derive(Debug)]
pub(crate) struct Queue {
    raw: Mutex<vk::Queue>, // Taken after a lane's lock; held across the submit and nothing else.
    family: u32,
    computes: bool,
    /// Whoever else uses the queue holds this meanwhile; nothing if nobody does. Taken after `raw`.
    lock: Option<QueueLock>,
}

/// Which of a device's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueIndex(pub(crate) usize);

impl Queue {
    pub(crate) fn new(raw: vk::Queue, family: u32, computes: bool) -> Self {
        Self { raw: Mutex::new(raw), family, computes, lock: None }
    }

    /// A queue that others use too, whenever they hold `lock`.
    pub(crate) fn shared(self, lock: Option<QueueLock>) -> Self {
        Self { lock, ..self }
    }

    pub(crate) fn is(&self, raw: vk::Queue) -> bool {
        *self.raw.lock().unwrap_or_else(PoisonError::into_inner) == raw
    }

    /// Whether it takes kernels; else only copies and fills, and their stage is the only one it knows.
    pub(crate) fn computes(&self) -> bool {
        self.computes
    }

    pub(crate) fn family(&self) -> u32 {
        self.family
    }

    /// Hands one batch to the driver.
    ///
    /// # Safety
    ///
    /// Everything `submit` refers to was made from `device`, is alive until the work is done, and is ready to be
    /// executed: recorded command buffers, timeline values that grow.
    pub(crate) unsafe fn submit(&self, device: &ash::Device, submit: &vk::SubmitInfo2<'_>) -> Result<()> {
        let queue = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let _outside = self.lock.as_ref().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: the mutexes give exclusive access to the queue; the caller vouches for `submit`.
        unsafe { device.queue_submit2(*queue, std::slice::from_ref(submit), vk::Fence::null()) }
            .map_err(Error::from_call("vkQueueSubmit2"))
    }

    /// Blocks until the driver is done with everything sent to the queue.
    pub(crate) fn wait_idle(&self, device: &ash::Device) -> Result<()> {
        let queue = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
        let _outside = self.lock.as_ref().map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: the mutexes give exclusive access to the queue, which is one of `device`.
        unsafe { device.queue_wait_idle(*queue) }.map_err(Error::from_call("vkQueueWaitIdle"))
    }
}
