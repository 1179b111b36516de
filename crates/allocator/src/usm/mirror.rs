//! The stand-in for shared memory where a device has none: one allocation on each side, and copies between them.
//!
//! Nothing is shared, and the name says so. Programs ask for it; nobody gets it instead of
//! [`SharedMemory`](super::SharedMemory).

use std::sync::atomic::{AtomicBool, Ordering};

use super::{DeviceMemory, HostMemory, MemoryContext};
use crate::error::Result;

/// Device memory and a copy of it on the host, which are made equal when one of them is asked for.
///
/// Whole, not page by page: [`MirroredMemory::read`] and [`MirroredMemory::write`] cost a copy over the bus where the
/// device side may have changed.
#[derive(Debug)]
pub struct MirroredMemory {
    device: DeviceMemory,
    host: HostMemory,
    /// Whether the device side may differ from the host's: somebody was given it.
    may_differ: AtomicBool,
}

impl MirroredMemory {
    /// Allocates `nbytes` bytes on each side, uninitialised.
    ///
    /// # Errors
    ///
    /// As [`DeviceMemory::new`].
    pub fn new(context: &impl MemoryContext, nbytes: u64) -> Result<Self> {
        let (device, host) = (DeviceMemory::new(context, nbytes)?, HostMemory::new(context, nbytes)?);
        Ok(Self { device, host, may_differ: AtomicBool::new(true) })
    }

    /// How many bytes there are, on each side.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.device.nbytes()
    }

    /// The device's side, for work of the device. From here on the host's side is behind, until it is asked for.
    ///
    /// Who keeps this and uses it later is not noticed: ask again before each use.
    #[must_use]
    pub fn device(&self) -> &DeviceMemory {
        self.may_differ.store(true, Ordering::Release);
        &self.device
    }

    /// Shows the bytes to `look`, brought from the device if they may have changed there. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// Those of copying and waiting.
    pub fn read<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.bring()?;
        self.host.read(look)
    }

    /// Shows the bytes to `change`, as [`MirroredMemory::read`] does, and sends them to the device afterwards.
    ///
    /// # Errors
    ///
    /// Those of copying and waiting.
    pub fn write<R>(&self, change: impl FnOnce(&mut [u8]) -> R) -> Result<R> {
        self.bring()?;
        let changed = self.host.write(change)?;
        self.device.copy_from_device(&self.host)?;
        Ok(changed)
    }

    fn bring(&self) -> Result<()> {
        if self.may_differ.swap(false, Ordering::AcqRel) {
            let brought = self.host.copy_from_device(&self.device);
            self.may_differ.fetch_or(brought.is_err(), Ordering::AcqRel);
            brought?;
        }
        Ok(())
    }
}
