//! How a pool takes chunks from the driver and gives them back, and what it tries before it says that memory is out.
//!
//! Growing takes milliseconds. No lock that a thread with enough memory needs is held meanwhile.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use vkarray_driver::hazard::LastUses;

use super::class::{Class, GRANULE};
use super::shelf::Place;
use super::sizing::Need;
use super::span::Span;
use super::state::{KindPool, State};
use super::uses::{self, Asker};
use crate::chunk::{Backing, Chunk};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// Whether the error says that there is no memory now. What is larger than any chunk is refused before one is asked for.
pub(super) fn is_out_of_memory(error: &Error) -> bool {
    // The sub-allocator says so when the host's memory runs out, and a driver's stated limit is often not its real one.
    matches!(error, Error::OutOfMemory { .. } | Error::SubAllocator(_) | Error::TooLarge { .. })
}

impl KindPool {
    /// Bytes of its chunks.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }
}

impl State {
    /// Takes a chunk from the driver, and cuts what is needed out of it. A large chunk that cannot be had becomes a
    /// smaller one, down to what is needed.
    pub(super) fn grow(&self, need: &Need) -> Result<Span> {
        let pool = &self.kinds[need.kind.index()];
        let _gate = pool.growing.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever held the gate before may have grown it by enough.
        if let Some(span) = pool.carve(need) {
            return Ok(span);
        }
        let mut granules = pool.sizing.chunk(need, pool.reserved()) / GRANULE;
        loop {
            match self.make(pool, granules) {
                Ok(chunk) => {
                    return Ok(pool.with(|ground| {
                        ground.add(chunk, granules);
                        let piece = ground.take(need.granules).expect("the chunk is large enough");
                        pool.span(ground.chunk(piece.chunk), piece)
                    }));
                }
                Err(error) if is_out_of_memory(&error) && granules > need.granules => {
                    granules = (granules / 2).max(need.granules);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes memory ahead of need: afterwards there is a free range of `bytes` bytes, or as many in as few as can be had.
    pub(super) fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        let pool = &self.kinds[kind.index()];
        let wanted = bytes.div_ceil(GRANULE).max(1);
        if pool.with(|ground| ground.largest_free()) >= wanted * GRANULE {
            return Ok(());
        }
        let (mut left, mut most) = (wanted, pool.sizing.limit());
        while left > 0 {
            let mut granules = left.min(most);
            if let Some(rounded) = Some(Class::at_least(granules).granules()).filter(|rounded| *rounded <= most) {
                granules = rounded; // So that any way of cutting it up is found.
            }
            match self.make(pool, granules) {
                Ok(chunk) => {
                    pool.with(|ground| ground.add(chunk, granules));
                    left = left.saturating_sub(granules);
                }
                Err(error) if is_out_of_memory(&error) && granules > pool.sizing.smallest() => most = granules / 2,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives chunks that nothing lies in back to the driver, until what is free is at most `keep` bytes a kind.
    ///
    /// Returns the bytes that went.
    pub(super) fn trim(&self, keep: u64) -> Result<u64> {
        if self.n_deferring.load(Ordering::Relaxed) > 0 {
            return Ok(0);
        }
        self.settle_all()?;
        let mut gone = 0;
        for pool in &self.kinds {
            self.give_ready_back(pool);
            gone += self.return_empty(pool, keep);
        }
        Ok(gone)
    }

    /// Joins all of a kind that has nothing to wait for with the free ranges of its chunks.
    pub(super) fn reclaim(&self, kind: MemoryKind) -> Result<()> {
        self.settle_all()?;
        self.give_ready_back(&self.kinds[kind.index()]);
        Ok(())
    }

    /// What is left when there is no memory: sends what was recorded, waits for one range after another, gives
    /// everything back that nobody has, and asks the driver for no more than is needed.
    pub(super) fn last_resort(&self, need: &Need) -> Result<Span> {
        let pool = &self.kinds[need.kind.index()];
        let pending = self.pending();
        // All of it first, so that the device works on what is waited for later.
        pending.iter().try_for_each(|(_, _, uses)| uses::send(self.device(), uses))?;
        for (shelf, place, uses) in pending {
            self.waits.fetch_add(1, Ordering::Relaxed);
            uses::wait(self.device(), &uses)?;
            let shelved = &self.shelves[shelf];
            shelved.lock().settle(place, LastUses::new(), &shelved.meter);
            self.give_ready_back(pool);
            if let Some(span) = pool.carve(need) {
                return Ok(span);
            }
        }
        for other in &self.kinds {
            self.give_ready_back(other);
            self.return_empty(other, 0);
        }
        self.grow(need).map_err(|error| self.described(error, need))
    }

    /// Forgets the uses that are over, of everything that lies on a shelf. Never blocks.
    pub(super) fn settle_all(&self) -> Result<()> {
        let mut asker = Asker::new(self.device());
        for (shelf, place, mut uses) in self.pending() {
            asker.forget_complete(&mut uses)?;
            let shelved = &self.shelves[shelf];
            shelved.lock().settle(place, uses, &shelved.meter);
        }
        Ok(())
    }

    /// Waits until the uses of all that lies on a shelf now are over.
    pub(super) fn wait_for_all(&self) -> Result<()> {
        for (shelf, place, uses) in self.pending() {
            uses::wait(self.device(), &uses)?;
            let shelved = &self.shelves[shelf];
            shelved.lock().settle(place, LastUses::new(), &shelved.meter);
        }
        Ok(())
    }

    /// Whether the pool may take that many bytes more.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.claimed.load(Ordering::Relaxed).checked_add(bytes).is_some_and(|total| total <= self.limit)
    }

    /// What lies on shelves with uses that may not be over, and those.
    fn pending(&self) -> Vec<(usize, Place, LastUses)> {
        let mut pending = Vec::new();
        for (shelf, shelved) in self.shelves.iter().enumerate().filter(|(_, shelved)| shelved.meter.n_pending() > 0) {
            pending.extend(shelved.lock().pending().map(|(place, uses)| (shelf, place, uses.clone())));
        }
        pending
    }

    fn give_ready_back(&self, pool: &KindPool) {
        for shelved in self.shelves.iter().filter(|shelved| shelved.meter.ready(pool.kind) > 0) {
            let ready = shelved.lock().take_ready(pool.kind, &shelved.meter);
            pool.with(|ground| ready.into_iter().for_each(|span| ground.give(span.piece)));
        }
    }

    fn return_empty(&self, pool: &KindPool, keep: u64) -> u64 {
        let empty = pool.with(|ground| ground.take_empty(keep / GRANULE));
        let mut gone = 0;
        for chunk in empty {
            let bytes = chunk.size();
            // SAFETY: made by this source; nothing is cut out of it, and what was has been done with.
            unsafe { self.source.free(chunk) };
            self.unclaim(bytes);
            pool.reserved.fetch_sub(bytes, Ordering::Relaxed);
            pool.chunks.fetch_sub(1, Ordering::Relaxed);
            self.returns.fetch_add(1, Ordering::Relaxed);
            gone += bytes;
        }
        gone
    }

    /// Takes a chunk of that many granules from the driver.
    fn make(&self, pool: &KindPool, granules: u64) -> Result<Chunk> {
        let bytes = granules * GRANULE;
        if !self.claim(bytes) {
            return Err(self.out_of_memory(bytes, pool.kind));
        }
        let chunk = self.source.make(bytes, pool.kind, Backing::Dedicated).inspect_err(|_| self.unclaim(bytes))?;
        pool.reserved.fetch_add(bytes, Ordering::Relaxed);
        pool.chunks.fetch_add(1, Ordering::Relaxed);
        self.growths.fetch_add(1, Ordering::Relaxed);
        Ok(chunk)
    }

    /// Counts bytes against the limit before they are taken, so that threads together never pass it.
    fn claim(&self, bytes: u64) -> bool {
        let add = |claimed: u64| claimed.checked_add(bytes).filter(|total| *total <= self.limit);
        self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    fn unclaim(&self, bytes: u64) {
        self.claimed.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The error with the pool's own numbers: what made the chunks knows neither blocks nor limits.
    fn described(&self, error: Error, need: &Need) -> Error {
        match error {
            Error::OutOfMemory { .. } => self.out_of_memory(need.size, need.kind),
            other => other,
        }
    }

    fn out_of_memory(&self, bytes: u64, kind: MemoryKind) -> Error {
        let counters = self.counters();
        let in_use = counters.total(|kind| kind.in_use + kind.pending);
        Error::OutOfMemory { bytes, kind, in_use, reserved: counters.total(|kind| kind.reserved) }
    }
}
