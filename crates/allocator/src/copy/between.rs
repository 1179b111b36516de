//! Copies between two devices, through the host.
//!
//! The bytes are cut into chunks. A chunk is copied from the source to host memory that the target's device reads, and from
//! there to the target, while the next chunk is on its way to the host. Where the host reads the source fast it copies from
//! its mapping. Otherwise the source's device writes pages that both devices have imported (`staging/shared_pages.rs`). Where
//! they cannot, it writes a staging slot, which the host copies to a slot of the target, with several threads as in host copies.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::hazard::Mode;
use vkarray_driver::{Direction, Stream};

use super::chunking::{ChunkPlan, SMALL};
use super::parallel::ParallelCopy;
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::staging::{N_PARTS, SharedSlot, SlotSize};
use crate::vulkan::check_same_device;

/// Bytes of a block, and the stream in whose order a copy reads or writes them.
#[derive(Debug, Clone)]
pub struct BlockRange<'a> {
    /// The block.
    pub block: &'a Arc<Block>,
    /// Its bytes.
    pub range: Range<u64>,
    /// A stream of the block's device.
    pub stream: &'a Stream,
}

impl BlockRange<'_> {
    /// Copies these bytes to `target`, which has as many, on any device. Returns when they have been read; when they have been
    /// written if more than 64 KiB go through pages of both devices; on one device, at once.
    ///
    /// The bytes are read in the order of this stream, after what the target's stream waits for, and written in the order of the
    /// target's stream. An error may leave a
    /// part of the target written; the source does not change.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let instance = Instance::builder().build()?;
    /// use vkarray_allocator::BlockRange;
    ///
    /// let [first, second] = [Device::open_selected(&instance, None)?, Device::open_selected(&instance, None)?];
    /// let (here, there) = (Stream::new(&first)?, Stream::new(&second)?);
    /// let source = Allocator::new(&first)?.allocate(4, MemoryKind::Device)?;
    /// let target = Allocator::new(&second)?.allocate(4, MemoryKind::Device)?;
    /// source.fill(&here, 0x0707_0707)?;
    /// let source = BlockRange { block: &source, range: 0..4, stream: &here };
    /// source.copy_to(&BlockRange { block: &target, range: 0..4, stream: &there })?;
    /// let mut bytes = [0; 4];
    /// target.copy_to_host(&there, 0, &mut bytes)?;
    /// assert_eq!(bytes, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::ForeignDevice`] if a stream is not of its block's device;
    /// [`Error::SizeMismatch`] if `target` does not have as many bytes; those of [`Block::copy_to_host`] and
    /// [`Block::copy_from_host`]. On one device, those of [`Block::copy_from_block`].
    pub fn copy_to(&self, target: &BlockRange<'_>) -> Result<()> {
        let (source_size, target_size) = (self.check()?, target.check()?);
        if source_size != target_size {
            return Err(Error::SizeMismatch { source_size, target_size });
        }
        if Arc::ptr_eq(self.block.device(), target.block.device()) {
            if let Some(waits) = self.stream.pending_wait()? {
                target.stream.wait_for(&waits)?;
            }
            return target.block.copy_from_block(target.stream, target.range.start, self.block, self.range.clone());
        }
        // What the target's stream waits for may be what makes the source's bytes.
        if let Some(waits) = target.stream.pending_wait()? {
            waits.wait(None)?;
        }
        let too_large = |_| Error::TooLarge { bytes: source_size, limit: usize::MAX as u64 };
        match usize::try_from(source_size).map_err(too_large)? {
            0 => Ok(()),
            len @ ..=SMALL => {
                let slot = target.block.allocator().slot(Direction::ToDevice, SlotSize::Small, len)?;
                let filled = slot.fill_with(len, |bytes| self.read(self.range.start, bytes))?;
                target.block.record_upload(target.stream, target.range.start, filled).map(drop)
            }
            len if self.block.is_read_mapped(len) => self.copy_chunks(target, len),
            len => match self.block.allocator().shared_slot(target.block.allocator())? {
                Some(slot) => self.copy_through_pages(target, len, slot),
                None => self.copy_chunks(target, len),
            },
        }
    }

    /// Copies through pages that both devices address. Half of the parts are on their way to the host, half from it.
    fn copy_through_pages(&self, target: &BlockRange<'_>, len: usize, slot: SharedSlot<'_>) -> Result<()> {
        let (n_parts, n_arriving) = (N_PARTS as u64, N_PARTS as u64 / 2);
        let size = ChunkPlan::new(len, 1).chunk as u64;
        let (len, [there, here]) = (len as u64, slot.sides());
        let n_chunks = len.div_ceil(size);
        let part = |chunk: u64| {
            let start = chunk % n_parts * size;
            start..start + size.min(len - chunk * size)
        };
        for chunk in 0..n_chunks + n_arriving {
            if chunk < n_chunks {
                here.wait_for_copies(part(chunk), Mode::Write)?; // For the upload of the chunk that was in this part.
                self.block.download_into(self.stream, self.range.start + chunk * size, there, part(chunk))?;
                self.stream.flush()?;
            }
            if let Some(chunk) = chunk.checked_sub(n_arriving).filter(|&chunk| chunk < n_chunks) {
                there.wait_for_copies(part(chunk), Mode::Read)?;
                target.block.upload_from(target.stream, target.range.start + chunk * size, here, part(chunk))?;
                target.stream.flush()?;
            }
        }
        slot.finish()
    }

    fn copy_chunks(&self, target: &BlockRange<'_>, len: usize) -> Result<()> {
        let plan = ChunkPlan::new(len, target.block.allocator().copy_threads().n_threads());
        let offsets = (0..len).step_by(plan.chunk);
        let chunks = offsets.map(|offset| (target.range.start + offset as u64, offset..len.min(offset + plan.chunk)));
        let work = ParallelCopy::new(target.block, target.stream, plan, chunks);
        work.run(|| {
            work.upload_share(|slot, chunk: Range<usize>| {
                let from = self.range.start + chunk.start as u64;
                slot.fill_with(chunk.len(), |bytes| self.read(from, bytes))
            })
        })
    }

    /// Copies the bytes at `offset` of the block to the host, at most as many as a large slot holds. Blocks until they are
    /// there.
    fn read(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        let size = if target.len() <= SMALL { SlotSize::Small } else { SlotSize::Large };
        self.block.read_through(self.stream, offset, target, size)
    }

    /// The number of bytes, if they can be copied.
    fn check(&self) -> Result<u64> {
        self.block.check_bytes(&self.range)?;
        check_same_device(self.stream.device(), self.block.device())?;
        self.block.device().check_lost()?;
        Ok(self.range.end - self.range.start)
    }
}
