//! The numbers that a memory manager counts, for monitoring.

use crate::kind::MemoryKind;

/// Bytes of one kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KindCounters {
    /// Bytes of live blocks, rounded up as they were allocated.
    pub in_use: u64,
    /// Bytes of dropped blocks that the device may still use.
    pub pending: u64,
    /// The most bytes that were in use at a time, never too low. Exact for one thread; for several threads it is the
    /// sum of the peaks of each group of threads.
    pub peak: u64,
    /// Bytes cached for the next block of their size.
    pub ready: u64,
    /// Bytes of free ranges of chunks.
    pub free: u64,
    /// Bytes of the largest free range.
    pub largest_free: u64,
    /// Bytes taken from the driver.
    pub reserved: u64,
    /// The number of chunks taken from the driver.
    pub chunks: u64,
}

impl KindCounters {
    /// The part of the free bytes outside the largest free range, from 0 to 1. If nothing is free, 0.
    pub fn fragmentation(&self) -> f64 {
        if self.free == 0 {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio to be read by people")]
        let whole = self.largest_free as f64 / self.free as f64;
        1.0 - whole
    }
}

/// What a memory manager counted since it was created. It is read without a lock, so the numbers may be of slightly
/// different moments.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::new(&device)?;
/// let block = allocator.allocate(1 << 10, MemoryKind::Device)?;
/// let counters = allocator.counters();
/// assert_eq!((counters.n_in_use, counters.kind(MemoryKind::Device).in_use), (1, 1 << 10));
/// assert!(counters.total(|kind| kind.reserved) >= 1 << 10);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    kinds: [KindCounters; MemoryKind::ALL.len()],
    /// The number of live blocks.
    pub n_in_use: u64,
    /// The number of dropped blocks that the device may still use.
    pub n_pending: u64,
    /// The number of blocks given out.
    pub allocations: u64,
    /// Blocks given out in cached memory whose last uses were over.
    pub reused_ready: u64,
    /// Blocks given out in memory of the same thread whose last uses, on one stream, were not known to be over.
    pub reused_pending: u64,
    /// Blocks given out in memory of another thread, or in memory whose last uses are on several streams and not known
    /// to be over.
    pub reused_shared: u64,
    /// Blocks cut from a chunk.
    pub carved: u64,
    /// Chunks taken from the driver.
    pub growths: u64,
    /// Chunks given back to the driver.
    pub returns: u64,
    /// How often a thread waited for the device because memory ran out.
    pub waits: u64,
}

impl Counters {
    /// The counters of one kind.
    pub fn kind(&self, kind: MemoryKind) -> &KindCounters {
        &self.kinds[kind.index()]
    }

    pub(crate) fn kind_mut(&mut self, kind: MemoryKind) -> &mut KindCounters {
        &mut self.kinds[kind.index()]
    }

    /// The sum over all kinds of one of their numbers.
    pub fn total(&self, of: impl Fn(&KindCounters) -> u64) -> u64 {
        self.kinds.iter().map(of).sum()
    }
}
