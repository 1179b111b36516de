//! Order with foreign work on a block's buffer: the handle, and points in time.
//!
//! Inside a device, the hazard table orders the uses of a block. Foreign work is ordered by points: a point that the
//! work waits for, or a point that later work on the block waits for. The ndarray crate describes arrays for exchange.

use std::sync::Arc;

use ash::vk::Handle;
use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::{Point, Stream};

use crate::allocator::Block;
use crate::error::Result;

impl Block {
    /// The handle of the block's `VkBuffer` as a number. Using it needs `unsafe` code.
    pub fn handle(&self) -> u64 {
        self.buffer().as_raw()
    }

    /// Orders all later work on the block, on any stream, after `point`. Returns at once.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4, MemoryKind::Device)?;
    /// let foreign = Stream::new(&device)?;
    /// block.order_after(&stream, &foreign.point()?)?;
    /// block.fill(&stream, 0)?; // After everything that `foreign` was given so far.
    /// assert!(block.handle() != 0);
    /// stream.synchronize()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Stream::wait_for`] and of recording.
    pub fn order_after(self: &Arc<Self>, stream: &Stream, point: &Point) -> Result<()> {
        stream.wait_for(point)?;
        let access = [self.write(0..u64::MAX, Stage::Transfer)];
        // SAFETY: no command is recorded, so none exceeds the access.
        unsafe { stream.record(&access, |_| Ok(())) }
    }

    /// The point at which all recorded work on the block is over; `None` if the work is over already.
    ///
    /// If several streams use the block, `stream` is made to wait for all of them, on the device. The work is
    /// submitted.
    ///
    /// # Errors
    ///
    /// The errors of [`Stream::wait_for`] and of submitting.
    pub fn ready_point(&self, stream: &Stream) -> Result<Option<Point>> {
        let mut pending = Vec::new();
        for point in self.device().block_uses(self.id(), 0..u64::MAX, Mode::Write) {
            if !point.is_complete()? {
                pending.push(point);
            }
        }
        if pending.len() > 1 {
            pending.iter().try_for_each(|point| stream.wait_for(point))?;
            pending = vec![stream.point()?];
        }
        let Some(point) = pending.pop() else { return Ok(None) };
        point.flush()?;
        Ok(Some(point))
    }
}
