//! A pool whose device memory the host cannot address, as on a GPU, so that host copies take the same path as on a GPU.
//! It has no write-combined memory.

use std::ptr::NonNull;
use std::sync::Arc;

use vkarray::device::Device;
use vkarray::memory::managers::PoolManager;
use vkarray::memory::{Error as MemoryError, MemoryKind};
use vkarray_allocator::{HostOptions, HostPointer, MemoryManager, MemoryPointer, Owner, Request};

/// A pool that hides where the host addresses device memory.
#[derive(Debug)]
pub(crate) struct Unmapped(pub(crate) PoolManager);

// SAFETY: all memory belongs to the pool and goes back to it. The pool does not read the mapping of memory that comes
// back.
unsafe impl MemoryManager for Unmapped {
    fn interface_version(&self) -> u32 {
        self.0.interface_version()
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(&self.0)
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<(), MemoryError> {
        self.0.initialize(device)
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer, MemoryError> {
        let mut memory = self.0.memalloc(request)?;
        if request.kind != MemoryKind::Device {
            return Ok(memory);
        }
        let (size, tag, last_uses) = (memory.size(), memory.tag(), memory.take_last_uses());
        // SAFETY: the memory is the pool's own, described as the pool describes it.
        let hidden = unsafe { MemoryPointer::new(memory.buffer(), memory.offset(), size, MemoryKind::Device) };
        Ok(hidden.with_tag(tag).after(last_uses))
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer, MemoryError> {
        // Without write-combining, staged uploads use non-coherent memory if the device has it.
        self.0.memhostalloc(size, options.wc(false))
    }

    unsafe fn mempin(
        &self,
        owner: Owner,
        pointer: NonNull<u8>,
        size: u64,
        mapped: bool,
    ) -> Result<HostPointer, MemoryError> {
        // SAFETY: the caller keeps this function's contract, which is the same as the pool's.
        unsafe { self.0.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        // SAFETY: the caller keeps this function's contract, and the memory belongs to the pool.
        unsafe { self.0.memfree(memory) };
    }
}
