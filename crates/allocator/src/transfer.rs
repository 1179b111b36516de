//! Copies between the host and blocks, between blocks, and fills.
//!
//! Everything here knows bytes. A copy from or to the host goes straight through the mapping where the host reaches
//! the block and nothing uses it; else through staging blocks, a chunk at a time, so that the host's part of one chunk
//! and the device's part of another overlap. Many regions in one command are `transfer/regions.rs`.

mod regions;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::hazard::{Access, Mode, Stage};
use vkarray_driver::{Device, Direction, Label, Recorder, Stream, Term};

use crate::block::Block;
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

pub use regions::Region;

/// Bytes staged at a time: large enough that a submission costs little beside it.
const CHUNK: usize = 16 << 20;

/// Chunks in flight before the host waits for the oldest.
const CHUNKS_IN_FLIGHT: usize = 4;

/// `vkCmdFillBuffer` writes whole words.
const FILL_WORD: u64 = 4;

impl Block {
    /// Copies `source` to the bytes at `offset`, in the order of `stream`.
    ///
    /// Returns when `source` has been read; later work of the stream sees the bytes.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ForeignDevice`]; those of allocating staging memory and of recording.
    pub fn copy_from_host(self: &Arc<Self>, stream: &Stream, offset: u64, source: &[u8]) -> Result<()> {
        let range = self.check_range(offset, len(source))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?; // The mapping of a lost device is still there, its work is not.
        if source.is_empty() {
            return Ok(());
        }
        if self.is_mapped() && self.write_if_idle(&range, source)? {
            return Ok(());
        }
        let mut in_flight: VecDeque<Arc<Self>> = VecDeque::new();
        for (n, chunk) in source.chunks(CHUNK).enumerate() {
            if in_flight.len() == CHUNKS_IN_FLIGHT
                && let Some(oldest) = in_flight.pop_front()
            {
                oldest.wait_for_uses(&(0..oldest.size()), Mode::Write)?;
            }
            let staging = self.allocator().allocate(len(chunk), MemoryKind::WriteCombined)?;
            staging.wait_for_former_uses()?;
            staging.write_mapped(0, chunk);
            let to = range.start + len(&source[..n * CHUNK]);
            self.copy_from_block(stream, to, &staging, 0..len(chunk))?;
            stream.flush()?;
            in_flight.push_back(staging);
        }
        Ok(())
    }

    /// Copies the bytes at `offset` to `target`, in the order of `stream`. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ForeignDevice`]; those of allocating staging memory, of recording and waiting.
    pub fn copy_to_host(self: &Arc<Self>, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        let range = self.check_range(offset, len(target))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(());
        }
        if self.is_mapped() {
            return self.read_when_written(&range, target);
        }
        let mut on_their_way: VecDeque<Arc<Self>> = VecDeque::new();
        let mut starts = (range.start..range.end).step_by(CHUNK);
        for chunk in target.chunks_mut(CHUNK) {
            while on_their_way.len() < CHUNKS_IN_FLIGHT
                && let Some(start) = starts.next()
            {
                let bytes = (range.end - start).min(CHUNK as u64);
                let staging = self.allocator().allocate(bytes, MemoryKind::Pinned)?;
                staging.copy_from_block(stream, 0, self, start..start + bytes)?;
                stream.flush()?;
                on_their_way.push_back(staging);
            }
            let staging = on_their_way.pop_front().expect("a chunk was sent for each to be read");
            staging.wait_for_uses(&(0..staging.size()), Mode::Read)?;
            staging.read_mapped(0, chunk);
        }
        Ok(())
    }

    /// Copies the bytes `range` of `source` to this block at `offset`, in the order of `stream`. Returns at once.
    ///
    /// A large copy between host and device memory rides a transfer queue beside the stream's other work, where the
    /// device has one. What touches the same bytes is ordered all the same.
    ///
    /// # Errors
    ///
    /// [`Error::ReversedRange`], [`Error::OutOfBounds`], [`Error::ForeignDevice`], [`Error::Overlap`] for overlapping
    /// ranges of one block; those of recording.
    pub fn copy_from_block(
        self: &Arc<Self>,
        stream: &Stream,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<()> {
        let Some(copy) = self.checked_copy(stream.device(), offset, source, range)? else { return Ok(()) };
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: both buffers outlive their last uses, which are recorded with the accesses.
            unsafe { copy.record(recorder) };
            Ok(())
        };
        match self.direction_from(source) {
            // SAFETY: the command touches the two ranges of the copy and nothing else.
            None => unsafe { stream.record(&copy.accesses, record) },
            // SAFETY: as above, and it is a copy.
            Some(direction) => unsafe { stream.record_copy(direction, copy.region.size, &copy.accesses, record) },
        }
    }

    /// Which way over the bus a copy goes, if one of the blocks lies in host memory and the other does not.
    fn direction_from(&self, source: &Self) -> Option<Direction> {
        let is_host = |block: &Self| matches!(block.kind(), MemoryKind::Pinned | MemoryKind::WriteCombined);
        match (is_host(source), is_host(self)) {
            (true, false) => Some(Direction::ToDevice),
            (false, true) => Some(Direction::ToHost),
            _ => None,
        }
    }

    /// Checks a copy to this block at `offset`; nothing if there is nothing to copy.
    pub(crate) fn checked_copy(
        self: &Arc<Self>,
        device: &Arc<Device>,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<Option<Copy>> {
        let size =
            range.end.checked_sub(range.start).ok_or(Error::ReversedRange { start: range.start, end: range.end })?;
        let from = source.check_range(range.start, size)?;
        let to = self.check_range(offset, size)?;
        check_same_device(device, self.device())?;
        check_same_device(device, source.device())?;
        if Arc::ptr_eq(self, source) && from.start < to.end && to.start < from.end && size > 0 {
            return Err(Error::Overlap { from, to });
        }
        if size == 0 {
            return Ok(None);
        }
        Ok(Some(Copy {
            accesses: [source.read(from, Stage::Transfer), self.write(to, Stage::Transfer)],
            region: vk::BufferCopy {
                src_offset: source.buffer_offset() + range.start,
                dst_offset: self.buffer_offset() + offset,
                size,
            },
            src: source.buffer(),
            dst: self.buffer(),
            host_reads: self.is_mapped(),
        }))
    }

    /// Writes the four-byte `pattern` over the whole block, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`]; those of recording.
    pub fn fill(self: &Arc<Self>, stream: &Stream, pattern: u32) -> Result<()> {
        let Some(fill) = self.checked_fill(stream.device(), pattern)? else { return Ok(()) };
        self.send_fill(stream, &fill)
    }

    /// Fills a range of whole words, from a whole word on; nothing if there is nothing to fill.
    pub(crate) fn fill_aligned(&self, stream: &Stream, range: Range<u64>, pattern: u32) -> Result<()> {
        check_same_device(stream.device(), self.device())?;
        if range.is_empty() {
            return Ok(());
        }
        let fill = Fill {
            offset: self.buffer_offset() + range.start,
            size: range.end - range.start,
            accesses: [self.write(range, Stage::Transfer)],
            dst: self.buffer(),
            pattern,
            host_reads: self.is_mapped(),
        };
        self.send_fill(stream, &fill)
    }

    fn send_fill(&self, stream: &Stream, fill: &Fill) -> Result<()> {
        let record = |recorder: &mut Recorder<'_>| {
            // SAFETY: the buffer outlives its last use, which is recorded with the access.
            unsafe { fill.record(recorder) };
            Ok(())
        };
        // SAFETY: the command writes the bytes of the access alone, or the end of the block's own last word.
        unsafe { stream.record(&fill.accesses, record) }
    }

    /// Checks a fill; nothing if there is nothing to fill.
    pub(crate) fn checked_fill(&self, device: &Arc<Device>, pattern: u32) -> Result<Option<Fill>> {
        check_same_device(device, self.device())?;
        self.check_alive()?;
        if self.size() == 0 {
            return Ok(None);
        }
        Ok(Some(Fill {
            accesses: [self.write(0..u64::MAX, Stage::Transfer)],
            dst: self.buffer(),
            offset: self.buffer_offset(),
            // The memory reaches past the block's last byte to a whole word; nothing else lies there.
            size: self.size().next_multiple_of(FILL_WORD),
            pattern,
            host_reads: self.is_mapped(),
        }))
    }

    /// Blocks until the device is done with what an access of the host would conflict with.
    pub(crate) fn wait_for_uses(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(|last| last.wait(None))?)
    }

    /// Blocks until the device is done with what a new block's memory was used for before it was this block's.
    fn wait_for_former_uses(&self) -> Result<()> {
        if self.has_former_uses() { self.wait_for_uses(&(0..self.size()), Mode::Write) } else { Ok(()) }
    }

    /// Writes through the mapping if nothing on the device, sent or not, uses the bytes. Returns whether it did.
    fn write_if_idle(&self, range: &Range<u64>, source: &[u8]) -> Result<bool> {
        let (_hold, uses) = self.device().hold(self.id(), range.clone(), Mode::Write, Term::Brief)?;
        for point in uses {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        self.write_mapped(range.start, source);
        Ok(true)
    }

    /// Reads through the mapping, after what writes the bytes.
    fn read_when_written(&self, range: &Range<u64>, target: &mut [u8]) -> Result<()> {
        // Most of the wait is without the hold, which others may have to wait for.
        self.wait_for_uses(range, Mode::Read)?;
        let (_hold, uses) = self.device().hold(self.id(), range.clone(), Mode::Read, Term::Brief)?;
        uses.iter().try_for_each(|last| last.wait(None))?;
        self.read_mapped(range.start, target);
        Ok(())
    }

    /// Copies to the mapping. The caller has checked the range, and keeps the device and other threads off it.
    fn write_mapped(&self, offset: u64, source: &[u8]) {
        let target = self.mapped_bytes(offset, source.len());
        // SAFETY: the mapping holds the range, as `mapped_bytes` checked, and no Rust reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
    }

    /// Copies from the mapping. The caller has waited for the device's last write, and keeps other writers off.
    pub(crate) fn read_mapped(&self, offset: u64, target: &mut [u8]) {
        let source = self.mapped_bytes(offset, target.len());
        // SAFETY: the mapping holds the range, as `mapped_bytes` checked, and no Rust reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
    }

    /// The address of `len` bytes at `offset`.
    pub(crate) fn mapped_bytes(&self, offset: u64, len: usize) -> *mut u8 {
        let base = self.mapped().expect("only called for mapped blocks");
        self.check_range(offset, len as u64).expect("only called for ranges inside the block");
        let offset = usize::try_from(offset).expect("a mapping is smaller than the address space");
        // SAFETY: the offset lies inside the mapping, which is at least as large as the block.
        unsafe { base.as_ptr().add(offset) }
    }
}

/// A copy between blocks that was checked.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) accesses: [Access; 2],
    region: vk::BufferCopy,
    src: vk::Buffer,
    dst: vk::Buffer,
    host_reads: bool,
}

impl Copy {
    /// # Safety
    ///
    /// The blocks that it was checked for are alive, and outlive the recorded command.
    pub(crate) unsafe fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.label(Label::copy(self.region.size));
        note_host_read(recorder, self.host_reads);
        let device = recorder.device().raw();
        // SAFETY: the ranges lie in their buffers and are disjoint; the caller keeps both buffers.
        unsafe { device.cmd_copy_buffer(recorder.commands(), self.src, self.dst, &[self.region]) };
    }
}

/// A fill of a block that was checked.
#[derive(Debug)]
pub(crate) struct Fill {
    pub(crate) accesses: [Access; 1],
    dst: vk::Buffer,
    offset: u64,
    size: u64,
    pattern: u32,
    host_reads: bool,
}

impl Fill {
    /// # Safety
    ///
    /// The block that it was checked for is alive, and outlives the recorded command.
    pub(crate) unsafe fn record(&self, recorder: &mut Recorder<'_>) {
        recorder.label(Label::fill(self.size));
        note_host_read(recorder, self.host_reads);
        let device = recorder.device().raw();
        // SAFETY: the memory is at least `size` bytes, a multiple of a word, from a multiple of a word on; the caller keeps it.
        unsafe { device.cmd_fill_buffer(recorder.commands(), self.dst, self.offset, self.size, self.pattern) };
    }
}

fn note_host_read(recorder: &mut Recorder<'_>, host_reads: bool) {
    if host_reads {
        recorder.host_will_read();
    }
}

pub(crate) fn check_same_device(left: &Arc<Device>, right: &Arc<Device>) -> Result<()> {
    if Arc::ptr_eq(left, right) {
        return Ok(());
    }
    Err(Error::ForeignDevice { left: left.info().name.clone(), right: right.info().name.clone() })
}

fn len(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
