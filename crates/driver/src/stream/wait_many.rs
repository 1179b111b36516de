//! Waiting for several events at once, on the host.
//!
//! Each call takes the events' captures at its start, so recording an event during the wait has no effect on the wait.
//! A call of the driver waits for events of one device. For events of several devices, the waiting thread of each
//! device reports its first one. `event.rs` waits for single events, `vulkan/timeline.rs` for timelines.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Event;
use crate::error::{Error, Result};
use crate::tracker::Point;
use crate::vulkan;

impl Event {
    /// Blocks until one of the events is complete, and returns its position. If several are complete, it is the first
    /// of them.
    ///
    /// An event that was never recorded is complete. The events may be of several devices; the call then returns some
    /// 50 µs after the first event is complete, or with an error if one of the devices fails before.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let events = [Event::new(&device), Event::new(&device)];
    /// events[1].record(&stream)?;
    /// assert_eq!(Event::wait_any(&events.each_ref(), None)?, 0); // Never recorded, so complete.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoEvents`] for an empty list, [`Error::Timeout`] when `timeout` has passed (`None` waits without a
    /// bound), [`Error::DeviceLost`] if a device is lost, [`Error::Vulkan`] if a driver refuses the captured work,
    /// [`Error::Forked`] in a forked process.
    pub fn wait_any(events: &[&Self], timeout: Option<Duration>) -> Result<usize> {
        let captures = captures(events)?;
        events.iter().try_for_each(|event| event.device().check_lost())?;
        captures.iter().flatten().try_for_each(Point::flush)?;
        let begun = Instant::now();
        let is_one_device = events.iter().all(|event| Arc::ptr_eq(event.device(), events[0].device()));
        let waits: Vec<_> = captures.iter().flatten().map(|p| (Arc::clone(p.timeline()), p.value())).collect();
        loop {
            for (position, capture) in captures.iter().enumerate() {
                if capture.as_ref().map_or(Ok(true), Point::is_complete)? {
                    return Ok(position);
                }
            }
            let left = timeout.map(|limit| limit.saturating_sub(begun.elapsed()));
            let waited = if is_one_device {
                vulkan::wait_any(&waits, left)
            } else {
                wait_for_any_device(events, &captures, left)
            };
            waited.map_err(|error| error.since(begun))?;
        }
    }

    /// Blocks until all of the events are complete; returns at once if none is given or recorded.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let stream = Stream::new(&device)?;
    /// let event = Event::new(&device);
    /// event.record(&stream)?;
    /// Event::wait_all(&[&event], None)?;
    /// assert!(event.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`] when `timeout` has passed (`None` waits without a bound), [`Error::DeviceLost`] if a device
    /// is lost, [`Error::Vulkan`] if a driver refuses the captured work, [`Error::Forked`] in a forked process.
    pub fn wait_all(events: &[&Self], timeout: Option<Duration>) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        Point::wait_all(captures(events)?.iter().flatten(), timeout)
    }
}

fn captures(events: &[&Event]) -> Result<Vec<Option<Point>>> {
    let first = events.first().ok_or(Error::NoEvents)?;
    first.device().check_process()?;
    Ok(events.iter().map(|event| event.point()).collect())
}

/// Blocks until one of the captures is complete. The waiting thread of each capture's device reports it.
fn wait_for_any_device(events: &[&Event], captures: &[Option<Point>], timeout: Option<Duration>) -> Result<()> {
    let (report, reports) = mpsc::channel();
    for (event, point) in events.iter().zip(captures).filter_map(|(event, point)| Some((event, point.clone()?))) {
        let report = report.clone();
        // No thread receives the report if another event was first.
        event.device().add_callback(point, move |outcome| drop(report.send(outcome)))?;
    }
    match reports.recv_timeout(timeout.unwrap_or(Duration::MAX)) {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::Timeout { waited: timeout.unwrap_or_default() }), // A sender lives until here.
    }
}
