//! Waiting for a stream at the end of a scope.
//!
//! Unlike numba's `auto_synchronize`, the guard also waits when a panic unwinds: what the scope borrowed is not left to
//! the device. `mod.rs` has the waits that a program calls itself.

use super::Stream;
use crate::error::Result;
use crate::sync::log_in_drop;

impl Stream {
    /// Returns a guard that waits for the stream when it goes out of scope, also when a panic unwinds.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// {
    ///     let _guard = stream.auto_synchronize();
    ///     Event::with_timing(&device)?.record(&stream)?;
    /// } // Waits here.
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the guard waits when it is dropped"]
    pub fn auto_synchronize(&self) -> AutoSynchronize<'_> {
        AutoSynchronize { stream: self, is_finished: false }
    }
}

/// Waits for a stream when dropped. Made by [`Stream::auto_synchronize`].
#[derive(Debug)]
pub struct AutoSynchronize<'a> {
    stream: &'a Stream,
    is_finished: bool,
}

impl AutoSynchronize<'_> {
    /// Waits now, and returns what went wrong. Dropping the guard only writes the error to the log.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let guard = stream.auto_synchronize();
    /// Event::with_timing(&device)?.record(&stream)?;
    /// guard.finish()?; // Unlike a drop, it returns errors.
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, and the errors of [`Stream::synchronize`].
    pub fn finish(mut self) -> Result<()> {
        self.is_finished = true;
        self.stream.synchronize()
    }
}

impl Drop for AutoSynchronize<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if let Err(error) = self.stream.synchronize() {
            log_in_drop(|| log::error!("a stream could not be waited for at the end of its scope: {error}"));
        }
    }
}
