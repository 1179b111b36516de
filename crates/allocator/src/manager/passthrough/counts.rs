//! The counts of the passthrough manager, readable at any time without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kind::MemoryKind;
use crate::manager::counters::Counters;

/// Bytes and chunks of one kind.
#[derive(Debug, Default)]
struct PassthroughKindCounts {
    live: AtomicU64,
    peak: AtomicU64,
    pending: AtomicU64,
    n_live: AtomicU64,
    n_pending: AtomicU64,
}

/// The counts of a manager's chunks. Each chunk is live or waits to be freed.
#[derive(Debug, Default)]
pub(super) struct PassthroughCounts {
    kinds: [PassthroughKindCounts; MemoryKind::ALL.len()],
    made: AtomicU64,
    freed: AtomicU64,
}

impl PassthroughCounts {
    /// Counts a chunk of that many bytes that was made.
    pub(super) fn make(&self, kind: MemoryKind, bytes: u64) {
        let of = &self.kinds[kind.index()];
        let live = of.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        of.peak.fetch_max(live, Ordering::Relaxed);
        of.n_live.fetch_add(1, Ordering::Relaxed);
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a chunk that was dropped.
    pub(super) fn dropped(&self, kind: MemoryKind, bytes: u64) {
        let of = &self.kinds[kind.index()];
        of.pending.fetch_add(bytes, Ordering::Relaxed);
        of.n_pending.fetch_add(1, Ordering::Relaxed);
        of.live.fetch_sub(bytes, Ordering::Relaxed);
        of.n_live.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a chunk that was freed after it was dropped.
    pub(super) fn free(&self, kind: MemoryKind, bytes: u64) {
        let of = &self.kinds[kind.index()];
        of.pending.fetch_sub(bytes, Ordering::Relaxed);
        of.n_pending.fetch_sub(1, Ordering::Relaxed);
        self.freed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut counters = Counters::default();
        for (kind, of) in MemoryKind::ALL.into_iter().zip(&self.kinds) {
            let (live, pending) = (read(&of.live), read(&of.pending));
            let (n_live, n_pending) = (read(&of.n_live), read(&of.n_pending));
            let counted = counters.kind_mut(kind);
            (counted.in_use, counted.peak, counted.pending) = (live, read(&of.peak), pending);
            (counted.reserved, counted.chunks) = (live + pending, n_live + n_pending);
            counters.n_in_use += n_live;
            counters.n_pending += n_pending;
        }
        (counters.growths, counters.returns) = (read(&self.made), read(&self.freed));
        counters.allocations = counters.growths;
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_counted_in_its_state() {
        let (counts, kind) = (PassthroughCounts::default(), MemoryKind::Pinned);
        let seen = || {
            let counters = counts.counters();
            let of = *counters.kind(kind);
            ([of.in_use, of.peak, of.pending, of.reserved, of.chunks], counters.n_in_use, counters.n_pending)
        };
        counts.make(kind, 100);
        counts.make(kind, 20);
        assert_eq!(seen(), ([120, 120, 0, 120, 2], 2, 0));
        counts.dropped(kind, 100);
        assert_eq!(seen(), ([20, 120, 100, 120, 2], 1, 1));
        counts.free(kind, 100);
        assert_eq!(seen(), ([20, 120, 0, 20, 1], 1, 0));
        counts.make(kind, 50);
        assert_eq!(seen(), ([70, 120, 0, 70, 2], 2, 0));
        let counters = counts.counters();
        assert_eq!((counters.allocations, counters.growths, counters.returns), (3, 3, 1));
        assert_eq!(counters.kind(MemoryKind::Device), &Default::default(), "other kinds are not counted");
    }
}
