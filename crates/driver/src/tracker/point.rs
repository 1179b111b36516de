//! A point in the order of a stream's work: (timeline, value).
//!
//! Two words and no allocation. An [`Event`](crate::Event) is a point with a name that can be recorded again; the
//! cleanup queue of the allocator holds points.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Submit;
use crate::error::Result;
use crate::hazard::LanePoint;
use crate::vulkan::Timeline;

/// How long a thread polls for what it knows to be due.
const SOON: Duration = Duration::from_millis(1);

/// The moment a stream has done everything up to some batch of work.
///
/// ```
/// use vkarray::prelude::*;
///
/// # fn main() -> vkarray::Result<()> {
/// let ctx = Context::open_default()?;
/// let x = ctx.zeros::<u32>([4])?;
/// x.fill(7)?;
/// let point = ctx.default_stream().point()?;
/// point.wait(None)?; // Submits the work if need be, and blocks until it is complete.
/// assert!(point.is_complete()?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Point {
    timeline: Arc<Timeline>,
    lane: Weak<dyn Submit>, // Gone only after all its work is submitted and done.
    value: u64,
}

impl Point {
    pub(crate) fn new(timeline: Arc<Timeline>, lane: Weak<dyn Submit>, value: u64) -> Self {
        Self { timeline, lane, value }
    }

    /// Where it stands in the hazard table; nothing if its stream is gone, so done.
    pub(crate) fn place(&self) -> Option<LanePoint> {
        // Not by its lane: the upgraded handle may become the last one, and its drop would end a lane under the lock of another.
        let lane = self.timeline.lane().filter(|_| self.lane.strong_count() > 0)?;
        Some(LanePoint { lane, value: self.value })
    }

    /// The timeline it lies on.
    #[must_use]
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// The timeline's value there.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Whether the device has passed the point. Never blocks, and submits nothing.
    ///
    /// # Errors
    ///
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.timeline.last_seen() >= self.value || self.timeline.reached()? >= self.value)
    }

    /// Sends the work up to the point to the device, if it is still being recorded. Does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> vkarray::Result<()> {
    /// let ctx = Context::open_default()?;
    /// ctx.zeros::<u32>([4])?.fill(7)?;
    /// let point = ctx.default_stream().point()?;
    /// point.flush()?; // The device starts; the host goes on.
    /// assert!(point.timeline().submitted() >= point.value());
    /// # point.wait(None)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the submission.
    pub fn flush(&self) -> Result<()> {
        if self.timeline.submitted() >= self.value {
            return Ok(());
        }
        self.timeline.device().check_lost()?;
        match self.lane.upgrade() {
            Some(lane) => lane.flush_up_to(self.value),
            None => Ok(()),
        }
    }

    /// Blocks until the device has passed the point. Sends the work first if need be.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use std::time::Duration;
    ///
    /// # fn main() -> vkarray::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let point = ctx.default_stream().point()?;
    /// point.wait(Some(Duration::from_secs(10)))?;
    /// assert!(point.is_complete()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`](crate::Error::Timeout) when `timeout` has passed; those of the submission.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        self.flush()?;
        self.timeline.wait(self.value, timeout)
    }

    /// As [`Point::wait`], for what is due within a millisecond: polls for so long where a wait polls at all.
    ///
    /// # Errors
    ///
    /// As [`Point::wait`].
    pub fn wait_polling(&self) -> Result<()> {
        self.flush()?;
        let poll = self.timeline.device().poll();
        self.timeline.wait_polling(self.value, None, if poll.is_zero() { poll } else { poll.max(SOON) })
    }
}
