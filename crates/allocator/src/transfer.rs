//! Copies between the host and blocks, between blocks, and fills.
//!
//! Everything here knows bytes. A copy from or to the host goes straight through the mapping where the host reaches
//! the block and nothing uses it; else through staging blocks, a chunk at a time, so that the host's part of one chunk
//! and the device's part of another overlap.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::{Device, Direction, Label, Recorder, Stream};

use crate::block::Block;
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// Bytes staged at a time: large enough that a submission costs little beside it.
const CHUNK: usize = 16 << 20;

/// Chunks in flight before the host waits for the oldest.
const CHUNKS_IN_FLIGHT: usize = 4;

/// The stream a copy is ordered in. With a direction, one side is host memory, and a large copy may go on beside the
/// stream's other work.
struct Route<'a> {
    stream: &'a Stream,
    direction: Option<Direction>,
}

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
        if self.is_mapped() && self.is_idle(&range)? {
            self.write_mapped(range.start, source);
            return Ok(());
        }
        let route = Route { stream, direction: Some(Direction::ToDevice) };
        let mut in_flight: VecDeque<Arc<Self>> = VecDeque::new();
        for (n, chunk) in source.chunks(CHUNK).enumerate() {
            if in_flight.len() == CHUNKS_IN_FLIGHT
                && let Some(oldest) = in_flight.pop_front()
            {
                oldest.wait_for_uses(&(0..oldest.size()), Mode::Write)?;
            }
            let staging = self.allocator().allocate(len(chunk), MemoryKind::WriteCombined)?;
            staging.write_mapped(0, chunk);
            let to = range.start + len(&source[..n * CHUNK]);
            self.copy(&route, to, &staging, 0..len(chunk))?;
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
            self.wait_for_uses(&range, Mode::Read)?;
            self.read_mapped(range.start, target);
            return Ok(());
        }
        let route = Route { stream, direction: Some(Direction::ToHost) };
        let mut on_their_way: VecDeque<Arc<Self>> = VecDeque::new();
        let mut starts = (range.start..range.end).step_by(CHUNK);
        for chunk in target.chunks_mut(CHUNK) {
            while on_their_way.len() < CHUNKS_IN_FLIGHT
                && let Some(start) = starts.next()
            {
                let bytes = (range.end - start).min(CHUNK as u64);
                let staging = self.allocator().allocate(bytes, MemoryKind::Pinned)?;
                staging.copy(&route, 0, self, start..start + bytes)?;
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
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ForeignDevice`], [`Error::Overlap`] for overlapping ranges of one block; those
    /// of recording.
    pub fn copy_from_block(
        self: &Arc<Self>,
        stream: &Stream,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<()> {
        self.copy(&Route { stream, direction: None }, offset, source, range)
    }

    fn copy(self: &Arc<Self>, route: &Route<'_>, offset: u64, source: &Arc<Self>, range: Range<u64>) -> Result<()> {
        let &Route { stream, direction } = route;
        let size = range.end.saturating_sub(range.start);
        let from = source.check_range(range.start, size)?;
        let to = self.check_range(offset, size)?;
        check_same_device(stream.device(), self.device())?;
        check_same_device(stream.device(), source.device())?;
        if Arc::ptr_eq(self, source) && from.start < to.end && to.start < from.end && size > 0 {
            return Err(Error::Overlap { from, to });
        }
        if size == 0 {
            return Ok(());
        }
        let accesses = [source.read(from, Stage::Transfer), self.write(to, Stage::Transfer)];
        let region = [vk::BufferCopy { src_offset: range.start, dst_offset: offset, size }];
        let (src, dst, host_reads) = (source.buffer(), self.buffer(), self.is_mapped());
        let copy = |recorder: &mut Recorder<'_>| {
            recorder.label(Label::copy(size));
            note_host_read(recorder, host_reads);
            let device = recorder.device().raw();
            // SAFETY: the ranges lie in their buffers and are disjoint; both buffers outlive their last uses.
            unsafe { device.cmd_copy_buffer(recorder.commands(), src, dst, &region) };
            Ok(())
        };
        match direction {
            // SAFETY: the command touches the two ranges in `accesses` and nothing else.
            None => unsafe { stream.record(&accesses, copy) },
            // SAFETY: as above, and it is a copy.
            Some(direction) => unsafe { stream.record_copy(direction, size, &accesses, copy) },
        }
    }

    /// Writes the four-byte `pattern` over the whole block, in the order of `stream`. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`]; those of recording.
    pub fn fill(self: &Arc<Self>, stream: &Stream, pattern: u32) -> Result<()> {
        check_same_device(stream.device(), self.device())?;
        if self.size() == 0 {
            return Ok(());
        }
        // A buffer reaches past the block's last byte to a whole word; nothing else lies there.
        let size = self.size().next_multiple_of(FILL_WORD);
        let accesses = [self.write(0..u64::MAX, Stage::Transfer)];
        let (dst, host_reads) = (self.buffer(), self.is_mapped());
        let fill = |recorder: &mut Recorder<'_>| {
            recorder.label(Label::fill(size));
            note_host_read(recorder, host_reads);
            let device = recorder.device().raw();
            // SAFETY: the buffer is at least `size` bytes, a multiple of a word, and outlives its last use.
            unsafe { device.cmd_fill_buffer(recorder.commands(), dst, 0, size, pattern) };
            Ok(())
        };
        // SAFETY: the command writes this block alone.
        unsafe { stream.record(&accesses, fill) }
    }

    /// Blocks until the device is done with what an access of the host would conflict with.
    fn wait_for_uses(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(|last| last.wait(None))?)
    }

    /// Whether nothing on the device, sent or not, uses the bytes.
    fn is_idle(&self, range: &Range<u64>) -> Result<bool> {
        for point in self.device().block_uses(self.id(), range.clone(), Mode::Write) {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies to the mapping. The caller has checked the range, and that the device is not using it.
    fn write_mapped(&self, offset: u64, source: &[u8]) {
        let target = self.mapped_bytes(offset, source.len());
        // SAFETY: the mapping holds the range, as `mapped_bytes` checked, and no Rust reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
    }

    /// Copies from the mapping. The caller has waited for the device's last write.
    fn read_mapped(&self, offset: u64, target: &mut [u8]) {
        let source = self.mapped_bytes(offset, target.len());
        // SAFETY: the mapping holds the range, as `mapped_bytes` checked, and no Rust reference to it exists.
        unsafe { std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
    }

    /// The address of `len` bytes at `offset`.
    fn mapped_bytes(&self, offset: u64, len: usize) -> *mut u8 {
        let base = self.mapped().expect("only called for mapped blocks");
        self.check_range(offset, len as u64).expect("only called for ranges inside the block");
        let offset = usize::try_from(offset).expect("a mapping is smaller than the address space");
        // SAFETY: the offset lies inside the mapping, which is at least as large as the block.
        unsafe { base.as_ptr().add(offset) }
    }
}

fn note_host_read(recorder: &mut Recorder<'_>, host_reads: bool) {
    if host_reads {
        recorder.host_will_read();
    }
}

fn check_same_device(left: &Arc<Device>, right: &Arc<Device>) -> Result<()> {
    if Arc::ptr_eq(left, right) {
        return Ok(());
    }
    Err(Error::ForeignDevice { left: left.info().name.clone(), right: right.info().name.clone() })
}

fn len(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}
