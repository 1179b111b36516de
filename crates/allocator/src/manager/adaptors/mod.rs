//! Managers around managers: each changes one thing and leaves the rest to the one inside.
//!
//! An [`Adaptor`] says what it adds around an allocation and a free; the one implementation of [`MemoryManager`] for
//! all of them is here, and memory passes through that unchanged. They nest in any order. Ours are the files beside
//! this one: `limiting.rs`, `logging.rs`, `statistics.rs`, `tracking.rs`, `failure_callback.rs`.

mod failure_callback;
mod limiting;
mod log_format;
mod logging;
mod statistics;
mod tracking;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use crate::error::{Error, Result};
use crate::manager::{Counters, DeferCleanup, HostOptions, IpcHandle, MemoryManager, Request, Usage};
use crate::manager::{MemoryInfo, Pending};
use crate::memory::{BlockLabel, HostPointer, MemoryKind, MemoryPointer, Owner};
use crate::oom::OomCounts;

pub use self::failure_callback::{FailureCallback, Verdict};
pub use self::limiting::Limiting;
pub use self::log_format::{LogStep, read_log};
pub use self::logging::Logging;
pub use self::statistics::{Counter, ScopeCounters, Statistics, StatisticsScope};
pub use self::tracking::{Outstanding, Tracking};

/// What an allocation asks for, of whatever sort it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdaptorRequest {
    /// Bytes.
    pub size: u64,
    /// What the memory is for.
    pub kind: MemoryKind,
    /// Who wants it, where that is known by now.
    pub label: BlockLabel,
}

/// A manager around another one. Every method but [`Adaptor::inner`] may be left as it is.
///
/// Every adaptor is a [`MemoryManager`]. An adaptor never owns the memory: its methods get references to what the manager
/// inside gives out and takes back. All methods are called from any thread, without a lock.
///
/// # Safety
///
/// [`Adaptor::inner`] returns the same manager at every call, until the adaptor is dropped or mutably borrowed. Until then
/// that manager is not mutably borrowed or replaced by other code either.
///
/// ```
/// # use vkarray_allocator::{Adaptor, PoolManager};
/// #[derive(Debug)]
/// struct Mine(PoolManager);
/// // SAFETY: the manager inside is a private field that nothing assigns to.
/// unsafe impl Adaptor for Mine {
///     type Inner = PoolManager;
///     fn inner(&self) -> &PoolManager {
///         &self.0
///     }
/// }
/// ```
///
/// ```compile_fail,E0200
/// # use vkarray_allocator::{Adaptor, PoolManager};
/// #[derive(Debug)]
/// struct Mine(PoolManager);
/// impl Adaptor for Mine {
///     type Inner = PoolManager;
///     fn inner(&self) -> &PoolManager {
///         &self.0
///     }
/// }
/// ```
pub unsafe trait Adaptor: fmt::Debug + Send + Sync {
    /// The manager inside.
    type Inner: MemoryManager + ?Sized;

    /// The manager inside: the same one at every call.
    fn inner(&self) -> &Self::Inner;

    /// The manager inside is ready for this device. Perhaps called more than once.
    fn initialized(&self, _device: &Arc<Device>) {}

    /// About to ask the manager inside. [`Adaptor::after`] follows exactly once, unless this refuses.
    ///
    /// # Errors
    ///
    /// Whatever the adaptor refuses; the manager inside is not request then.
    fn before(&self, _asked: &AdaptorRequest) -> Result<()> {
        Ok(())
    }

    /// Whether to ask again after this failure, the `attempt`-th of one allocation, counted from one. Never called for
    /// memory of the program.
    fn retry(&self, _asked: &AdaptorRequest, _error: &Error, _attempt: u32) -> bool {
        false
    }

    /// The manager inside gave memory, or nothing: it failed or panicked.
    fn after(&self, _asked: &AdaptorRequest, _given: Option<&MemoryPointer>) {}

    /// Somebody else holds the memory from now on.
    fn held(&self, _memory: &MemoryPointer, _holder: &BlockLabel) {}

    /// Called when memory is given back, before the manager inside takes it: it has not been given out again.
    fn freeing(&self, _memory: &MemoryPointer) {}

    /// Called after the manager inside took back a piece of memory that was requested with `bytes` bytes.
    fn freed(&self, _bytes: u64) {}
}

// SAFETY: what is in a box stays there until the box is dropped or mutably borrowed, and the box owns it.
unsafe impl<M: MemoryManager + ?Sized> Adaptor for Box<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        self
    }
}

/// So that a program keeps a handle to the manager that it gives to a context.
// SAFETY: what is in an `Arc` stays there as long as any handle to it, and is mutably borrowed only where there is one.
unsafe impl<M: MemoryManager + ?Sized> Adaptor for Arc<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        self
    }
}

// SAFETY: every promise is the one that the manager inside made: by the contract of `Adaptor` all calls reach the same
// one, which gets back what it gave out, unchanged.
unsafe impl<A: Adaptor> MemoryManager for A {
    fn interface_version(&self) -> u32 {
        self.inner().interface_version()
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.inner().initialize(device)?;
        self.initialized(device);
        Ok(())
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        let asked = AdaptorRequest { size: request.size, kind: request.kind, label: request.label.clone() };
        around(self, &asked, || self.inner().memalloc(request))
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        let request = AdaptorRequest { size, kind: options.kind(), label: BlockLabel::new() };
        around(self, &request, || self.inner().memhostalloc(size, options))
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        let request = AdaptorRequest { size, kind: MemoryKind::Pinned, label: BlockLabel::new() };
        let ending = Ending::begin(self, &request)?;
        // SAFETY: the caller keeps this function's contract, which is the same.
        let given = unsafe { self.inner().mempin(owner, pointer, size, mapped) };
        ending.end(given)
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        let returned = Returned { adaptor: self, memory: Some(memory) };
        self.freeing(returned.memory.as_ref().expect("taken when it is dropped"));
        drop(returned);
    }

    fn get_ipc_handle(&self, memory: &MemoryPointer) -> Result<IpcHandle> {
        self.inner().get_ipc_handle(memory)
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        self.inner().get_memory_info()
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        self.inner().memory_info_of(kind)
    }

    fn reset(&self) -> Result<()> {
        self.inner().reset()
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        self.inner().defer_cleanup()
    }

    fn try_flush(&self) -> Result<()> {
        self.inner().try_flush()
    }

    fn flush(&self) -> Result<()> {
        self.inner().flush()
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.inner().reserve(bytes, kind)
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        self.inner().trim(keep)
    }

    fn usage(&self) -> Usage {
        self.inner().usage()
    }

    fn pending(&self) -> Pending {
        self.inner().pending()
    }

    fn counters(&self) -> Counters {
        self.inner().counters()
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        self.inner().label(memory)
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        self.held(memory, &label);
        self.inner().set_label(memory, label);
    }

    fn oom_counts(&self) -> OomCounts {
        self.inner().oom_counts()
    }
}

/// One allocation through an adaptor, with its retries.
fn around<A: Adaptor, P: AsRef<MemoryPointer>>(
    adaptor: &A,
    request: &AdaptorRequest,
    allocate: impl Fn() -> Result<P>,
) -> Result<P> {
    let ending = Ending::begin(adaptor, request)?;
    let mut attempt = 1_u32;
    loop {
        match allocate() {
            Err(error) if adaptor.retry(request, &error, attempt) => attempt = attempt.saturating_add(1),
            outcome => return ending.end(outcome),
        }
    }
}

/// Memory on its way back to the manager inside, which gets it also when the adaptor panics.
struct Returned<'a, A: Adaptor> {
    adaptor: &'a A,
    memory: Option<MemoryPointer>,
}

impl<A: Adaptor> Drop for Returned<'_, A> {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        let _freed = Freed { adaptor: self.adaptor, bytes: memory.size() };
        // SAFETY: made in `memfree` alone, whose caller keeps the same contract; the manager inside is the one that gave
        // the memory out, by the contract of `Adaptor`.
        unsafe { self.adaptor.inner().memfree(memory) };
    }
}

/// Says that memory was taken back, also when the manager inside panics.
struct Freed<'a, A: Adaptor> {
    adaptor: &'a A,
    bytes: u64,
}

impl<A: Adaptor> Drop for Freed<'_, A> {
    fn drop(&mut self) {
        self.adaptor.freed(self.bytes);
    }
}

/// Tells an adaptor how an allocation ended, also when it ends by a panic.
struct Ending<'a, A: Adaptor> {
    adaptor: &'a A,
    request: &'a AdaptorRequest,
    is_told: bool,
}

impl<'a, A: Adaptor> Ending<'a, A> {
    fn begin(adaptor: &'a A, request: &'a AdaptorRequest) -> Result<Self> {
        adaptor.before(request)?;
        Ok(Self { adaptor, request, is_told: false })
    }

    fn end<P: AsRef<MemoryPointer>>(mut self, outcome: Result<P>) -> Result<P> {
        self.is_told = true;
        self.adaptor.after(self.request, outcome.as_ref().ok().map(AsRef::as_ref));
        outcome
    }
}

impl<A: Adaptor> Drop for Ending<'_, A> {
    fn drop(&mut self) {
        if !self.is_told {
            self.adaptor.after(self.request, None);
        }
    }
}

#[cfg(test)]
mod tests;
