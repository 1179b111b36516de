//! Copies and fills of bytes: between blocks, with the host, and in graphs.
//!
//! This file has the copies between blocks of one device and the fills of whole blocks. A copy between host and device
//! asks `bus.rs` once for its route. Copies with slices of the host are in `host.rs` and `mapped.rs`, copies between
//! devices in `between.rs` (by `imported.rs` or `bounce.rs`), copies of many regions in one command in `regions.rs`,
//! nodes of graphs in `graph.rs`. Nothing here allocates device memory; staging memory comes from the folder `staging`,
//! and memory of the program is in the folder `program`.

mod between;
mod bounce;
mod bus;
mod fill;
mod graph;
mod host;
#[cfg(unix)]
mod imported;
mod mapped;
mod parallel;
mod program;
mod regions;

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::hazard::{BlockAccess, Stage};
use vkarray_driver::{Device, Label, Recorder, Stream};

use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::CopyQueue;
use crate::vulkan::check_same_device;

pub use between::BlockRange;
pub use graph::{CopyNode, FillNode};
pub use program::{Lent, PinError, Pinned, Registered, RegisteredMemory, RegisteredPath};
pub use regions::Region;

/// `vkCmdFillBuffer` writes whole words of four bytes.
const FILL_WORD: u64 = 4;

impl Block {
    /// Copies the bytes `range` of `source` to this block at `offset`, in the order of `stream`. Returns at once.
    ///
    /// A large copy between host and device memory may run on a transfer queue, beside the stream's other work, and the
    /// host may copy few bytes that no work uses. Work on the same bytes is ordered in both cases.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (source, target) = (allocator.allocate(8, MemoryKind::Device)?, allocator.allocate(4, MemoryKind::Pinned)?);
    /// source.fill(&stream, 0x0505_0505)?;
    /// target.copy_from_block(&stream, 0, &source, 4..8)?;
    /// assert_eq!(*target.read_on_host(0..4)?, [5; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReversedRange`], [`Error::OutOfBounds`], [`Error::ForeignDevice`], [`Error::Overlap`] for overlapping
    /// ranges of one block; and the errors of recording.
    #[doc(alias = "piEnqueueMemBufferCopy")]
    #[doc(alias = "urEnqueueMemBufferCopy")]
    #[doc(alias = "urEnqueueUSMMemcpy")]
    pub fn copy_from_block(
        self: &Arc<Self>,
        stream: &Stream,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<()> {
        self.copy_run_from(offset, &BlockRange { block: source, range, stream }, None).map(drop)
    }

    /// The buffer and the offset in it of the block's byte at `offset`.
    fn place(&self, offset: u64) -> (vk::Buffer, u64) {
        (self.buffer(), self.buffer_offset() + offset)
    }

    /// Whether the block's memory is on the host's side of the bus.
    pub fn is_in_host_memory(&self) -> bool {
        self.kind().is_in_host_memory()
    }

    /// Checks a copy to this block at `offset`; `None` if the range is empty.
    pub(crate) fn checked_copy(
        self: &Arc<Self>,
        device: &Arc<Device>,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<Option<BlockCopy>> {
        source.check_bytes(&range)?;
        let (from, size) = (range.clone(), range.end - range.start);
        let to = self.check_range(offset, size)?;
        check_same_device(device, self.device())?;
        check_same_device(device, source.device())?;
        if Arc::ptr_eq(self, source) && from.start < to.end && to.start < from.end && size > 0 {
            return Err(Error::Overlap { from, to });
        }
        if size == 0 {
            return Ok(None);
        }
        let (src, dst) = (source.place(range.start), self.place(offset));
        let accesses = [source.read(from, Stage::Transfer), self.write(to, Stage::Transfer)];
        Ok(Some(BlockCopy::new(accesses, src, dst, size, self.is_read_beside())))
    }

    /// Writes the four-byte `pattern` repeatedly to the whole block, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`] if block and stream belong to devices that were opened separately; and the errors of
    /// recording.
    pub fn fill(self: &Arc<Self>, stream: &Stream, pattern: u32) -> Result<()> {
        let Some(fill) = self.checked_fill(stream.device(), pattern)? else { return Ok(()) };
        self.send_fill(stream, &fill)
    }

    /// Fills a range of whole words.
    pub(crate) fn fill_aligned(&self, stream: &Stream, range: Range<u64>, pattern: u32) -> Result<()> {
        check_same_device(stream.device(), self.device())?;
        if range.is_empty() {
            return Ok(());
        }
        let fill = self.fill_of(&range, self.write(range.clone(), Stage::Transfer), pattern)?;
        self.send_fill(stream, &fill)
    }

    fn send_fill(&self, stream: &Stream, fill: &BlockFill) -> Result<()> {
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: the buffer outlives its last use, which is recorded with the access.
            unsafe { fill.record(recorder) };
            Ok(())
        };
        // SAFETY: the command writes the bytes of the access, and at most the end of the block's own last word.
        unsafe { stream.record(&fill.accesses, record) }
    }

    /// Checks a fill; `None` if the block is empty.
    pub(crate) fn checked_fill(&self, device: &Arc<Device>, pattern: u32) -> Result<Option<BlockFill>> {
        check_same_device(device, self.device())?;
        self.check_alive()?;
        if self.size() == 0 {
            return Ok(None);
        }
        // The memory ends at a whole word, and the bytes after the block's last belong to no other block.
        let whole = 0..self.size().next_multiple_of(FILL_WORD);
        self.fill_of(&whole, self.write(0..u64::MAX, Stage::Transfer), pattern).map(Some)
    }

    fn fill_of(&self, range: &Range<u64>, access: BlockAccess, pattern: u32) -> Result<BlockFill> {
        let bytes = self.binding(range)?;
        let (dst, offset, size) = (bytes.buffer, bytes.offset, bytes.range);
        Ok(BlockFill { accesses: [access], dst, offset, size, pattern, host_reads: self.is_read_beside() })
    }
}

/// A copy between blocks that was checked.
#[derive(Debug)]
pub(crate) struct BlockCopy<R = [vk::BufferCopy; 1]> {
    pub(crate) accesses: [BlockAccess; 2],
    regions: R,
    /// The bytes of all regions.
    bytes: u64,
    src: vk::Buffer,
    dst: vk::Buffer,
    host_reads: bool,
}

impl BlockCopy {
    /// A copy of one region, between places in buffers.
    fn new(
        accesses: [BlockAccess; 2],
        (src, src_offset): (vk::Buffer, u64),
        (dst, dst_offset): (vk::Buffer, u64),
        bytes: u64,
        host_reads: bool,
    ) -> Self {
        let regions = [vk::BufferCopy { src_offset, dst_offset, size: bytes }];
        Self { accesses, regions, bytes, src, dst, host_reads }
    }
}

impl<R: AsRef<[vk::BufferCopy]>> BlockCopy<R> {
    /// Records the copy on a queue of a stream.
    ///
    /// # Safety
    ///
    /// The memory on both sides lives until the last uses that are recorded with the accesses are over.
    pub(crate) unsafe fn send(&self, stream: &Stream, queue: CopyQueue) -> Result<()> {
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: the caller keeps the memory alive.
            unsafe { self.record(recorder) };
            Ok(())
        };
        match queue {
            // SAFETY: the command touches bytes inside the two ranges of the accesses and nothing else.
            CopyQueue::Own => unsafe { stream.record(&self.accesses, record) },
            // SAFETY: the command is a copy, and touches bytes inside the two ranges of the accesses and nothing else.
            CopyQueue::Transfer(direction) => unsafe { stream.record_beside(direction, &self.accesses, record) },
        }
    }

    /// # Safety
    ///
    /// The blocks that the copy was checked for are alive, and outlive the recorded command.
    pub(crate) unsafe fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.label(Label::copy(self.bytes));
        note_host_read(recorder, self.host_reads);
        let device = recorder.device().raw();
        // SAFETY: the ranges lie in their buffers and are disjoint; the caller keeps both buffers alive.
        unsafe { device.cmd_copy_buffer(recorder.commands(), self.src, self.dst, self.regions.as_ref()) };
    }
}

/// A fill of a block that was checked.
#[derive(Debug)]
pub(crate) struct BlockFill {
    pub(crate) accesses: [BlockAccess; 1],
    dst: vk::Buffer,
    offset: u64,
    size: u64,
    pattern: u32,
    host_reads: bool,
}

impl BlockFill {
    /// # Safety
    ///
    /// The block that the fill was checked for is alive, and outlives the recorded command.
    pub(crate) unsafe fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.label(Label::fill(self.size));
        note_host_read(recorder, self.host_reads);
        let device = recorder.device().raw();
        // SAFETY: the memory is at least `size` bytes, a multiple of a word, from a multiple of a word on; the caller keeps
        // it alive.
        unsafe { device.cmd_fill_buffer(recorder.commands(), self.dst, self.offset, self.size, self.pattern) };
    }
}

fn note_host_read(recorder: &mut Recorder<'_>, host_reads: bool) {
    if host_reads {
        recorder.host_will_read();
    }
}

fn len(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
