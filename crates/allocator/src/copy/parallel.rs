//! [`ParallelCopy`]: a large host copy by several threads, each with staging slots of its own.
//!
//! A thread fills one slot while the device empties another, or the reverse, and waits only for the slot that it used
//! longest ago. `memory/route/` decides the number of threads and slots.

use std::collections::VecDeque;
use std::sync::Arc;

use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{DeferDrops, Direction, Stream};

use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::{ChunkPlan, CopyQueue};
use crate::staging::{BorrowedSlot, FilledSlot, SlotSize};

/// How often a thread tries to lock the turn before it sleeps: some hundred microseconds.
const MAX_SPINS: u32 = 4096;

/// A large copy that several threads carry out. An item of `C` is the position of a chunk in the block, and the chunk.
pub(super) struct ParallelCopy<'a, C> {
    block: &'a Arc<Block>,
    /// The stream, and the queue of all chunks.
    place: (&'a Stream, CopyQueue),
    plan: ChunkPlan,
    progress: Mutex<CopyProgress<C>>,
    /// Locked while a chunk is recorded and submitted.
    turn: Mutex<()>,
}

struct CopyProgress<C> {
    /// The chunks that no thread has taken.
    chunks: C,
    /// The error for which no more chunks are taken.
    failed: Option<Error>,
    /// The error for which a thread had no slot.
    starved: Option<Error>,
}

impl<'a, C: Iterator + Send> ParallelCopy<'a, C> {
    pub(super) fn new(block: &'a Arc<Block>, place: (&'a Stream, CopyQueue), plan: ChunkPlan, chunks: C) -> Self {
        let progress = Mutex::new(Rank::CopyProgress, CopyProgress { chunks, failed: None, starved: None });
        Self { block, place, plan, progress, turn: Mutex::new(Rank::CopyTurn, ()) }
    }

    /// Runs `share` on each thread. It takes a slot before its first chunk, so a thread without a slot leaves its share
    /// to the others.
    pub(super) fn run(&self, share: impl Fn() -> Result<()> + Sync) -> Result<()> {
        self.block.allocator().copy_threads().run(self.plan.n_threads, &|| {
            if let Err(error) = share() {
                self.progress.lock().failed.get_or_insert(error);
            }
        });
        let mut progress = self.progress.lock();
        if let Some(error) = progress.failed.take() {
            return Err(error);
        }
        match progress.starved.take() {
            // No thread had a slot.
            Some(error) if progress.chunks.next().is_some() => Err(error),
            _ => Ok(()),
        }
    }

    /// Records and submits a chunk, one thread of this copy at a time.
    ///
    /// A thread that sleeps is woken some 50 µs late, while a submission takes ten: threads therefore spin for as long
    /// as all other threads may take.
    fn submit<T>(&self, record: impl FnOnce() -> Result<T>) -> Result<T> {
        // Drops are postponed until the turn has ended, since this guard is dropped last.
        let _later = DeferDrops::begin();
        let turn = (0..MAX_SPINS).find_map(|_| {
            let turn = self.turn.try_lock();
            if turn.is_none() {
                std::hint::spin_loop();
            }
            turn
        });
        let _turn = turn.unwrap_or_else(|| self.turn.lock());
        let recorded = record()?;
        self.place.0.flush()?;
        Ok(recorded)
    }

    fn next(&self) -> Option<C::Item> {
        let mut progress = self.progress.lock();
        if progress.failed.is_some() { None } else { progress.chunks.next() }
    }

    /// One more slot for a thread that has `n_held` slots; `None` if it gets no more.
    fn another_slot(&self, direction: Direction, n_held: usize, most: &mut usize) -> Result<Option<BorrowedSlot<'a>>> {
        if n_held >= *most {
            return Ok(None);
        }
        match self.block.allocator().slot(direction, SlotSize::Large, self.plan.chunk) {
            Err(error @ Error::OutOfMemory(_)) => {
                *most = n_held; // The thread does not try again.
                self.progress.lock().starved.get_or_insert(error);
                Ok(None)
            }
            taken => taken.map(Some),
        }
    }
}

impl<'a, P, C: Iterator<Item = (u64, P)> + Send> ParallelCopy<'a, C> {
    /// The share of one thread in an upload. `fill` copies a chunk to a slot.
    pub(super) fn upload_share(&self, fill: impl Fn(BorrowedSlot<'a>, P) -> Result<FilledSlot<'a>>) -> Result<()> {
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
                    oldest.wait_until_idle()?;
                    oldest
                }
            };
            let filled = fill(slot, chunk)?;
            sent.push_back(self.submit(|| self.block.record_upload(self.place, offset, filled))?);
        }
        Ok(())
    }
}

impl<'t, C: Iterator<Item = (u64, &'t mut [u8])> + Send> ParallelCopy<'_, C> {
    /// The share of one thread in a download.
    pub(super) fn download_share(&self) -> Result<()> {
        let mut most = self.plan.slots_each;
        let (mut sent, mut ready) = (VecDeque::new(), None);
        loop {
            if ready.is_none() {
                ready = self.another_slot(Direction::ToHost, sent.len(), &mut most)?;
            }
            // The slot is taken first, since each chunk that is taken must be copied.
            if let Some(slot) = ready.take()
                && let Some((offset, chunk)) = self.next()
            {
                sent.push_back(self.submit(|| self.block.record_download(self.place, offset, chunk, slot))?);
                continue;
            }
            let Some(oldest) = sent.pop_front() else { return Ok(()) };
            ready = Some(oldest.finish()?);
        }
    }
}
