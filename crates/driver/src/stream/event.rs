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
use crate::lane::{Recorder, create_query_pool};
use crate::lock::{Mutex, Rank};
use crate::tracker::Point;
use crate::vulkan::Label;
use crate::vulkan::Owned;
use crate::vulkan::QueueIndex;

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
    /// The queue of the stream that the point was captured from; `None` for a point from outside.
    queue: Option<QueueIndex>,
    timestamp: Option<Arc<Timestamp>>,
}

/// A pool with one timestamp query. The batch that writes the timestamp keeps the pool, and each recording of an event
/// makes a new one.
#[derive(Debug)]
struct Timestamp {
    pool: Owned<vk::QueryPool>,
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
        let family = &device.info().queue_families[device.plan().compute.family as usize];
        if family.timestamp_valid_bits == 0 || device.info().limits.timestamp_period_ns <= 0.0 {
            let reason = "its compute queue has no timestamps".to_owned();
            return Err(Error::Unsuitable { device: device.info().name.clone(), reason });
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
        if self.device.is_forked() {
            return None; // In a forked process the lock may stay locked for ever.
        }
        self.capture().map(|capture| capture.point)
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
        let timestamp = if self.timing { Some(Arc::new(Timestamp::new(&self.device)?)) } else { None };
        if let Some(timestamp) = &timestamp {
            timestamp.write(stream)?;
        }
        let capture = Capture { point: stream.point()?, queue: Some(stream.queue()), timestamp };
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
        self.device.check_process()?;
        self.capture().map_or(Ok(()), |capture| stream.wait_for(&capture.point))
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
        self.device.check_process()?;
        self.capture().map_or(Ok(true), |capture| capture.point.is_complete())
    }

    /// Blocks until the captured work is done; returns at once if nothing was captured.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`] if the device is lost, [`Error::Vulkan`] if the driver refuses the submission, and the
    /// errors of [`Point::wait`].
    pub fn synchronize(&self) -> Result<()> {
        self.device.check_process()?;
        self.capture().map_or(Ok(()), |capture| capture.point.wait(None))
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
        self.device.check_process()?;
        if !self.shares_clock_with(end) {
            return Err(Error::DifferentQueues);
        }
        let (from, to) = (self.ticks()?, end.ticks()?);
        let family = &self.device.info().queue_families[self.device.plan().compute.family as usize];
        let ticks = elapsed_ticks(from, to, family.timestamp_valid_bits);
        let period = f64::from(self.device.info().limits.timestamp_period_ns);
        #[expect(clippy::cast_precision_loss, reason = "2^53 ns is a hundred days; a timestamp's error is larger")]
        Ok(Duration::from_secs_f64(ticks as f64 * period * 1e-9))
    }

    /// Whether both events have timestamps of one clock. Vulkan guarantees one clock for each queue; a device whose
    /// timestamps can be calibrated has one clock for all its queues.
    fn shares_clock_with(&self, other: &Self) -> bool {
        let queue = |event: &Self| event.capture().and_then(|capture| capture.queue);
        match (queue(self), queue(other)) {
            (Some(a), Some(b)) => a == b || self.device.info().has_extension("VK_EXT_calibrated_timestamps"),
            _ => true, // One was never recorded, or not on a stream, which is another error.
        }
    }

    fn ticks(&self) -> Result<u64> {
        if !self.timing {
            return Err(Error::TimingOff);
        }
        let capture = self.capture().ok_or(Error::NeverRecorded)?;
        if !capture.point.is_complete()? {
            return Err(Error::NotReady);
        }
        capture.timestamp.ok_or(Error::TimingOff)?.read()
    }

    fn capture(&self) -> Option<Capture> {
        self.capture.lock().clone()
    }
}

/// Ticks between two timestamps of `valid_bits` bits, whose counter may have wrapped once; 0 if `to` was taken before
/// `from`.
fn elapsed_ticks(from: u64, to: u64, valid_bits: u32) -> u64 {
    let mask = if valid_bits >= 64 { u64::MAX } else { (1 << valid_bits) - 1 };
    let ticks = to.wrapping_sub(from) & mask;
    if ticks > mask / 2 { 0 } else { ticks }
}

impl Timestamp {
    fn new(device: &Arc<Device>) -> Result<Self> {
        // The queue has timestamps, as `with_timing` checked, and the batch that writes it keeps the timestamp.
        Ok(Self { pool: create_query_pool(device.logical(), 1)? })
    }

    fn write(self: &Arc<Self>, stream: &Stream) -> Result<()> {
        let (device, pool) = (self.pool.device().raw(), self.pool.raw());
        let write = |recorder: &mut Recorder<'_>| {
            recorder.label(Label::TIMESTAMP);
            recorder.keep(Arc::clone(self) as _);
            // SAFETY: the buffer is recording, and it now keeps the pool, of which no other command uses the query.
            unsafe { device.cmd_reset_query_pool(recorder.commands(), pool, 0, 1) };
            let stage = vk::PipelineStageFlags2::ALL_COMMANDS;
            // SAFETY: the buffer is recording, and it keeps the pool, of which no other command uses the query. The
            // query was reset just before.
            unsafe { device.cmd_write_timestamp2(recorder.commands(), stage, pool, 0) };
            Ok(())
        };
        // SAFETY: the commands touch no memory block, and the recorder keeps the pool.
        unsafe { stream.record(&[], write) }
    }

    fn read(&self) -> Result<u64> {
        self.pool.device().check_lost()?;
        let mut ticks = [0_u64];
        // SAFETY: one 64-bit result fits the array. `ticks` saw the point behind the write reached, so the device has reset
        // and written the query; the pool is alive in `self`.
        unsafe {
            self.pool.device().raw().get_query_pool_results(
                self.pool.raw(),
                0,
                &mut ticks,
                vk::QueryResultFlags::TYPE_64,
            )
        }
        .map_err(|code| match code {
            vk::Result::NOT_READY => Error::NotReady,
            code => self.pool.device().failed("vkGetQueryPoolResults")(code),
        })?;
        Ok(ticks[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_wrap_and_never_run_backwards() {
        // The two timestamps, their valid bits, and the ticks between them.
        let cases = [
            (10, 15, 64, 5),          // Plain.
            (15, 10, 64, 0),          // The second came first.
            (u64::MAX - 1, 3, 64, 5), // Wrapped at 64 bits.
            (0xffff_fffe, 3, 32, 5),  // Wrapped at 32 bits.
            (3, 0xffff_fffe, 32, 0),  // The second came first, at 32 bits.
            (7, 7, 36, 0),            // No time at all.
        ];
        for (from, to, bits, expected) in cases {
            assert_eq!(elapsed_ticks(from, to, bits), expected, "{from} to {to} of {bits} bits");
        }
    }
}
