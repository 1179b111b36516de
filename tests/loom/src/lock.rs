//! The part of the driver's `sync/lock.rs` that the models need, on loom's locks and without ranks.

use std::fmt;
#[cfg(test)]
use std::time::Duration;

use loom::sync;

pub(crate) use loom::sync::MutexGuard;
#[cfg(test)]
pub(crate) use loom::sync::atomic::AtomicBool;
#[cfg(not(test))]
pub(crate) use loom::sync::atomic::AtomicU64;

/// The ranks that the compiled files name; they are not checked.
pub(crate) enum Rank {
    #[cfg(not(test))]
    LaneTable,
    #[cfg(test)]
    Waiter,
}

pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(_: Rank, value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no model panics under a lock")
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[derive(Default)]
pub(crate) struct Condvar(sync::Condvar);

#[cfg(test)]
impl Condvar {
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).expect("no model panics under a lock")
    }

    /// Waits without a limit, since a model has no time.
    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, _: Duration) -> MutexGuard<'a, T> {
        self.wait(guard)
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
