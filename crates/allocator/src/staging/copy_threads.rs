//! [`CopyThreads`]: threads that copy memory together, for copies too large for one.
//!
//! One thread of an H100's host copies 13.6 GB/s into pinned memory, eight copy 35 to 55; the bus takes 51. The threads
//! are rayon's, started by the first copy that is large enough, and they end with the allocator. A copy takes those that
//! are idle and waits for no other copy. How many a copy asks for is `transfer/plan.rs`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, mem, thread};

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use vkarray_driver::Device;

/// More threads than this gain little: the bus is full.
const MAX_THREADS: usize = 8;

/// The threads of one allocator. The thread that asks is always one of those that work.
pub(crate) struct CopyThreads {
    /// With the thread that asks.
    n_threads: usize,
    /// The others; nothing if the system gave none.
    others: OnceLock<Option<ThreadPool>>,
    n_idle: AtomicUsize,
}

impl CopyThreads {
    /// As many as suit this machine. Starts no thread yet.
    pub(crate) fn new() -> Self {
        Self::of(n_threads(thread::available_parallelism().map_or(1, usize::from)))
    }

    /// So many, one at least. Starts no thread yet.
    pub(crate) fn of(n_threads: usize) -> Self {
        let n_threads = n_threads.max(1);
        Self { n_threads, others: OnceLock::new(), n_idle: AtomicUsize::new(n_threads - 1) }
    }

    /// How many threads there are at most, with the one that asks.
    pub(crate) fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// Runs `work` on this thread, and meanwhile on as many idle ones as make `n` together. Returns when all have
    /// returned.
    ///
    /// # Panics
    ///
    /// If `work` panics on any of the threads, after all have ended.
    pub(crate) fn run(&self, n: usize, work: &(dyn Fn() + Sync)) {
        let taken = self.take(n.saturating_sub(1));
        if taken.n == 0 {
            return work();
        }
        match self.others.get_or_init(|| start(self.n_threads - 1)) {
            None => work(),
            // A task for each idle thread, so that none stands behind another copy's.
            Some(others) => others.in_place_scope(|scope| {
                (0..taken.n).for_each(|_| scope.spawn(|_| work()));
                work();
            }),
        }
    }

    /// Ends the threads; in a forked process there are none to be ended.
    pub(crate) fn end(&mut self, device: &Device) {
        let others = self.others.take();
        if device.is_forked() {
            mem::forget(others);
        }
    }

    /// Takes up to `most` idle threads.
    fn take(&self, most: usize) -> ReservedThreads<'_> {
        let mut n = 0;
        let taken = self.n_idle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n_idle| {
            n = n_idle.min(most);
            Some(n_idle - n)
        });
        debug_assert!(taken.is_ok(), "every number is taken from");
        ReservedThreads { copy_threads: self, n }
    }
}

/// Idle threads that work for one copy. Dropping it makes them idle again, whatever became of the copy.
struct ReservedThreads<'a> {
    copy_threads: &'a CopyThreads,
    n: usize,
}

impl Drop for ReservedThreads<'_> {
    fn drop(&mut self) {
        self.copy_threads.n_idle.fetch_add(self.n, Ordering::Relaxed);
    }
}

/// Half of the processors: the others are the program's, and on two there is nothing to gain.
fn n_threads(n_processors: usize) -> usize {
    (n_processors / 2).clamp(1, MAX_THREADS)
}

fn start(n: usize) -> Option<ThreadPool> {
    let built = ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("vkarray copy {i}")).build();
    built.inspect_err(|error| log::warn!("large host copies go on with one thread: {error}")).ok()
}

impl fmt::Debug for CopyThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyThreads")
            .field("n_threads", &self.n_threads)
            .field("n_idle", &self.n_idle)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn half_of_the_processors_copy_and_at_most_eight() {
        // Processors, threads.
        for (n_processors, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (16, 8), (17, 8), (128, 8)] {
            assert_eq!(n_threads(n_processors), expected, "{n_processors}");
        }
    }

    #[test]
    fn as_many_run_as_are_asked_for_and_there_are() {
        // Threads there are, asked for, that run.
        for (there, asked, expected) in [(1, 1, 1), (1, 8, 1), (4, 1, 1), (4, 0, 1), (4, 3, 3), (4, 9, 4)] {
            let (copy_threads, ran, together) = (CopyThreads::of(there), AtomicUsize::new(0), Barrier::new(expected));
            for round in 1..=3 {
                copy_threads.run(asked, &|| {
                    together.wait(); // Stands for ever if fewer run, and if one runs twice.
                    ran.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(ran.load(Ordering::Relaxed), round * expected, "{asked} of {there}");
            }
            assert_eq!(copy_threads.others.get().is_some(), expected > 1, "started without need");
        }
    }

    #[test]
    fn a_copy_waits_for_no_other() {
        let (copy_threads, ran) = (CopyThreads::of(3), AtomicUsize::new(0));
        copy_threads.run(2, &|| {
            // Inside the work of two, one is idle; three copies more share it, and none waits for these two.
            copy_threads.run(3, &|| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        });
        let ran = ran.load(Ordering::Relaxed);
        assert!((2..=4).contains(&ran), "{ran}");
        assert_eq!(copy_threads.n_idle.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_nobody_is_lost() {
        let copy_threads = CopyThreads::of(3);
        let panicked = catch_unwind(AssertUnwindSafe(|| copy_threads.run(3, &|| panic!("in the middle"))));
        assert!(panicked.is_err());
        let (ran, together) = (AtomicUsize::new(0), Barrier::new(3));
        copy_threads.run(3, &|| {
            together.wait();
            ran.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ran.load(Ordering::Relaxed), 3);
    }
}
