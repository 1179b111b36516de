//! Memory on its way to another device, process or API: a file descriptor with a description.
//!
//! The values are plain: `vulkan/external/` makes and takes descriptors, and `interop/ipc.rs` passes them between
//! processes.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process;

use vkarray_driver::{Error as DriverError, ExternalSemaphore, SemaphoreKind};

use super::MemoryDescription;
use crate::error::{Error, Result, check_inside};

/// Memory on its way to another device, process or API: a file descriptor, and the data that the importer needs.
///
/// The memory lives as long as any descriptor or import of it, also when the exporter is gone. The library does not
/// order the two sides' work: see [`ConnectionSync`](crate::ConnectionSync). Dropping the value closes its descriptor.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind, Request};
/// use vkarray_driver::{Device, Instance, Stream};
///
/// # fn main() -> anyhow::Result<()> {
/// let instance = Instance::new()?;
/// let open = || Device::open_selected(&instance, None);
/// let (device, other) = (open()?, open()?); // The same hardware, opened twice.
/// let (stream, other_stream) = (Stream::new(&device)?, Stream::new(&other)?);
/// if device.external().memory_fd.exportable && other.external().memory_fd.importable {
///     let request = Request::new(64, MemoryKind::Device).exportable(true);
///     let block = Allocator::new(&device)?.allocate_for(&request)?;
///     let imported = Allocator::new(&other)?.import(&block.export()?)?;
///     block.fill(&stream, 7)?;
///     stream.synchronize()?; // The host waits, and so orders the two devices.
///     let mut bytes = [0; 4];
///     imported.copy_to_host(&other_stream, 0, &mut bytes)?;
///     assert_eq!(u32::from_ne_bytes(bytes), 7);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ExportedMemory {
    fd: OwnedFd,
    description: MemoryDescription,
}

impl ExportedMemory {
    /// Describes memory that was exported elsewhere, for example by another process or API.
    ///
    /// # Safety
    ///
    /// The descriptor is an opaque one (`VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT`) of a dedicated allocation of the
    /// device and driver with these UUIDs, with that size and memory type. NVIDIA's driver (580) refuses another descriptor,
    /// and shares no more memory in the process from then on.
    #[must_use]
    pub unsafe fn new(fd: OwnedFd, description: MemoryDescription) -> Self {
        Self { fd, description }
    }

    /// The data that an importer needs.
    pub fn description(&self) -> &MemoryDescription {
        &self.description
    }

    /// A duplicate of the descriptor, for an importer that takes it, such as `cuImportExternalMemory`.
    ///
    /// # Errors
    ///
    /// [`Error::Descriptor`] if the process has too many descriptors.
    pub fn fd(&self) -> Result<OwnedFd> {
        self.fd.try_clone().map_err(Error::Descriptor)
    }
}

impl AsFd for ExportedMemory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Bytes of exported memory, for another process: numba's IPC handle.
///
/// Another process gets it over a Unix socket: [`IpcHandle::send`], [`IpcHandle::receive`]. Each process that has the
/// handle shares the whole block, although the handle names some of its bytes.
#[derive(Debug)]
pub struct IpcHandle {
    pub(crate) memory: ExportedMemory,
    /// The bytes that the handle names, which lie in the memory's block.
    pub(crate) range: Range<u64>,
    pub(crate) exporter: u32,
    pub(crate) is_read_only: bool,
    /// The descriptor of the timeline semaphore, if one is sent with the memory.
    pub(crate) timeline: Option<OwnedFd>,
}

impl IpcHandle {
    /// Names the bytes `range` of exported memory. A receiver that keeps to the library's rules does not write
    /// `read_only` memory; other code of the receiver can write it.
    ///
    /// # Errors
    ///
    /// [`Error::ReversedRange`], [`Error::OutOfBounds`].
    pub fn new(memory: ExportedMemory, range: Range<u64>, read_only: bool) -> Result<Self> {
        check_inside(&range, memory.description().size)?;
        Ok(Self { memory, range, exporter: process::id(), is_read_only: read_only, timeline: None })
    }

    /// Sends a timeline semaphore with the memory, so that the two processes' devices wait for each other.
    ///
    /// The receiver opens it with [`Allocator::open_ipc_timeline`](crate::Allocator::open_ipc_timeline). Messages
    /// between the processes say which value is signalled next, and that a process ended or lost its device.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for a binary semaphore; [`Error::Driver`] with
    /// [`DifferentDevices`](DriverError::DifferentDevices) for a semaphore of other hardware or another driver than the
    /// memory's, and with the errors of [`ExternalSemaphore::export_fd`].
    pub fn with_timeline(mut self, timeline: &ExternalSemaphore) -> Result<Self> {
        if timeline.kind() != SemaphoreKind::Timeline {
            return Err(Error::Unsupported { what: "a binary semaphore in a handle for another process" });
        }
        let (info, memory) = (timeline.device().info(), self.memory.description());
        if (&info.uuid, &info.driver.uuid) != (&memory.device_uuid, &memory.driver_uuid) {
            return Err(DriverError::DifferentDevices.into());
        }
        self.timeline = Some(timeline.export_fd()?);
        Ok(self)
    }

    /// Names only the bytes `part` of the handle's bytes.
    pub(crate) fn part(mut self, part: &Range<u64>, read_only: bool) -> Result<Self> {
        check_inside(part, self.size())?;
        self.range = self.range.start + part.start..self.range.start + part.end;
        self.is_read_only |= read_only;
        Ok(self)
    }

    /// The memory that the handle's bytes lie in.
    pub fn memory(&self) -> &ExportedMemory {
        &self.memory
    }

    /// The number of bytes that the handle names.
    pub fn size(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The position of the handle's first byte in the block.
    pub fn offset(&self) -> u64 {
        self.range.start
    }

    /// The process that made the handle.
    pub fn exporter(&self) -> u32 {
        self.exporter
    }

    /// Whether the handle's receiver may not write.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}
