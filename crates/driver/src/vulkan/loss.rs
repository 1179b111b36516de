//! What happens when a device fails for good: every later call returns the first error.
//!
//! A device fails when the driver reports that it is lost, and when recorded work is lost: threads that wait for that
//! work must get an error, and later work would use results that were never computed. Memory that the device used may
//! be freed once the driver is done with it. To that end the specification counts `VK_ERROR_DEVICE_LOST` from a wait as
//! success, so nothing has to be leaked.
//!
//! A driver may know of a loss that a wait for a timeline does not report, so long waits ask for it:
//! [`LogicalDevice::ask_lost`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ash::prelude::VkResult;
use ash::vk;

use super::label::Labels;
use super::{Label, LogicalDevice};
use crate::error::{Error, Result};

/// How long a drop waits for the device before it leaks what the device may still use.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause before a wait that failed for lack of memory is tried again.
const PAUSE: Duration = Duration::from_millis(1);

/// The shortest time between two questions whether a device is lost.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(100);

/// The first error of a failed device, and the labels of its last work.
#[derive(Debug, Default)]
pub(crate) struct DeviceLoss {
    first: OnceLock<Error>,
    /// Whether a submission failed although the driver may have taken it.
    is_unsure: AtomicBool,
    /// The labels of the last operations.
    pub(crate) labels: Labels,
}

impl LogicalDevice {
    /// Returns the first error if the device has failed, and an error if the process was forked since the device was
    /// opened.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// assert!(device.check_lost().is_ok());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the driver reported a loss first, the error by which recorded work was lost if that
    /// came first, [`Error::Forked`] in a forked process.
    #[inline]
    pub fn check_lost(&self) -> Result<()> {
        if self.is_forked() || self.loss.first.get().is_some() {
            return self.lost();
        }
        Ok(())
    }

    #[cold]
    fn lost(&self) -> Result<()> {
        self.check_process()?;
        self.loss.first.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// [`LogicalDevice::check_lost`], and whether the driver says that the device is lost, if it was not asked within the last
    /// [`ASK_EVERY`].
    ///
    /// NVIDIA's driver (580.159.04, an H100 and an H200) ends a process's work where a kernel of some seconds keeps it from
    /// switching to another process. Waits for timelines never report that: they run into their timeouts. Submissions do, also
    /// one of nothing.
    ///
    /// # Errors
    ///
    /// The errors of [`LogicalDevice::check_lost`].
    pub(crate) fn ask_lost(&self) -> Result<()> {
        self.check_lost()?;
        self.find_loss();
        self.check_lost()
    }

    /// Asks the driver whether the device is lost, unless it was asked within the last [`ASK_EVERY`]. If so, marks the device as
    /// failed and returns true.
    pub(super) fn find_loss(&self) -> bool {
        // A thread that finds the lock taken leaves the question to the other thread.
        let Some(mut last_asked) = self.loss_asked.try_lock() else { return false };
        if last_asked.elapsed() < ASK_EVERY {
            return false;
        }
        *last_asked = Instant::now();
        let is_lost = self.queues().iter().any(|queue| {
            // The program may wait while it holds the lock of a queue that it lent.
            let Some(queue) = queue.try_lock() else { return false };
            // SAFETY: the lock gives exclusive access to the queue, which is one of this device; nothing is submitted.
            let answer = unsafe { self.raw().queue_submit2(queue.raw, &[], vk::Fence::null()) };
            answer == Err(vk::Result::ERROR_DEVICE_LOST)
        });
        if is_lost {
            self.failed("vkQueueSubmit2")(vk::Result::ERROR_DEVICE_LOST);
        }
        is_lost
    }

    /// Returns a converter for `map_err` that turns a Vulkan result into an error of `call`. A result that says that
    /// the device is lost marks the device as failed.
    pub fn failed(&self, call: &'static str) -> impl FnOnce(vk::Result) -> Error {
        move |code| match Error::from_call(call)(code) {
            lost @ Error::DeviceLost { .. } => self.fail(lost),
            error => error,
        }
    }

    /// The label of kernels named `name`, for [`Recorder::label`](crate::Recorder::label). Equal names have equal
    /// labels.
    #[must_use]
    pub fn kernel_label(&self, name: &str) -> Label {
        if self.is_forked() {
            return Label::UNKNOWN_KERNEL; // In a forked process the lock may stay locked for ever.
        }
        self.loss.labels.kernel(name)
    }

    /// Whether a submission failed although the driver may have taken it.
    pub(crate) fn is_submission_unsure(&self) -> bool {
        self.loss.is_unsure.load(Ordering::Acquire)
    }

    /// Marks the device as failed, and returns its first error.
    pub(crate) fn fail(&self, error: Error) -> Error {
        let with_labels = |error| match error {
            Error::DeviceLost { call, .. } => Error::DeviceLost { call, labels: self.loss.labels.last() },
            error => error,
        };
        self.loss.first.get_or_init(|| with_labels(error)).clone()
    }

    /// Marks the device as failed because of a submission that the driver may have taken, and returns the device's
    /// first error.
    pub(crate) fn fail_unsure(&self, error: Error) -> Error {
        self.loss.is_unsure.store(true, Ordering::Release);
        self.fail(error)
    }
}

/// Repeats a wait that fails for lack of memory. A lost device counts as success, since it executes nothing any more.
pub(crate) fn retry_wait(mut wait: impl FnMut() -> VkResult<()>) -> VkResult<()> {
    let begun = Instant::now();
    loop {
        match wait() {
            Err(vk::Result::ERROR_DEVICE_LOST) => return Ok(()),
            Err(vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)
                if begun.elapsed() < DRAIN_TIMEOUT =>
            {
                thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_repeated_for_lack_of_memory_and_ends_with_the_device() {
        use vk::Result as R;
        type Case<'a> = (&'a [Option<R>], usize, Option<R>);
        let cases: [Case<'_>; 5] = [
            // The answers of the driver, how many of them are asked for, and the result.
            (&[None], 1, None),                                    // The work is complete.
            (&[Some(R::ERROR_DEVICE_LOST)], 1, None),              // Nothing is in use.
            (&[Some(R::ERROR_OUT_OF_HOST_MEMORY), None], 2, None), // Asked again.
            (&[Some(R::ERROR_OUT_OF_DEVICE_MEMORY), Some(R::ERROR_DEVICE_LOST)], 2, None), // Asked again.
            (&[Some(R::ERROR_UNKNOWN), None], 1, Some(R::ERROR_UNKNOWN)), // Anything may be in use.
        ];
        for (answers, n_asked, expected) in cases {
            let mut left = answers.iter();
            let outcome = retry_wait(|| left.next().expect("no more was to be asked").map_or(Ok(()), Err));
            assert_eq!((answers.len() - left.len(), outcome.err()), (n_asked, expected), "{answers:?}");
        }
    }
}
