//! A `VkQueue` behind its mutex: Vulkan wants submissions to one queue in turn.

use std::sync::{Mutex, PoisonError};

use ash::vk;

use crate::error::{Error, Result};

/// A queue of the device. Many streams share it.
#[derive(Debug)]
pub(crate) struct Queue {
    raw: Mutex<vk::Queue>, // Taken after a lane's lock; held across the submit and nothing else.
    family: u32,
    computes: bool,
}

/// Which of a device's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueIndex(pub(crate) usize);

impl Queue {
    pub(crate) fn new(raw: vk::Queue, family: u32, computes: bool) -> Self {
        Self { raw: Mutex::new(raw), family, computes }
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
        // SAFETY: the mutex gives exclusive access to the queue; the caller vouches for `submit`.
        unsafe { device.queue_submit2(*queue, std::slice::from_ref(submit), vk::Fence::null()) }
            .map_err(Error::from_call("vkQueueSubmit2"))
    }
}
