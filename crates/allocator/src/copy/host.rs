//! Copies between a slice of the host and a block.
//!
//! Where the host addresses the block, copies go straight through the mapping: an upload if the stream waits for nothing and
//! the device does not use the bytes, a download after the stream's waits and the writes. Other copies go through slots of
//! staging memory: a small copy through one, a large one through a ring of them, by several threads. Each thread has
//! slots of its own: it fills one while the device empties another, or the other way round, and waits for nothing but
//! the slot that it used longest ago. How many of all that there are says `plan.rs`; `staging.rs` keeps the slots.

use std::collections::VecDeque;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::hazard::{Mode, Stage};
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_driver::{DeferDrops, Direction, HostAccessKind, Stream};

use super::chunking::{ChunkPlan, SMALL, n_threads};
use super::{BlockCopy, len};
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::{HostIntent, Mapping};
use crate::staging::{BorrowedSlot, CopyThreads, FilledSlot, SlotSize};
use crate::vulkan::check_same_device;

/// How often a thread tries to have its turn before it sleeps: some hundred microseconds.
const MAX_SPINS: u32 = 4096;

/// So many bytes are read in place even where that is slow: a copy by the device takes longer to come round.
const MAX_SLOW_READ: usize = 512;

impl Block {
    /// Copies `source` to the bytes at `offset`, in the order of `stream`: after all that the stream waits for, and all
    /// earlier work on the same bytes.
    ///
    /// Returns when `source` has been read; later work of the stream sees the bytes. Blocks for a large copy to a block
    /// in use or on a stream that waits, and when many smaller ones are on their way: the memory that they go through is
    /// bounded.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`], [`Error::ForeignDevice`]; those of allocating staging memory and of
    /// recording, after which part of the bytes may be copied.
    pub fn copy_from_host(self: &Arc<Self>, stream: &Stream, offset: u64, source: &[u8]) -> Result<()> {
        let range = self.check_range(offset, len(source))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?; // The mapping of a lost device is still there, its work is not.
        if source.is_empty() {
            return Ok(());
        }
        if let Some(mapping) = self.mapping()
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
        work.run(|| work.fill_and_send())
    }

    /// Copies the bytes at `offset` to `target`, in the order of `stream`: after all that the stream waits for, and all
    /// earlier work that writes the same bytes. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`], [`Error::ForeignDevice`]; those of allocating staging memory, of
    /// recording and waiting, after which part of the bytes may be copied.
    pub fn copy_to_host(self: &Arc<Self>, stream: &Stream, offset: u64, target: &mut [u8]) -> Result<()> {
        let range = self.check_range(offset, len(target))?;
        check_same_device(stream.device(), self.device())?;
        self.device().check_lost()?;
        if target.is_empty() {
            return Ok(());
        }
        if let Some(mapping) = self.mapping().filter(|_| self.is_read_fast() || target.len() <= MAX_SLOW_READ) {
            if let Some(waits) = stream.pending_wait()? {
                waits.wait(None)?;
            }
            return self.read_when_written(mapping, &range, target);
        }
        if target.len() <= SMALL {
            let slot = self.allocator().slot(Direction::ToHost, SlotSize::Small, target.len())?;
            return self.record_download(stream, offset, target, slot)?.finish().map(drop);
        }
        let plan = ChunkPlan::new(target.len(), self.allocator().copy_threads().n_threads());
        let places = (offset..).step_by(plan.chunk);
        let work = ParallelCopy::new(self, stream, plan, places.zip(target.chunks_mut(plan.chunk)));
        work.run(|| work.send_and_empty())
    }

    /// Copies the bytes at `offset` to `target` through the mapping, in the order of no stream: after the work that
    /// writes them, and nothing else. Blocks until they are there.
    ///
    /// ```no_run
    /// # fn f(pinned: &vkarray_allocator::Block) -> Result<(), vkarray_allocator::Error> {
    /// let mut first = [0; 16];
    /// pinned.copy_to_host_in_place(0, &mut first)?;
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

    /// Whether the host reads it in place as fast as from staging memory.
    fn is_read_fast(&self) -> bool {
        self.allocator().is_read_fast(self.kind())
    }

    /// Records the copy of what a slot was filled with.
    fn record_upload<'a>(
        &self,
        stream: &Stream,
        offset: u64,
        FilledSlot { slot, part }: FilledSlot<'a>,
    ) -> Result<BorrowedSlot<'a>> {
        let size = part.end - part.start;
        let copy = BlockCopy {
            accesses: [slot.read(part.clone()), self.write(offset..offset + size, Stage::Transfer)],
            region: vk::BufferCopy {
                src_offset: slot.buffer_offset() + part.start,
                dst_offset: self.buffer_offset() + offset,
                size,
            },
            src: slot.buffer(),
            dst: self.buffer(),
            host_reads: self.is_mapped(),
        };
        // SAFETY: the block is alive, and the slot goes back to its manager with its last uses; the accesses name both.
        unsafe { copy.send(stream, self.way_over_the_bus(Direction::ToDevice)) }?;
        Ok(slot)
    }

    /// Records a copy to a slot, to be copied on to `target` when it has arrived there.
    fn record_download<'a, 't>(
        &self,
        stream: &Stream,
        offset: u64,
        target: &'t mut [u8],
        slot: BorrowedSlot<'a>,
    ) -> Result<PendingDownload<'a, 't>> {
        let size = len(target);
        let copy = BlockCopy {
            accesses: [self.read(offset..offset + size, Stage::Transfer), slot.write(0..size)],
            region: vk::BufferCopy {
                src_offset: self.buffer_offset() + offset,
                dst_offset: slot.buffer_offset(),
                size,
            },
            src: self.buffer(),
            dst: slot.buffer(),
            host_reads: true,
        };
        // SAFETY: as in `record_upload`.
        unsafe { copy.send(stream, self.way_over_the_bus(Direction::ToHost)) }?;
        Ok(PendingDownload { slot, target })
    }

    /// The way a copy between this block and host memory goes, if it crosses the bus.
    fn way_over_the_bus(&self, direction: Direction) -> Option<Direction> {
        (!self.is_in_host_memory()).then_some(direction)
    }

    /// Blocks until the device is done with what an access of the host would conflict with.
    pub(crate) fn wait_for_uses(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(|last| last.wait(None))?)
    }

    /// Writes through the mapping if nothing on the device, sent or not, uses the bytes. Returns whether it did.
    fn write_if_idle(&self, mapping: Mapping, range: &Range<u64>, source: &[u8]) -> Result<bool> {
        let atoms = mapping.atoms(self.device(), range.clone());
        let (_hold, uses) = self.device().begin_host_access(self.id(), atoms, Mode::Write, HostAccessKind::Brief)?;
        for point in uses {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        mapping.invalidate(self.device(), range, HostIntent::Overwrite)?;
        let address = self.address(mapping, range.start, source.len())?;
        // SAFETY: the mapping holds the range, as `address` checked. While the hold stands, neither the device nor
        // another thread touches it.
        let target = unsafe { slice::from_raw_parts_mut(address, source.len()) };
        copy_together(self.allocator().copy_threads(), source, target);
        mapping.flush(self.device(), range)?;
        Ok(true)
    }

    /// Reads through the mapping, after what writes the bytes.
    fn read_when_written(&self, mapping: Mapping, range: &Range<u64>, target: &mut [u8]) -> Result<()> {
        // Most of the wait is without the hold, which others may have to wait for.
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

/// Copies one slice to another of the same length, by several threads if it is long.
fn copy_together(copy_threads: &CopyThreads, source: &[u8], target: &mut [u8]) {
    let n = n_threads(source.len(), copy_threads.n_threads());
    if n == 1 {
        return target.copy_from_slice(source);
    }
    let part = source.len().div_ceil(n);
    let parts = Mutex::new(Rank::CopyProgress, target.chunks_mut(part).zip(source.chunks(part)));
    let next = || lock(&parts).next();
    copy_threads.run(n, &|| {
        while let Some((target, source)) = next() {
            target.copy_from_slice(source);
        }
    });
}

/// Bytes that the device copies to a slot, and where they are to go then.
struct PendingDownload<'a, 't> {
    slot: BorrowedSlot<'a>,
    target: &'t mut [u8],
}

impl<'a> PendingDownload<'a, '_> {
    /// Waits for the bytes and copies them out. The slot is free then.
    fn finish(mut self) -> Result<BorrowedSlot<'a>> {
        let part = 0..len(self.target);
        self.slot.wait_for_copies(part.clone(), Mode::Read)?;
        self.slot.invalidate(&part)?;
        // SAFETY: the only work that was recorded with the part was just waited for.
        self.target.copy_from_slice(unsafe { self.slot.bytes(&part) });
        Ok(self.slot)
    }
}

/// A large copy that several threads carry out. An item of `C` is where a chunk lies in the block, and the chunk.
struct ParallelCopy<'a, C> {
    block: &'a Arc<Block>,
    stream: &'a Stream,
    plan: ChunkPlan,
    progress: Mutex<CopyProgress<C>>,
    /// Held while a chunk is sent.
    turn: Mutex<()>,
}

struct CopyProgress<C> {
    /// The chunks that nobody has taken.
    chunks: C,
    /// Why no more are taken.
    failed: Option<Error>,
    /// Why a thread has not joined in.
    starved: Option<Error>,
}

impl<'a, C: Iterator + Send> ParallelCopy<'a, C> {
    fn new(block: &'a Arc<Block>, stream: &'a Stream, plan: ChunkPlan, chunks: C) -> Self {
        let progress = Mutex::new(Rank::CopyProgress, CopyProgress { chunks, failed: None, starved: None });
        Self { block, stream, plan, progress, turn: Mutex::new(Rank::CopyTurn, ()) }
    }

    /// Runs `share` on each thread. It takes a slot before its first chunk, so a thread without a slot leaves its share
    /// to the others.
    fn run(&self, share: impl Fn() -> Result<()> + Sync) -> Result<()> {
        self.block.allocator().copy_threads().run(self.plan.n_threads, &|| {
            if let Err(error) = share() {
                lock(&self.progress).failed.get_or_insert(error);
            }
        });
        let mut progress = lock(&self.progress);
        if let Some(error) = progress.failed.take() {
            return Err(error);
        }
        match progress.starved.take() {
            // Nobody had a slot.
            Some(error) if progress.chunks.next().is_some() => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends a chunk, when nobody else of this copy does.
    ///
    /// Threads want to at the same time, and one that sleeps for its turn is woken some 50 µs late, while sending takes
    /// ten: so they try for as long as all others may take.
    fn send<T>(&self, send: impl FnOnce() -> Result<T>) -> Result<T> {
        let _later = DeferDrops::begin(); // Until the turn is over: it ends last.
        let turn = (0..MAX_SPINS).find_map(|_| {
            let turn = self.turn.try_lock();
            if turn.is_none() {
                std::hint::spin_loop();
            }
            turn
        });
        let _turn = turn.unwrap_or_else(|| lock(&self.turn));
        let sent = send()?;
        self.stream.flush()?;
        Ok(sent)
    }

    fn next(&self) -> Option<C::Item> {
        let mut progress = lock(&self.progress);
        if progress.failed.is_some() { None } else { progress.chunks.next() }
    }

    /// One more slot for a thread that has `n_held`; nothing if those must do.
    fn another_slot(&self, direction: Direction, n_held: usize, most: &mut usize) -> Result<Option<BorrowedSlot<'a>>> {
        if n_held >= *most {
            return Ok(None);
        }
        match self.block.allocator().slot(direction, SlotSize::Large, self.plan.chunk) {
            Err(error @ Error::OutOfMemory(_)) => {
                *most = n_held; // Not asked for again.
                lock(&self.progress).starved.get_or_insert(error);
                Ok(None)
            }
            taken => taken.map(Some),
        }
    }
}

impl<'s, C: Iterator<Item = (u64, &'s [u8])> + Send> ParallelCopy<'_, C> {
    /// A thread's share of an upload.
    fn fill_and_send(&self) -> Result<()> {
        let mut most = self.plan.slots_each;
        let (mut sent, mut ready) = (VecDeque::new(), self.another_slot(Direction::ToDevice, 0, &mut most)?);
        if ready.is_none() {
            return Ok(());
        }
        while let Some((offset, chunk)) = self.next() {
            if ready.is_none() {
                ready = self.another_slot(Direction::ToDevice, sent.len(), &mut most)?;
            }
            let slot = match ready.take() {
                Some(slot) => slot,
                None => {
                    let mut oldest: BorrowedSlot<'_> = sent.pop_front().expect("a thread has one slot at least");
                    oldest.wait_until_emptied()?;
                    oldest
                }
            };
            let filled = slot.fill(chunk)?;
            sent.push_back(self.send(|| self.block.record_upload(self.stream, offset, filled))?);
        }
        Ok(())
    }
}

impl<'t, C: Iterator<Item = (u64, &'t mut [u8])> + Send> ParallelCopy<'_, C> {
    /// A thread's share of a download.
    fn send_and_empty(&self) -> Result<()> {
        let mut most = self.plan.slots_each;
        let (mut sent, mut ready) = (VecDeque::new(), None);
        loop {
            if ready.is_none() {
                ready = self.another_slot(Direction::ToHost, sent.len(), &mut most)?;
            }
            // A slot comes first: a chunk that was taken is copied.
            if let Some(slot) = ready.take()
                && let Some((offset, chunk)) = self.next()
            {
                sent.push_back(self.send(|| self.block.record_download(self.stream, offset, chunk, slot))?);
                continue;
            }
            let Some(oldest) = sent.pop_front() else { return Ok(()) };
            ready = Some(oldest.finish()?);
        }
    }
}

/// No caller's code runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
