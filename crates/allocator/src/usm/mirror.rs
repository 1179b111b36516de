//! A substitute for shared memory on devices without it: one allocation on each side, and copies between them.
//!
//! Nothing is shared, and a program has to ask for it by name: it is never given out as
//! [`SharedMemory`](super::SharedMemory).

use std::sync::atomic::{AtomicBool, Ordering};

use super::{DeviceMemory, HostMemory, MemoryContext};
use crate::error::Result;

/// Device memory and a copy of it on the host, which is updated when it is read.
///
/// The copies are of the whole memory: [`MirroredMemory::read`] and [`MirroredMemory::write`] cost one over the bus if the
/// device side may have changed.
///
/// ```
/// use vkarray_allocator::{Allocator, MirroredMemory};
/// use vkarray_driver::{Device, Instance, Stream};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let context = (Allocator::new(&device)?, Stream::new(&device)?);
/// let memory = MirroredMemory::new(&context, 4)?;
/// memory.write(|bytes| bytes.copy_from_slice(&[1, 2, 3, 4]))?;
/// memory.device().view(0..2)?.memset(9)?; // Work of the device.
/// assert_eq!(memory.read(<[u8]>::to_vec)?, [9, 9, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MirroredMemory {
    device: DeviceMemory,
    host: HostMemory,
    /// Whether the device side may differ from the host's.
    may_differ: AtomicBool,
}

impl MirroredMemory {
    /// Allocates `nbytes` bytes on each side, uninitialised.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceMemory::new`].
    pub fn new(context: &impl MemoryContext, nbytes: u64) -> Result<Self> {
        let (device, host) = (DeviceMemory::new(context, nbytes)?, HostMemory::new(context, nbytes)?);
        Ok(Self { device, host, may_differ: AtomicBool::new(true) })
    }

    /// The number of bytes on each side.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.device.nbytes()
    }

    /// The device's side, for work of the device. The next read or write on the host copies it first.
    ///
    /// Call this again before each use: a later use of a kept reference is not noticed.
    #[must_use]
    pub fn device(&self) -> &DeviceMemory {
        self.may_differ.store(true, Ordering::Release);
        &self.device
    }

    /// Calls `read` with the bytes, copied from the device if they may have changed there. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// Those of copying and waiting.
    pub fn read<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.update_host()?;
        self.host.read(read)
    }

    /// Calls `write` with the bytes, as [`MirroredMemory::read`] does, and copies them to the device afterwards.
    ///
    /// # Errors
    ///
    /// Those of copying and waiting.
    pub fn write<R>(&self, write: impl FnOnce(&mut [u8]) -> R) -> Result<R> {
        self.update_host()?;
        let value = self.host.write(write)?;
        self.device.copy_from_device(&self.host)?;
        Ok(value)
    }

    fn update_host(&self) -> Result<()> {
        if self.may_differ.swap(false, Ordering::AcqRel) {
            let copied = self.host.copy_from_device(&self.device);
            self.may_differ.fetch_or(copied.is_err(), Ordering::AcqRel);
            copied?;
        }
        Ok(())
    }
}
