//! What a pool counts, so that anyone can read it at any time without a lock.
//!
//! Each shelf has a meter, written under the shelf's lock and read without it; the pool's own is written by whoever
//! grows or shrinks it. A reader adds them up, so it sees each number as it was at some moment of the call.

use std::sync::atomic::{AtomicU64, Ordering};

use super::thread_cache::Found;
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
struct KindMeter {
    live: Gauge,
    peak: Gauge,
    pending: Gauge,
    ready: Gauge,
}

/// What one shelf counts.
#[derive(Debug, Default)]
pub(super) struct Meter {
    kinds: [KindMeter; MemoryKind::ALL.len()],
    n_live: Gauge,
    /// Ranges that came to this shelf and did not leave it: a block has them, or they lie here.
    n_held: Gauge,
    n_pending: Gauge,
    allocations: Gauge,
    reused_ready: Gauge,
    reused_pending: Gauge,
    reused_shared: Gauge,
    carved: Gauge,
}

impl Meter {
    /// Somebody got that many bytes.
    pub(super) fn began(&self, kind: MemoryKind, bytes: u64) {
        let meter = &self.kinds[kind.index()];
        meter.live.add(bytes);
        meter.peak.raise(meter.live.read());
        self.n_live.add(1);
        self.allocations.add(1);
    }

    /// Gave them back.
    pub(super) fn ended(&self, kind: MemoryKind, bytes: u64) {
        self.kinds[kind.index()].live.subtract(bytes);
        self.n_live.subtract(1);
    }

    /// A range came to this shelf.
    pub(super) fn came(&self) {
        self.n_held.add(1);
    }

    /// It left, for another shelf or for its chunk.
    pub(super) fn went(&self) {
        self.n_held.subtract(1);
    }

    /// Ranges that lie here, and their bytes of each kind: what was dropped and neither freed nor given out again.
    pub(super) fn lying(&self) -> (u64, [u64; MemoryKind::ALL.len()]) {
        let bytes = self.kinds.each_ref().map(|kind| kind.pending.read() + kind.ready.read());
        // The two are read one after the other, so a block made in between may be missing in the first.
        (self.n_held.read().saturating_sub(self.n_live.read()), bytes)
    }

    /// What a block got had been used before.
    pub(super) fn reused(&self, found: Found) {
        match found {
            Found::Ready => &self.reused_ready,
            Found::Pending => &self.reused_pending,
            Found::Shared => &self.reused_shared,
        }
        .add(1);
    }

    /// What a block got was cut from a chunk.
    pub(super) fn cut(&self) {
        self.carved.add(1);
    }

    /// A range came to lie here, with uses that may not be over or without.
    pub(super) fn shelved(&self, kind: MemoryKind, bytes: u64, is_pending: bool) {
        let meter = &self.kinds[kind.index()];
        if is_pending {
            meter.pending.add(bytes);
            self.n_pending.add(1);
        } else {
            meter.ready.add(bytes);
        }
    }

    /// It was taken from here.
    pub(super) fn unshelved(&self, kind: MemoryKind, bytes: u64, was_pending: bool) {
        let meter = &self.kinds[kind.index()];
        if was_pending {
            meter.pending.subtract(bytes);
            self.n_pending.subtract(1);
        } else {
            meter.ready.subtract(bytes);
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
        for (kind, meter) in MemoryKind::ALL.into_iter().zip(&self.kinds) {
            let sum = counters.kind_mut(kind);
            *sum = KindCounters {
                in_use: sum.in_use + meter.live.read(),
                pending: sum.pending + meter.pending.read(),
                peak: sum.peak + meter.peak.read(),
                ready: sum.ready + meter.ready.read(),
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
