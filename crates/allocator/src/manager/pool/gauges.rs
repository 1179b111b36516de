//! What a pool counts, so that anyone can read it at any time without a lock.
//!
//! Each cache has a gauges, written under the cache's lock and read without it; the pool's own is written by whoever
//! grows or shrinks it. A reader adds them up, so it sees each number as it was at some moment of the call.

use std::sync::atomic::{AtomicU64, Ordering};

use super::thread_cache::RangeState;
use crate::manager::counters::{Counters, KindCounters};
use crate::memory::MemoryKind;

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

/// What one cache counts.
#[derive(Debug, Default)]
pub(super) struct CacheGauges {
    kinds: [KindGauges; MemoryKind::ALL.len()],
    n_live: Gauge,
    /// Ranges that range_came to this cache and did not leave it: a block has them, or they lie here.
    n_held: Gauge,
    n_pending: Gauge,
    allocations: Gauge,
    reused_ready: Gauge,
    reused_pending: Gauge,
    reused_shared: Gauge,
    carved: Gauge,
}

impl CacheGauges {
    /// Somebody got that many bytes.
    pub(super) fn block_began(&self, kind: MemoryKind, bytes: u64) {
        let gauges = &self.kinds[kind.index()];
        gauges.live.add(bytes);
        gauges.peak.raise(gauges.live.read());
        self.n_live.add(1);
        self.allocations.add(1);
    }

    /// Gave them back.
    pub(super) fn ended(&self, kind: MemoryKind, bytes: u64) {
        self.kinds[kind.index()].live.subtract(bytes);
        self.n_live.subtract(1);
    }

    /// A range range_came to this cache.
    pub(super) fn range_came(&self) {
        self.n_held.add(1);
    }

    /// It left, for another cache or for its chunk.
    pub(super) fn range_left(&self) {
        self.n_held.subtract(1);
    }

    /// Ranges that lie here, and their bytes of each kind: what was dropped and neither freed nor given out again.
    pub(super) fn lying(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        let bytes = self.kinds.each_ref().map(|kind| kind.pending.read() + kind.ready.read());
        // The two are read one after the other, so a block made in between may be missing in the first.
        (self.n_held.read().saturating_sub(self.n_live.read()), bytes)
    }

    /// What a block got had been used before.
    pub(super) fn reused(&self, found: RangeState) {
        match found {
            RangeState::Ready => &self.reused_ready,
            RangeState::Pending => &self.reused_pending,
            RangeState::Shared => &self.reused_shared,
        }
        .add(1);
    }

    /// What a block got was cut from a chunk.
    pub(super) fn cut(&self) {
        self.carved.add(1);
    }

    /// A range range_came to lie here, with uses that may not be over or without.
    pub(super) fn shard(&self, kind: MemoryKind, bytes: u64, is_pending: bool) {
        let gauges = &self.kinds[kind.index()];
        if is_pending {
            gauges.pending.add(bytes);
            self.n_pending.add(1);
        } else {
            gauges.ready.add(bytes);
        }
    }

    /// It was taken from here.
    pub(super) fn remove_cached(&self, kind: MemoryKind, bytes: u64, was_pending: bool) {
        let gauges = &self.kinds[kind.index()];
        if was_pending {
            gauges.pending.subtract(bytes);
            self.n_pending.subtract(1);
        } else {
            gauges.ready.subtract(bytes);
        }
    }

    /// Bytes of that kind that lie here with nothing to wait for.
    pub(super) fn ready(&self, kind: MemoryKind) -> u64 {
        self.kinds[kind.index()].ready.read()
    }

    /// Ranges that lie here with uses that may not be over.
    pub(super) fn n_pending(&self) -> u64 {
        self.n_pending.read()
    }

    /// Adds what it counted.
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
        counters.reused_ready += self.reused_ready.read();
        counters.reused_pending += self.reused_pending.read();
        counters.reused_shared += self.reused_shared.read();
        counters.carved += self.carved.read();
    }
}
