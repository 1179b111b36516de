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
pub(crate) enum Outcome {
    Hit,
    Miss,
    Damaged,
    Foreign,
    Written,
    Refused,
}

const N_OUTCOMES: usize = 6;

#[derive(Debug, Default)]
pub(super) struct Counters {
    kinds: [[AtomicU64; N_OUTCOMES]; 3],
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
        CacheCounters {
            translations: self.of(EntryKind::Translations),
            pipelines: self.of(EntryKind::Pipelines),
            validations: self.of(EntryKind::Validations),
            evicted: self.evicted.load(Relaxed),
        }
    }

    fn of(&self, kind: EntryKind) -> StoreCounters {
        let count = |outcome: Outcome| self.kinds[kind as usize][outcome as usize].load(Relaxed);
        StoreCounters {
            hits: count(Outcome::Hit),
            misses: count(Outcome::Miss),
            damaged: count(Outcome::Damaged),
            foreign: count(Outcome::Foreign),
            written: count(Outcome::Written),
            refused: count(Outcome::Refused),
        }
    }
}
