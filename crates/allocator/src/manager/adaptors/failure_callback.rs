//! Asks the program to let go of something when memory runs out, and tries again for as long as it does.
//!
//! The manager inside has done what it can by itself before the program is request: see `../ladder.rs`.

use std::fmt;

use super::{Adaptor, AdaptorRequest};
use crate::error::Error;
use crate::manager::MemoryManager;

/// What to do after memory ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Try again: something was let go of.
    Retry,
    /// Hand the failure on.
    GiveUp,
}

type Callback = dyn Fn(u64, u32) -> Verdict + Send + Sync;

/// Calls the program when memory runs out.
pub struct FailureCallback<M> {
    callback: Box<Callback>,
    inner: M,
}

impl<M: MemoryManager> FailureCallback<M> {
    /// Calls `callback` with the bytes request for and the number of the failed attempt, from one on, each time `inner`
    /// runs out. Called on the thread that asks, without a lock: it may free, allocate, and wait for the device. An
    /// allocation that it makes and that fails calls it again.
    ///
    /// Other failures are not its business.
    pub fn new(inner: M, callback: impl Fn(u64, u32) -> Verdict + Send + Sync + 'static) -> Self {
        Self { callback: Box::new(callback), inner }
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for FailureCallback<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        &self.inner
    }

    fn retry(&self, request: &AdaptorRequest, error: &Error, attempt: u32) -> bool {
        matches!(error, Error::OutOfMemory { .. }) && (self.callback)(request.size, attempt) == Verdict::Retry
    }
}

impl<M: fmt::Debug> fmt::Debug for FailureCallback<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureCallback").field("inner", &self.inner).finish_non_exhaustive()
    }
}
