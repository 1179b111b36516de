//! [`Late`]: a value that is made when first needed, from a state that other threads change. A stream's transfer lane
//! is such a value: it starts after what its stream waits for.
//!
//! The locks come from `crate::lock`, so that `tests/loom` compiles this file with loom's locks and runs every order of
//! its steps.

use std::sync::OnceLock;

use crate::lock::Mutex;

/// The value. A thread that changes the state holds the lock `changes` while it changes the state and the value, if the
/// value exists. So no change is missed between the making of the value and the moment at which other threads see it.
#[derive(Debug)]
pub(crate) struct Late<T>(OnceLock<T>);

impl<T> Late<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// Makes the value if there is none.
    pub(crate) fn get_or_make<E>(&self, changes: &Mutex<()>, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let _changes = changes.lock();
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let made = make()?;
        Ok(self.0.get_or_init(|| made))
    }
}
