//! Guards that hold frees back: [`DeferCleanup`], and the count of those that live.
//!
//! The state is a count and nothing else, so a leaked guard only holds frees back for good. What it holds back is still freed
//! before an allocation fails, and when the allocator ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Holds frees back while it lives. Made by [`MemoryManager::defer_cleanup`](crate::MemoryManager::defer_cleanup).
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

vkarray_driver::debug_fields!(DeferCleanup);

/// The number of live guards. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeferCount(Arc<AtomicUsize>);

impl DeferCount {
    /// Begins to hold frees back, until this guard and every other one is dropped. Nothing is freed at that moment.
    pub(crate) fn guard(&self) -> DeferCleanup {
        self.0.fetch_add(1, Ordering::Relaxed);
        let n_guards = Arc::clone(&self.0);
        DeferCleanup::new(move || {
            n_guards.fetch_sub(1, Ordering::Relaxed);
        })
    }

    pub(crate) fn is_active(&self) -> bool {
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
            let count = DeferCount::default();
            let (outer, inner) = (count.guard(), count.clone().guard());
            let (first, last) = if drop_outer_first { (outer, inner) } else { (inner, outer) };
            std::thread::spawn(move || drop(first)).join().unwrap();
            assert!(count.is_active(), "one is left");
            drop(last);
            assert!(!count.is_active());
        }
    }

    #[test]
    fn a_panic_ends_it_too() {
        let count = DeferCount::default();
        let held = count.clone();
        let outcome = std::panic::catch_unwind(move || {
            let _guard = held.guard();
            panic!("in the middle");
        });
        assert!(outcome.is_err() && !count.is_active());
    }

    #[test]
    #[cfg_attr(miri, ignore = "it leaks on purpose")]
    fn a_leaked_guard_holds_for_good() {
        let count = DeferCount::default();
        std::mem::forget(count.guard());
        drop(count.guard());
        assert!(count.is_active());
    }
}
