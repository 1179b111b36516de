//! Threads assigned to a few shards, so that each thread changes counters that few others touch.
//!
//! A counter that eight threads change at the same time costs each of them half a microsecond. A counter that only one
//! thread changes costs a few nanoseconds. A sharded counter has [`N_THREAD_SHARDS`] parts, each on a cache line of its
//! own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many shards there are.
pub const N_THREAD_SHARDS: usize = 16;

/// The shard of the calling thread, below [`N_THREAD_SHARDS`]. Threads are assigned to shards in turn, so few share one.
///
/// ```
/// use vkarray_driver::{N_THREAD_SHARDS, thread_shard};
///
/// assert!(thread_shard() < N_THREAD_SHARDS);
/// assert_eq!(thread_shard(), thread_shard()); // A thread keeps its shard.
/// ```
#[inline]
#[must_use]
pub fn thread_shard() -> usize {
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(N_THREAD_SHARDS) };
    }
    let assigned = OWN.get();
    if assigned < N_THREAD_SHARDS {
        return assigned;
    }
    let next = assign();
    OWN.set(next);
    next
}

#[cold]
fn assign() -> usize {
    /// Threads seen so far.
    static N_THREADS: AtomicUsize = AtomicUsize::new(0);
    N_THREADS.fetch_add(1, Ordering::Relaxed) % N_THREAD_SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_keeps_its_shard_and_others_get_others() {
        let own = thread_shard();
        assert!(own < N_THREAD_SHARDS && (0..3).all(|_| thread_shard() == own));
        // The threads run one after the other, so that they get shards in turn even while other tests start threads.
        let assigned: HashSet<_> =
            (0..4).map(|_| thread::spawn(thread_shard).join().expect("it does not panic")).collect();
        assert!(assigned.len() > 1, "{assigned:?}");
    }
}
