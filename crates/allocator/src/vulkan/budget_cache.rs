//! [`BudgetCache`]: an answer that is good for a short while, for questions that are asked more often than they need be.
//!
//! Time is passed in, so that the rule can be tested without waiting. What is asked, and how long an answer is good, is
//! the owner's: the driver's estimates of free memory, in `chunk.rs`.

use std::time::{Duration, Instant};

use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

/// An answer and when it was given.
#[derive(Debug)]
pub(crate) struct BudgetCache<T> {
    held: Mutex<Option<(Instant, T)>>,
    good_for: Duration,
}

impl<T: Clone> BudgetCache<T> {
    pub(crate) fn new(good_for: Duration) -> Self {
        Self { held: Mutex::new(Rank::HeapBudgets, None), good_for }
    }

    /// The last answer, or a new one if that is too old or was forgotten.
    pub(crate) fn at(&self, now: Instant, ask: impl FnOnce() -> T) -> T {
        let mut held = self.held();
        if let Some((given, answer)) = &*held
            && now.saturating_duration_since(*given) < self.good_for
        {
            return answer.clone();
        }
        // AdaptorRequest under the lock: who forgets the answer afterwards forgets this one too.
        let answer = ask();
        *held = Some((now, answer.clone()));
        answer
    }

    /// Forgets the answer, which the caller has just made wrong.
    pub(crate) fn forget(&self) {
        *self.held() = None;
    }

    fn held(&self) -> MutexGuard<'_, Option<(Instant, T)>> {
        self.held.lock()
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
        // Milliseconds since the start, whether it was forgotten before, how often it was asked for by then.
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
