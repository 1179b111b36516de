//! [`CopyThreads`]: a thread pool for large host copies.
//!
//! The threads are rayon's. The first large copy starts them, and they end with the allocator. A copy uses only idle
//! threads, and waits for no other copy. `memory/route/` decides how many threads a copy uses.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, thread};

use rayon_core::{ThreadPool, ThreadPoolBuilder};
use vkarray_driver::Device;

use crate::memory::route::MAX_THREADS;

/// The copy threads of one allocator. The calling thread always copies too.
pub(crate) struct CopyThreads {
    /// The number of threads, including the calling thread.
    n_threads: usize,
    /// The other threads; `None` if they could not be started.
    others: OnceLock<Option<ThreadPool>>,
    n_idle: AtomicUsize,
}

impl CopyThreads {
    /// The default number of threads on this machine.
    pub(crate) fn default_number() -> usize {
        n_threads(thread::available_parallelism().map_or(1, usize::from))
    }

    /// The given number of threads, at least one. Starts no thread yet.
    pub(crate) fn new(n_threads: usize) -> Self {
        let n_threads = n_threads.max(1);
        Self { n_threads, others: OnceLock::new(), n_idle: AtomicUsize::new(n_threads - 1) }
    }

    /// The number of threads, including the calling one.
    pub(crate) fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// Runs `work` on this thread and on up to `n - 1` idle threads. Returns when all calls have returned.
    ///
    /// # Panics
    ///
    /// If `work` panics on any of the threads, after all calls have ended.
    pub(crate) fn run(&self, n: usize, work: &(dyn Fn() + Sync)) {
        let taken = self.reserve(n.saturating_sub(1));
        if taken.n == 0 {
            return work();
        }
        match self.others.get_or_init(|| start(self.n_threads - 1)) {
            None => work(),
            // There is one task for each reserved thread, so that no task waits behind another copy's.
            Some(others) => others.in_place_scope(|scope| {
                (0..taken.n).for_each(|_| scope.spawn(|_| work()));
                work();
            }),
        }
    }

    /// Ends the threads. In a forked process there are none.
    pub(crate) fn end(&mut self, device: &Device) {
        let others = self.others.take();
        if device.is_forked() {
            mem::forget(others);
        }
    }

    /// Reserves up to `most` idle threads.
    fn reserve(&self, most: usize) -> ReservedThreads<'_> {
        let less = |n_idle: usize| Some(n_idle.saturating_sub(most));
        let n_idle = self.n_idle.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).expect("always some");
        ReservedThreads { copy_threads: self, n: n_idle.min(most) }
    }
}

/// Threads reserved for one copy. They are idle again when this is dropped.
struct ReservedThreads<'a> {
    copy_threads: &'a CopyThreads,
    n: usize,
}

impl Drop for ReservedThreads<'_> {
    fn drop(&mut self) {
        self.copy_threads.n_idle.fetch_add(self.n, Ordering::Relaxed);
    }
}

/// Half of the processors; the others are left to the program.
fn n_threads(n_processors: usize) -> usize {
    (n_processors / 2).clamp(1, MAX_THREADS)
}

fn start(n: usize) -> Option<ThreadPool> {
    let built = ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("vkarray copy {i}")).build();
    built.inspect_err(|error| log::warn!("large host copies go on with one thread: {error}")).ok()
}

vkarray_driver::debug_fields!(CopyThreads, this => n_threads: this.n_threads, n_idle: this.n_idle);

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn half_of_the_processors_copy_and_at_most_eight() {
        // The processors, and the threads.
        for (n_processors, expected) in [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3), (16, 8), (17, 8), (128, 8)] {
            assert_eq!(n_threads(n_processors), expected, "{n_processors}");
        }
    }

    #[test]
    fn as_many_run_as_are_asked_for_and_there_are() {
        // The threads there are, the threads requested, and the threads expected to run.
        for (there, asked, expected) in [(1, 1, 1), (1, 8, 1), (4, 1, 1), (4, 0, 1), (4, 3, 3), (4, 9, 4)] {
            let (copy_threads, ran, together) = (CopyThreads::new(there), AtomicUsize::new(0), Barrier::new(expected));
            for round in 1..=3 {
                copy_threads.run(asked, &|| {
                    together.wait(); // Never returns if fewer threads run, or if one runs twice.
                    ran.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(ran.load(Ordering::Relaxed), round * expected, "{asked} of {there}");
            }
            assert_eq!(copy_threads.others.get().is_some(), expected > 1, "started without need");
        }
    }

    #[test]
    fn a_copy_waits_for_no_other() {
        let (copy_threads, ran) = (CopyThreads::new(3), AtomicUsize::new(0));
        copy_threads.run(2, &|| {
            // During a copy by two threads, one thread is idle; three more copies share it, and none waits for the
            // first two threads.
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
        let copy_threads = CopyThreads::new(3);
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
