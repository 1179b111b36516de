//! Memory that other devices, processes and APIs share, as opaque file descriptors (`VK_KHR_external_memory_fd`).
//!
//! Each piece is a dedicated allocation with one buffer, so that an export shares nothing else and the importer's
//! kernels stay fast. The resulting pointer owns both. The host never addresses such memory: another process may write
//! it at any time, which a Rust reference would not survive. Copies therefore go through staging memory.

#[cfg(unix)]
mod descriptor;

use std::mem;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::{Device, Owned};

use super::chunk::{buffer_size, create_buffer, memory_of};
use crate::error::{Error, OutOfMemory, Result, Shortage};
use crate::kind::{MemoryKind, memory_types};
use crate::memory::{MemoryDescription, MemoryPointer};
use crate::pending::PendingQueue;

const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

/// The exportable and imported memory of one device.
pub(crate) struct ExternalMemory {
    pub(crate) pending: PendingQueue<MemoryPointer>,
    device: Arc<Device>,
}

/// The objects that a pointer to such memory owns, in the order of the drops.
struct Dedicated {
    _buffer: Owned<vk::Buffer>,
    memory: Owned<vk::DeviceMemory>,
    description: MemoryDescription,
    is_imported: bool,
}

impl ExternalMemory {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        Self { pending: PendingQueue::new(device), device: Arc::clone(device) }
    }

    /// Allocates device memory that can be exported.
    pub(crate) fn allocate(&self, size: u64, kind: MemoryKind) -> Result<MemoryPointer> {
        if kind != MemoryKind::Device {
            return Err(Error::Unsupported { what: "exporting memory that the host addresses" });
        }
        if !self.device.external().memory_fd.exportable {
            return Err(Error::Unsupported { what: "exporting memory as a file descriptor" });
        }
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE);
        let (buffer, requirements) = self.buffer(size)?;
        let (info, admitted) = (self.device.info(), requirements.memory_type_bits);
        // The host does not address the memory, so a type that the host cannot address is preferred.
        let unseen = MemoryKind::Device.memory_type(info, admitted & !memory_types(info, |kind| kind.host_visible));
        let memory_type =
            unseen.or_else(|| MemoryKind::Device.memory_type(info, admitted)).ok_or(Error::NoSuchMemory { kind })?;
        let (device_uuid, driver_uuid) = (info.uuid.clone(), info.driver.uuid.clone());
        let allocation_size = requirements.size;
        let description = MemoryDescription { device_uuid, driver_uuid, size, allocation_size, memory_type };
        let info = vk::MemoryAllocateInfo::default().push_next(&mut export);
        // SAFETY: the description has the size and a type of the buffer's requirements, and no descriptor is imported.
        unsafe { self.bind(buffer, info, description, false) }
    }

    /// A buffer of `size` bytes for memory of descriptors, and the buffer's requirements.
    fn buffer(&self, size: u64) -> Result<(Owned<vk::Buffer>, vk::MemoryRequirements)> {
        let rounded = buffer_size(&self.device, size)?;
        let buffer =
            create_buffer(&self.device, rounded, Some(HANDLE)).map_err(self.device.failed("vkCreateBuffer"))?;
        // SAFETY: the buffer is alive and of this device.
        let requirements = unsafe { self.device.raw().get_buffer_memory_requirements(buffer.raw()) };
        Ok((buffer, requirements))
    }

    /// Memory that `info` and `description` describe, for that buffer alone, and the pointer that owns both.
    ///
    /// # Safety
    ///
    /// The description is what the buffer requires. A descriptor in `info` is of such memory.
    unsafe fn bind(
        &self,
        buffer: Owned<vk::Buffer>,
        info: vk::MemoryAllocateInfo<'_>,
        description: MemoryDescription,
        is_imported: bool,
    ) -> Result<MemoryPointer> {
        let (raw, size) = (buffer.raw(), description.size);
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(raw);
        let info = info
            .allocation_size(description.allocation_size)
            .memory_type_index(description.memory_type)
            .push_next(&mut dedicated);
        // SAFETY: the caller promises the size and the type, and the descriptor.
        let memory = unsafe { memory_of(&self.device, &buffer, &info, |code| self.refused(code, size)) }?;
        let owner = Dedicated { _buffer: buffer, memory, description, is_imported };
        // SAFETY: the buffer has the properties that a pointer requires, and at least `size` bytes rounded up to 16.
        // The pointer owns the buffer, and goes back to `end`, which keeps it until its last uses are over.
        Ok(unsafe { MemoryPointer::new(raw, 0, size, MemoryKind::Device) }.with_owner(Box::new(owner)))
    }

    fn refused(&self, code: vk::Result, bytes: u64) -> Error {
        match Shortage::of_code(code) {
            Some(shortage) => Error::OutOfMemory(Box::new(OutOfMemory::new(bytes, MemoryKind::Device, shortage))),
            None => self.device.failed("vkAllocateMemory")(code).into(),
        }
    }

    /// Frees the memory, at once if its last uses are over. Returns memory that is not external.
    pub(crate) fn end(&self, mut memory: MemoryPointer) -> Option<MemoryPointer> {
        if dedicated(&memory).is_none() {
            return Some(memory);
        }
        let (uses, bytes) = (mem::take(memory.last_uses_mut()), memory.size());
        self.pending.free_or_push(uses, bytes, memory);
        None
    }
}

/// Whether the memory can be exported.
pub(crate) fn is_exportable(memory: &MemoryPointer) -> bool {
    dedicated(memory).is_some_and(|dedicated| !dedicated.is_imported)
}

fn dedicated(memory: &MemoryPointer) -> Option<&Dedicated> {
    memory.owner().and_then(|owner| (**owner).downcast_ref::<Dedicated>())
}

vkarray_driver::debug_fields!(ExternalMemory, this => pending: this.pending);
