//! The counts of the passthrough manager, readable at any time without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::kind::MemoryKind;
use crate::manager::counters::Counters;

/// What happens to each chunk, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkStep {
    Made,
    Dropped,
    Freed,
}

/// The counts of a manager's chunks. A chunk is live until it is dropped, then pending until it is freed.
#[derive(Debug, Default)]
pub(super) struct PassthroughCounts {
    /// For each kind and step, the chunks that took the step so far, and their bytes.
    taken: [[(AtomicU64, AtomicU64); 3]; MemoryKind::ALL.len()],
    /// For each kind, the most bytes that were live at once.
    peaks: [AtomicU64; MemoryKind::ALL.len()],
}

impl PassthroughCounts {
    /// Counts a step of a chunk of that many bytes.
    pub(super) fn count(&self, kind: MemoryKind, step: ChunkStep, bytes: u64) {
        let steps = &self.taken[kind.index()];
        let (chunks, sum) = &steps[step as usize];
        chunks.fetch_add(1, Ordering::Relaxed);
        let sum = sum.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if step == ChunkStep::Made {
            let dropped = steps[ChunkStep::Dropped as usize].1.load(Ordering::Relaxed);
            self.peaks[kind.index()].fetch_max(sum.saturating_sub(dropped), Ordering::Relaxed);
        }
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut counters = Counters::default();
        for (kind, (steps, peak)) in MemoryKind::ALL.into_iter().zip(self.taken.iter().zip(&self.peaks)) {
            // The last step is read first, so that no chunk is seen to be freed that was not made.
            let [(n_freed, freed), (n_dropped, dropped), (n_made, made)] =
                [2, 1, 0].map(|step: usize| (read(&steps[step].0), read(&steps[step].1)));
            let counted = counters.kind_mut(kind);
            (counted.in_use, counted.pending) = (made.saturating_sub(dropped), dropped.saturating_sub(freed));
            (counted.reserved, counted.chunks) = (made.saturating_sub(freed), n_made.saturating_sub(n_freed));
            counted.peak = read(peak);
            counters.n_in_use += n_made.saturating_sub(n_dropped);
            counters.n_pending += n_dropped.saturating_sub(n_freed);
            counters.growths += n_made;
            counters.returns += n_freed;
        }
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
        counts.count(kind, ChunkStep::Made, 100);
        counts.count(kind, ChunkStep::Made, 20);
        assert_eq!(seen(), ([120, 120, 0, 120, 2], 2, 0));
        counts.count(kind, ChunkStep::Dropped, 100);
        assert_eq!(seen(), ([20, 120, 100, 120, 2], 1, 1));
        counts.count(kind, ChunkStep::Freed, 100);
        assert_eq!(seen(), ([20, 120, 0, 20, 1], 1, 0));
        counts.count(kind, ChunkStep::Made, 50);
        assert_eq!(seen(), ([70, 120, 0, 70, 2], 2, 0));
        let counters = counts.counters();
        assert_eq!((counters.allocations, counters.growths, counters.returns), (3, 3, 1));
        assert_eq!(counters.kind(MemoryKind::Device), &Default::default(), "other kinds are not counted");
    }
}
