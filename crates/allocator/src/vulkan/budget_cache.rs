//! [`BudgetCache`]: keeps an answer of the driver for a short while.
//!
//! It keeps the driver's estimates of free memory, which `chunk.rs` needs more often than they change. Time is passed
//! in, so that expiry is tested without waiting.

use std::time::{Duration, Instant};

use vkarray_driver::lock::{Mutex, Rank};

/// An answer and the time of the answer.
#[derive(Debug)]
pub(crate) struct BudgetCache<T> {
    held: Mutex<Option<(Instant, T)>>,
    lifetime: Duration,
}

impl<T: Clone> BudgetCache<T> {
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self { held: Mutex::new(Rank::HeapBudgets, None), lifetime }
    }

    /// The last answer, or a new answer if the last one has expired or was cleared.
    pub(crate) fn at(&self, now: Instant, ask: impl FnOnce() -> T) -> T {
        let mut held = self.held.lock();
        if let Some((given, answer)) = &*held
            && now.saturating_duration_since(*given) < self.lifetime
        {
            return answer.clone();
        }
        // Asked under the lock, so that a later `forget` clears this answer too.
        let answer = ask();
        *held = Some((now, answer.clone()));
        answer
    }

    /// Clears an answer that is no longer right.
    pub(crate) fn forget(&self) {
        *self.held.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_until_it_is_old_or_forgotten() {
        let cache = BudgetCache::new(Duration::from_millis(10));
        let start = Instant::now();
        let mut n_asked = 0;
        // Milliseconds since the start, whether the answer was forgotten before, and how often the driver was asked by
        // then.
        for (at, is_forgotten, expected) in
            [(0, false, 1), (9, false, 1), (10, false, 2), (11, true, 3), (12, false, 3)]
        {
            if is_forgotten {
                cache.forget();
            }
            let answer = cache.at(start + Duration::from_millis(at), || {
                n_asked += 1;
                n_asked
            });
            assert_eq!((answer, n_asked), (expected, expected), "after {at} ms");
        }
    }
}
