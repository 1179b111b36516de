//! Limits the bytes that a manager gives out at a time.
//!
//! The bytes requested and not yet given back count, of every kind, and memory of the program that is pinned.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Adaptor;
use crate::error::{Error, OutOfMemory, Result, Shortage};
use crate::manager::{MemoryManager, Request};
use crate::memory::MemoryPointer;

/// Refuses allocations beyond a limit, as if memory had run out.
///
/// ```
/// use vkarray_allocator::{Allocator, Error, Limiting, MemoryKind, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(Limiting::new(PoolManager::new(), 1000)))?;
/// let block = allocator.allocate(800, MemoryKind::Device)?;
/// let refused = allocator.allocate(300, MemoryKind::Device).unwrap_err();
/// assert!(refused.to_string().contains("the memory manager is limited to 1000 bytes"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[doc(alias = "LimitingResourceAdaptor")]
pub struct Limiting<M> {
    limit: u64,
    in_use: AtomicU64,
    inner: M,
}

impl<M: MemoryManager> Limiting<M> {
    /// Lets `inner` give out at most `limit` bytes at a time.
    pub fn new(inner: M, limit: u64) -> Self {
        Self { limit, in_use: AtomicU64::new(0), inner }
    }

    /// The limit, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes requested and not given back, including allocations in progress. Never more than the limit.
    pub fn in_use(&self) -> u64 {
        self.in_use.load(Ordering::Relaxed)
    }

    fn give_back(&self, bytes: u64) {
        // Memory of other managers was never counted.
        let less = |in_use: u64| Some(in_use.saturating_sub(bytes));
        self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).expect("always some");
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for Limiting<M> {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    /// Reserves the bytes in one atomic step, so that two requests near the limit cannot both be refused.
    fn before(&self, request: &Request) -> Result<()> {
        let more = |in_use: u64| in_use.checked_add(request.size).filter(|&sum| sum <= self.limit);
        self.in_use.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop).map_err(|in_use| {
            let mut report = OutOfMemory::new(request.size, request.kind, Shortage::Limit(self.limit));
            report.in_use = in_use;
            report.reserved = self.inner.usage().reserved;
            Error::OutOfMemory(Box::new(report))
        })
    }

    fn after(&self, request: &Request, given: Option<&MemoryPointer>) {
        if given.is_none() {
            self.give_back(request.size);
        }
    }

    /// Runs after the manager inside took the memory back, so that it never gives out more than the limit.
    fn freed(&self, bytes: u64) {
        self.give_back(bytes);
    }
}
