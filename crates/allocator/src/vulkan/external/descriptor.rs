//! File descriptors of memory: an export makes them, an import takes them.

use std::fs::{File, FileType};
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

use ash::khr::external_memory_fd;
use ash::vk;
use vkarray_driver::DeviceType;

use super::{Dedicated, ExternalMemory, HANDLE, dedicated};
use crate::error::{Error, Result};
use crate::memory::{ExportedMemory, MemoryDescription, MemoryPointer};

impl ExternalMemory {
    /// A new descriptor of memory that was allocated for it.
    pub(crate) fn export(&self, memory: &MemoryPointer) -> Result<ExportedMemory> {
        let refused = || Error::NotExportable { size: memory.size(), kind: memory.kind() };
        let Dedicated { memory, description, .. } =
            dedicated(memory).filter(|dedicated| !dedicated.is_imported).ok_or_else(refused)?;
        let info = vk::MemoryGetFdInfoKHR::default().memory(memory.raw()).handle_type(HANDLE);
        let calls = external_memory_fd::Device::new(self.device.physical().instance().raw(), self.device.raw());
        // SAFETY: the memory is alive, and was allocated for descriptors of this type.
        let fd = unsafe { calls.get_memory_fd(&info) };
        // SAFETY: the driver made the descriptor just now, and leaves it to the caller.
        let fd = unsafe { self.device.own_exported("vkGetMemoryFdKHR", fd) }?;
        // SAFETY: the description was made together with the memory, and describes it.
        Ok(unsafe { ExportedMemory::new(fd, description.clone()) })
    }

    /// Imports memory that a device of the same hardware and driver exported. The descriptor is duplicated.
    pub(crate) fn import(&self, exported: &ExportedMemory) -> Result<MemoryPointer> {
        let description = exported.description();
        if !self.device.external().memory_fd.importable {
            return Err(Error::Unsupported { what: "importing memory of a file descriptor" });
        }
        let file = self.device_file(description, exported.fd()?)?;
        let (buffer, needed) = self.buffer(description.size)?;
        check_description(description, &needed)?;
        let metadata = file.metadata().map_err(Error::Descriptor)?;
        // The memory of some drivers is a regular file, whose size shows whether it was truncated.
        if metadata.is_file() && metadata.len() < needed.size {
            return Err(mismatch("the size of the file", metadata.len(), needed.size));
        }
        // The driver owns the descriptor after success. A driver that refuses it should leave it to the caller, but
        // lavapipe (22.3, 25) and SwiftShader have closed it by then. Another thread may have the number, so it is not
        // closed here: it may leak.
        let fd = file.into_raw_fd();
        let mut import = vk::ImportMemoryFdInfoKHR::default().handle_type(HANDLE).fd(fd);
        let info = vk::MemoryAllocateInfo::default().push_next(&mut import);
        // SAFETY: the description was compared with the buffer's requirements. By the contract of `ExportedMemory`, the
        // descriptor is of memory with this description.
        unsafe { self.bind(buffer, info, description.clone(), true) }
    }

    /// The file of memory, or of a semaphore, that a device of the same hardware and driver as this one exported.
    pub(crate) fn device_file(&self, exporter: &MemoryDescription, fd: OwnedFd) -> Result<File> {
        let info = self.device.info();
        check_uuid("the device", &exporter.device_uuid, &info.uuid)?;
        check_uuid("the driver", &exporter.driver_uuid, &info.driver.uuid)?;
        let file = File::from(fd);
        let file_type = file.metadata().map_err(Error::Descriptor)?.file_type();
        if !may_be_of_driver(file_type, info.device_type == DeviceType::Cpu) {
            let reason = io::Error::new(io::ErrorKind::InvalidInput, "its file is not of a driver");
            return Err(Error::Descriptor(reason));
        }
        Ok(file)
    }
}

fn check_uuid(what: &'static str, exporter: &str, importer: &str) -> Result<()> {
    if exporter == importer {
        return Ok(());
    }
    Err(Error::ForeignMemory { exporter: exporter.to_owned(), importer: importer.to_owned(), what })
}

/// Checks that memory of this description meets the requirements of a buffer of its size.
fn check_description(description: &MemoryDescription, needed: &vk::MemoryRequirements) -> Result<()> {
    if description.allocation_size != needed.size {
        return Err(mismatch("the size of the allocation", description.allocation_size, needed.size));
    }
    let is_admitted = description.memory_type < 32 && needed.memory_type_bits & (1 << description.memory_type) != 0;
    if !is_admitted {
        let first = needed.memory_type_bits.trailing_zeros();
        return Err(mismatch("the memory type", description.memory_type.into(), first.into()));
    }
    Ok(())
}

/// Whether a driver may have exported a file of this type. A driver would wait for the other end of a pipe or a socket. CPU
/// drivers export regular files; others export device files and files without a type too.
fn may_be_of_driver(file: FileType, is_cpu: bool) -> bool {
    let is_stream = file.is_fifo() || file.is_socket();
    file.is_file() || !(is_cpu || is_stream || file.is_dir() || file.is_block_device())
}

fn mismatch(what: &'static str, given: u64, expected: u64) -> Error {
    Error::DescriptionMismatch { what, given, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_are_read_at_once_may_be_of_driver() {
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let (pipe, _writer) = io::pipe().unwrap();
        let file_type = |fd: std::os::fd::OwnedFd| File::from(fd).metadata().unwrap().file_type();
        let opened = |path: &str| file_type(File::open(path).unwrap().into());
        // The file, and whether it may be a CPU driver's and another driver's.
        let cases = [
            (file_type(tempfile::tempfile().unwrap().into()), [true, true]),
            (opened("/dev/null"), [false, true]),
            (opened("/"), [false, false]),
            (file_type(pipe.into()), [false, false]),
            (file_type(socket.into()), [false, false]),
        ];
        for (file, expected) in cases {
            assert_eq!([true, false].map(|is_cpu| may_be_of_driver(file, is_cpu)), expected, "{file:?}");
        }
    }

    #[test]
    fn a_description_that_does_not_fit_is_refused() {
        let needed = vk::MemoryRequirements { size: 4096, alignment: 16, memory_type_bits: 0b0110 };
        let description = |allocation_size, memory_type| MemoryDescription {
            device_uuid: String::new(),
            driver_uuid: String::new(),
            size: 4000,
            allocation_size,
            memory_type,
        };
        // The bytes of the allocation, the memory type, and the part that does not fit.
        let cases = [
            (4096, 1, None),
            (4096, 2, None),
            (4096, 0, Some("the memory type is 0, and 1 is needed")),
            (4096, 3, Some("the memory type is 3, and 1 is needed")),
            (4096, 64, Some("the memory type is 64, and 1 is needed")), // Beyond the bits of the mask.
            (4095, 1, Some("the size of the allocation is 4095, and 4096 is needed")),
            (8192, 1, Some("the size of the allocation is 8192, and 4096 is needed")),
        ];
        for (allocation_size, memory_type, expected) in cases {
            let refused = check_description(&description(allocation_size, memory_type), &needed).err();
            let text = refused.map(|error| error.to_string());
            let expected = expected.map(|what| format!("the description of exported memory does not fit: {what}"));
            assert_eq!(text, expected, "{allocation_size}, {memory_type}");
        }
    }
}
