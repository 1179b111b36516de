//! How a pool takes chunks from the driver and gives them back.
//!
//! Growing takes milliseconds. Threads that find memory in the pool do not wait for it: the pool holds none of their
//! locks meanwhile. `fallback.rs` has the steps for when memory runs out.

use std::sync::atomic::Ordering;

use super::size_class::{Class, GRANULE};
use super::sizing::Need;
use super::state::{KindPool, PoolState};
use super::tag::SlotId;
use super::thread_cache::BufferRange;
use crate::error::{Error, OutOfMemory, Result, Shortage};
use crate::kind::MemoryKind;
use crate::pending::{CompletionQuery, PendingUses};
use crate::vulkan::{Backing, Chunk};

/// How large a chunk is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GrowthSize {
    /// Large enough for later allocations too.
    Usual,
    /// Half of the usual size, halved again until the driver grants it, but not below the needed size.
    Smaller,
    /// Only the needed size.
    Exact,
}

/// A cached range whose uses may not be over.
#[derive(Debug)]
pub(super) struct PendingRange {
    pub(super) cache: usize,
    pub(super) id: SlotId,
    pub(super) bytes: u64,
    pub(super) uses: PendingUses,
}

impl PoolState {
    /// Takes a chunk from the driver, and cuts the needed range out of it.
    pub(super) fn grow(&self, need: &Need, size: GrowthSize) -> Result<BufferRange> {
        let pool = &self.kinds[need.kind.index()];
        let _growing = pool.growing.lock();
        // The thread that held the lock before may have taken a chunk that is large enough.
        if let Some(range) = pool.carve(need) {
            return Ok(range);
        }
        let usual = pool.sizing.chunk(need, pool.reserved()) / GRANULE;
        let mut granules = match size {
            GrowthSize::Usual => usual,
            GrowthSize::Smaller => (usual / 2).max(need.granules),
            GrowthSize::Exact => need.granules,
        };
        let chunk = loop {
            match self.make(pool, granules) {
                Err(error) if error.is_out_of_memory() && size == GrowthSize::Smaller && granules > need.granules => {
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

    /// Takes memory ahead of need: after the call, `bytes` bytes are free in one range, or in as few ranges as the
    /// driver allows.
    pub(super) fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        let pool = &self.kinds[kind.index()];
        let wanted = bytes.div_ceil(GRANULE).max(1);
        if pool.with(|free_list| free_list.largest_free()) >= wanted * GRANULE {
            return Ok(());
        }
        let (mut left, mut most) = (wanted, pool.sizing.limit());
        while left > 0 {
            let exact = left.min(most);
            // Rounded up, so that the free list finds the range by its class.
            let granules = Some(Class::round_up(exact)).filter(|rounded| *rounded <= most).unwrap_or(exact);
            match self.make(pool, granules) {
                Ok(chunk) => {
                    pool.with(|free_list| free_list.add(chunk, granules));
                    left = left.saturating_sub(granules);
                }
                Err(error) if error.is_out_of_memory() && granules > pool.sizing.smallest() => most = granules / 2,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Gives empty chunks back to the driver, until at most `keep` bytes a kind are free. Returns the bytes given back.
    pub(super) fn trim(&self, keep: u64) -> Result<u64> {
        if self.deferrals.is_active() {
            return Ok(0);
        }
        self.update_all_uses()?;
        Ok(self.return_all_empty(keep))
    }

    /// Gives empty chunks back to the driver, also while frees are held back.
    pub(super) fn return_all_empty(&self, keep: u64) -> u64 {
        let mut gone = 0;
        for pool in &self.kinds {
            self.coalesce_ready(pool);
            gone += self.return_empty(pool, keep);
        }
        gone
    }

    /// Moves all cached ranges of a kind whose uses are over to the free list. Returns their bytes.
    pub(super) fn reclaim(&self, kind: MemoryKind) -> Result<u64> {
        self.update_all_uses()?;
        Ok(self.coalesce_ready(&self.kinds[kind.index()]))
    }

    /// Removes the uses that are over from all cached ranges. Never blocks.
    pub(super) fn update_all_uses(&self) -> Result<()> {
        let mut query = CompletionQuery::new(|uses: &mut PendingUses| uses.forget_complete(self.device()));
        for PendingRange { cache, id, mut uses, .. } in self.pending() {
            query.forget_complete(&mut uses)?;
            let shard = &self.caches[cache];
            shard.cache.lock().update_uses(id, uses, &shard.gauges);
        }
        Ok(())
    }

    /// Moves all cached ranges whose uses are over to the free lists. Where the amount of waiting memory is limited, gives
    /// empty chunks back to the driver. Never waits for the device.
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

    /// If the limits of waiting memory are exceeded, frees memory that the device no longer uses.
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
        if self.deferrals.is_active() || !limits.are_exceeded(usize::try_from(n_blocks).unwrap_or(usize::MAX), heaps) {
            return;
        }
        // The error is the loss of the device, which the next call that returns errors reports.
        if let Err(error) = self.free_dropped() {
            log::warn!("dropped memory stays pending: {error}");
        }
    }

    /// The number of cached ranges and their bytes of each kind.
    pub(super) fn dropped(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        self.caches.iter().map(|shard| shard.gauges.cached()).fold(Default::default(), |(n, kinds), (more, bytes)| {
            (n + more, std::array::from_fn(|at| kinds[at] + bytes[at]))
        })
    }

    /// Waits until the uses of all ranges that are cached now are over.
    pub(super) fn wait_for_all(&self) -> Result<()> {
        for PendingRange { cache, id, uses, .. } in self.pending() {
            uses.wait(self.device(), None)?;
            let shard = &self.caches[cache];
            shard.cache.lock().update_uses(id, PendingUses::default(), &shard.gauges);
        }
        Ok(())
    }

    /// Whether the limit admits `bytes` bytes more.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.claimed.load(Ordering::Relaxed).checked_add(bytes).is_some_and(|total| total <= self.limit)
    }

    /// All cached ranges whose uses may not be over.
    pub(super) fn pending(&self) -> Vec<PendingRange> {
        let mut pending = Vec::new();
        for (cache, shard) in self.caches.iter().enumerate().filter(|(_, shard)| shard.gauges.n_pending() > 0) {
            let locked = shard.cache.lock();
            let lying = locked.pending();
            pending.extend(lying.map(|(id, bytes, uses)| PendingRange { cache, id, bytes, uses: uses.clone() }));
        }
        pending
    }

    /// Moves the cached ranges of a kind that are known to be ready to the free list. Returns their bytes.
    pub(super) fn coalesce_ready(&self, pool: &KindPool) -> u64 {
        let mut bytes = 0;
        for shard in self.caches.iter().filter(|shard| shard.gauges.ready(pool.kind) > 0) {
            let ready = shard.cache.lock().take_ready(pool.kind, &shard.gauges);
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
            drop(chunk); // No range of it is given out, and the uses of all ranges that were given out are over.
            self.unclaim(bytes);
            pool.reserved.fetch_sub(bytes, Ordering::Relaxed);
            pool.chunks.fetch_sub(1, Ordering::Relaxed);
            self.returns.fetch_add(1, Ordering::Relaxed);
            gone += bytes;
        }
        gone
    }

    /// Takes a chunk of this many granules from the driver.
    fn make(&self, pool: &KindPool, granules: u64) -> Result<Chunk> {
        let bytes = granules * GRANULE;
        // Counted against the limit before they are taken, so that threads together never exceed it.
        let add = |claimed: u64| claimed.checked_add(bytes).filter(|total| *total <= self.limit);
        if self.claimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            let report = OutOfMemory::new(bytes, pool.kind, Shortage::Limit(self.limit));
            let heap = self.source.heap(pool.kind);
            return Err(Error::OutOfMemory(Box::new(OutOfMemory { heap, ..report })));
        }
        let chunk = self.source.make(bytes, pool.kind, Backing::Dedicated).inspect_err(|_| self.unclaim(bytes))?;
        pool.reserved.fetch_add(bytes, Ordering::Relaxed);
        pool.chunks.fetch_add(1, Ordering::Relaxed);
        self.growths.fetch_add(1, Ordering::Relaxed);
        Ok(chunk)
    }

    fn unclaim(&self, bytes: u64) {
        self.claimed.fetch_sub(bytes, Ordering::Relaxed);
    }
}
