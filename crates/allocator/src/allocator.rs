//! The allocator of one device: blocks out of a memory manager's memory.
//!
//! Where memory comes from and when it goes back is the manager's, in `manager.rs`. Every [`Block`] holds its
//! allocator, so a manager outlives what it gave out.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vkarray_driver::Device;

use crate::block::Block;
use crate::error::Result;
use crate::holder::Holder;
use crate::kind::MemoryKind;
use crate::ladder::LadderCounts;
use crate::manager::{Counters, DeferCleanup, HostOptions, MemoryManager, Request, Usage};
use crate::memory_info::MemoryInfo;
use crate::pointer::MemoryPointer;
use crate::selection::{ManagerFactory, check_version};

/// Dropped memory that is not freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// How many blocks.
    pub n_blocks: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Gives out blocks of a device's memory.
#[derive(Debug)]
pub struct Allocator {
    manager: Box<dyn MemoryManager>,
    /// How often it was reset.
    generation: AtomicU64,
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
        Ok(Arc::new(Self { manager, generation: AtomicU64::new(0), device: Arc::clone(device) }))
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

    fn host(&self, size: u64, options: HostOptions, holder: Holder) -> Result<MemoryPointer> {
        let pointer = self.manager.memhostalloc(size, options)?.into_pointer();
        if holder != Holder::new() {
            self.manager.set_holder(&pointer, holder);
        }
        Ok(pointer)
    }

    /// Holds real frees back, of all threads, until the guard and every other one is dropped. Guards nest.
    ///
    /// Dropped memory then waits without limit: for the next drop or allocation after the last guard that finds too
    /// much waiting, for a flush, or for memory running out, which frees it all the same. A leaked guard is harmless.
    pub fn defer_cleanup(&self) -> DeferCleanup {
        self.manager.defer_cleanup()
    }

    /// What was dropped and is not freed.
    #[must_use]
    pub fn pending(&self) -> Pending {
        let Usage { n_pending, pending, .. } = self.manager.usage();
        Pending { n_blocks: n_pending, bytes: pending }
    }

    /// Frees the dropped blocks that the device is done with; none while frees are held back. Never blocks.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), [`Error::CleanupPanicked`]; what could not be asked about
    /// stays pending.
    pub fn try_flush(&self) -> Result<()> {
        self.manager.try_flush()
    }

    /// Frees every dropped block: waits until the device is done with those dropped before the call. Frees none, and
    /// waits for none, while frees are held back.
    ///
    /// # Errors
    ///
    /// Those of waiting; what is not waited for stays pending.
    pub fn flush(&self) -> Result<()> {
        self.manager.flush()
    }

    /// Takes `bytes` bytes of a kind from the driver ahead of need, so that later allocations find them. Blocks for as
    /// long as the driver takes; other threads go on allocating what is there.
    ///
    /// A block takes up to an eighth more than it asks for.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::NoSuchMemory`]; [`Error::Unsupported`] where the manager keeps no memory.
    pub fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.device.check_lost()?;
        self.manager.reserve(bytes, kind)
    }

    /// Gives memory that nobody has back to the driver, until at most `keep` bytes a kind are kept for later. Never waits
    /// for the device. Returns the bytes given back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost); nothing is given back then.
    pub fn trim(&self, keep: u64) -> Result<u64> {
        self.device.check_lost()?;
        self.manager.trim(keep)
    }

    /// All that the manager counts. Takes no lock.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.manager.counters()
    }

    /// How much memory the device has, and how much of it can still be had. Asks the driver each time.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the manager does not know.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.device.check_lost()?;
        self.manager.get_memory_info()
    }

    /// Starts anew: gives back to the driver all memory that nobody holds, and ends every block that is held.
    ///
    /// From here on each use of a block made before is refused with [`Error::DeadMemory`]. Its bytes go back when its
    /// last handle is dropped, and not before: another thread may be using them. What is recorded already still runs,
    /// and graphs that are recorded can still be replayed. While frees are held back the blocks end, and nothing is
    /// given back.
    ///
    /// # Errors
    ///
    /// Those of waiting; the blocks have ended then all the same.
    pub fn reset(&self) -> Result<()> {
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.manager.reset()
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
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
