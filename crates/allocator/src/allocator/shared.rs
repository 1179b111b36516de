//! Memory that other devices, processes and APIs share: allocation for export, export and import.
//!
//! This memory does not come from the manager, whose chunks hold other memory too. A manager whose memory can be shared
//! is asked for its handles. `vulkan/external.rs` calls the driver; `connection.rs` decides which device reaches which
//! memory.

#[cfg(unix)]
use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::lock::assert_none_held;

use super::{Allocator, Block};
use crate::error::{Error, Result};
use crate::manager::Request;
use crate::memory::MemoryPointer;
#[cfg(unix)]
use crate::memory::{ExportedMemory, IpcHandle};
use crate::vulkan::{ExternalMemory, external, is_import};

impl Allocator {
    /// Allocates memory as a request describes it, uninitialised.
    ///
    /// [Exportable](Request::exportable) memory is device memory in an allocation of its own, which takes the driver
    /// micro- to milliseconds. The host never addresses it: copies go through staging memory. It does not come from the
    /// manager, whose figures do not include it.
    ///
    /// ```
    /// use vkarray_allocator::{Allocator, MemoryKind, Request};
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let allocator = Allocator::new(&device)?;
    /// let exportable = device.external().memory_fd.exportable;
    /// let block = allocator.allocate_for(&Request::new(100, MemoryKind::Device).exportable(exportable))?;
    /// assert_eq!(block.is_exportable(), exportable);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for exportable memory of another kind than device memory, or where the driver exports
    /// none; and the errors of [`Allocator::allocate`].
    pub fn allocate_for(self: &Arc<Self>, request: &Request) -> Result<Arc<Block>> {
        if !request.exportable {
            return self.serve(request);
        }
        self.device().check_lost()?;
        let ask = || self.shared.external.allocate(request.size, request.kind);
        let memory = ask().or_else(|error| self.retry_outside(error, ask))?;
        Ok(Arc::new(Block::new(self, memory)))
    }

    /// Imports memory that a device of the same hardware and driver exported, in this process or another one.
    ///
    /// The block shares the bytes: nothing is copied. The library does not order the exporter's work and this device's;
    /// see [`ConnectionSync`](crate::ConnectionSync). The memory lives until both sides have dropped it. One
    /// [`ExportedMemory`] can be imported any number of times.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignMemory`], [`Error::DescriptionMismatch`], [`Error::Unsupported`]; [`Error::OutOfMemory`]; and
    /// the errors of the driver if it refuses the descriptor.
    #[cfg(unix)]
    #[doc(alias = "vkImportMemoryFdInfoKHR")]
    pub fn import(self: &Arc<Self>, memory: &ExportedMemory) -> Result<Arc<Block>> {
        self.device().check_lost()?;
        let ask = || self.shared.external.import(memory);
        let imported = ask().or_else(|error| self.retry_outside(error, ask))?;
        Ok(Arc::new(Block::new(self, imported)))
    }

    /// The memory that other devices share with this one.
    #[cfg(unix)]
    pub(crate) fn external(&self) -> &ExternalMemory {
        &self.shared.external
    }

    /// Gives memory back to its source: the external memory of this allocator, or the manager.
    ///
    /// # Safety
    ///
    /// The obligations of [`MemoryManager::memfree`](crate::MemoryManager::memfree), for memory of this allocator.
    #[inline]
    pub(super) unsafe fn give_back(&self, memory: MemoryPointer) {
        assert_none_held("a memory manager");
        // Pointers without an owner, nearly all of them, belong to the manager.
        let managed = if memory.owner().is_none() { Some(memory) } else { self.shared.external.end(memory) };
        if let Some(memory) = managed {
            // SAFETY: the caller keeps the same contract, and memory that is not external came from the manager.
            unsafe { self.manager().memfree(memory) };
        }
    }
}

impl Block {
    /// Whether the block was allocated to be exported.
    pub fn is_exportable(&self) -> bool {
        external::is_exportable(self.memory())
    }

    /// A descriptor of the whole block, for another device, process or API. Each call makes a new descriptor.
    ///
    /// Everyone who gets the descriptor can read and write all bytes of the block.
    ///
    /// # Errors
    ///
    /// [`Error::NotExportable`], [`Error::DeadMemory`]; and the errors of the driver if the process has too many
    /// descriptors.
    #[cfg(unix)]
    #[doc(alias = "vkGetMemoryFdKHR")]
    pub fn export(&self) -> Result<ExportedMemory> {
        self.check_alive()?;
        self.device().check_lost()?;
        self.allocator().shared.external.export(self.memory())
    }

    /// Names the bytes `range` of the block for another process.
    ///
    /// The manager of the memory is asked, which may name a part of larger memory: the receiver gets all of the larger
    /// memory. Exportable memory belongs to no manager, and names itself.
    ///
    /// ```
    /// use vkarray_allocator::{Allocator, MemoryKind, Request};
    /// use vkarray_driver::{Device, Instance};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let allocator = Allocator::new(&device)?;
    /// if device.external().memory_fd.exportable {
    ///     let block = allocator.allocate_for(&Request::new(64, MemoryKind::Device).exportable(true))?;
    ///     let handle = block.get_ipc_handle(16..64, true)?;
    ///     assert_eq!((handle.offset(), handle.size(), handle.is_read_only()), (16, 48, true));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotExportable`] where the manager names no memory; [`Error::OutOfBounds`], also if the manager's handle
    /// has fewer bytes than the block; [`Error::ReversedRange`], [`Error::DeadMemory`]; and the errors of
    /// [`Block::export`] and of [`MemoryManager::get_ipc_handle`](crate::MemoryManager::get_ipc_handle).
    #[cfg(unix)]
    pub fn get_ipc_handle(&self, range: Range<u64>, read_only: bool) -> Result<IpcHandle> {
        self.check_bytes(&range)?;
        if self.is_exportable() {
            return IpcHandle::new(self.export()?, range, read_only);
        }
        self.device().check_lost()?;
        assert_none_held("a memory manager");
        let named = self.allocator().manager().get_ipc_handle(self.memory()).map_err(|error| match error {
            Error::Unsupported { .. } => Error::NotExportable { size: self.size(), kind: self.kind() },
            error => error,
        })?;
        named.part(&range, read_only)
    }

    /// Address and size of the program's memory, if the block is an import of such memory.
    pub(super) fn imported_from_host(&self) -> Option<(usize, u64)> {
        let address = self.mapped().filter(|_| is_import(self.memory()))?;
        Some((address.addr().get(), self.size()))
    }
}
