//! Events: named points in a stream's work that can be recorded again, waited for and timed.
//!
//! As in CUDA, an event captures the work that its stream holds when it is recorded, recording again replaces the
//! capture, and an event that was never recorded counts as complete.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::Stream;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::lane::{Recorder, create_query_pool, read_timestamps};
use crate::lock::{Mutex, Rank};
use crate::trace::Ticks;
use crate::tracker::Point;
use crate::vulkan::{Label, Owned, QueueIndex};

/// A moment in a stream's work.
///
/// ```
/// use vkarray_driver::{Device, Event, Instance, Stream};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// let (first, second) = (Stream::new(&device)?, Stream::new(&device)?);
/// let event = Event::new(&device);
/// event.record(&first)?;
/// event.wait(&second)?; // Later work of `second` starts after what `first` has so far.
/// event.synchronize()?; // And so does the host.
/// assert!(event.query()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Event {
    device: Arc<Device>,
    timing: bool,
    capture: Mutex<Option<Capture>>,
}

#[derive(Debug, Clone)]
struct Capture {
    point: Point,
    /// The queue of the stream that the point was captured from, without its transfer queues; `None` for a point from outside.
    queue: Option<QueueIndex>,
    /// The pool with the timestamp. Each recording of an event makes a new one.
    timestamp: Option<Arc<Owned<vk::QueryPool>>>,
}

impl Event {
    /// Creates an event without timing, whose captures cost nothing on the device.
    #[must_use]
    pub fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), timing: false, capture: Mutex::new(Rank::Event, None) }
    }

    /// Creates an event that also records the device's time when the captured work is done.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let (begin, end) = (Event::with_timing(&device)?, Event::with_timing(&device)?);
    /// begin.record(&stream)?;
    /// // Here stands the work to be timed.
    /// end.record(&stream)?;
    /// end.synchronize()?;
    /// println!("{:?} on the device", begin.elapsed(&end)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the device's queue has no timestamps.
    pub fn with_timing(device: &Arc<Device>) -> Result<Self> {
        let clock = Ticks::of(device.info(), device.plan().compute.family);
        if clock.valid_bits == 0 || clock.period_ns <= 0.0 {
            return Err(device.info().unsuitable("its compute queue has no timestamps"));
        }
        Ok(Self { timing: true, ..Self::new(device) })
    }

    /// Creates an event of `device`, without timing, that has captured `point`, which a stream or other code signals.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let event = Event::of(&device, stream.point()?)?;
    /// event.synchronize()?;
    /// assert!(event.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`] if `point` belongs to another device.
    pub fn of(device: &Arc<Device>, point: Point) -> Result<Self> {
        if !Arc::ptr_eq(device.logical(), point.timeline().device()) {
            return Err(Error::DifferentDevices);
        }
        let event = Self::new(device);
        let capture = Capture { point, queue: None, timestamp: None };
        Ok(Self { capture: Mutex::new(Rank::Event, Some(capture)), ..event })
    }

    /// The device that the event belongs to.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The point captured last, if the event has captured one.
    #[must_use]
    pub fn point(&self) -> Option<Point> {
        self.capture().ok()?.map(|capture| capture.point)
    }

    /// Captures what `stream` holds so far, in place of an earlier capture. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`] if `stream` is of another device, [`Error::DeviceLost`] if the device is lost,
    /// [`Error::Vulkan`] if the driver refuses a submission or, with timing, a query pool, [`Error::Forked`] in a
    /// forked process.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        if !Arc::ptr_eq(&self.device, stream.device()) {
            return Err(Error::DifferentDevices);
        }
        stream.point()?; // Copies on transfer queues come before the timestamp.
        let timestamp = if self.timing { Some(write_timestamp(stream)?) } else { None };
        let capture = Capture { point: stream.point()?, queue: Some(stream.shared.work.queue_index), timestamp };
        let former = self.capture.lock().replace(capture);
        drop(former); // Without the lock.
        Ok(())
    }

    /// Makes later work of `stream` start after the captured work, on the device. Returns at once. The stream may be of
    /// another device; see [`Stream::wait_for`].
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the device is lost, [`Error::Forked`] in a forked process, and the errors of
    /// [`Stream::wait_for`].
    pub fn wait(&self, stream: &Stream) -> Result<()> {
        self.capture()?.map_or(Ok(()), |capture| stream.wait_for(&capture.point))
    }

    /// Whether the captured work is done, or nothing was ever captured. Never blocks.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let event = Event::new(&device);
    /// assert!(event.query()?); // An event that was never recorded counts as complete.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the device is lost, [`Error::Forked`] in a forked process.
    pub fn query(&self) -> Result<bool> {
        self.capture()?.map_or(Ok(true), |capture| capture.point.is_complete())
    }

    /// Blocks until the captured work is done; returns at once if nothing was captured.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the device is lost, [`Error::Vulkan`] if the driver refuses the submission, and the
    /// errors of [`Point::wait`].
    pub fn synchronize(&self) -> Result<()> {
        self.capture()?.map_or(Ok(()), |capture| capture.point.wait(None))
    }

    /// The device's time from this event to `end`; zero if `end` came first. Does not wait.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let (begin, end) = (Event::with_timing(&device)?, Event::with_timing(&device)?);
    /// begin.record(&stream)?;
    /// end.record(&stream)?;
    /// end.synchronize()?;
    /// assert!(begin.elapsed(&end)?.as_secs() < 60);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TimingOff`] if an event was created without timing, [`Error::NeverRecorded`] if one has captured
    /// nothing, [`Error::NotReady`] if the work of one is not complete, [`Error::DifferentDevices`] for events of two
    /// devices, [`Error::DifferentQueues`] if the device does not relate the clocks of their queues.
    #[doc(alias = "elapsed_time")]
    #[doc(alias = "event_elapsed_time")]
    pub fn elapsed(&self, end: &Self) -> Result<Duration> {
        if !Arc::ptr_eq(&self.device, &end.device) {
            return Err(Error::DifferentDevices);
        }
        if !self.shares_clock_with(end)? {
            return Err(Error::DifferentQueues);
        }
        let (from, to) = (self.ticks()?, end.ticks()?);
        let clock = Ticks::of(self.device.info(), self.device.plan().compute.family);
        Ok(Duration::from_secs_f64(clock.between(from, to).max(0.0) * clock.period_ns * 1e-9))
    }

    /// Whether both events have timestamps of one clock. Vulkan guarantees one clock for each queue; a device whose
    /// timestamps can be calibrated has one clock for all its queues.
    fn shares_clock_with(&self, other: &Self) -> Result<bool> {
        let queue = |event: &Self| Ok(event.capture()?.and_then(|capture| capture.queue));
        Ok(match (queue(self)?, queue(other)?) {
            (Some(a), Some(b)) => a == b || self.device.info().has_extension("VK_EXT_calibrated_timestamps"),
            _ => true, // One was never recorded, or not on a stream, which is another error.
        })
    }

    fn ticks(&self) -> Result<u64> {
        if !self.timing {
            return Err(Error::TimingOff);
        }
        let capture = self.capture()?.ok_or(Error::NeverRecorded)?;
        if !capture.point.is_complete()? {
            return Err(Error::NotReady);
        }
        let timestamp = capture.timestamp.ok_or(Error::TimingOff)?;
        self.device.check_lost()?;
        let mut ticks = [0];
        // SAFETY: the pool has one timestamp, and the point behind the commands that reset and wrote it is reached.
        let read = unsafe { read_timestamps(&timestamp, &mut ticks) };
        read.map(|()| ticks[0])
    }

    fn capture(&self) -> Result<Option<Capture>> {
        self.device.check_process()?; // In a forked process the lock may stay locked for ever.
        Ok(self.capture.lock().clone())
    }
}

/// Writes the time at which the stream's work so far is done to a new pool with one timestamp query. The batch that writes the
/// timestamp keeps the pool.
fn write_timestamp(stream: &Stream) -> Result<Arc<Owned<vk::QueryPool>>> {
    // The queue has timestamps, as `with_timing` checked.
    let timestamp = Arc::new(create_query_pool(stream.device().logical(), 1)?);
    let (device, pool) = (timestamp.device().raw(), timestamp.raw());
    let write = |recorder: &mut Recorder<'_>| {
        recorder.label(Label::TIMESTAMP);
        recorder.keep(Arc::clone(&timestamp) as _);
        // SAFETY: the buffer is recording, and it now keeps the pool, of which no other command uses the query.
        unsafe { device.cmd_reset_query_pool(recorder.commands(), pool, 0, 1) };
        let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: the buffer is recording, and it keeps the pool, of which no other command uses the query. The query was
        // reset just before.
        unsafe { device.cmd_write_timestamp2(recorder.commands(), stage, pool, 0) };
        Ok::<_, Error>(())
    };
    // SAFETY: the commands touch no memory block, and the recorder keeps the pool.
    unsafe { stream.record(&[], write) }?;
    Ok(timestamp)
}
