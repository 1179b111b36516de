//! How a pool takes chunks from the driver and gives them back. When memory runs out, see `climb.rs`.
//!
//! Growing takes milliseconds. No lock that a thread with enough memory needs is held meanwhile.

use std::sync::atomic::Ordering;

use super::buffer_range::BufferRange;
use super::size_class::{Class, GRANULE};
use super::sizing::Need;
use super::state::{KindPool, PoolState};
use super::tag::SlotId;
use super::uses::{self, Asker};
use crate::error::{Error, Result};
use crate::memory::{CarriedUses, MemoryKind};
use crate::oom::{OutOfMemory, Shortage};
use crate::vulkan::{Backing, Chunk};

/// Whether the error says that there is no memory now. What is larger than any chunk is refused before one is asked for.
pub(super) fn is_out_of_memory(error: &Error) -> bool {
    // A driver's stated limit is often not its real one: more may be had when other memory has gone.
    matches!(error, Error::OutOfMemory(_) | Error::TooLarge { .. })
}

/// How large a chunk is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// As large as is good for later.
    Usual,
    /// Half of that, and half again, down to what is needed.
    Smaller,
    /// What is needed.
    Exact,
}

/// A range that lies on a shelf with uses that may not be over.
#[derive(Debug)]
pub(super) struct PendingRange {
    pub(super) shelf: usize,
    pub(super) place: SlotId,
    pub(super) bytes: u64,
    pub(super) uses: CarriedUses,
}

impl KindPool {
    /// Bytes of its chunks.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }
}

impl PoolState {
    /// Takes a chunk from the driver, and cuts what is needed out of it.
    pub(super) fn grow(&self, need: &Need, step: Step) -> Result<BufferRange> {
        let pool = &self.kinds[need.kind.index()];
        let _gate = pool.growing.lock();
        // Whoever held the gate before may have grown it by enough.
        if let Some(span) = pool.carve(need) {
            return Ok(span);
        }
        let usual = pool.sizing.chunk(need, pool.reserved()) / GRANULE;
        let mut granules = match step {
            Step::Usual => usual,
            Step::Smaller => (usual / 2).max(need.granules),
            Step::Exact => need.granules,
        };
        let chunk = loop {
            match self.make(pool, granules) {
                Err(error) if is_out_of_memory(&error) && step == Step::Smaller && granules > need.granules => {
                    granules = (granules / 2).max(need.granules);
                }
                made => break made?,
            }
        };
        Ok(pool.with(|ground| {
            ground.add(chunk, granules);
            let piece = ground.take(need.granules).expect("the chunk is large enough");
            pool.span(ground.chunk(piece.chunk), piece)
        }))
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
            if let Some(rounded) = Some(Class::round_up(granules)).filter(|rounded| *rounded <= most) {
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
        if self.hold.is_on() {
            return Ok(0);
        }
        self.settle_all()?;
        Ok(self.return_all_empty(keep))
    }

    /// Gives back, whether or not it is held back, what nothing lies in.
    pub(super) fn return_all_empty(&self, keep: u64) -> u64 {
        let mut gone = 0;
        for pool in &self.kinds {
            self.give_ready_back(pool);
            gone += self.return_empty(pool, keep);
        }
        gone
    }

    /// Joins all of a kind that has nothing to wait for with the free ranges of its chunks. Returns its bytes.
    pub(super) fn reclaim(&self, kind: MemoryKind) -> Result<u64> {
        self.settle_all()?;
        Ok(self.give_ready_back(&self.kinds[kind.index()]))
    }

    /// Forgets the uses that are over, of everything that lies on a shelf. Never blocks.
    pub(super) fn settle_all(&self) -> Result<()> {
        let mut asker = Asker::new(self.device());
        for PendingRange { shelf, place, mut uses, .. } in self.pending() {
            asker.forget_complete(&mut uses)?;
            let shelved = &self.shelves[shelf];
            shelved.lock().settle(place, uses, &shelved.meter);
        }
        Ok(())
    }

    /// Joins all dropped memory that nothing uses any more with the free ranges of its chunks. Where the amount that may
    /// wait is limited, gives chunks that nothing lies in back to the driver. Never blocks for the device.
    pub(super) fn free_dropped(&self) -> Result<()> {
        self.settle_all()?;
        if self.pending_limits.is_some() {
            self.return_all_empty(0);
        } else {
            for pool in &self.kinds {
                self.give_ready_back(pool);
            }
        }
        Ok(())
    }

    /// If more dropped memory waits than may, frees what the device is done with.
    #[cold]
    pub(super) fn free_due(&self) {
        let Some(limits) = &self.pending_limits else { return };
        let (n_blocks, kinds) = self.dropped();
        let mut heaps = vec![0; limits.bytes.len()];
        for (kind, bytes) in MemoryKind::ALL.into_iter().zip(kinds) {
            if let Some(heap) = self.source.heap_index(kind).and_then(|heap| heaps.get_mut(heap as usize)) {
                *heap += bytes;
            }
        }
        if self.hold.is_on() || !limits.are_exceeded(usize::try_from(n_blocks).unwrap_or(usize::MAX), &heaps) {
            return;
        }
        // An error is the device's loss, which the next call that can report it does.
        if let Err(error) = self.free_dropped() {
            tracing::warn!(%error, "dropped memory stays pending");
        }
    }

    /// How many dropped ranges were neither freed nor given out again, and their bytes of each kind.
    pub(super) fn dropped(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        self.shelves
            .iter()
            .map(|shelved| shelved.meter.lying())
            .fold(Default::default(), |(n, kinds), (more, bytes)| {
                (n + more, std::array::from_fn(|at| kinds[at] + bytes[at]))
            })
    }

    /// Waits until the uses of all that lies on a shelf now are over.
    pub(super) fn wait_for_all(&self) -> Result<()> {
        for PendingRange { shelf, place, uses, .. } in self.pending() {
            uses::wait(self.device(), &uses, None)?;
            let shelved = &self.shelves[shelf];
            shelved.lock().settle(place, CarriedUses::default(), &shelved.meter);
        }
        Ok(())
    }

    /// Whether the pool may take that many bytes more.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.claimed.load(Ordering::Relaxed).checked_add(bytes).is_some_and(|total| total <= self.limit)
    }

    /// What lies on shelves with uses that may not be over.
    pub(super) fn pending(&self) -> Vec<PendingRange> {
        let mut pending = Vec::new();
        for (shelf, shelved) in self.shelves.iter().enumerate().filter(|(_, shelved)| shelved.meter.n_pending() > 0) {
            let locked = shelved.lock();
            let lying = locked.pending();
            pending.extend(lying.map(|(place, bytes, uses)| PendingRange { shelf, place, bytes, uses: uses.clone() }));
        }
        pending
    }

    /// Joins what of a kind is known to have nothing to wait for with the free ranges. Returns its bytes.
    pub(super) fn give_ready_back(&self, pool: &KindPool) -> u64 {
        let mut bytes = 0;
        for shelved in self.shelves.iter().filter(|shelved| shelved.meter.ready(pool.kind) > 0) {
            let ready = shelved.lock().take_ready(pool.kind, &shelved.meter);
            bytes += ready.iter().map(|span| span.piece.granules * GRANULE).sum::<u64>();
            pool.with(|ground| ready.into_iter().for_each(|span| ground.give(span.piece)));
        }
        bytes
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
            return Err(self.limited(bytes, pool.kind));
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

    /// That the pool's own limit was reached.
    fn limited(&self, bytes: u64, kind: MemoryKind) -> Error {
        let report = OutOfMemory::new(bytes, kind, Shortage::Limit(self.limit));
        Error::OutOfMemory(Box::new(OutOfMemory { heap: self.source.heap(kind), ..report }))
    }
}
