//! A semaphore in the test's own hand: work that waits for it is done when the test says, and not before.

use std::sync::Arc;
use std::thread;

use ash::vk;
use vkarray::device::Device;
use vkarray::stream::Point;

/// More than any test raises a semaphore to.
const AFTER_ALL: u64 = 1 << 30;

/// A timeline semaphore that no work signals.
pub(crate) struct RaisedByHand {
    semaphore: vk::Semaphore,
    device: Arc<Device>,
}

impl RaisedByHand {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: `info` is complete; `drop` destroys the semaphore.
        let semaphore = unsafe { device.raw().create_semaphore(&info, None) }.unwrap();
        Self { semaphore, device: Arc::clone(device) }
    }

    pub(crate) fn point(&self, value: u64) -> Point {
        // SAFETY: of this device, and each test raises it so far before it ends.
        unsafe { Point::external(&self.device, self.semaphore, value) }
    }

    pub(crate) fn raise(&self, value: u64) {
        let info = vk::SemaphoreSignalInfo::default().semaphore(self.semaphore).value(value);
        // SAFETY: the tests raise it upwards only.
        unsafe { self.device.raw().signal_semaphore(&info) }.unwrap();
    }
}

impl Drop for RaisedByHand {
    fn drop(&mut self) {
        if thread::panicking() {
            self.raise(AFTER_ALL); // The test failed before it did, and what waits would wait for ever.
        }
        // What waited for it is done, and the driver has let go of it.
        // SAFETY: no other thread of a test uses a queue now; none of its streams has work.
        unsafe { self.device.raw().device_wait_idle() }.unwrap();
        // SAFETY: created by `new`, and nothing waits for it any more.
        unsafe { self.device.raw().destroy_semaphore(self.semaphore, None) };
    }
}
