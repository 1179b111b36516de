//! Semaphores that other devices, other processes and other APIs share, as opaque file descriptors.
//!
//! A driver exports timeline semaphores, or only binary ones, or none; [`External`](crate::External) says which.
//! Devices whose driver exports none are ordered by waits of the host. Streams signal and wait in `stream/external.rs`.
//! Semaphores are destroyed with the device, for the reason that `timeline.rs` gives.

use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use ash::khr::external_semaphore_fd;
use ash::prelude::VkResult;
use ash::vk;

use super::LogicalDevice;
use crate::error::{Error, Result};
use crate::instance::{External, HandleSupport};

const HANDLE: vk::ExternalSemaphoreHandleTypeFlags = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;

/// The kind of a semaphore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SemaphoreKind {
    /// A semaphore with a number that only grows. Each value is signalled once and may be waited for any number of
    /// times, by the host too.
    Timeline,
    /// A semaphore that is signalled or not. Each signal is waited for once, by the device.
    Binary,
}

/// A semaphore that is exported to, or imported from, another device, process or API.
///
/// The driver must be able to export the semaphore, as [`External::timeline_fd`](crate::External::timeline_fd) and
/// [`binary_fd`](crate::External::binary_fd) say. [`Stream::signal_external`](crate::Stream::signal_external) and
/// [`Stream::wait_external`](crate::Stream::wait_external) use the semaphore.
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
    /// Creates a semaphore that can be exported: a timeline semaphore at zero, or a binary semaphore that is not
    /// signalled.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the driver does not export semaphores of this kind, [`Error::DeviceLost`] if the device
    /// is lost, [`Error::Forked`] in a forked process.
    pub fn new(device: &Arc<LogicalDevice>, kind: SemaphoreKind) -> Result<Self> {
        check_support(device, kind, "exports", |support| support.exportable)?;
        let mut export = vk::ExportSemaphoreCreateInfo::default().handle_types(HANDLE);
        Self::create(device, kind, vk::SemaphoreCreateInfo::default().push_next(&mut export))
    }

    /// Imports a semaphore that another device of the same driver and hardware exported. Takes ownership of the
    /// descriptor.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the driver does not import semaphores of this kind, [`Error::Vulkan`] if it refuses
    /// this semaphore, [`Error::DeviceLost`] if the device is lost, [`Error::Forked`] in a forked process.
    ///
    /// # Safety
    ///
    /// The descriptor is of a semaphore of this kind, exported by a device with the same
    /// [`uuid`](crate::DeviceInfo::uuid) and [driver UUID](crate::DriverInfo::uuid).
    pub unsafe fn import_fd(device: &Arc<LogicalDevice>, kind: SemaphoreKind, fd: OwnedFd) -> Result<Self> {
        check_support(device, kind, "imports", |support| support.importable)?;
        let mut semaphore = Self::create(device, kind, vk::SemaphoreCreateInfo::default())?;
        semaphore.is_imported = true;
        let info = vk::ImportSemaphoreFdInfoKHR::default().semaphore(semaphore.raw).handle_type(HANDLE);
        // After success the driver owns the descriptor. After a refusal some drivers have closed it and others have
        // not, so it is not closed here.
        let info = info.fd(fd.into_raw_fd());
        // SAFETY: the semaphore is new and of the kind that the caller promises for the descriptor.
        unsafe { semaphore.calls.import_semaphore_fd(&info) }.map_err(device.failed("vkImportSemaphoreFdKHR"))?;
        Ok(semaphore)
    }

    fn create(device: &Arc<LogicalDevice>, kind: SemaphoreKind, info: vk::SemaphoreCreateInfo<'_>) -> Result<Self> {
        device.check_lost()?;
        let (_, of_vulkan, _) = facts(device, kind);
        let mut of_kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(of_vulkan);
        let info = info.push_next(&mut of_kind);
        // SAFETY: `info` is complete. The device has timeline semaphores enabled, and the caller has checked that it
        // has the extension for descriptors.
        let raw = unsafe { device.raw().create_semaphore(&info, None) }.map_err(device.failed("vkCreateSemaphore"))?;
        let calls = external_semaphore_fd::Device::new(device.physical().instance().raw(), device.raw());
        Ok(Self { raw, kind, is_imported: false, calls, device: Arc::clone(device) })
    }

    /// Makes a new descriptor of the semaphore with each call.
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the semaphore was imported, since only its exporter makes descriptors,
    /// [`Error::Vulkan`] if the process has too many descriptors, [`Error::DeviceLost`] if the device is lost,
    /// [`Error::Forked`] in a forked process.
    pub fn export_fd(&self) -> Result<OwnedFd> {
        self.device.check_lost()?;
        if self.is_imported {
            return Err(self.device.info().unsuitable("an imported semaphore is not exported again"));
        }
        let info = vk::SemaphoreGetFdInfoKHR::default().semaphore(self.raw).handle_type(HANDLE);
        // SAFETY: the semaphore is alive and exportable.
        let fd = unsafe { self.calls.get_semaphore_fd(&info) };
        // SAFETY: just made by the driver, which leaves it to the caller.
        unsafe { self.device.own_exported("vkGetSemaphoreFdKHR", fd) }
    }

    /// The kind of the semaphore.
    pub fn kind(&self) -> SemaphoreKind {
        self.kind
    }

    /// The handle of the semaphore, which lives until the device is closed.
    pub fn raw(&self) -> vk::Semaphore {
        self.raw
    }

    /// The device of the semaphore.
    pub fn device(&self) -> &Arc<LogicalDevice> {
        &self.device
    }
}

impl LogicalDevice {
    /// Owns the file descriptor that `call` returned.
    ///
    /// # Errors
    ///
    /// [`Error::Vulkan`] with the code of the call, or with `ERROR_TOO_MANY_OBJECTS` for a negative number: lavapipe
    /// (22.3) returns -1 and success where the process has no descriptors left. [`Error::DeviceLost`] if the device is
    /// lost.
    ///
    /// # Safety
    ///
    /// The call, if it succeeded, made the descriptor, and nothing else owns it.
    pub unsafe fn own_exported(&self, call: &'static str, fd: VkResult<RawFd>) -> Result<OwnedFd> {
        let fd = fd.and_then(|fd| if fd < 0 { Err(vk::Result::ERROR_TOO_MANY_OBJECTS) } else { Ok(fd) });
        let fd = fd.map_err(self.failed(call))?;
        // SAFETY: the caller promises that the call made the descriptor and that nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        if !self.device.is_forked() {
            self.device.retired.lock().push(self.raw);
        }
    }
}

crate::debug_fields!(ExternalSemaphore, this => raw: this.raw, kind: this.kind);

/// What the device does with descriptors of semaphores of this kind, Vulkan's name of the kind, and its name in messages.
fn facts(device: &LogicalDevice, kind: SemaphoreKind) -> (HandleSupport, vk::SemaphoreType, &'static str) {
    let External { timeline_fd, binary_fd, .. } = device.external();
    match kind {
        SemaphoreKind::Timeline => (timeline_fd, vk::SemaphoreType::TIMELINE, "timeline"),
        SemaphoreKind::Binary => (binary_fd, vk::SemaphoreType::BINARY, "binary"),
    }
}

/// Refuses a kind of semaphore that the device does not export or import, as `verb` says.
fn check_support(
    device: &LogicalDevice,
    kind: SemaphoreKind,
    verb: &str,
    is_supported: impl Fn(HandleSupport) -> bool,
) -> Result<()> {
    let (support, _, name) = facts(device, kind);
    if is_supported(support) {
        return Ok(());
    }
    let reason = format!("its driver {verb} no {name} semaphores as file descriptors");
    Err(Error::Unsuitable { device: device.info().name.clone(), reason })
}
