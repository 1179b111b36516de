//! What a memory manager counts, for people and for programs that watch it.

use crate::memory::MemoryKind;

/// Bytes of one kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KindCounters {
    /// Of blocks that live, as large as they were made.
    pub in_use: u64,
    /// Of dropped blocks that the device may still use.
    pub pending: u64,
    /// The most that lived at a time: at least that. It is exact for one thread; for several it is the sum of what each
    /// group of threads had at its own worst time.
    pub peak: u64,
    /// That lie ready for the next block of their size.
    pub ready: u64,
    /// Of the rest that is free: ranges of chunks.
    pub free: u64,
    /// The largest of those ranges.
    pub largest_free: u64,
    /// StepOutcome from the driver.
    pub reserved: u64,
    /// Chunks taken from the driver.
    pub chunks: u64,
}

impl KindCounters {
    /// The part of the free bytes that is not one range, from 0 to 1: what a block as large as all that is free would
    /// not find. Nothing is free: 0.
    #[must_use]
    pub fn fragmentation(&self) -> f64 {
        if self.free == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let whole = self.largest_free as f64 / self.free as f64;
        1.0 - whole
    }
}

/// What a memory manager counted since it began. Adding up takes no lock, so numbers may be of slightly different times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    kinds: [KindCounters; MemoryKind::ALL.len()],
    /// Blocks that live.
    pub n_in_use: u64,
    /// Dropped blocks that the device may still use.
    pub n_pending: u64,
    /// Blocks given out.
    pub allocations: u64,
    /// Of them, those in memory that lay ready with no work to come after.
    pub reused_ready: u64,
    /// In memory of the same thread whose former work, on one stream, was not known to be over.
    pub reused_pending: u64,
    /// In memory that another thread used, or whose former work is on several streams and not known to be over.
    pub reused_shared: u64,
    /// Cut from a chunk.
    pub carved: u64,
    /// Chunks taken from the driver.
    pub growths: u64,
    /// Chunks given back to the driver.
    pub returns: u64,
    /// How often a thread waited for the device because memory ran out.
    pub waits: u64,
}

impl Counters {
    /// Those of one kind.
    #[must_use]
    pub fn kind(&self, kind: MemoryKind) -> &KindCounters {
        &self.kinds[kind.index()]
    }

    pub(crate) fn kind_mut(&mut self, kind: MemoryKind) -> &mut KindCounters {
        &mut self.kinds[kind.index()]
    }

    /// The sum over all kinds, by a number of each.
    #[must_use]
    pub fn total(&self, of: impl Fn(&KindCounters) -> u64) -> u64 {
        self.kinds.iter().map(of).sum()
    }
}
