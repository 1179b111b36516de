//! A block: one buffer with its memory, tracked by the device.
//!
//! Arrays share a block and view it; the last to be dropped gives it to the allocator's cleanup queue, which frees it
//! when the device is done with it. Knows bytes, not elements.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use ash::vk;
use gpu_allocator::vulkan::Allocation;
use vkarray_driver::Device;
use vkarray_driver::hazard::{Access, BlockId, Stage};

use crate::allocator::Allocator;
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// What a block is made of, and what is left of it in the cleanup queue.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) buffer: vk::Buffer,
    pub(crate) allocation: Allocation,
}

/// A piece of memory that kernels and copies reach.
///
/// Dropping it never blocks and never frees early.
pub struct Block {
    parts: Option<Parts>, // Taken when dropped.
    id: BlockId,
    size: u64,
    kind: MemoryKind,
    allocator: Arc<Allocator>,
}

impl Block {
    pub(crate) fn new(allocator: &Arc<Allocator>, parts: Parts, size: u64, kind: MemoryKind) -> Self {
        let id = allocator.device().track_block();
        Self { parts: Some(parts), id, size, kind, allocator: Arc::clone(allocator) }
    }

    /// Its size in bytes, as asked for.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// The device it lies on.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Arc<Device> {
        self.allocator.device()
    }

    /// The allocator it came from.
    #[must_use]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.allocator
    }

    /// The buffer. Having it is safe; using it is up to the caller's `unsafe`.
    #[must_use]
    #[inline]
    pub fn buffer(&self) -> vk::Buffer {
        self.parts().buffer
    }

    /// Its name in the device's hazard table.
    #[must_use]
    #[inline]
    pub fn id(&self) -> BlockId {
        self.id
    }

    /// Describes a read of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn read(&self, range: Range<u64>, stage: Stage) -> Access {
        Access::read(self.id, range, stage)
    }

    /// Describes a write, or a read and write, of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn write(&self, range: Range<u64>, stage: Stage) -> Access {
        Access::write(self.id, range, stage)
    }

    /// Whether the host can address it.
    #[must_use]
    #[inline]
    pub fn is_mapped(&self) -> bool {
        self.parts().allocation.mapped_ptr().is_some()
    }

    /// Checks that `len` bytes at `offset` lie in the block.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`].
    pub fn check_range(&self, offset: u64, len: u64) -> Result<Range<u64>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(offset..end),
            _ => Err(Error::OutOfBounds { offset, len, size: self.size }),
        }
    }

    /// The address of the first byte on the host, where the host can address the block.
    ///
    /// Whoever reads or writes through it keeps out of the way of the device and of other threads.
    pub(crate) fn mapped(&self) -> Option<NonNull<u8>> {
        self.parts().allocation.mapped_ptr().map(NonNull::cast)
    }

    #[inline]
    fn parts(&self) -> &Parts {
        self.parts.as_ref().expect("taken only by drop")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let parts = self.parts.take().expect("dropped once");
        if self.device().is_forked() {
            return mem::forget(parts); // They are the parent's.
        }
        let last_uses = self.device().retire_block(self.id);
        self.allocator.release(last_uses, parts);
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("size", &self.size).field("kind", &self.kind).finish_non_exhaustive()
    }
}
