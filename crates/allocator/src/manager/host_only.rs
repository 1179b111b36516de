//! The host half of a manager, for plugins that provide device memory alone: host memory, pinning, cleanup.
//!
//! In numba this is a base class; here a plugin has one as a field. `examples/plugin/` of this crate is such a plugin.

use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use super::{HostOptions, MemoryInfo, MemoryManager, PassthroughManager, Request};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;
use crate::memory::{HostPointer, MemoryPointer, Owner};

/// Gives out host memory, pins memory of the program, and refuses device memory.
///
/// A plugin passes these calls to it: [`MemoryManager::initialize`], [`MemoryManager::memhostalloc`],
/// [`MemoryManager::mempin`], and [`MemoryManager::memfree`] of memory that [`HostOnlyMemoryManager::owns`]. The plugin
/// carries out these calls for its device memory, and also passes them on: [`MemoryManager::reset`],
/// [`MemoryManager::defer_cleanup`], [`MemoryManager::try_flush`], [`MemoryManager::flush`], [`MemoryManager::trim`],
/// [`MemoryManager::usage`] and [`MemoryManager::pending`].
///
/// ```
/// use vkarray_allocator::{Allocator, Error, HostOnlyMemoryManager, MemoryKind};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(HostOnlyMemoryManager::new()))?;
/// assert!(allocator.allocate(64, MemoryKind::Pinned)?.is_mapped());
/// assert!(matches!(allocator.allocate(64, MemoryKind::Device), Err(Error::Unsupported { .. })));
/// # Ok(())
/// # }
/// ```
#[doc(alias = "HostOnlyCUDAMemoryManager")]
#[derive(Debug, Default)]
pub struct HostOnlyMemoryManager<M = PassthroughManager> {
    host: M,
}

impl HostOnlyMemoryManager {
    /// Creates a manager whose host memory is a separate buffer for each allocation.
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
    pub fn owns(&self, memory: &MemoryPointer) -> bool {
        memory.kind().is_in_host_memory()
    }
}

// SAFETY: all memory comes from the manager inside, a private field that nothing assigns to; that manager gets back the
// memory that it gave out, unchanged.
unsafe impl<M: MemoryManager> MemoryManager for HostOnlyMemoryManager<M> {
    fn interface_version(&self) -> u32 {
        self.host.interface_version()
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(&self.host)
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
        // SAFETY: the caller keeps this function's contract, which is the same as that of the manager inside.
        unsafe { self.host.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        // SAFETY: the caller keeps this function's contract, and all memory belongs to the manager inside.
        unsafe { self.host.memfree(memory) };
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        Err(Error::Unsupported { what: "counting free device memory in a manager of host memory only" })
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        if kind.is_in_host_memory() { self.host.memory_info_of(kind) } else { self.get_memory_info() }
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        if !kind.is_in_host_memory() {
            return Err(Error::NoSuchMemory { kind });
        }
        self.host.reserve(bytes, kind)
    }
}
