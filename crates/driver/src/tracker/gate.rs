//! Waiting until no host access conflicts with an access.
//!
//! It takes its locks from `crate::lock`, so that `tests/loom` compiles it with loom's and runs every order of its steps.

use crate::lock::{Condvar, Mutex, MutexGuard};

/// Where threads wait for host accesses to end. Used with one mutex, which guards the host accesses.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    ended: Condvar,
}

impl Gate {
    /// Blocks until no host access conflicts, and returns the lock: none can begin until it is released.
    pub(crate) fn pass<'a, T, E>(
        &self,
        holds: &'a Mutex<T>,
        conflicts: impl Fn(&T) -> Result<bool, E>,
    ) -> Result<MutexGuard<'a, T>, E> {
        let mut locked = holds.lock();
        while conflicts(&locked)? {
            locked = self.ended.wait(locked);
        }
        Ok(locked)
    }

    /// Ends a host access, and wakes all waiting threads to check again.
    pub(crate) fn end<T>(&self, holds: &Mutex<T>, end: impl FnOnce(&mut T)) {
        end(&mut holds.lock());
        self.ended.notify_all();
    }
}
