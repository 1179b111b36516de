//! What became of what was looked for on disk: [`CacheCounters`].

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Store;

/// What a [`KernelCache`](crate::KernelCache) found on disk and left there. All zero while it is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounters {
    /// Shaders as SPIR-V, with their signatures.
    pub translations: StoreCounters,
    /// The driver's pipelines.
    pub pipelines: StoreCounters,
    /// That a validator passed SPIR-V of other compilers.
    pub validations: StoreCounters,
    /// Files removed to make room.
    pub evicted: u64,
}

/// What became of one kind of file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCounters {
    /// Found.
    pub hits: u64,
    /// Not there.
    pub misses: u64,
    /// Cut, overwritten, or never ours: made anew.
    pub damaged: u64,
    /// Whole, but of another version or device: made anew.
    pub foreign: u64,
    /// Written.
    pub written: u64,
    /// That the system did not read or write, or that other users can change.
    pub refused: u64,
}

/// What became of one file.
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
    stores: [[AtomicU64; N_OUTCOMES]; 3],
    evicted: AtomicU64,
}

impl Counters {
    pub(super) fn count(&self, store: Store, outcome: Outcome) {
        self.stores[store as usize][outcome as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn evict(&self, files: u64) {
        self.evicted.fetch_add(files, Relaxed);
    }

    pub(super) fn read(&self) -> CacheCounters {
        CacheCounters {
            translations: self.of(Store::Translations),
            pipelines: self.of(Store::Pipelines),
            validations: self.of(Store::Validations),
            evicted: self.evicted.load(Relaxed),
        }
    }

    fn of(&self, store: Store) -> StoreCounters {
        let count = |outcome: Outcome| self.stores[store as usize][outcome as usize].load(Relaxed);
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
