//! A `VkQueue` behind its mutex: Vulkan wants submissions to one queue in turn.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ash::vk;

/// A queue of the device. Many streams share it.
#[derive(Debug)]
pub(crate) struct Queue {
    raw: Mutex<vk::Queue>, // Taken after a lane's lock; held across the submit and the note of it.
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

    /// Keeps every other thread from using the queue: Vulkan wants one at a time.
    pub(crate) fn lock(&self) -> MutexGuard<'_, vk::Queue> {
        // No caller's code runs under the lock.
        self.raw.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
