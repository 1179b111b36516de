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
use smallvec::SmallVec;
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

/// `vkCmdFillBuffer` writes whole words of four bytes at multiples of four.
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
    ) -> Result<Option<BlockCommand>> {
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
        Ok(Some(BlockCommand::copy(accesses, src, dst, size, self.is_read_beside())))
    }

    /// Writes the four-byte `pattern` repeatedly to the whole block, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`] if block and stream belong to devices that were opened separately; and the errors of
    /// recording.
    pub fn fill(self: &Arc<Self>, stream: &Stream, pattern: u32) -> Result<()> {
        let Some(fill) = self.checked_fill(stream.device(), pattern)? else { return Ok(()) };
        // SAFETY: the block is alive, and its memory outlives its last uses, which are recorded with the access.
        unsafe { fill.send(stream, CopyQueue::Own) }
    }

    /// Fills a range of whole words.
    pub(crate) fn fill_aligned(&self, stream: &Stream, range: Range<u64>, pattern: u32) -> Result<()> {
        check_same_device(stream.device(), self.device())?;
        if range.is_empty() {
            return Ok(());
        }
        let fill = self.fill_of(&range, self.write(range.clone(), Stage::Transfer), pattern)?;
        // SAFETY: the block is alive, and its memory outlives its last uses, which are recorded with the access.
        unsafe { fill.send(stream, CopyQueue::Own) }
    }

    /// Checks a fill; `None` if the block is empty.
    pub(crate) fn checked_fill(&self, device: &Arc<Device>, pattern: u32) -> Result<Option<BlockCommand>> {
        check_same_device(device, self.device())?;
        self.check_alive()?;
        if self.size() == 0 {
            return Ok(None);
        }
        // The memory ends at a whole word, and the bytes after the block's last belong to no other block.
        let whole = 0..self.size().next_multiple_of(FILL_WORD);
        self.fill_of(&whole, self.write(0..u64::MAX, Stage::Transfer), pattern).map(Some)
    }

    fn fill_of(&self, range: &Range<u64>, access: BlockAccess, pattern: u32) -> Result<BlockCommand> {
        let vk::DescriptorBufferInfo { buffer: dst, offset, range: bytes } = self.binding(range)?;
        let command = Command::Fill { dst, offset, pattern };
        let accesses = SmallVec::from_iter([access]);
        Ok(BlockCommand { accesses, command, bytes, host_reads: self.is_read_beside() })
    }
}

/// A copy or a fill of bytes of blocks that was checked.
#[derive(Debug)]
pub(crate) struct BlockCommand {
    pub(crate) accesses: SmallVec<[BlockAccess; 2]>,
    command: Command,
    /// The number of bytes that are written.
    bytes: u64,
    /// Whether the host may read the bytes afterwards.
    host_reads: bool,
}

/// A command of the device, with its arguments.
#[derive(Debug)]
enum Command {
    Copy { src: vk::Buffer, dst: vk::Buffer, regions: SmallVec<[vk::BufferCopy; 1]> },
    Fill { dst: vk::Buffer, offset: u64, pattern: u32 },
}

impl BlockCommand {
    /// A copy of one region, between places in buffers.
    fn copy(
        accesses: [BlockAccess; 2],
        (src, src_offset): (vk::Buffer, u64),
        (dst, dst_offset): (vk::Buffer, u64),
        bytes: u64,
        host_reads: bool,
    ) -> Self {
        let regions = SmallVec::from([vk::BufferCopy { src_offset, dst_offset, size: bytes }]);
        Self { accesses: accesses.into(), command: Command::Copy { src, dst, regions }, bytes, host_reads }
    }

    /// Records the command on a queue of a stream.
    ///
    /// # Safety
    ///
    /// The memory lives until the last uses that are recorded with the accesses are over. A transfer queue is given for
    /// a copy alone.
    pub(crate) unsafe fn send(&self, stream: &Stream, queue: CopyQueue) -> Result<()> {
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: the caller keeps the memory alive.
            unsafe { self.record(recorder) };
            Ok(())
        };
        match queue {
            // SAFETY: the command touches bytes inside the ranges of the accesses, and a fill at most the end of the
            // block's own last word.
            CopyQueue::Own => unsafe { stream.record(&self.accesses, record) },
            // SAFETY: the command is a copy, and touches bytes inside the two ranges of the accesses and nothing else.
            CopyQueue::Transfer(direction) => unsafe { stream.record_beside(direction, &self.accesses, record) },
        }
    }

    /// # Safety
    ///
    /// The blocks that the command was checked for are alive, and outlive the recorded command.
    pub(crate) unsafe fn record(&self, recorder: &mut Recorder<'_>) {
        let is_copy = matches!(self.command, Command::Copy { .. });
        recorder.label(if is_copy { Label::copy(self.bytes) } else { Label::fill(self.bytes) });
        if self.host_reads {
            recorder.host_will_read();
        }
        let (device, commands) = (recorder.device().raw(), recorder.commands());
        match &self.command {
            Command::Copy { src, dst, regions } => {
                // SAFETY: the ranges lie in their buffers and are disjoint; the caller keeps both buffers alive.
                unsafe { device.cmd_copy_buffer(commands, *src, *dst, regions) };
            }
            Command::Fill { dst, offset, pattern } => {
                // SAFETY: the memory is at least that many bytes, a multiple of a word, from a multiple of a word on; the
                // caller keeps it alive.
                unsafe { device.cmd_fill_buffer(commands, *dst, *offset, self.bytes, *pattern) };
            }
        }
    }
}

fn len(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
