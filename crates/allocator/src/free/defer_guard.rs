//! Holding real frees back: how many guards of `defer_cleanup` live.
//!
//! A count and nothing else, so a guard that is leaked holds frees back for good and can do no more harm: what it holds
//! back is still freed before memory runs out, and when the allocator ends.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Holds real frees back while it lives. Made by [`MemoryManager::defer_cleanup`](crate::MemoryManager::defer_cleanup).
#[must_use = "frees are held back only while this lives"]
pub struct DeferCleanup(Option<Box<dyn FnOnce() + Send>>);

impl DeferCleanup {
    /// Calls `end` when dropped.
    pub fn new(end: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Drop for DeferCleanup {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for DeferCleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeferCleanup").finish_non_exhaustive()
    }
}

/// Whether frees are held back. Clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hold(Arc<AtomicUsize>);

impl Hold {
    /// Holds until the guard, and every other one, is dropped. Nothing is freed at that moment.
    pub(crate) fn begin(&self) -> DeferCleanup {
        self.0.fetch_add(1, Ordering::Relaxed);
        let n_guards = Arc::clone(&self.0);
        DeferCleanup::new(move || {
            n_guards.fetch_sub(1, Ordering::Relaxed);
        })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_end_ends_it() {
        // In either order, and from other threads.
        for drop_outer_first in [false, true] {
            let hold = Hold::default();
            let (outer, inner) = (hold.begin(), hold.clone().begin());
            let (first, last) = if drop_outer_first { (outer, inner) } else { (inner, outer) };
            std::thread::spawn(move || drop(first)).join().unwrap();
            assert!(hold.is_on(), "one is left");
            drop(last);
            assert!(!hold.is_on());
        }
    }

    #[test]
    fn a_panic_ends_it_too() {
        let hold = Hold::default();
        let held = hold.clone();
        let outcome = std::panic::catch_unwind(move || {
            let _guard = held.begin();
            panic!("in the middle");
        });
        assert!(outcome.is_err() && !hold.is_on());
    }

    #[test]
    #[cfg_attr(miri, ignore = "it leaks on purpose")]
    fn a_leaked_guard_holds_for_good() {
        let hold = Hold::default();
        std::mem::forget(hold.begin());
        drop(hold.begin());
        assert!(hold.is_on());
    }
}
