//! Making a stream wait for points, and finding out whether such a wait is still pending.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use super::Stream;
use crate::error::Result;
use crate::lane::Lane;
use crate::sync::DeferDrops;
use crate::tracker::Point;

impl Stream {
    /// Makes later work of this stream start after `point`, on the device. Returns at once.
    ///
    /// On the legacy default stream a wait is work like any other: it comes after earlier work of the blocking streams,
    /// and before their later work.
    ///
    /// ```
    /// use vkarray_driver::{Device, Event, Instance, Stream};
    ///
    /// # fn main() -> vkarray_driver::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let (first, second) = (Stream::new(&device)?, Stream::new(&device)?);
    /// Event::with_timing(&device)?.record(&first)?;
    /// second.wait_for(&first.point()?)?; // On the device: the host goes on.
    /// second.synchronize()?;
    /// assert!(first.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The point may be of a stream of another device, even of another driver. The waiting thread of that device then
    /// starts this stream's work, some 50 µs after the point is reached; until then the work holds up its queue. A
    /// callback that blocks on that thread ([`Stream::add_callback`]) delays the work. If the other device fails, this
    /// device fails too, with [`Error::AwaitedDeviceFailed`](crate::Error::AwaitedDeviceFailed).
    ///
    /// # Errors
    ///
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for a semaphore of other code on another device,
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Vulkan`](crate::Error::Vulkan)
    /// if a driver refuses the work up to `point` or this stream's open batch, [`Error::Forked`](crate::Error::Forked)
    /// in a forked process.
    pub fn wait_for(&self, point: &Point) -> Result<()> {
        self.device().check_lost()?;
        if !Arc::ptr_eq(self.device().logical(), point.timeline().device()) {
            let Some((timeline, value)) = point.raised_on(self.device().logical())? else { return Ok(()) };
            return self.wait_for(&Point::new(timeline, Weak::<Lane>::new(), value));
        }
        self.in_legacy_order(|| self.start_after(point))
    }

    /// Does what [`Stream::wait_for`] does for a point of the same device, without the legacy ordering.
    pub(super) fn start_after(&self, point: &Point) -> Result<()> {
        let _defer = DeferDrops::begin(); // Ends after the lock is released.
        let _changes = self.shared.changes.lock();
        self.beside().try_for_each(|(_, lane)| lane.wait_for(point).map(drop))?;
        if let Some(waiting) = self.shared.work.wait_for(point)? {
            self.shared.waiting.fetch_max(waiting, Ordering::AcqRel);
        }
        Ok(())
    }

    /// The point after which everything that this stream waits for is over: the points passed to [`Stream::wait_for`]
    /// and [`Event::wait`](crate::Event::wait), and the work that the legacy ordering puts before the stream's next
    /// work. `None` if there is nothing left to wait for. Never blocks.
    ///
    /// Work that the host itself does in the order of the stream, such as a copy through a mapping, must come after
    /// this point. [`Device::block_uses`](crate::Device::block_uses) names the uses of the same memory.
    ///
    /// ```no_run
    /// # fn f(stream: &vkarray_driver::Stream) -> Result<(), vkarray_driver::Error> {
    /// if let Some(wait) = stream.pending_wait()? {
    ///     wait.wait(None)?;
    /// }
    /// // Here begins what the host does in the order of the stream.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost) if the device is lost, [`Error::Forked`](crate::Error::Forked)
    /// in a forked process, and with the legacy ordering [`Error::Vulkan`](crate::Error::Vulkan) if the driver refuses
    /// the work to wait for.
    #[inline]
    pub fn pending_wait(&self) -> Result<Option<Point>> {
        self.join_legacy()?;
        let (work, waiting) = (&self.shared.work, self.shared.waiting.load(Ordering::Acquire));
        if work.timeline.last_seen() >= waiting {
            return Ok(None);
        }
        let point = work.point_at(waiting);
        Ok(if point.is_reached()? { None } else { Some(point) })
    }
}
