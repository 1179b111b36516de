//! The allocator of one device: blocks out of a memory manager's memory.
//!
//! Where memory comes from and when it goes back is the manager's, in `manager.rs`. Every [`Block`] holds its
//! allocator, so a manager outlives what it gave out.

use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use crate::block::Block;
use crate::error::{Error, Result};
use crate::kind::MemoryKind;
use crate::manager::{HostOptions, INTERFACE_VERSION, MemoryManager, PassthroughManager, Request, Usage};

/// Gives out blocks of a device's memory.
#[derive(Debug)]
pub struct Allocator {
    manager: Box<dyn MemoryManager>,
    device: Arc<Device>,
}

impl Allocator {
    /// Creates the allocator of a device, with the manager that is the default. Takes no memory yet.
    ///
    /// # Errors
    ///
    /// [`Error::SubAllocator`] if gpu-allocator refuses the device.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        Self::with_manager(device, Box::new(PassthroughManager::new()))
    }

    /// Creates the allocator of a device on a manager of the caller's.
    ///
    /// # Errors
    ///
    /// [`Error::InterfaceVersion`]; whatever [`MemoryManager::initialize`] refuses.
    pub fn with_manager(device: &Arc<Device>, manager: Box<dyn MemoryManager>) -> Result<Arc<Self>> {
        let version = manager.interface_version();
        if version != INTERFACE_VERSION {
            return Err(Error::InterfaceVersion { version, expected: INTERFACE_VERSION });
        }
        manager.initialize(device)?;
        Ok(Arc::new(Self { manager, device: Arc::clone(device) }))
    }

    /// The device whose memory it gives out.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Where its memory comes from.
    #[must_use]
    pub fn manager(&self) -> &dyn MemoryManager {
        &*self.manager
    }

    /// Allocates `size` bytes, uninitialised. Zero bytes are a block like any other.
    ///
    /// When memory runs out, what is pending is waited for and freed, and the allocation is tried once more.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::NoSuchMemory`], [`Error::OutOfMemory`]; those of waiting for the device.
    pub fn allocate(self: &Arc<Self>, size: u64, kind: MemoryKind) -> Result<Arc<Block>> {
        self.device.check_lost()?;
        match kind {
            MemoryKind::Device | MemoryKind::Shared => {
                Ok(Arc::new(Block::new(self, self.manager.memalloc(&Request::new(size, kind))?)))
            }
            MemoryKind::Pinned => self.allocate_host(size, HostOptions::default()),
            MemoryKind::WriteCombined => self.allocate_host(size, HostOptions::default().wc(true)),
        }
    }

    /// Allocates host memory that the device reaches, uninitialised.
    ///
    /// # Errors
    ///
    /// As [`Allocator::allocate`].
    pub fn allocate_host(self: &Arc<Self>, size: u64, options: HostOptions) -> Result<Arc<Block>> {
        self.device.check_lost()?;
        Ok(Arc::new(Block::new(self, self.manager.memhostalloc(size, options)?.into_pointer())))
    }

    /// Lets the device into memory of the program.
    ///
    /// # Safety
    ///
    /// The bytes can be read and written until the block is gone, and nobody holds a Rust reference to them while the
    /// device uses them.
    pub(crate) unsafe fn pin(self: &Arc<Self>, pointer: NonNull<u8>, size: u64) -> Result<Arc<Block>> {
        // SAFETY: the caller vouches for the bytes for longer than the pointer lives.
        let pinned = unsafe { self.manager.mempin(Box::new(()), pointer, size, false) }?;
        Ok(Arc::new(Block::new(self, pinned.into_pointer())))
    }

    /// Frees the dropped blocks that the device is done with. Never blocks.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost); nothing is freed then.
    pub fn try_flush(&self) -> Result<()> {
        self.manager.try_flush()
    }

    /// Frees every dropped block: waits until the device is done with those dropped before the call.
    ///
    /// # Errors
    ///
    /// Those of waiting; what is not waited for stays pending.
    pub fn flush(&self) -> Result<()> {
        self.manager.flush()
    }

    /// Bytes held and pending now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.manager.usage()
    }
}
