//! [`MemoryPointer`]: the memory that a manager gives out: bytes of a buffer, and the work that may still use them.
//!
//! Pointers are plain values: a manager makes one, a [`Block`](crate::Block) has it, and it goes back to the manager
//! when the block is dropped. The names are numba's, where a pointer frees itself.
//!
//! A pointer may be changed in safe code, since it does nothing by itself. A manager that gives a pointer out makes the
//! promises of [`MemoryManager`](crate::MemoryManager), an unsafe trait; a caller that gives one back makes the
//! promises of `memfree`, an unsafe function.

use std::any::Any;
use std::ptr::NonNull;

use ash::vk;
use vkarray_driver::hazard::{LastUse, LastUses};

use crate::kind::MemoryKind;
use crate::memory::Mapping;
use crate::pending::PendingUses;

/// An object that must live as long as the memory, such as the array that was pinned.
pub type Owner = Box<dyn Any + Send + Sync>;

/// Memory that a device addresses, from [`MemoryManager::memalloc`](crate::MemoryManager::memalloc).
#[derive(Debug)]
#[must_use = "memory that is not given back is leaked"]
pub struct MemoryPointer {
    buffer: vk::Buffer,
    offset: u64,
    size: u64,
    kind: MemoryKind,
    is_addressable: bool,
    mapping: Option<Mapping>,
    tag: u64,
    last_uses: PendingUses,
    /// Boxed once more, so that the common pointer without an owner stays small.
    owner: Option<Box<Owner>>,
}

impl MemoryPointer {
    /// Describes the bytes `offset..offset + size` of `buffer`.
    ///
    /// # Safety
    ///
    /// The buffer is of the device that the manager was initialised for, can be a storage, uniform and indirect buffer
    /// and either side of a copy, is bound to memory of that kind, and is shared by the families of the device's plan.
    /// The bytes from `offset`, a multiple of 256, to `offset + size` rounded up to 16 lie in the buffer, belong to
    /// no other memory, and stay alive until the manager's `memfree` got the pointer back and its last uses are over.
    pub unsafe fn new(buffer: vk::Buffer, offset: u64, size: u64, kind: MemoryKind) -> Self {
        Self {
            buffer,
            offset,
            size,
            kind,
            is_addressable: false,
            mapping: None,
            tag: 0,
            last_uses: PendingUses::default(),
            owner: None,
        }
    }

    /// Sets the host's address of the first byte.
    ///
    /// # Safety
    ///
    /// The address is the address of the first byte. It is a multiple of 16 unless the memory is imported from the
    /// program, and the memory stays mapped as long as it is alive. It is coherent, unless the mapping says that it is
    /// not.
    pub unsafe fn with_mapping(mut self, mapping: impl Into<Mapping>) -> Self {
        self.mapping = Some(mapping.into());
        self
    }

    /// Says that the bytes have an address on the device, so that kernels may reach them by it.
    ///
    /// # Safety
    ///
    /// If the device's plan has the feature `buffer_device_address`, the buffer was made with
    /// `VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT`, and its memory with `VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT`.
    #[inline]
    pub unsafe fn with_device_address(mut self) -> Self {
        self.is_addressable = true;
        self
    }

    /// Sets a number by which the manager finds the memory when it comes back.
    pub fn with_tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }

    /// Adds work that may still use the bytes. The next work on the bytes is ordered after it, and the host waits for
    /// it before it writes: host memory is better given out without such work.
    pub fn after(mut self, last_uses: LastUses) -> Self {
        self.last_uses.set(last_uses);
        self
    }

    #[inline]
    pub(crate) fn carrying(self, last_uses: PendingUses) -> Self {
        Self { last_uses, ..self }
    }

    /// Adds an object that is dropped with the pointer.
    #[doc(alias = "finalizer")]
    pub fn with_owner(mut self, owner: Owner) -> Self {
        self.owner = Some(Box::new(owner));
        self
    }

    /// The buffer that the bytes lie in.
    #[inline]
    pub fn buffer(&self) -> vk::Buffer {
        self.buffer
    }

    /// The position of the first byte in the buffer.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes, as requested.
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The kind of memory.
    #[inline]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// Whether the bytes have an address on a device that has the feature.
    #[inline]
    pub fn is_addressable(&self) -> bool {
        self.is_addressable
    }

    /// The first byte's address on the host, where the host addresses the memory.
    #[must_use]
    #[inline]
    pub fn mapped(&self) -> Option<NonNull<u8>> {
        self.mapping.map(|mapping| mapping.address())
    }

    /// How the host addresses the memory, where it does.
    #[inline]
    pub fn mapping(&self) -> Option<Mapping> {
        self.mapping
    }

    /// The number that the manager has set.
    #[inline]
    pub fn tag(&self) -> u64 {
        self.tag
    }

    /// The object that must live as long as the memory.
    pub fn owner(&self) -> Option<&Owner> {
        self.owner.as_deref()
    }

    /// Work that may still use the bytes: work of earlier blocks when the manager gives the bytes out, and also work of
    /// the last block when they come back.
    #[inline]
    pub fn last_uses(&self) -> &[LastUse] {
        &self.last_uses
    }

    /// Memory of this pointer that the host cannot address any more, so that no guard refers to its bytes.
    pub(crate) fn without_mapping(self) -> Self {
        Self { mapping: None, ..self }
    }

    /// Removes the last uses, for the next pointer to the same bytes; see [`MemoryPointer::after`]. A pointer without
    /// last uses may be given out or back only when they are over.
    #[must_use]
    pub fn take_last_uses(&mut self) -> LastUses {
        self.last_uses.take()
    }

    #[inline]
    pub(crate) fn last_uses_mut(&mut self) -> &mut PendingUses {
        &mut self.last_uses
    }
}

/// Host memory, from [`MemoryManager::memhostalloc`](crate::MemoryManager::memhostalloc) or
/// [`MemoryManager::mempin`](crate::MemoryManager::mempin): memory that the device copies from and to, and that kernels
/// may address too.
#[doc(alias = "MappedMemory")]
#[doc(alias = "PinnedMemory")]
#[derive(Debug)]
#[must_use = "memory that is not given back is leaked"]
pub struct HostPointer {
    pointer: MemoryPointer,
    is_mapped: bool,
}

impl AsRef<MemoryPointer> for MemoryPointer {
    fn as_ref(&self) -> &MemoryPointer {
        self
    }
}

impl AsRef<MemoryPointer> for HostPointer {
    fn as_ref(&self) -> &MemoryPointer {
        &self.pointer
    }
}

impl HostPointer {
    /// Describes host memory, which kernels address or not.
    ///
    /// # Errors
    ///
    /// The pointer, if it has no mapping.
    pub fn new(pointer: MemoryPointer, mapped: bool) -> Result<Self, MemoryPointer> {
        if pointer.mapping.is_some() { Ok(Self { pointer, is_mapped: mapped }) } else { Err(pointer) }
    }

    /// Whether kernels address the memory.
    pub fn is_mapped(&self) -> bool {
        self.is_mapped
    }

    /// The pointer.
    pub fn into_pointer(self) -> MemoryPointer {
        self.pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_stays_small() {
        // The size matters because a pointer is moved several times during an allocation and a free.
        assert!(size_of::<MemoryPointer>() <= 80, "{} bytes", size_of::<MemoryPointer>());
        assert_eq!(size_of::<Option<MemoryPointer>>(), size_of::<MemoryPointer>());
    }
}
