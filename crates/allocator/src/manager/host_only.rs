//! The half of a manager for those who own device memory and nothing else: host memory, pinning, cleanup.
//!
//! numba has a base class for this, here a plugin holds one and passes calls on. `examples/plugin/` of this crate is such
//! a plugin, whole.

use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use super::{Counters, DeferCleanup, HostOptions, MemoryManager, PassthroughManager, Request, Usage};
use crate::error::{Error, Result};
use crate::manager::{MemoryInfo, Pending};
use crate::memory::{BlockLabel, HostPointer, MemoryKind, MemoryPointer, Owner};
use crate::oom::OomCounts;

/// Gives out host memory, pins that of the program, and refuses device memory.
///
/// A plugin passes to it: [`MemoryManager::initialize`], [`MemoryManager::memhostalloc`], [`MemoryManager::mempin`],
/// [`MemoryManager::memfree`] of what [`HostOnlyMemoryManager::owns`]; and, beside doing them itself for device memory,
/// [`MemoryManager::reset`], [`MemoryManager::defer_cleanup`], [`MemoryManager::try_flush`], [`MemoryManager::flush`],
/// [`MemoryManager::trim`], [`MemoryManager::usage`] and [`MemoryManager::pending`].
#[derive(Debug, Default)]
pub struct HostOnlyMemoryManager<M = PassthroughManager> {
    host: M,
}

impl HostOnlyMemoryManager {
    /// Creates a manager whose host memory is a buffer of its own for each allocation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<M: MemoryManager> HostOnlyMemoryManager<M> {
    /// Takes host memory from another manager.
    pub fn over(host: M) -> Self {
        Self { host }
    }

    /// Whether the memory came from this half of a plugin: it is of a kind that only this half gives out.
    #[must_use]
    pub fn owns(&self, memory: &MemoryPointer) -> bool {
        is_host(memory.kind())
    }
}

/// Whether memory of that kind is the host's.
fn is_host(kind: MemoryKind) -> bool {
    matches!(kind, MemoryKind::Pinned | MemoryKind::WriteCombined)
}

// SAFETY: all memory is that of the manager inside, a private field that nothing assigns to; it gets back what it gave
// out, unchanged.
unsafe impl<M: MemoryManager> MemoryManager for HostOnlyMemoryManager<M> {
    fn interface_version(&self) -> u32 {
        self.host.interface_version()
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.host.initialize(device)
    }

    fn memalloc(&self, _: &Request) -> Result<MemoryPointer> {
        Err(Error::Unsupported { what: "device memory from a manager of host memory only" })
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        self.host.memhostalloc(size, options)
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same.
        unsafe { self.host.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        // SAFETY: the caller keeps this function's contract, and all memory is the other manager's.
        unsafe { self.host.memfree(memory) };
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        Err(Error::Unsupported { what: "counting free device memory in a manager of host memory only" })
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        if is_host(kind) { self.host.memory_info_of(kind) } else { self.get_memory_info() }
    }

    fn reset(&self) -> Result<()> {
        self.host.reset()
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        self.host.defer_cleanup()
    }

    fn try_flush(&self) -> Result<()> {
        self.host.try_flush()
    }

    fn flush(&self) -> Result<()> {
        self.host.flush()
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        if !is_host(kind) {
            return Err(Error::NoSuchMemory { kind });
        }
        self.host.reserve(bytes, kind)
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        self.host.trim(keep)
    }

    fn pending(&self) -> Pending {
        self.host.pending()
    }

    fn usage(&self) -> Usage {
        self.host.usage()
    }

    fn counters(&self) -> Counters {
        self.host.counters()
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        self.host.label(memory)
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        self.host.set_label(memory, label);
    }

    fn oom_counts(&self) -> OomCounts {
        self.host.oom_counts()
    }
}
