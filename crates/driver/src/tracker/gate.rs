//! Waiting until no host access conflicts with an access.
//!
//! The locks come from `crate::lock`, so that `tests/loom` compiles this file with loom's locks and runs every order of
//! its steps.

use std::sync::atomic::Ordering;

use crate::lock::{AtomicBool, Condvar, Mutex, MutexGuard};

/// Where threads wait for host accesses to end. A gate is used with one mutex, which guards the host accesses.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    ended: Condvar,
    /// Whether a thread waits. It changes only under the mutex, and it saves the system call of a wake-up that no
    /// thread needs.
    is_awaited: AtomicBool,
}

impl Gate {
    /// Blocks until no host access conflicts, and returns the lock. No host access begins until the lock is released.
    pub(crate) fn pass<'a, T, E>(
        &self,
        holds: &'a Mutex<T>,
        conflicts: impl Fn(&T) -> Result<bool, E>,
    ) -> Result<MutexGuard<'a, T>, E> {
        let mut locked = holds.lock();
        while conflicts(&locked)? {
            self.is_awaited.store(true, Ordering::Relaxed);
            locked = self.ended.wait(locked);
        }
        Ok(locked)
    }

    /// Ends a host access, and wakes all waiting threads, which check again.
    pub(crate) fn end<T>(&self, holds: &Mutex<T>, end: impl FnOnce(&mut T)) {
        let is_awaited = {
            let mut locked = holds.lock();
            end(&mut locked);
            self.is_awaited.swap(false, Ordering::Relaxed)
        };
        if is_awaited {
            self.ended.notify_all();
        }
    }
}
