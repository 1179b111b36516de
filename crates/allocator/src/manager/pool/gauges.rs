//! The numbers that a thread cache counts, readable at any time without a lock.
//!
//! Each cache has its own [`CacheGauges`], written under the cache's lock. A reader adds them up, and sees each number
//! as of some moment of the call.

use std::sync::atomic::{AtomicU64, Ordering};

use super::thread_cache::RangeState;
use crate::kind::MemoryKind;
use crate::manager::counters::{Counters, KindCounters};

/// A number with many readers and, at any time, one writer.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicU64);

impl Gauge {
    pub(super) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds; the caller holds the lock that makes it the only writer.
    pub(super) fn add(&self, n: u64) {
        self.0.store(self.read() + n, Ordering::Relaxed);
    }

    /// Subtracts; the caller holds the lock that makes it the only writer.
    pub(super) fn subtract(&self, n: u64) {
        debug_assert!(self.read() >= n, "{} less {n}", self.read());
        self.0.store(self.read().saturating_sub(n), Ordering::Relaxed);
    }

    fn raise(&self, n: u64) {
        if n > self.read() {
            self.0.store(n, Ordering::Relaxed);
        }
    }
}

/// Bytes of one kind.
#[derive(Debug, Default)]
struct KindGauges {
    live: Gauge,
    peak: Gauge,
    pending: Gauge,
    ready: Gauge,
}

/// The counts of one thread cache.
#[derive(Debug, Default)]
pub(super) struct CacheGauges {
    kinds: [KindGauges; MemoryKind::ALL.len()],
    n_live: Gauge,
    /// Ranges that belong to this cache: ranges of blocks, and cached ranges.
    n_held: Gauge,
    n_pending: Gauge,
    allocations: Gauge,
    /// Blocks that were given out, by the state in which their range was found.
    given_out: [Gauge; RangeState::COUNT],
}

impl CacheGauges {
    /// Counts a block that was allocated.
    pub(super) fn block_allocated(&self, kind: MemoryKind, bytes: u64) {
        let gauges = &self.kinds[kind.index()];
        gauges.live.add(bytes);
        gauges.peak.raise(gauges.live.read());
        self.n_live.add(1);
        self.allocations.add(1);
    }

    /// Counts a block that was freed.
    pub(super) fn block_freed(&self, kind: MemoryKind, bytes: u64) {
        self.kinds[kind.index()].live.subtract(bytes);
        self.n_live.subtract(1);
    }

    /// Counts a range that was added to this cache.
    pub(super) fn range_added(&self) {
        self.n_held.add(1);
    }

    /// Counts a range that left for another cache or for its chunk.
    pub(super) fn range_removed(&self) {
        self.n_held.subtract(1);
    }

    /// The cached ranges and their bytes of each kind: memory that was dropped and neither freed nor given out again.
    pub(super) fn cached(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        let bytes = self.kinds.each_ref().map(|kind| kind.pending.read() + kind.ready.read());
        // The two numbers are read one after the other, so a block allocated in between may be missing in the first.
        (self.n_held.read().saturating_sub(self.n_live.read()), bytes)
    }

    /// Counts a block by the state in which its range was found.
    pub(super) fn given_out(&self, found: RangeState) {
        self.given_out[found as usize].add(1);
    }

    /// Counts a range that is cached from now on; `is_pending` if its uses may not be over.
    pub(super) fn add_cached(&self, kind: MemoryKind, bytes: u64, is_pending: bool) {
        let gauges = &self.kinds[kind.index()];
        if is_pending {
            gauges.pending.add(bytes);
            self.n_pending.add(1);
        } else {
            gauges.ready.add(bytes);
        }
    }

    /// Counts a range that is no longer cached.
    pub(super) fn remove_cached(&self, kind: MemoryKind, bytes: u64, was_pending: bool) {
        let gauges = &self.kinds[kind.index()];
        if was_pending {
            gauges.pending.subtract(bytes);
            self.n_pending.subtract(1);
        } else {
            gauges.ready.subtract(bytes);
        }
    }

    /// Cached bytes of that kind whose uses are over.
    pub(super) fn ready(&self, kind: MemoryKind) -> u64 {
        self.kinds[kind.index()].ready.read()
    }

    /// Cached ranges whose uses may not be over.
    pub(super) fn n_pending(&self) -> u64 {
        self.n_pending.read()
    }

    /// Adds these counts to `counters`.
    pub(super) fn add_to(&self, counters: &mut Counters) {
        for (kind, gauges) in MemoryKind::ALL.into_iter().zip(&self.kinds) {
            let sum = counters.kind_mut(kind);
            *sum = KindCounters {
                in_use: sum.in_use + gauges.live.read(),
                pending: sum.pending + gauges.pending.read(),
                peak: sum.peak + gauges.peak.read(),
                ready: sum.ready + gauges.ready.read(),
                ..*sum
            };
        }
        counters.n_in_use += self.n_live.read();
        counters.n_pending += self.n_pending.read();
        counters.allocations += self.allocations.read();
        let given_out = |found: RangeState| self.given_out[found as usize].read();
        counters.reused_ready += given_out(RangeState::Ready);
        counters.reused_pending += given_out(RangeState::Pending);
        counters.reused_shared += given_out(RangeState::Shared);
        counters.carved += given_out(RangeState::Carved);
    }
}
