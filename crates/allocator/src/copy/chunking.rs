//! [`ChunkPlan`]: the chunks, threads and slots of a host copy through staging memory. Pure.
//!
//! A thread fills one slot while the device empties another. Chunks are large, so that submitting them costs little compared
//! with copying them, but small enough that each thread has some. Small copies are left to one thread, since waking another
//! takes longer. `parallel.rs` carries plans out.

use crate::staging::LARGE_SLOT;

/// Up to this many bytes, a copy is one command through a small slot.
pub(super) const SMALL: usize = 64 << 10;

/// Bytes for each thread. Waking one takes some 50 µs, in which one thread copies 700 KiB.
const BYTES_A_THREAD: usize = 2 << 20;

/// Bytes of a chunk, at least. Submitting one takes about 5 µs, in which 256 KiB pass the bus.
const MIN_CHUNK: usize = 512 << 10;

/// Slots of a thread that copies alone.
const SLOTS_ALONE: usize = 4;

/// Slots of each of several threads.
const SLOTS_EACH: usize = 2;

/// How a copy is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkPlan {
    /// Bytes of each chunk; the last may be smaller.
    pub(super) chunk: usize,
    /// Threads, including the caller's.
    pub(super) n_threads: usize,
    /// Slots of each thread.
    pub(super) slots_each: usize,
}

impl ChunkPlan {
    /// Plans a copy of `bytes` bytes, which are not zero, with at most `max_threads` threads.
    pub(super) fn new(bytes: usize, max_threads: usize) -> Self {
        let n_threads = n_threads(bytes, max_threads);
        let slots_each = if n_threads == 1 { SLOTS_ALONE } else { SLOTS_EACH };
        let even = bytes.div_ceil(n_threads * slots_each).next_multiple_of(SMALL);
        let chunk = even.clamp(MIN_CHUNK, LARGE_SLOT);
        let n_chunks = bytes.div_ceil(chunk);
        Self { chunk, n_threads, slots_each: slots_each.min(n_chunks.div_ceil(n_threads)) }
    }
}

/// The number of threads for a copy of `bytes` bytes, at most `max`.
pub(super) fn n_threads(bytes: usize, max: usize) -> usize {
    (bytes / BYTES_A_THREAD).clamp(1, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;

    #[test]
    fn a_plan_has_work_for_every_thread() {
        // Bytes, threads there are; bytes of a chunk, threads, slots of each.
        let cases = [
            (1, 8, 512 * KIB, 1, 1),                 // One chunk, one slot.
            (512 * KIB, 8, 512 * KIB, 1, 1),         // Just one chunk.
            (MIB, 8, 512 * KIB, 1, 2),               // Two chunks: one on the bus while the host copies the other.
            (3 * MIB, 8, 768 * KIB, 1, 4),           // Too small for a second thread.
            (4 * MIB, 8, MIB, 2, 2),                 // Large enough for one.
            (4 * MIB, 1, MIB, 1, 4),                 // There is no other thread.
            (16 * MIB, 8, MIB, 8, 2),                // All threads have work.
            (16 * MIB + 1, 8, MIB + 64 * KIB, 8, 2), // Slightly larger chunks, not one more.
            (256 * MIB, 8, 2 * MIB, 8, 2),           // Whole slots.
            (256 * MIB, 1, 2 * MIB, 1, 4),
            (256 * MIB, 3, 2 * MIB, 3, 2),
        ];
        for (bytes, max_threads, chunk, n_threads, slots_each) in cases {
            let expected = ChunkPlan { chunk, n_threads, slots_each };
            assert_eq!(ChunkPlan::new(bytes, max_threads), expected, "{bytes} bytes, {max_threads} threads");
        }
    }

    #[test]
    fn every_plan_keeps_the_limits() {
        for (n, max_threads) in (1..5000).flat_map(|n| (1..=8).map(move |max| (n, max))) {
            let bytes = n * 4999;
            let ChunkPlan { chunk, n_threads, slots_each } = ChunkPlan::new(bytes, max_threads);
            assert!((MIN_CHUNK..=LARGE_SLOT).contains(&chunk) && chunk.is_multiple_of(SMALL), "{bytes}: {chunk}");
            assert!((1..=max_threads).contains(&n_threads) && slots_each >= 1, "{bytes}");
            assert!(n_threads * slots_each < bytes.div_ceil(chunk) + n_threads, "slots without chunks: {bytes}");
            assert!(bytes.div_ceil(chunk) >= n_threads, "threads without chunks: {bytes}");
        }
    }
}
