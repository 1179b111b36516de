//! Counts of hits, misses and writes on disk: [`CacheCounters`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::EntryKind;

/// What a [`KernelCache`](crate::KernelCache) read from disk and wrote there; see
/// [`KernelCache::counters`](crate::KernelCache::counters). All zero while the disk is not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Shaders as SPIR-V, with their signatures.
    pub translations: StoreCounters,
    /// The driver's pipelines.
    pub pipelines: StoreCounters,
    /// Verdicts of the validator on SPIR-V of other compilers.
    pub validations: StoreCounters,
    /// Files removed to make room.
    pub evicted: u64,
}

/// Counts for one kind of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCounters {
    /// Files that were found.
    pub hits: u64,
    /// Files that were not there.
    pub misses: u64,
    /// Files that were cut, overwritten, or of another program.
    pub damaged: u64,
    /// Files of another version or device.
    pub foreign: u64,
    /// Files that were written.
    pub written: u64,
    /// Files that the system did not read or write, or that other users can change.
    pub refused: u64,
}

/// The result of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Hit,
    Miss,
    Damaged,
    Foreign,
    Written,
    Refused,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    kinds: [[AtomicU64; 6]; 3],
    evicted: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, kind: EntryKind, outcome: Outcome) {
        self.kinds[kind as usize][outcome as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn evict(&self, files: u64) {
        self.evicted.fetch_add(files, Relaxed);
    }

    pub(super) fn read(&self) -> CacheCounters {
        // The counts stand in the order of `EntryKind` and of `Outcome`.
        let [translations, pipelines, validations] = self.kinds.each_ref().map(|of_kind| {
            let [hits, misses, damaged, foreign, written, refused] = of_kind.each_ref().map(|n| n.load(Relaxed));
            StoreCounters { hits, misses, damaged, foreign, written, refused }
        });
        CacheCounters { translations, pipelines, validations, evicted: self.evicted.load(Relaxed) }
    }
}
