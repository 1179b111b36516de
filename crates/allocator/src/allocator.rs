//! The allocator of one device: blocks out of a memory manager's memory.
//!
//! Where memory comes from and when it goes back is the manager's, in `manager.rs`. Every [`Block`] holds its
//! allocator, so a manager outlives what it gave out.

use std::sync::Arc;

use vkarray_driver::Device;

use crate::block::Block;
use crate::error::Result;
use crate::holder::Holder;
use crate::kind::MemoryKind;
use crate::ladder::LadderCounts;
use crate::manager::{HostOptions, MemoryManager, Request, Usage};
use crate::pointer::MemoryPointer;
use crate::selection::{ManagerFactory, check_version};

/// Gives out blocks of a device's memory.
#[derive(Debug)]
pub struct Allocator {
    manager: Box<dyn MemoryManager>,
    device: Arc<Device>,
}

impl Allocator {
    /// Creates the allocator of a device, with the manager that is chosen; see [`ManagerFactory::chosen`]. Takes no
    /// memory yet.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`]; as [`Allocator::with_manager`].
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        Self::with_manager(device, ManagerFactory::chosen()?.make()?)
    }

    /// Creates the allocator of a device on a manager of the caller's.
    ///
    /// # Errors
    ///
    /// [`Error::InterfaceVersion`]; whatever [`MemoryManager::initialize`] refuses.
    pub fn with_manager(device: &Arc<Device>, manager: Box<dyn MemoryManager>) -> Result<Arc<Self>> {
        check_version(&*manager)?;
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
    /// When memory runs out, the manager takes the steps of [`Rung`](crate::Rung), each once, until there is enough.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::NoSuchMemory`], [`Error::OutOfMemory`]; those of waiting for the device.
    pub fn allocate(self: &Arc<Self>, size: u64, kind: MemoryKind) -> Result<Arc<Block>> {
        self.allocate_for(size, kind, Holder::new())
    }

    /// Allocates as [`Allocator::allocate`] does, and notes who holds the memory for the report of memory running out.
    ///
    /// # Errors
    ///
    /// As [`Allocator::allocate`].
    pub fn allocate_for(self: &Arc<Self>, size: u64, kind: MemoryKind, holder: Holder) -> Result<Arc<Block>> {
        self.device.check_lost()?;
        let pointer = match kind {
            MemoryKind::Device | MemoryKind::Shared => {
                self.manager.memalloc(&Request::new(size, kind).with_holder(holder))?
            }
            MemoryKind::Pinned => self.host(size, HostOptions::default(), holder)?,
            MemoryKind::WriteCombined => self.host(size, HostOptions::default().wc(true), holder)?,
        };
        Ok(Arc::new(Block::new(self, pointer)))
    }

    fn host(&self, size: u64, options: HostOptions, holder: Holder) -> Result<MemoryPointer> {
        let pointer = self.manager.memhostalloc(size, options)?.into_pointer();
        if holder != Holder::new() {
            self.manager.set_holder(&pointer, holder);
        }
        Ok(pointer)
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

    /// How often memory ran out so far, and what helped.
    #[must_use]
    pub fn ladder(&self) -> LadderCounts {
        self.manager.ladder()
    }

    /// Bytes held and pending now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.manager.usage()
    }
}
