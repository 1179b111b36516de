//! Waiting until no hold conflicts with an access.
//!
//! It takes its locks from `crate::lock`, so that `tests/loom` compiles it with loom's and runs every order of its steps.

use crate::lock::{Condvar, Mutex, MutexGuard};

/// Where threads wait for holds to end. Of one mutex alone, which guards the holds.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    ended: Condvar,
}

impl Gate {
    /// Blocks until no hold conflicts, and returns with the lock: the result stays true until the lock is released.
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

    /// Ends a hold, and wakes all waiting threads to check again.
    pub(crate) fn end<T>(&self, holds: &Mutex<T>, end: impl FnOnce(&mut T)) {
        end(&mut holds.lock());
        self.ended.notify_all();
    }
}
