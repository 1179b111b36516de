//! Submitting a stream's work, and waiting for its completion on the host: by blocking, by a callback or by a future.
//!
//! `future.rs` is the future; waits on the device are in `waits.rs`.

use std::sync::Arc;
use std::time::Duration;

use super::{Completion, Stream};
use crate::error::Result;
use crate::tracker::{Point, Submit as _};

impl Stream {
    /// Submits everything recorded so far. Does not wait for it.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// stream.flush()?; // The device starts now; the host goes on.
    /// # stream.synchronize()?;
    /// # assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn flush(&self) -> Result<()> {
        self.device().check_lost()?;
        self.beside().try_for_each(|(_, lane)| lane.flush())?;
        self.shared.work.flush()
    }

    /// Blocks until everything recorded so far is complete.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// stream.synchronize()?;
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission or the wait, [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn synchronize(&self) -> Result<()> {
        self.wait(None)
    }

    /// Blocks until everything recorded so far is complete, for `timeout` at most.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// stream.synchronize_for(Duration::from_secs(10))?;
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout) if the work is not complete after `timeout`,
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, and the errors of
    /// [`Stream::synchronize`].
    pub fn synchronize_for(&self, timeout: Duration) -> Result<()> {
        self.wait(Some(timeout))
    }

    fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.device().check_lost()?;
        Point::wait_all(self.points().iter(), timeout)
    }

    /// Whether everything recorded so far is complete. Never blocks, and submits nothing.
    ///
    /// ```
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// assert!(stream.query()?); // A stream without work is complete.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Forked`](crate::Error::Forked)
    /// in a forked process.
    pub fn query(&self) -> Result<bool> {
        self.device().check_lost()?;
        for point in self.points() {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs `callback` on the device's waiting thread once everything recorded so far is complete, or with the error
    /// that prevents the completion. Returns at once. Later work does not wait for the callback.
    ///
    /// The callback must not block: it delays all other callbacks and the submission of old batches. It also delays the
    /// drop of the device's last handle, which waits for callbacks, for ten seconds at most. If the callback panics,
    /// the log says so and the thread goes on.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let (sender, receiver) = mpsc::channel();
    /// Event::with_timing(&device)?.record(&stream)?;
    /// stream.add_callback(move |outcome| sender.send(outcome.is_ok()).unwrap())?;
    /// assert_eq!(receiver.recv(), Ok(true)); // From the device's waiting thread.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn add_callback(&self, callback: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        self.device().add_callback(self.point()?, callback)
    }

    /// Returns a future that is ready once everything recorded so far is done. It works with any async runtime.
    ///
    /// ```
    /// use std::pin::pin;
    /// use std::task::{Context as TaskContext, Poll, Waker};
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// let mut done = pin!(stream.async_done()?); // `.await` it in an async function.
    /// stream.synchronize()?;
    /// assert!(matches!(done.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())), Poll::Ready(Ok(()))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn async_done(&self) -> Result<Completion> {
        let point = self.point()?;
        point.flush()?;
        Ok(Completion { device: Arc::clone(self.device()), point, waiting: None })
    }
}
