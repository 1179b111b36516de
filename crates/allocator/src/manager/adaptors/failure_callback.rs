//! Calls the program when memory runs out, and tries again as often as it answers [`Verdict::Retry`].
//!
//! The manager inside has taken all steps of its own before the program is asked: see `manager/oom_fallback.rs`.

use std::fmt;

use super::Adaptor;
use crate::error::Error;
use crate::manager::{MemoryManager, Request};

/// What to do after memory ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Try again: the program freed something.
    Retry,
    /// Return the error.
    GiveUp,
}

/// Calls the program when memory runs out.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use vkarray_allocator::{Allocator, FailureCallback, MemoryKind, PoolManager, Verdict};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cache = Arc::new(Mutex::new(None));
/// let victim = Arc::clone(&cache);
/// let manager = FailureCallback::new(PoolManager::with_limit(1 << 20), move |_bytes, attempt| {
///     drop(victim.lock().unwrap().take()); // Frees the cached block.
///     if attempt == 1 { Verdict::Retry } else { Verdict::GiveUp }
/// });
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(manager))?;
/// *cache.lock().unwrap() = Some(allocator.allocate(1 << 20, MemoryKind::Device)?);
/// let block = allocator.allocate(1 << 20, MemoryKind::Device)?; // Fits once the cached block is gone.
/// assert!(cache.lock().unwrap().is_none());
/// # Ok(())
/// # }
/// ```
#[doc(alias = "FailureCallbackResourceAdaptor")]
pub struct FailureCallback<M> {
    callback: Box<dyn Fn(u64, u32) -> Verdict + Send + Sync>,
    inner: M,
}

impl<M: MemoryManager> FailureCallback<M> {
    /// Calls `callback` each time `inner` runs out, with the bytes asked for and the number of the failed attempt, from
    /// one on. The callback runs on the thread that allocates, without a lock: it may free, allocate, and wait for the
    /// device. If an allocation of its own fails, it is called again.
    ///
    /// The callback is not called for other failures.
    pub fn new(inner: M, callback: impl Fn(u64, u32) -> Verdict + Send + Sync + 'static) -> Self {
        Self { callback: Box::new(callback), inner }
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for FailureCallback<M> {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    fn retry(&self, request: &Request, error: &Error, attempt: u32) -> bool {
        error.is_out_of_memory() && (self.callback)(request.size, attempt) == Verdict::Retry
    }
}

vkarray_driver::debug_fields!([M: fmt::Debug] FailureCallback<M>, this => inner: this.inner);
