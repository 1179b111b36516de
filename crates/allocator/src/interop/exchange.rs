//! What a block shows to and takes from those who know its buffer by another way: a handle, and moments.
//!
//! Inside one device the hazard table knows who uses a block. Work from outside, or for outside, is ordered here: by a
//! point that others wait for, or that later work on the block waits for. What arrays say of themselves is the array
//! crate's.

use std::sync::Arc;

use ash::vk::Handle;
use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::{Point, Stream};

use crate::allocator::Block;
use crate::error::Result;

impl Block {
    /// The number of its `VkBuffer`. Having it is safe; using it is up to the caller's `unsafe`.
    #[must_use]
    pub fn handle(&self) -> u64 {
        self.buffer().as_raw()
    }

    /// Makes all later work on the block, on any stream, come after `point`. Returns at once.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::wait_for`] and of recording.
    pub fn order_after(self: &Arc<Self>, stream: &Stream, point: &Point) -> Result<()> {
        stream.wait_for(point)?;
        let access = [self.write(0..u64::MAX, Stage::Transfer)];
        // SAFETY: no command is recorded, so none touches more than the access says.
        unsafe { stream.record(&access, |_| Ok(())) }
    }

    /// The moment after which the device has done everything it was asked to do with the block, if it has not yet.
    ///
    /// Where several streams use the block, `stream` waits for them all, on the device. The work is sent.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::wait_for`] and of sending.
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
