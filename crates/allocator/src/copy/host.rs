//! Copies between a slice of the host and a block.
//!
//! Each copy asks once for its route (`bus.rs`). In place, bytes are copied through the mapping (`mapped.rs`): by an
//! upload if no work uses them, by a download after the waits of its stream and the writes of the bytes. Other copies
//! go through staging slots: a small copy through one slot, a large copy through several (`parallel.rs`).

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::{Direction, Stream};

use super::bus::{EXCLUDED, Moment};
use super::parallel::ParallelCopy;
use super::{BlockCommand, len};
use crate::allocator::Block;
use crate::error::Result;
use crate::memory::route::MAX_IN_SLOT;
use crate::memory::{CopyQueue, CopyRequest, HostSide, Route, Via};
use crate::staging::{BorrowedSlot, FilledSlot, SlotSize, StagingSlot};
use crate::vulkan::check_same_device;

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
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::DeadMemory`](crate::Error::DeadMemory),
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice); and the errors of allocating staging
    /// memory and of recording, after which part of the bytes may be copied.
    pub fn copy_from_host(self: &Arc<Self>, stream: &Stream, offset: u64, source: &[u8]) -> Result<()> {
        let range = self.check_range(offset, len(source))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?; // The mapping of a lost device stays, although its work is lost.
        if source.is_empty() {
            return Ok(());
        }
        let request = self.request(Direction::ToDevice, len(source), HostSide::Slice);
        let route = Moment::of(stream).route(self, &request)?;
        self.upload((stream, route), &range, source)
    }

    /// Carries out the route of an upload from a slice that is not empty.
    pub(super) fn upload(
        self: &Arc<Self>,
        (stream, mut route): (&Stream, Route),
        range: &Range<u64>,
        source: &[u8],
    ) -> Result<()> {
        if let Route::InPlace { .. } = route {
            if self.write_if_idle(range, source)? {
                return Ok(());
            }
            let request = self.request(Direction::ToDevice, len(source), HostSide::Slice);
            route = Moment { is_busy: true, ..Moment::of(stream) }.route(self, &request)?;
        }
        match route {
            Route::Command { queue, via: Via::Slot } => {
                let slot = self.allocator().slot(Direction::ToDevice, SlotSize::Small, source.len())?;
                self.record_upload((stream, queue), range.start, slot.fill(source)?).map(drop)
            }
            Route::Command { queue, via: Via::Chunks(plan) } => {
                let chunks = (range.start..).step_by(plan.chunk).zip(source.chunks(plan.chunk));
                let work = ParallelCopy::new(self, (stream, queue), plan, chunks);
                work.run(|| work.upload_share(BorrowedSlot::fill))
            }
            _ => unreachable!("{EXCLUDED}"),
        }
    }

    /// Fills new memory with the pattern if the host does so sooner than the device. Returns whether the host filled
    /// it.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4, MemoryKind::Device)?;
    /// if !block.fill_in_place(&stream, 0..4, &[7, 8])? {
    ///     block.fill_range(&stream, 0..4, &[7, 8])?;
    /// }
    /// let mut bytes = [0; 4];
    /// block.copy_to_host(&stream, 0, &mut bytes)?;
    /// assert_eq!(bytes, [7, 8, 7, 8]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadPattern`](crate::Error::BadPattern) if the pattern is empty or its length does not divide the length of
    /// the range; and the errors of [`Block::copy_from_host`].
    pub fn fill_in_place(&self, stream: &Stream, range: Range<u64>, pattern: &[u8]) -> Result<bool> {
        let size = self.check_pattern(&range, pattern)?;
        check_same_device(stream.device(), self.device())?;
        if size == 0 {
            return Ok(false);
        }
        let request = self.request(Direction::ToDevice, size, HostSide::Pattern);
        match Moment::of(stream).route(self, &request)? {
            Route::InPlace { .. } => {
                let n = usize::try_from(size / pattern.len() as u64).expect("the host addresses the bytes");
                self.write_if_idle(&range, &pattern.repeat(n))
            }
            _ => Ok(false),
        }
    }

    /// Copies the bytes at `offset` to `target`, in the order of `stream`: after everything that the stream waits for,
    /// and after all earlier work that writes the same bytes. Blocks until the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::DeadMemory`](crate::Error::DeadMemory),
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice); and the errors of allocating staging
    /// memory, of recording and waiting, after which part of the bytes may be copied.
    pub fn copy_to_host(self: &Arc<Self>, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        self.copy_run_to_host(stream, offset, target, None).map(drop)
    }

    /// Copies as [`Block::copy_to_host`] does, unless a kernel copies the bytes to pinned memory sooner, in units of
    /// `unit` bytes. In that case nothing is copied, and the unit is returned.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4, MemoryKind::Device)?;
    /// block.fill(&stream, 0x0707_0707)?;
    /// let mut bytes = [0; 4];
    /// if block.copy_run_to_host(&stream, 0, &mut bytes, Some(4))?.is_none() {
    ///     assert_eq!(bytes, [7; 4]);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_to_host`].
    pub fn copy_run_to_host(
        self: &Arc<Self>,
        stream: &Stream,
        offset: u64,
        target: &mut [u8],
        unit: Option<u32>,
    ) -> Result<Option<u32>> {
        self.check_range(offset, len(target))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(None);
        }
        let request = CopyRequest { unit, ..self.request(Direction::ToHost, len(target), HostSide::Slice) };
        match Moment::of(stream).route(self, &request)? {
            Route::Kernel { unit } => return Ok(Some(unit)),
            Route::Command { queue, via: Via::Chunks(plan) } => {
                let chunks = (offset..).step_by(plan.chunk).zip(target.chunks_mut(plan.chunk));
                let work = ParallelCopy::new(self, (stream, queue), plan, chunks);
                work.run(|| work.download_share())?;
            }
            Route::InPlace { .. } => self.read_in_order(stream, offset, target)?,
            Route::Command { queue, .. } => self.read_through((stream, queue), offset, target, SlotSize::Small)?,
        }
        Ok(None)
    }

    /// Copies the bytes at `offset` to `target` through the mapping. Waits for the work that writes them, but for no
    /// stream.
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
    /// [`Error::NotOnHost`](crate::Error::NotOnHost) if the host does not address the block;
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds), [`Error::DeadMemory`](crate::Error::DeadMemory); and
    /// the errors of waiting for the device.
    pub fn copy_to_host_in_place(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        let range = self.check_range(offset, len(target))?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(());
        }
        self.read_when_written(&range, target)
    }

    /// Copies bytes to the host in place, or by one command through one slot, which has room for them. Blocks until the
    /// copy is complete.
    pub(super) fn read_part(&self, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        if self.is_read_in_place(len(target)) {
            return self.read_in_order(stream, offset, target);
        }
        let queue = self.queue_of(stream, Direction::ToHost, len(target))?;
        let size = if len(target) <= MAX_IN_SLOT { SlotSize::Small } else { SlotSize::Large };
        self.read_through((stream, queue), offset, target, size)
    }

    /// Reads through the mapping, after the waits of the stream and the work that writes the bytes.
    fn read_in_order(&self, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        if let Some(waits) = stream.pending_wait()? {
            waits.wait(None)?;
        }
        self.read_when_written(&(offset..offset + len(target)), target)
    }

    /// Copies bytes to the host by one command through one slot of this size.
    fn read_through(&self, place: (&Stream, CopyQueue), offset: u64, target: &mut [u8], size: SlotSize) -> Result<()> {
        let slot = self.allocator().slot(Direction::ToHost, size, target.len())?;
        self.record_download(place, offset, target, slot)?.finish().map(drop)
    }

    /// Whether [`Block::copy_to_host`] reads `len` bytes through the mapping, without a copy by the device.
    pub(super) fn is_read_in_place(&self, len: u64) -> bool {
        self.allocator().bus().is_read_in_place(self.side(), len)
    }

    /// Records the copy from a filled slot to this block.
    pub(super) fn record_upload<'a>(
        &self,
        place: (&Stream, CopyQueue),
        offset: u64,
        FilledSlot { slot, part }: FilledSlot<'a>,
    ) -> Result<BorrowedSlot<'a>> {
        self.record_slot(Direction::ToDevice, place, offset, (&slot, part))?;
        Ok(slot)
    }

    /// Records a copy from this block to a slot. [`PendingDownload::finish`] copies it on to `target`.
    pub(super) fn record_download<'a, 't>(
        &self,
        place: (&Stream, CopyQueue),
        offset: u64,
        target: &'t mut [u8],
        slot: BorrowedSlot<'a>,
    ) -> Result<PendingDownload<'a, 't>> {
        self.record_slot(Direction::ToHost, place, offset, (&slot, 0..len(target)))?;
        Ok(PendingDownload { slot, target })
    }

    /// Records a copy between the bytes at `offset` and a part of a slot. The bounds are checked.
    pub(super) fn record_slot(
        &self,
        direction: Direction,
        (stream, queue): (&Stream, CopyQueue),
        offset: u64,
        (slot, part): (&StagingSlot, Range<u64>),
    ) -> Result<()> {
        let size = part.end - part.start;
        let (here, there) = (self.place(offset), slot.place(part.start));
        let range = offset..offset + size;
        let copy = match direction {
            Direction::ToDevice => {
                let accesses = [slot.read(part), self.write(range, Stage::Transfer)];
                BlockCommand::copy(accesses, there, here, size, self.is_read_beside())
            }
            Direction::ToHost => {
                let accesses = [self.read(range, Stage::Transfer), slot.write(part)];
                BlockCommand::copy(accesses, here, there, size, true)
            }
        };
        // SAFETY: the block is alive, and the slot goes back to its manager with its last uses; the accesses name both.
        unsafe { copy.send(stream, queue) }
    }
}

/// A download that was given to the device: the slot, and the target of the slot's bytes.
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
        // SAFETY: only one operation was recorded with the part, and it was waited for just now.
        self.target.copy_from_slice(unsafe { self.slot.bytes(&part) });
        Ok(self.slot)
    }
}
