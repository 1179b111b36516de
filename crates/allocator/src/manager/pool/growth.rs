//! How a pool takes chunks from the driver and gives them back. When memory runs out, see `climb.rs`.
//!
//! Growing takes milliseconds. No lock that a thread with enough memory needs is held meanwhile.

use std::sync::atomic::Ordering;

use super::buffer_range::BufferRange;
use super::size_class::{Class, GRANULE};
use super::sizing::Need;
use super::state::{KindPool, PoolState};
use super::tag::SlotId;
use super::uses::{self, CompletionQuery};
use crate::error::{Error, Result};
use crate::memory::{MemoryKind, PendingUses};
use crate::oom::{OutOfMemory, Shortage};
use crate::vulkan::{Backing, Chunk};

/// Whether the error says that there is no memory now. What is larger than any chunk is refused before one is asked for.
pub(super) fn is_out_of_memory(error: &Error) -> bool {
    // A driver's stated limit is often not its real one: more may be had when other memory has gone.
    matches!(error, Error::OutOfMemory(_) | Error::TooLarge { .. })
}

/// How large a chunk is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowthSize {
    /// As large as is good for later.
    Usual,
    /// Half of that, and half again, down to what is needed.
    Smaller,
    /// What is needed.
    Exact,
}

/// A range that lies on a cache with uses that may not be over.
#[derive(Debug)]
pub(super) struct PendingRange {
    pub(super) cache: usize,
    pub(super) place: SlotId,
    pub(super) bytes: u64,
    pub(super) uses: PendingUses,
}

impl KindPool {
    /// Bytes of its chunks.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }
}

impl PoolState {
    /// Takes a chunk from the driver, and cuts what is needed out of it.
    pub(super) fn grow(&self, need: &Need, step: GrowthSize) -> Result<BufferRange> {
        let pool = &self.kinds[need.kind.index()];
        let _gate = pool.growing.lock();
        // Whoever held the gate before may have grown it by enough.
        if let Some(range) = pool.carve(need) {
            return Ok(range);
        }
        let usual = pool.sizing.chunk(need, pool.reserved()) / GRANULE;
        let mut granules = match step {
            GrowthSize::Usual => usual,
            GrowthSize::Smaller => (usual / 2).max(need.granules),
            GrowthSize::Exact => need.granules,
        };
        let chunk = loop {
            match self.make(pool, granules) {
                Err(error) if is_out_of_memory(&error) && step == GrowthSize::Smaller && granules > need.granules => {
                    granules = (granules / 2).max(need.granules);
                }
                made => break made?,
            }
        };
        Ok(pool.with(|free_list| {
            free_list.add(chunk, granules);
            let chunk_range = free_list.take(need.granules).expect("the chunk is large enough");
            pool.range(free_list.chunk(chunk_range.chunk), chunk_range)
        }))
    }

    /// Takes memory ahead of need: afterwards there is a free range of `bytes` bytes, or as many in as few as can be had.
    pub(super) fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        let pool = &self.kinds[kind.index()];
        let wanted = bytes.div_ceil(GRANULE).max(1);
        if pool.with(|free_list| free_list.largest_free()) >= wanted * GRANULE {
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
                    pool.with(|free_list| free_list.add(chunk, granules));
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
    /// Returns the bytes that range_left.
    pub(super) fn trim(&self, keep: u64) -> Result<u64> {
        if self.deferrals.is_active() {
            return Ok(0);
        }
        self.update_all_uses()?;
        Ok(self.return_all_empty(keep))
    }

    /// Gives back, whether or not it is held back, what nothing lies in.
    pub(super) fn return_all_empty(&self, keep: u64) -> u64 {
        let mut gone = 0;
        for pool in &self.kinds {
            self.coalesce_ready(pool);
            gone += self.return_empty(pool, keep);
        }
        gone
    }

    /// Joins all of a kind that has nothing to wait for with the free ranges of its chunks. Returns its bytes.
    pub(super) fn reclaim(&self, kind: MemoryKind) -> Result<u64> {
        self.update_all_uses()?;
        Ok(self.coalesce_ready(&self.kinds[kind.index()]))
    }

    /// Forgets the uses that are over, of everything that lies on a cache. Never blocks.
    pub(super) fn update_all_uses(&self) -> Result<()> {
        let mut query = CompletionQuery::new(self.device());
        for PendingRange { cache, place, mut uses, .. } in self.pending() {
            query.forget_complete(&mut uses)?;
            let shard = &self.caches[cache];
            shard.lock().update_uses(place, uses, &shard.gauges);
        }
        Ok(())
    }

    /// Joins all dropped memory that nothing uses any more with the free ranges of its chunks. Where the amount that may
    /// wait is limited, gives chunks that nothing lies in back to the driver. Never blocks for the device.
    pub(super) fn free_dropped(&self) -> Result<()> {
        self.update_all_uses()?;
        if self.pending_limits.is_some() {
            self.return_all_empty(0);
        } else {
            for pool in &self.kinds {
                self.coalesce_ready(pool);
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
        if self.deferrals.is_active() || !limits.are_exceeded(usize::try_from(n_blocks).unwrap_or(usize::MAX), &heaps) {
            return;
        }
        // An error is the device's loss, which the next call that can report it does.
        if let Err(error) = self.free_dropped() {
            tracing::warn!(%error, "dropped memory stays pending");
        }
    }

    /// How many dropped ranges were neither freed nor given out again, and their bytes of each kind.
    pub(super) fn dropped(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        self.caches.iter().map(|shard| shard.gauges.lying()).fold(Default::default(), |(n, kinds), (more, bytes)| {
            (n + more, std::array::from_fn(|at| kinds[at] + bytes[at]))
        })
    }

    /// Waits until the uses of all that lies on a cache now are over.
    pub(super) fn wait_for_all(&self) -> Result<()> {
        for PendingRange { cache, place, uses, .. } in self.pending() {
            uses::wait(self.device(), &uses, None)?;
            let shard = &self.caches[cache];
            shard.lock().update_uses(place, PendingUses::default(), &shard.gauges);
        }
        Ok(())
    }

    /// Whether the pool may take that many bytes more.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.claimed.load(Ordering::Relaxed).checked_add(bytes).is_some_and(|total| total <= self.limit)
    }

    /// What lies on caches with uses that may not be over.
    pub(super) fn pending(&self) -> Vec<PendingRange> {
        let mut pending = Vec::new();
        for (cache, shard) in self.caches.iter().enumerate().filter(|(_, shard)| shard.gauges.n_pending() > 0) {
            let locked = shard.lock();
            let lying = locked.pending();
            pending.extend(lying.map(|(place, bytes, uses)| PendingRange { cache, place, bytes, uses: uses.clone() }));
        }
        pending
    }

    /// Joins what of a kind is known to have nothing to wait for with the free ranges. Returns its bytes.
    pub(super) fn coalesce_ready(&self, pool: &KindPool) -> u64 {
        let mut bytes = 0;
        for shard in self.caches.iter().filter(|shard| shard.gauges.ready(pool.kind) > 0) {
            let ready = shard.lock().take_ready(pool.kind, &shard.gauges);
            bytes += ready.iter().map(|range| range.chunk_range.granules * GRANULE).sum::<u64>();
            pool.with(|free_list| ready.into_iter().for_each(|range| free_list.give(range.chunk_range)));
        }
        bytes
    }

    fn return_empty(&self, pool: &KindPool, keep: u64) -> u64 {
        let empty = pool.with(|free_list| free_list.take_empty(keep / GRANULE));
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
