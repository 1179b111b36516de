//! Copies between a slice of the host and a block.
//!
//! If the host addresses the block, bytes are copied through the mapping: an upload of few bytes if its stream waits for
//! nothing and the device does not use the bytes, a download after the waits of its stream and the writes of the bytes.
//! Other copies go through staging slots: a small copy through one, a large copy through several (`parallel.rs`).

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Direction, HostAccess, HostAccessKind, Point, Stream};

use super::chunking::{ChunkPlan, SMALL, n_threads};
use super::parallel::ParallelCopy;
use super::{BlockCopy, len};
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::{HostIntent, Mapping};
use crate::staging::{BorrowedSlot, CopyThreads, FilledSlot, SlotSize, StagingSlot};
use crate::vulkan::check_same_device;

/// Up to this many bytes of pinned memory are copied to memory beyond a bus by the host: the barrier between two kernels takes
/// 2.4 µs on an H100, in which the host writes so many.
const MAX_COPIED_IN_PLACE: u64 = 32 << 10;

/// Up to this many bytes are read in place even where that is slow: the round trip of a copy by the device takes longer.
const MAX_SLOW_READ: usize = 512;

impl Block {
    /// Copies `source` to the bytes at `offset`, in the order of `stream`: after everything that the stream waits for, and
    /// after all earlier work on the same bytes.
    ///
    /// Returns when `source` has been read; later work of the stream sees the bytes. Staging memory is bounded, so a large
    /// copy blocks if the block is in use or the stream waits, and a small copy if many others are in flight.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4, MemoryKind::Device)?;
    /// block.copy_from_host(&stream, 1, &[7, 8])?;
    /// let mut bytes = [0; 2];
    /// block.copy_to_host(&stream, 1, &mut bytes)?;
    /// assert_eq!(bytes, [7, 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`], [`Error::ForeignDevice`]; those of allocating staging memory and of
    /// recording, after which part of the bytes may be copied.
    pub fn copy_from_host(self: &Arc<Self>, stream: &Stream, offset: u64, source: &[u8]) -> Result<()> {
        let range = self.check_range(offset, len(source))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?; // The mapping of a lost device stays, although its work is lost.
        if source.is_empty() {
            return Ok(());
        }
        if let Some(mapping) = self.mapping_to_write(source.len())
            && stream.pending_wait()?.is_none()
            && self.write_if_idle(mapping, &range, source)?
        {
            return Ok(());
        }
        if source.len() <= SMALL {
            let slot = self.allocator().slot(Direction::ToDevice, SlotSize::Small, source.len())?;
            return self.record_upload(stream, offset, slot.fill(source)?).map(drop);
        }
        let plan = ChunkPlan::new(source.len(), self.allocator().copy_threads().n_threads());
        let places = (offset..).step_by(plan.chunk);
        let work = ParallelCopy::new(self, stream, plan, places.zip(source.chunks(plan.chunk)));
        work.run(|| work.upload_share(BorrowedSlot::fill))
    }

    /// Copies the bytes at `offset` to `target`, in the order of `stream`: after everything that the stream waits for, and
    /// after all earlier work that writes the same bytes. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`], [`Error::ForeignDevice`]; those of allocating staging memory, of
    /// recording and waiting, after which part of the bytes may be copied.
    pub fn copy_to_host(self: &Arc<Self>, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        self.check_range(offset, len(target))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(());
        }
        if target.len() <= SMALL || self.is_read_mapped(target.len()) {
            return self.read_through(stream, offset, target, SlotSize::Small);
        }
        let plan = ChunkPlan::new(target.len(), self.allocator().copy_threads().n_threads());
        let places = (offset..).step_by(plan.chunk);
        let work = ParallelCopy::new(self, stream, plan, places.zip(target.chunks_mut(plan.chunk)));
        work.run(|| work.download_share())
    }

    /// Copies the bytes at `offset` to `target` through the mapping. Waits for the work that writes them, and for no stream.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let pinned = allocator.allocate(16, MemoryKind::Pinned)?;
    /// pinned.fill(&stream, 0x0303_0303)?;
    /// let mut bytes = [0; 16];
    /// pinned.copy_to_host_in_place(0, &mut bytes)?;
    /// assert_eq!(bytes, [3; 16]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`] if the host does not address the block; [`Error::OutOfBounds`], [`Error::DeadMemory`]; those
    /// of waiting.
    pub fn copy_to_host_in_place(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        let range = self.check_range(offset, len(target))?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(());
        }
        let mapping = self.mapping().ok_or(Error::NotOnHost { kind: self.kind() })?;
        self.read_when_written(mapping, &range, target)
    }

    /// Copies a few bytes of host memory to this block through both mappings, if the host writes this block over a bus, no
    /// work uses any of the bytes, and `stream` waits for nothing. Returns whether it did; otherwise nothing is copied.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (source, target) = (allocator.allocate(4, MemoryKind::Pinned)?, allocator.allocate(4, MemoryKind::Device)?);
    /// source.write_on_host(0..4)?.fill(7);
    /// if !target.copy_in_place(&stream, 0, &source, 0..4)? {
    ///     target.copy_from_block(&stream, 0, &source, 0..4)?;
    /// }
    /// let mut bytes = [0; 4];
    /// target.copy_to_host(&stream, 0, &mut bytes)?;
    /// assert_eq!(bytes, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Block::copy_from_block`].
    pub fn copy_in_place(
        self: &Arc<Self>,
        stream: &Stream,
        offset: u64,
        source: &Arc<Self>,
        range: Range<u64>,
    ) -> Result<bool> {
        source.check_bytes(&range)?;
        let size = range.end - range.start;
        let target = self.check_range(offset, size)?;
        check_same_device(stream.device(), self.device())?;
        check_same_device(stream.device(), source.device())?;
        self.device().check_lost()?;
        let Some(len) = usize::try_from(size).ok().filter(|_| size <= MAX_COPIED_IN_PLACE) else { return Ok(false) };
        let (Some(to), Some(from)) = (self.mapping_to_write(len), source.mapping()) else { return Ok(false) };
        let gains = self.is_written_over_bus(len) && source.allocator().is_read_fast(source.kind());
        if !gains || stream.pending_wait()?.is_some() {
            return Ok(false);
        }
        // The bytes go through the stack, since a thread that held two blocks could wait for another that did.
        let mut bytes: SmallVec<[u8; 4 << 10]> = SmallVec::new();
        bytes.resize(len, 0);
        Ok(source.read_if_idle(from, &range, &mut bytes)? && self.write_if_idle(to, &target, &bytes)?)
    }

    /// Copies bytes to the host through the mapping, or through one slot of this size, which has room for them. Blocks until
    /// they are there.
    pub(super) fn read_through(&self, stream: &Stream, offset: u64, target: &mut [u8], size: SlotSize) -> Result<()> {
        match self.mapping() {
            Some(mapping) if self.is_read_mapped(target.len()) => {
                if let Some(waits) = stream.pending_wait()? {
                    waits.wait(None)?;
                }
                self.read_when_written(mapping, &(offset..offset + len(target)), target)
            }
            _ => {
                let slot = self.allocator().slot(Direction::ToHost, size, target.len())?;
                self.record_download(stream, offset, target, slot)?.finish().map(drop)
            }
        }
    }

    /// Whether [`Block::copy_to_host`] reads `len` bytes through the mapping, without a copy by the device: if there is a
    /// mapping, and it is read fast or the bytes are few.
    pub fn is_read_mapped(&self, len: usize) -> bool {
        self.is_mapped() && (len <= MAX_SLOW_READ || self.allocator().is_read_fast(self.kind()))
    }

    /// Records the copy from a filled slot to this block.
    pub(super) fn record_upload<'a>(
        &self,
        stream: &Stream,
        offset: u64,
        FilledSlot { slot, part }: FilledSlot<'a>,
    ) -> Result<BorrowedSlot<'a>> {
        self.upload_from(stream, offset, &slot, part)?;
        Ok(slot)
    }

    /// Records a copy of a part of a slot to `offset`. The bounds are checked.
    pub(super) fn upload_from(&self, stream: &Stream, offset: u64, slot: &StagingSlot, part: Range<u64>) -> Result<()> {
        let size = part.end - part.start;
        let accesses = [slot.read(part.clone()), self.write(offset..offset + size, Stage::Transfer)];
        let src = (slot.buffer(), slot.buffer_offset() + part.start);
        let copy = BlockCopy::new(accesses, src, self.place(offset), size, self.is_mapped());
        // SAFETY: the block is alive, and the slot goes back to its manager with its last uses; the accesses name both.
        unsafe { copy.send(stream, self.bus_direction(Direction::ToDevice)) }
    }

    /// Records a copy from this block to a slot. [`PendingDownload::finish`] copies it on to `target`.
    pub(super) fn record_download<'a, 't>(
        &self,
        stream: &Stream,
        offset: u64,
        target: &'t mut [u8],
        slot: BorrowedSlot<'a>,
    ) -> Result<PendingDownload<'a, 't>> {
        self.download_into(stream, offset, &slot, 0..len(target))?;
        Ok(PendingDownload { slot, target })
    }

    /// Records a copy of the bytes at `offset` to a part of a slot. The bounds are checked.
    pub(super) fn download_into(
        &self,
        stream: &Stream,
        offset: u64,
        slot: &StagingSlot,
        part: Range<u64>,
    ) -> Result<()> {
        let size = part.end - part.start;
        let accesses = [self.read(offset..offset + size, Stage::Transfer), slot.write(part.clone())];
        let dst = (slot.buffer(), slot.buffer_offset() + part.start);
        let copy = BlockCopy::new(accesses, self.place(offset), dst, size, true);
        // SAFETY: as in `record_upload`.
        unsafe { copy.send(stream, self.bus_direction(Direction::ToHost)) }
    }

    /// The direction of a copy between this block and host memory, if it crosses the bus.
    fn bus_direction(&self, direction: Direction) -> Option<Direction> {
        (!self.is_in_host_memory()).then_some(direction)
    }

    /// Waits for uses by the device that conflict with an access of the host in `mode`.
    pub(crate) fn wait_for_uses(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(|last| last.wait(None))?)
    }

    /// The same for copies that are in flight and over soon.
    pub(super) fn wait_for_copies(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(Point::wait_polling)?)
    }

    /// Whether work, submitted or not, writes some of the bytes.
    pub(super) fn is_written(&self, range: &Range<u64>) -> Result<bool> {
        for write in self.device().block_uses(self.id(), range.clone(), Mode::Read) {
            if !write.is_complete()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes through the mapping if no work, submitted or not, uses the bytes. Returns whether it did.
    fn write_if_idle(&self, mapping: Mapping, range: &Range<u64>, source: &[u8]) -> Result<bool> {
        let Some(_hold) = self.hold_if_idle(mapping, range, Mode::Write)? else { return Ok(false) };
        mapping.invalidate(self.device(), range, HostIntent::Overwrite)?;
        let address = self.address(mapping, range.start, source.len())?;
        // SAFETY: the mapping holds the range, as `address` checked. While the hold stands, neither the device nor
        // another thread touches it.
        let target = unsafe { slice::from_raw_parts_mut(address, source.len()) };
        copy_together(self.allocator().copy_threads(), source, target);
        mapping.flush(self.device(), range)?;
        Ok(true)
    }

    /// Reads through the mapping if no work, submitted or not, writes the bytes. Returns whether it did.
    fn read_if_idle(&self, mapping: Mapping, range: &Range<u64>, target: &mut [u8]) -> Result<bool> {
        let Some(_hold) = self.hold_if_idle(mapping, range, Mode::Read)? else { return Ok(false) };
        // SAFETY: the writes are over, and the hold refuses later ones.
        unsafe { self.read_mapped(mapping, range.start, target) }?;
        Ok(true)
    }

    /// Begins an access of the host, unless some work, submitted or not, conflicts with it.
    fn hold_if_idle(&self, mapping: Mapping, range: &Range<u64>, mode: Mode) -> Result<Option<HostAccess<'_>>> {
        let atoms = mapping.atoms(self.device(), range.clone());
        let (hold, uses) = self.device().begin_host_access(self.id(), atoms, mode, HostAccessKind::Brief)?;
        for point in uses {
            if !point.is_complete()? {
                return Ok(None);
            }
        }
        Ok(Some(hold))
    }

    /// Reads through the mapping, after the work that writes the bytes.
    fn read_when_written(&self, mapping: Mapping, range: &Range<u64>, target: &mut [u8]) -> Result<()> {
        // First without the hold, which other threads may have to wait for.
        let atoms = mapping.atoms(self.device(), range.clone());
        self.wait_for_uses(&atoms, Mode::Read)?;
        let (_hold, uses) = self.device().begin_host_access(self.id(), atoms, Mode::Read, HostAccessKind::Brief)?;
        uses.iter().try_for_each(|last| last.wait(None))?;
        // SAFETY: the writes were waited for, and the hold refuses later ones.
        unsafe { self.read_mapped(mapping, range.start, target) }
    }

    /// Copies from the mapping.
    ///
    /// # Safety
    ///
    /// Until the call returns, neither the device nor another thread writes the bytes: earlier writes were waited for.
    pub(crate) unsafe fn read_mapped(&self, mapping: Mapping, offset: u64, target: &mut [u8]) -> Result<()> {
        let address = self.address(mapping, offset, target.len())?;
        mapping.invalidate(self.device(), &(offset..offset + len(target)), HostIntent::Access)?;
        // SAFETY: the mapping holds the range, as `address` checked, and the caller promises that nothing writes it.
        let source = unsafe { slice::from_raw_parts(address.cast_const(), target.len()) };
        copy_together(self.allocator().copy_threads(), source, target);
        Ok(())
    }
}

/// Copies one slice to another of the same length, with several threads if it is long.
fn copy_together(copy_threads: &CopyThreads, source: &[u8], target: &mut [u8]) {
    let n = n_threads(source.len(), copy_threads.n_threads());
    if n == 1 {
        return target.copy_from_slice(source);
    }
    let part = source.len().div_ceil(n);
    let parts = Mutex::new(Rank::CopyProgress, target.chunks_mut(part).zip(source.chunks(part)));
    let next = || parts.lock().next(); // No caller's code runs under the lock.
    copy_threads.run(n, &|| {
        while let Some((target, source)) = next() {
            target.copy_from_slice(source);
        }
    });
}

/// A download that the device has been given: the slot, and the target of its bytes.
pub(super) struct PendingDownload<'a, 't> {
    slot: BorrowedSlot<'a>,
    target: &'t mut [u8],
}

impl<'a> PendingDownload<'a, '_> {
    /// Waits for the bytes and copies them to the target. Returns the slot.
    pub(super) fn finish(mut self) -> Result<BorrowedSlot<'a>> {
        let part = 0..len(self.target);
        self.slot.wait_for_copies(part.clone(), Mode::Read)?;
        self.slot.invalidate(&part)?;
        // SAFETY: the only work that was recorded with the part was just waited for.
        self.target.copy_from_slice(unsafe { self.slot.bytes(&part) });
        Ok(self.slot)
    }
}
