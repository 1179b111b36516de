//! The state of an initialised pool, and the fast paths of allocating and freeing.
//!
//! An allocation that finds a range in its thread's cache takes one lock, once. All other allocations go through
//! `search.rs`. Locks are taken one at a time: a cache's, a free list's, or the chunk source's.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, log_in_drop, thread_shard};

use super::free_list::{ChunkRange, FreeList};
use super::gauges::CacheGauges;
use super::size_class::GRANULE;
use super::sizing::{Need, Sizing};
use super::tag::{N_CACHES, SlotId, tag, untag};
use super::thread_cache::{BufferRange, CachedRange, FreeError, ReusePolicy, ThreadCache};
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::manager::{Counters, MemoryInfo, OomFallback};
use crate::memory::MemoryPointer;
use crate::pending::{DeferCount, HeapLimits, PendingLimits, PendingQueue, PendingUses, Uses};
use crate::vulkan::{Chunk, ChunkSource, Imports};

/// A thread cache behind its lock, aligned so that no two share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct CacheShard {
    /// No caller's code runs under the lock.
    pub(super) cache: Mutex<ThreadCache<PendingUses>>,
    pub(super) gauges: CacheGauges,
}

impl Default for CacheShard {
    fn default() -> Self {
        Self { cache: Mutex::new(Rank::PoolThreadCache, ThreadCache::default()), gauges: CacheGauges::default() }
    }
}

impl CacheShard {
    #[inline(always)] // Into `allocate`.
    fn take(&self, need: &Need, label: &BlockLabel, policy: ReusePolicy) -> Option<(SlotId, CachedRange<PendingUses>)> {
        self.cache.lock().take(need, policy, label, &self.gauges)
    }

    /// Whether the cache may have a range of a kind that the policy admits.
    pub(super) fn has_any(&self, kind: MemoryKind, policy: ReusePolicy) -> bool {
        self.gauges.ready(kind) > 0 || policy == ReusePolicy::Any && self.gauges.n_pending() > 0
    }
}

/// The chunks of one kind.
#[derive(Debug)]
pub(super) struct KindPool {
    pub(super) kind: MemoryKind,
    pub(super) sizing: Sizing,
    free_list: Mutex<FreeList<Chunk>>,
    /// A lock of the thread that takes a chunk, so that several threads do not all take one.
    pub(super) growing: Mutex<()>,
    /// Bytes of the chunks.
    pub(super) reserved: AtomicU64,
    /// How many chunks there are.
    pub(super) chunks: AtomicU64,
    free: AtomicU64,
    largest_free: AtomicU64,
}

impl KindPool {
    fn new(kind: MemoryKind, device: &Device) -> Self {
        Self {
            kind,
            sizing: Sizing::new(kind, device.info()),
            free_list: Mutex::new(Rank::PoolChunks, FreeList::default()),
            growing: Mutex::new(Rank::PoolGrowth, ()),
            reserved: AtomicU64::new(0),
            chunks: AtomicU64::new(0),
            free: AtomicU64::new(0),
            largest_free: AtomicU64::new(0),
        }
    }

    /// Works on the free list, and publishes how much is free.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut FreeList<Chunk>) -> R) -> R {
        let mut free_list = self.free_list.lock(); // No caller's code runs under the lock.
        let result = work(&mut free_list);
        self.free.store(free_list.free(), Ordering::Relaxed);
        self.largest_free.store(free_list.largest_free(), Ordering::Relaxed);
        result
    }

    /// Bytes of the pool's chunks.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Bytes of the largest free range, rounded down to a class.
    pub(super) fn largest_free(&self) -> u64 {
        self.largest_free.load(Ordering::Relaxed)
    }

    /// Cuts a range from the free ranges.
    pub(super) fn carve(&self, need: &Need) -> Option<BufferRange> {
        self.with(|free_list| {
            let chunk_range = free_list.take(need.granules)?;
            Some(self.range(free_list.chunk(chunk_range.chunk), chunk_range))
        })
    }

    pub(super) fn range(&self, chunk: &Chunk, chunk_range: ChunkRange) -> BufferRange {
        let offset = chunk_range.offset * GRANULE;
        // SAFETY: the free list cuts ranges out of the chunk, all of which is mapped, at multiples of 256 bytes.
        let mapping = chunk.mapping().map(|first| unsafe { first.after(offset) });
        BufferRange { buffer: chunk.buffer(), offset, mapping, kind: self.kind, chunk_range }
    }
}

/// The thread that asks for memory, and the purpose of the memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    /// The index of the thread's cache.
    pub(super) cache: usize,
    pub(super) label: &'a BlockLabel,
}

/// The pool of one device.
#[derive(Debug)]
pub(super) struct PoolState {
    pub(super) caches: [CacheShard; N_CACHES],
    pub(super) kinds: [KindPool; MemoryKind::ALL.len()],
    /// The most bytes that the pool takes from the driver.
    pub(super) limit: u64,
    /// Bytes that the pool has taken or is about to take.
    pub(super) claimed: AtomicU64,
    pub(super) growths: AtomicU64,
    pub(super) returns: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) deferrals: DeferCount,
    /// How much dropped memory may wait, if that is limited.
    pub(super) pending_limits: Option<HeapLimits>,
    pub(super) fallback: OomFallback,
    /// Imported memory of the program, which is not part of the pool.
    pub(super) imports: Imports,
    pub(super) source: Arc<ChunkSource>,
}

impl PoolState {
    /// A pool that takes at most `limit` bytes from the driver. `deferrals` counts the guards that hold frees back.
    pub(super) fn new(
        device: &Arc<Device>,
        limit: u64,
        pending_limits: Option<PendingLimits>,
        deferrals: DeferCount,
    ) -> Result<Self> {
        let pending_limits = pending_limits.map(|limits| limits.on(&device.info().memory_heaps));
        Ok(Self {
            caches: Default::default(),
            kinds: MemoryKind::ALL.map(|kind| KindPool::new(kind, device)),
            limit,
            claimed: AtomicU64::new(0),
            growths: AtomicU64::new(0),
            returns: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            deferrals,
            pending_limits,
            fallback: OomFallback::default(),
            imports: Imports::new(device),
            source: ChunkSource::new(device)?,
        })
    }

    pub(super) fn device(&self) -> &Arc<Device> {
        self.source.device()
    }

    #[inline(always)] // Into `memalloc` and `memhostalloc`.
    pub(super) fn allocate(&self, size: u64, kind: MemoryKind, label: &BlockLabel) -> Result<MemoryPointer> {
        let need = self.kinds[kind.index()].sizing.need(size)?;
        let caller = Caller { cache: thread_shard(), label };
        match self.caches[caller.cache].take(&need, label, ReusePolicy::first(kind)) {
            Some((id, taken)) => Ok(pointer(&need, caller.cache, id, taken)),
            None => self.search(&need, caller),
        }
    }

    /// Takes a range from the caller's cache, if the policy admits one.
    #[inline(never)]
    pub(super) fn take_cached(&self, need: &Need, caller: Caller<'_>, policy: ReusePolicy) -> Option<MemoryPointer> {
        let (id, taken) = self.caches[caller.cache].take(need, caller.label, policy)?;
        Some(pointer(need, caller.cache, id, taken))
    }

    #[inline(always)] // Into `memfree`.
    pub(super) fn free(&self, memory: &mut MemoryPointer) {
        let (cache, id) = untag(memory.tag());
        let at = (memory.buffer(), memory.offset());
        let shard = &self.caches[cache];
        let put = shard.cache.lock().put(id, at, memory.last_uses_mut(), &shard.gauges);
        if let Err(error) = put {
            report(error, memory);
        }
        if self.pending_limits.is_some() {
            self.free_due();
        }
    }

    /// Adds a range from elsewhere to the caller's cache, for a block.
    pub(super) fn admit(&self, need: &Need, caller: Caller<'_>, taken: CachedRange<PendingUses>) -> MemoryPointer {
        let shard = &self.caches[caller.cache];
        let mut cache = shard.cache.lock();
        let id = cache.admit(taken.range, caller.label, &shard.gauges);
        shard.gauges.given_out(taken.found);
        drop(cache);
        pointer(need, caller.cache, id, taken)
    }

    /// Reads or changes the label of live memory of this pool.
    pub(super) fn with_label<R>(&self, memory: &MemoryPointer, work: impl FnOnce(&mut BlockLabel) -> R) -> Option<R> {
        let (cache, id) = untag(memory.tag());
        self.caches[cache].cache.lock().label_mut(id).map(work)
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut counters = Counters::default();
        for shard in &self.caches {
            shard.gauges.add_to(&mut counters);
        }
        for pool in &self.kinds {
            let kind = counters.kind_mut(pool.kind);
            (kind.free, kind.largest_free) = (read(&pool.free), read(&pool.largest_free));
            (kind.reserved, kind.chunks) = (read(&pool.reserved), read(&pool.chunks));
        }
        (counters.growths, counters.returns) = (read(&self.growths), read(&self.returns));
        counters.waits = read(&self.waits);
        counters
    }

    /// How much memory is free on the heap of a kind.
    pub(super) fn memory_info(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        let heap = self.source.recent_heap(kind).ok_or(Error::NoSuchMemory { kind })?;
        let counters = self.counters();
        let on_heap = MemoryKind::ALL.into_iter().filter(|kind| self.source.heap_index(*kind) == Some(heap.index));
        let (taken, kept) = on_heap
            .map(|kind| counters.kind(kind))
            .fold((0, 0), |(taken, kept), of| (taken + of.reserved, kept + of.ready + of.free));
        let untaken = self.limit.saturating_sub(counters.total(|of| of.reserved));
        Ok(MemoryInfo::of(heap, taken, kept).at_most(untaken.saturating_add(kept)))
    }
}

impl Drop for PoolState {
    fn drop(&mut self) {
        let chunks = self.kinds.iter_mut().flat_map(|pool| pool.free_list.get_mut().take_all());
        let chunks: Vec<Chunk> = chunks.collect();
        if self.source.leak_if_forked() {
            // Threads that this process does not have may hold locks.
            return mem::forget(chunks);
        }
        let (mut uses, mut n_live) = (PendingUses::default(), 0);
        for shard in &self.caches {
            let cache = shard.cache.lock();
            n_live += cache.live().len();
            cache.pending().for_each(|(_, _, pending)| uses.merge(pending));
        }
        if n_live > 0 {
            log_in_drop(|| log::error!("memory is leaked: some of it was never given back"));
            return mem::forget(chunks);
        }
        // All ranges of the chunks are back. The end of the queue waits for the uses with which they came back.
        PendingQueue::new(self.device()).push(uses, 0, 0, chunks);
    }
}

#[cold]
fn report(error: FreeError, memory: &MemoryPointer) {
    match error {
        FreeError::Foreign => log::error!("memory was given back that is not this manager's: {memory:?}"),
        FreeError::Twice => log::error!("memory was given back twice: {memory:?}"),
    }
}

#[inline]
fn pointer(need: &Need, cache: usize, id: SlotId, taken: CachedRange<PendingUses>) -> MemoryPointer {
    let BufferRange { buffer, offset, mapping, .. } = taken.range;
    // SAFETY: the source made the chunk's buffer for every use, on this device. The range was cut out of it at a multiple
    // of 256 bytes, is a multiple of 256 long and as long as the request, and is given out once: it was taken from its cache
    // or its chunk, and its slot is live until `put`. The chunk stays until all of it is back and its uses are over.
    let pointer = unsafe { MemoryPointer::new(buffer, offset, need.size, need.kind) };
    // SAFETY: the source makes each buffer and its memory so.
    let pointer = unsafe { pointer.with_device_address() }.with_tag(tag(cache, id)).carrying(taken.uses);
    match mapping {
        // SAFETY: the chunk is mapped for as long as it lives, and says whether it is coherent.
        Some(mapping) => unsafe { pointer.with_mapping(mapping) },
        None => pointer,
    }
}
