//! Adaptors: managers around managers. Each changes one thing and leaves the rest to the manager inside.
//!
//! An [`Adaptor`] defines what happens around an allocation and a free. This file has the one implementation of
//! [`MemoryManager`] for all adaptors; memory passes through it unchanged. Adaptors nest in any order. `limiting.rs` is
//! the shortest example.

mod failure_callback;
mod limiting;
#[cfg(feature = "allocation-log")]
mod log_format;
#[cfg(feature = "allocation-log")]
mod logging;
mod statistics;
mod tracking;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use super::{HostOptions, MemoryManager, Request};
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::memory::{HostPointer, MemoryPointer, Owner};

pub use self::failure_callback::{FailureCallback, Verdict};
pub use self::limiting::Limiting;
#[cfg(feature = "allocation-log")]
pub use self::log_format::{LogStep, read_log};
#[cfg(feature = "allocation-log")]
pub use self::logging::Logging;
pub use self::statistics::{AllocationStatistics, Counter, ScopeCounters, StatisticsScope};
pub use self::tracking::{Outstanding, Tracking};

/// A manager around another one. Every method but [`Adaptor::inner`] has a default that does nothing.
///
/// Every adaptor is a [`MemoryManager`]. An adaptor never owns the memory: its methods get references to what the manager
/// inside gives out and takes back. All methods are called from any thread, without a lock. Host memory and pinning come
/// as a [`Request`] of that kind, too.
///
/// # Safety
///
/// [`Adaptor::inner`] returns the same manager at every call, until the adaptor is dropped or mutably borrowed. Until
/// then other code neither borrows that manager mutably nor replaces it.
///
/// # Examples
///
/// An adaptor that counts allocations:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use vkarray_allocator::{
///     Adaptor, Allocator, MemoryKind, MemoryManager, MemoryPointer, PoolManager, Request,
/// };
/// # use vkarray_driver::{Device, Instance};
///
/// #[derive(Debug)]
/// struct Counting(PoolManager, AtomicU64);
///
/// // SAFETY: the manager inside is a private field that nothing assigns to.
/// unsafe impl Adaptor for Counting {
///     fn inner(&self) -> &dyn MemoryManager {
///         &self.0
///     }
///     fn after(&self, _: &Request, given: Option<&MemoryPointer>) {
///         self.1.fetch_add(u64::from(given.is_some()), Ordering::Relaxed);
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let counting = Arc::new(Counting(PoolManager::new(), AtomicU64::new(0)));
/// let allocator = Allocator::with_manager(&device, Box::new(Arc::clone(&counting)))?;
/// allocator.allocate(100, MemoryKind::Device)?;
/// assert_eq!(counting.1.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
///
/// Without the word `unsafe` the implementation does not compile:
///
/// ```compile_fail,E0200
/// # use vkarray_allocator::{Adaptor, MemoryManager, PoolManager};
/// #[derive(Debug)]
/// struct Mine(PoolManager);
/// impl Adaptor for Mine {
///     fn inner(&self) -> &dyn MemoryManager {
///         &self.0
///     }
/// }
/// ```
pub unsafe trait Adaptor: fmt::Debug + Send + Sync {
    /// The manager inside. Every call returns the same manager.
    fn inner(&self) -> &dyn MemoryManager;

    /// Called when the manager inside was initialised for this device, perhaps more than once.
    fn initialized(&self, _device: &Arc<Device>) {}

    /// Called before the manager inside is asked. [`Adaptor::after`] follows exactly once, unless this refuses.
    ///
    /// # Errors
    ///
    /// The adaptor's reason to refuse the request. The manager inside is not asked then.
    fn before(&self, _request: &Request) -> Result<()> {
        Ok(())
    }

    /// Whether to ask again after this failure, the `attempt`-th of one allocation, counted from one. Never called for
    /// pinning.
    fn retry(&self, _request: &Request, _error: &Error, _attempt: u32) -> bool {
        false
    }

    /// Called when the manager inside gave memory, or gave none because it failed or panicked.
    fn after(&self, _request: &Request, _given: Option<&MemoryPointer>) {}

    /// Called when live memory gets another label.
    fn relabelled(&self, _memory: &MemoryPointer, _label: &BlockLabel) {}

    /// Called when memory is given back, before the manager inside takes it: it has not been given out again.
    fn freeing(&self, _memory: &MemoryPointer) {}

    /// Called after the manager inside took back a piece of memory that was requested with `bytes` bytes.
    fn freed(&self, _bytes: u64) {}
}

// SAFETY: the content of a box stays the same until the box is dropped or mutably borrowed, and the box owns it.
unsafe impl Adaptor for Box<dyn MemoryManager> {
    fn inner(&self) -> &dyn MemoryManager {
        &**self
    }
}

/// Implemented so that a program keeps a handle to the manager that it gives to a context.
// SAFETY: the content of an `Arc` stays the same as long as a handle exists, and is mutably borrowed only through a
// sole handle.
unsafe impl<M: MemoryManager> Adaptor for Arc<M> {
    fn inner(&self) -> &dyn MemoryManager {
        &**self
    }
}

// SAFETY: every promise is a promise of the manager inside: by the contract of `Adaptor` all calls reach the same
// manager, which gets back the memory that it gave out, unchanged.
unsafe impl<A: Adaptor> MemoryManager for A {
    fn interface_version(&self) -> u32 {
        self.inner().interface_version()
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(self.inner())
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.inner().initialize(device)?;
        self.initialized(device);
        Ok(())
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        allocate(self, request, || self.inner().memalloc(request))
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        allocate(self, &Request::new(size, options.kind()), || self.inner().memhostalloc(size, options))
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same as that of the manager inside.
        observed(self, &Request::new(size, MemoryKind::Pinned), || unsafe {
            self.inner().mempin(owner, pointer, size, mapped)
        })
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        let bytes = memory.size();
        let told = catch_unwind(AssertUnwindSafe(|| self.freeing(&memory)));
        // SAFETY: the caller keeps the same contract; by the contract of `Adaptor`, the manager inside is the manager that
        // gave the memory out.
        let freed = catch_unwind(AssertUnwindSafe(|| unsafe { self.inner().memfree(memory) }));
        self.freed(bytes);
        if let Err(panic) = told.and(freed) {
            resume_unwind(panic);
        }
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        self.relabelled(memory, &label);
        self.inner().set_label(memory, label);
    }
}

/// One allocation through an adaptor, with its retries.
fn allocate<A: Adaptor, P: AsRef<MemoryPointer>>(
    adaptor: &A,
    request: &Request,
    ask: impl Fn() -> Result<P>,
) -> Result<P> {
    observed(adaptor, request, || {
        let mut attempt = 1_u32;
        loop {
            match ask() {
                Err(error) if adaptor.retry(request, &error, attempt) => attempt = attempt.saturating_add(1),
                outcome => return outcome,
            }
        }
    })
}

/// Calls [`Adaptor::before`], asks, and calls [`Adaptor::after`] exactly once, also when asking panics.
fn observed<A: Adaptor, P: AsRef<MemoryPointer>>(
    adaptor: &A,
    request: &Request,
    ask: impl FnOnce() -> Result<P>,
) -> Result<P> {
    adaptor.before(request)?;
    let outcome = catch_unwind(AssertUnwindSafe(ask));
    let given = outcome.as_ref().ok().and_then(|answer| answer.as_ref().ok());
    adaptor.after(request, given.map(AsRef::as_ref));
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests;
