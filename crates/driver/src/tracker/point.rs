//! A point in the order of a stream's work: (timeline, value).
//!
//! Creating a point allocates nothing. An [`Event`](crate::Event) holds a point and can be recorded again; the cleanup
//! queue of the allocator holds points too.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::Submit;
use crate::error::{Error, Result};
use crate::hazard::LanePoint;
use crate::vulkan::{LogicalDevice, Timeline};

/// How long [`Point::wait_polling`] polls.
const SOON: Duration = Duration::from_millis(1);

/// The moment at which a stream has completed everything up to a certain batch of work.
///
/// ```
/// use vkarray_driver::{Device, Event, Instance, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let stream = Stream::new(&device)?;
/// Event::with_timing(&device)?.record(&stream)?;
/// let point = stream.point()?;
/// point.wait(None)?; // Submits the work if need be, and blocks until it is complete.
/// assert!(point.is_complete()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Point {
    timeline: Arc<Timeline>,
    lane: Weak<dyn Submit>, // Gone once a thread has begun to drop the stream, which submits its work then.
    value: u64,
}

impl Point {
    pub(crate) fn new(timeline: Arc<Timeline>, lane: Weak<dyn Submit>, value: u64) -> Self {
        Self { timeline, lane, value }
    }

    /// The point as the hazard table names it; `None` for a timeline that belongs to no lane. The table may have
    /// forgotten the lane of a dropped stream.
    pub(crate) fn place(&self) -> Option<LanePoint> {
        Some(LanePoint { lane: self.timeline.lane?, value: self.value })
    }

    /// The timeline that reaches the point.
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// The value of the timeline at the point.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Whether the device has reached the point. Never blocks, and submits nothing.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Forked`](crate::Error::Forked)
    /// in a forked process.
    pub fn is_complete(&self) -> Result<bool> {
        if self.is_reached()? {
            return Ok(true);
        }
        self.timeline.device().ask_lost()?;
        Ok(false)
    }

    /// [`Point::is_complete`] by the timeline alone, for callers that hold locks.
    pub(crate) fn is_reached(&self) -> Result<bool> {
        self.timeline.has_reached(self.value)
    }

    /// Submits the work up to the point, if it is still being recorded. Does not wait for it.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// Event::with_timing(&device)?.record(&stream)?;
    /// let point = stream.point()?;
    /// point.flush()?; // The device starts; the host goes on.
    /// assert!(point.timeline().submitted() >= point.value());
    /// # point.wait(None)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, [`Error::Forked`](crate::Error::Forked) in a forked process.
    pub fn flush(&self) -> Result<()> {
        if self.timeline.submitted() >= self.value {
            return Ok(());
        }
        self.timeline.device().check_lost()?;
        match self.lane.upgrade() {
            Some(lane) => lane.flush_up_to(self.value),
            None => self.await_submission(),
        }
    }

    /// Waits for another thread, which drops the stream and submits the rest of its work, if it is a stream's. Work behind the
    /// point that reached the same queue first would wait for ever.
    #[cold]
    fn await_submission(&self) -> Result<()> {
        while self.timeline.lane.is_some() && self.timeline.submitted() < self.value {
            self.timeline.device().check_lost()?;
            thread::yield_now();
        }
        Ok(())
    }

    /// A timeline of `device`, and the value to which the host raises it when this point, of another device, is
    /// reached; `None` if the point is reached already.
    ///
    /// The work up to this point is submitted first. So work that waits for the value waits for submitted work only,
    /// and queues of several devices cannot wait for each other in a cycle. If this point can never be reached,
    /// `device` fails, since the work that waits for the point would run without what it waited for.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`] for a semaphore of other code, for which no thread of this library waits,
    /// [`Error::DeviceLost`] if a device is lost, [`Error::Vulkan`] if a driver refuses the work or a semaphore.
    pub(crate) fn raised_on(&self, device: &Arc<LogicalDevice>) -> Result<Option<(Arc<Timeline>, u64)>> {
        if self.is_reached()? {
            return Ok(None);
        }
        let Some(lane) = self.lane.upgrade() else {
            if self.timeline.lane.is_none() && !self.is_reached()? {
                return Err(Error::DifferentDevices);
            }
            // Another thread drops the point's stream, and waits for its work.
            return self.timeline.wait(self.value, None).map(|()| None);
        };
        let timeline = Arc::new(Timeline::new(device, 0)?);
        let (raised, awaited) = (Arc::clone(&timeline), self.timeline.device().info().name.clone());
        let value = timeline.submitted() + 1;
        let raise = move |outcome: Result<()>| {
            if let Err(error) = outcome {
                raised.device().fail(Error::AwaitedDeviceFailed { device: awaited, reason: Box::new(error) });
            }
            if let Err(error) = raised.raise() {
                log::error!("work that waits for another device does not start: {error}");
            }
        };
        lane.waiter().add(self.clone(), Box::new(raise))?;
        Ok(Some((timeline, value)))
    }

    /// Blocks until the device has reached the point. Submits the work first if necessary.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let point = stream.point()?;
    /// point.wait(Some(Duration::from_secs(10)))?;
    /// assert!(point.is_complete()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout) when `timeout` has passed (`None` waits without a bound),
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, and the errors of [`Point::flush`].
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.flush()?;
        self.timeline.wait(self.value, timeout)
    }

    /// Blocks until all points are reached, for `timeout` at most. All work is submitted before the first point is waited
    /// for.
    pub(crate) fn wait_all<'a>(
        points: impl Iterator<Item = &'a Self> + Clone,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let begun = Instant::now();
        points.clone().try_for_each(Self::flush)?;
        let left = || timeout.map(|limit| limit.saturating_sub(begun.elapsed()));
        let mut waits = points.map(|point| point.wait(left()));
        waits.try_for_each(|waited| waited.map_err(|error| error.since(begun)))
    }

    /// Blocks until the device has reached the point, and polls for a millisecond before it sleeps, for work that is
    /// nearly complete. On a CPU driver it does not poll.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if the driver refuses the submission, and the errors of [`Point::wait`].
    pub fn wait_polling(&self) -> Result<()> {
        self.flush()?;
        let poll = self.timeline.device().poll;
        self.timeline.wait_polling(self.value, None, if poll.is_zero() { poll } else { poll.max(SOON) })
    }
}
