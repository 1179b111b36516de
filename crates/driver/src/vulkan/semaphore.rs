//! Semaphores that other devices, other processes and other APIs share, as opaque file descriptors.
//!
//! A timeline semaphore where the driver exports those, else a binary one; [`External`](crate::External) says which. A
//! driver that exports neither is ordered by host waits. Streams signal and wait in `stream/external.rs`. They are destroyed
//! with the device, for the reason that `timeline.rs` gives.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use ash::khr::external_semaphore_fd;
use ash::prelude::VkResult;
use ash::vk;

use super::LogicalDevice;
use crate::error::{Error, Result};
use crate::instance::HandleSupport;

const HANDLE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;

/// The kind of a semaphore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SemaphoreKind {
    /// A number that only grows: every value is signalled once and may be waited for any number of times, by the host too.
    Timeline,
    /// Signalled or not: each signal is waited for once, by the device.
    Binary,
}

/// A semaphore that is exported to, or imported from, another device, process or API.
///
/// The driver must export it: [`External::timeline_fd`](crate::External::timeline_fd) and
/// [`binary_fd`](crate::External::binary_fd). [`Stream::signal_external`](crate::Stream::signal_external) and
/// [`Stream::wait_external`](crate::Stream::wait_external) use it.
///
/// ```
/// use vkarray_driver::{Device, ExternalSemaphore, Instance, SemaphoreKind};
///
/// # fn main() -> vkarray_driver::Result<()> {
/// let device = Device::open_selected(&Instance::new()?, None)?;
/// if device.info().external.timeline_fd.exportable {
///     let semaphore = ExternalSemaphore::new(device.logical(), SemaphoreKind::Timeline)?;
///     let fd = semaphore.export_fd()?; // For another process.
/// # drop(fd);
/// }
/// # Ok(())
/// # }
/// ```
pub struct ExternalSemaphore {
    raw: vk::Semaphore,
    kind: SemaphoreKind,
    is_imported: bool,
    calls: external_semaphore_fd::Device,
    device: Arc<LogicalDevice>,
}

impl ExternalSemaphore {
    /// Creates a semaphore that can be exported: a timeline at zero, or a binary one that is not signalled.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the driver does not export such semaphores; [`Error::DeviceLost`], [`Error::Forked`].
    pub fn new(device: &Arc<LogicalDevice>, kind: SemaphoreKind) -> Result<Self> {
        if !support(device, kind).exportable {
            return Err(lacks(device, kind, "exports"));
        }
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(HANDLE);
        Self::create(device, kind, vk::SemaphoreCreateInfo::default().push_next(&mut export))
    }

    /// Imports a semaphore that another device of the same driver and hardware exported. Takes the descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the driver does not import such semaphores; [`Error::Vulkan`] if it refuses this one;
    /// [`Error::DeviceLost`], [`Error::Forked`].
    ///
    /// # Safety
    ///
    /// The descriptor is of a semaphore of this kind, exported by a device with the same
    /// [`uuid`](crate::DeviceInfo::uuid) and [driver UUID](crate::DriverInfo::uuid).
    pub unsafe fn import_fd(device: &Arc<LogicalDevice>, kind: SemaphoreKind, fd: OwnedFd) -> Result<Self> {
        if !support(device, kind).importable {
            return Err(lacks(device, kind, "imports"));
        }
        let mut semaphore = Self::create(device, kind, vk::SemaphoreCreateInfo::default())?;
        semaphore.is_imported = true;
        let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore.raw).handle_type(HANDLE);
        // The driver owns the descriptor after success. After a refusal some drivers have closed it and others not, so it is
        // not closed here.
        let info = info.fd(fd.into_raw_fd());
        // SAFETY: the semaphore is new and of the kind that the caller promises for the descriptor.
        unsafe { semaphore.calls.import_semaphore_fd(&info) }.map_err(device.failed("vkImportSemaphoreFdKHR"))?;
        Ok(semaphore)
    }

    fn create(device: &Arc<LogicalDevice>, kind: SemaphoreKind, info: vk::SemaphoreCreateInfo<'_>) -> Result<Self> {
        device.check_lost()?;
        let mut of_kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(raw_kind(kind));
        let info = info.push_next(&mut of_kind);
        // SAFETY: `info` is complete. A device has timeline semaphores enabled, and this one the extension for descriptors.
        let raw = unsafe { device.raw().create_semaphore(&info, None) }.map_err(device.failed("vkCreateSemaphore"))?;
        let calls = external_semaphore_fd::Device::new(device.physical().instance().raw(), device.raw());
        Ok(Self { raw, kind, is_imported: false, calls, device: Arc::clone(device) })
    }

    /// A new descriptor of the semaphore. Each call makes another.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if it was imported: its exporter makes descriptors. [`Error::Vulkan`] if the process has too many
    /// descriptors; [`Error::DeviceLost`], [`Error::Forked`].
    pub fn export_fd(&self) -> Result<OwnedFd> {
        self.device.check_lost()?;
        if self.is_imported {
            let (device, reason) = (self.device.info().name.clone(), "an imported semaphore is not exported again");
            return Err(Error::Unsuitable { device, reason: reason.to_owned() });
        }
        let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(self.raw).handle_type(HANDLE);
        // SAFETY: the semaphore is alive and exportable.
        let fd = unsafe { self.calls.get_semaphore_fd(&info) };
        // SAFETY: just made by the driver, which leaves it to the caller.
        unsafe { self.device.own_exported("vkGetSemaphoreFdKHR", fd) }
    }

    /// Its kind.
    pub fn kind(&self) -> SemaphoreKind {
        self.kind
    }

    /// The handle, which lives until the device is closed.
    pub fn raw(&self) -> vk::Semaphore {
        self.raw
    }

    /// The device.
    pub fn device(&self) -> &Arc<LogicalDevice> {
        &self.device
    }
}

impl LogicalDevice {
    /// Owns the file descriptor that `call` returned.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`] with the code of the call, or with `ERROR_TOO_MANY_OBJECTS` for a negative number: lavapipe (22.3)
    /// returns -1 and success where the process has no descriptors left. [`Error::DeviceLost`].
    ///
    /// # Safety
    ///
    /// The call, if it succeeded, made the descriptor, and nothing else owns it.
    pub unsafe fn own_exported(&self, call: &'static str, fd: VkResult<RawFd>) -> Result<OwnedFd> {
        let fd = fd.and_then(|fd| if fd < 0 { Err(vk::Result::ERROR_TOO_MANY_OBJECTS) } else { Ok(fd) });
        let fd = fd.map_err(self.failed(call))?;
        // SAFETY: the caller promises it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        if !self.device.is_forked() {
            self.device.retire_semaphore(self.raw);
        }
    }
}

crate::debug_fields!(ExternalSemaphore, this => raw: this.raw, kind: this.kind);

/// What the device does with descriptors of such semaphores.
fn support(device: &LogicalDevice, kind: SemaphoreKind) -> HandleSupport {
    match kind {
        SemaphoreKind::Timeline => device.external().timeline_fd,
        SemaphoreKind::Binary => device.external().binary_fd,
    }
}

fn raw_kind(kind: SemaphoreKind) -> vk::SemaphoreType {
    match kind {
        SemaphoreKind::Timeline => vk::SemaphoreType::TIMELINE,
        SemaphoreKind::Binary => vk::SemaphoreType::BINARY,
    }
}

fn lacks(device: &LogicalDevice, kind: SemaphoreKind, verb: &str) -> Error {
    let kind = match kind {
        SemaphoreKind::Timeline => "timeline",
        SemaphoreKind::Binary => "binary",
    };
    let reason = format!("its driver {verb} no {kind} semaphores as file descriptors");
    Error::Unsuitable { device: device.info().name.clone(), reason }
}
