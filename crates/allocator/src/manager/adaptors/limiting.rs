//! A cap on the bytes that a manager gives out at a time.
//!
//! Counts what was request for and not yet given back, of every kind, and memory of the program that is pinned.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Adaptor, AdaptorRequest};
use crate::error::{Error, Result};
use crate::manager::MemoryManager;
use crate::memory::MemoryPointer;
use crate::oom::{OutOfMemory, Shortage};

/// Refuses what would go beyond a limit, as if memory had run out.
pub struct Limiting<M> {
    limit: u64,
    in_use: AtomicU64,
    inner: M,
}

impl<M: MemoryManager> Limiting<M> {
    /// Lets `inner` give out `limit` bytes at a time.
    pub fn new(inner: M, limit: u64) -> Self {
        Self { limit, in_use: AtomicU64::new(0), inner }
    }

    /// The most bytes at a time.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes request for and not given back, those of allocations under way included. Never more than the limit.
    #[must_use]
    pub fn in_use(&self) -> u64 {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Bytes that may still be request for.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.limit - self.in_use()
    }

    fn give_back(&self, bytes: u64) {
        // Memory that came from elsewhere was never counted.
        let less = |in_use: u64| Some(in_use.saturating_sub(bytes));
        self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).expect("always some");
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for Limiting<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        &self.inner
    }

    /// Reserves in one step: two threads near the limit never refuse each other for what neither gets.
    fn before(&self, request: &AdaptorRequest) -> Result<()> {
        let more = |in_use: u64| in_use.checked_add(request.size).filter(|&sum| sum <= self.limit);
        self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|in_use| {
            let mut report = OutOfMemory::new(request.size, request.kind, Shortage::Limit(self.limit));
            report.in_use = in_use;
            report.reserved = self.inner.usage().reserved;
            Error::OutOfMemory(Box::new(report))
        })
    }

    fn after(&self, request: &AdaptorRequest, given: Option<&MemoryPointer>) {
        if given.is_none() {
            self.give_back(request.size);
        }
    }

    /// After the manager inside has it, so that it never gives out more than the limit.
    fn freed(&self, bytes: u64) {
        self.give_back(bytes);
    }
}

impl<M: fmt::Debug> fmt::Debug for Limiting<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, in_use, inner } = self;
        f.debug_struct("Limiting").field("limit", limit).field("in_use", in_use).field("inner", inner).finish()
    }
}
