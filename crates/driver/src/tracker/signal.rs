//! How the waiting thread is woken, and how it stops polling without missing a batch.
//!
//! This file uses no device and takes its locks from `crate::lock`, so that `tests/loom` compiles it with loom's locks
//! and runs every order of its steps.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::lock::{AtomicBool, Condvar, Mutex, MutexGuard};

/// The state that the waiting thread shares with other threads.
pub(crate) struct Signal<S> {
    /// Whether the thread polls for batches to submit. It is read for every batch, so it is outside the lock.
    is_armed: AtomicBool,
    state: Mutex<S>,
    changed: Condvar,
}

impl<S> Signal<S> {
    pub(crate) fn new(state: Mutex<S>) -> Self {
        Self { is_armed: AtomicBool::new(false), state, changed: Condvar::default() }
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.is_armed.load(Ordering::Acquire)
    }

    /// Makes the thread look for batches. If the thread does not look for them yet, `wake` wakes it. Otherwise the call
    /// costs one load.
    pub(crate) fn arm(&self, wake: impl FnOnce(&mut S)) {
        if !self.is_armed() && !self.is_armed.swap(true, Ordering::AcqRel) {
            self.change(wake);
        }
    }

    /// Changes the state, and wakes the thread.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let changed = change(&mut self.state.lock());
        self.changed.notify_all();
        changed
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock()
    }

    /// Blocks until `answer` returns something. The answer depends on the state, and on whether the signal is armed.
    pub(crate) fn sleep_until<R>(&self, answer: impl Fn(&S, bool) -> Option<R>) -> R {
        let mut state = self.state.lock();
        loop {
            if let Some(answer) = answer(&state, self.is_armed()) {
                return answer;
            }
            state = self.changed.wait(state);
        }
    }

    /// Sleeps until the state changes or `limit` has passed. Returns at once if the state is not quiet.
    pub(crate) fn sleep_for(&self, limit: Duration, is_quiet: impl FnOnce(&S) -> bool) {
        let state = self.state.lock();
        if is_quiet(&state) {
            drop(self.changed.wait_timeout(state, limit));
        }
    }

    /// Stops looking for batches. If `look` finds a batch that was opened in the meantime, the signal stays armed.
    pub(crate) fn disarm(&self, look: impl FnOnce() -> bool) {
        self.is_armed.store(false, Ordering::Release);
        if look() {
            self.is_armed.store(true, Ordering::Release);
        }
    }
}
