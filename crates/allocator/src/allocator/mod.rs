//! [`Allocator`] and [`Block`]: the types of this crate that programs and the crates above use.
//!
//! The allocator of a device makes blocks from a memory manager's memory. The manager decides where memory comes from
//! and when it goes back. Every block refers to its allocator, so a manager outlives the memory that it gave out.
//! Threads that allocate at the same time contend for the reference count; [`Allocator::another`] gives each of them an
//! allocator with a count of its own. Read `block.rs` next, then `host_guard.rs`.

mod block;
mod connection;
mod host_guard;
mod image;
mod shared;
mod upkeep;

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use vkarray_driver::lock::assert_none_held;
use vkarray_driver::{Device, Direction};

use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::manager::{HostOptions, ManagerFactory, MemoryManager, Request, check_version};
use crate::memory::{Bus, MemoryPointer, Owner};
use crate::staging::{BorrowedSlot, CopyThreads, SharedSlot, SlotSize, Staging};
use crate::vulkan::{ChunkSource, ExternalMemory};

pub use self::block::Block;
pub use self::connection::{connection_between, note_connection_failure};
pub use self::host_guard::{HostRead, HostWrite};
pub use self::image::Image;

/// Gives out blocks of a device's memory.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::new(&device)?;
/// let block = allocator.allocate(1000, MemoryKind::Device)?;
/// assert_eq!((block.size(), block.kind()), (1000, MemoryKind::Device));
/// assert!(allocator.usage().in_use >= 1000);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[repr(align(128))] // Aligned so that the counts of an `Arc` share no cache line.
pub struct Allocator {
    shared: Arc<AllocatorShared>,
}

#[derive(Debug)]
struct AllocatorShared {
    /// The manager, and memory of it that host copies go through.
    staging: Staging,
    /// What routes of host copies need to know of the device.
    bus: Bus,
    /// Threads for large host copies.
    copy_threads: CopyThreads,
    /// Memory that other devices and processes share.
    external: ExternalMemory,
    /// Memory of images, once there is one.
    images: OnceLock<Arc<ChunkSource>>,
}

impl Allocator {
    /// Creates an allocator of a device with the manager of [`ManagerFactory::chosen`]. Takes no memory yet.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownManager`] if no manager has the selected name; and the errors of [`Allocator::with_manager`].
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        Self::with_manager(device, ManagerFactory::chosen()?.make()?)
    }

    /// Creates an allocator of a device with the given manager.
    ///
    /// # Errors
    ///
    /// [`Error::InterfaceVersion`] for a manager of another version; and the errors of [`MemoryManager::initialize`].
    pub fn with_manager(device: &Arc<Device>, manager: Box<dyn MemoryManager>) -> Result<Arc<Self>> {
        Self::with_copy_threads(device, manager, CopyThreads::default_number())
    }

    /// Creates an allocator whose large host copies use `n_threads` threads, including the caller's.
    ///
    /// The default is half of the processors, at most eight. With `n_threads` of one or zero, no thread is started.
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::with_manager`].
    pub fn with_copy_threads(
        device: &Arc<Device>,
        manager: Box<dyn MemoryManager>,
        n_threads: usize,
    ) -> Result<Arc<Self>> {
        check_version(&*manager)?;
        manager.initialize(device)?;
        let (staging, copy_threads) = (Staging::new(manager, device), CopyThreads::new(n_threads));
        let bus = Bus::new(device.info(), copy_threads.n_threads());
        let (external, images) = (ExternalMemory::new(device), OnceLock::new());
        let shared = AllocatorShared { staging, bus, copy_threads, external, images };
        Ok(Arc::new(Self { shared: Arc::new(shared) }))
    }

    /// Another allocator of the same memory, with the same manager, counters and resets, and a reference count of its
    /// own. It is for threads that allocate at the same time.
    #[must_use]
    pub fn another(&self) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(&self.shared) })
    }

    /// The device of the memory.
    #[inline]
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.staging.device
    }

    /// The manager of the memory.
    #[inline]
    pub fn manager(&self) -> &dyn MemoryManager {
        &*self.shared.staging.manager // The manager itself: the box around it is an adaptor.
    }

    /// Allocates `size` bytes, uninitialised. Zero bytes are allowed.
    ///
    /// A block may be as large as a buffer can be (`maxBufferSize`). Sizes above the driver's promise
    /// (`maxMemoryAllocationSize`) are tried too, as many drivers give more: NVIDIA's promises 4 GiB and gives 40. A driver
    /// that refuses is out of memory with [`Shortage::AllocationSize`](crate::Shortage::AllocationSize). The largest binding
    /// of a kernel (`maxStorageBufferRange`) is checked at the binding; copies and fills have no limit.
    ///
    /// When memory runs out, the manager takes the steps of [`OomStep`](crate::OomStep), each once, until there is
    /// enough memory.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let blocks = [1 << 20, 0, 3].map(|size| allocator.allocate(size, MemoryKind::Device));
    /// assert!(blocks.iter().all(Result::is_ok));
    /// assert!(allocator.allocate(u64::MAX, MemoryKind::Device).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::NoSuchMemory`], [`Error::OutOfMemory`]; and the errors of waiting for the device.
    pub fn allocate(self: &Arc<Self>, size: u64, kind: MemoryKind) -> Result<Arc<Block>> {
        self.allocate_labelled(size, kind, BlockLabel::new())
    }

    /// Allocates like [`Allocator::allocate`], with a label for the report of memory running out.
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::allocate`].
    #[inline]
    pub fn allocate_labelled(self: &Arc<Self>, size: u64, kind: MemoryKind, label: BlockLabel) -> Result<Arc<Block>> {
        self.serve(&Request { size, kind, label, exportable: false })
    }

    fn serve(self: &Arc<Self>, request: &Request) -> Result<Arc<Block>> {
        self.device().check_lost()?;
        // Each branch makes its own block, which saves a move of the pointer.
        match self.request(request) {
            Ok(pointer) => Ok(Arc::new(Block::new(self, pointer))),
            Err(error) => {
                let pointer = self.retry(error, || self.request(request))?;
                Ok(Arc::new(Block::new(self, pointer)))
            }
        }
    }

    #[inline]
    fn request(&self, request: &Request) -> Result<MemoryPointer> {
        assert_none_held("a memory manager");
        match request.kind {
            MemoryKind::Device | MemoryKind::Shared => self.manager().memalloc(request),
            MemoryKind::Pinned => self.request_host(request, HostOptions::default()),
            MemoryKind::WriteCombined => self.request_host(request, HostOptions::default().wc(true)),
        }
    }

    /// Allocates host memory that the device reaches, uninitialised.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// use vkarray_allocator::HostOptions;
    ///
    /// let block = allocator.allocate_host(64, HostOptions::default().mapped(true))?;
    /// block.write_on_host(0..64)?.fill(1);
    /// assert_eq!(block.read_on_host(0..64)?[63], 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::allocate`].
    pub fn allocate_host(self: &Arc<Self>, size: u64, options: HostOptions) -> Result<Arc<Block>> {
        self.device().check_lost()?;
        assert_none_held("a memory manager");
        let ask = || self.manager().memhostalloc(size, options);
        let memory = ask().or_else(|error| self.retry(error, ask))?;
        Ok(Arc::new(Block::new(self, memory.into_pointer())))
    }

    /// Asks again if memory ran out and staging memory could be freed.
    #[cold]
    fn retry<R>(&self, error: Error, ask: impl Fn() -> Result<R>) -> Result<R> {
        if error.is_out_of_memory() && self.shared.staging.free_slots() { ask() } else { Err(error) }
    }

    /// As [`retry`](Self::retry), for memory that the manager does not hold, and so for which the manager gives back to the
    /// driver what the device no longer uses.
    #[cold]
    fn retry_outside<R>(&self, error: Error, ask: impl Fn() -> Result<R>) -> Result<R> {
        if !error.is_out_of_memory() {
            return Err(error);
        }
        self.flush()?;
        self.trim(0)?;
        ask()
    }

    /// Imports memory of the program. The block is for devices alone, unless the host may address it.
    ///
    /// # Safety
    ///
    /// The obligations of [`MemoryManager::mempin`] hold until the block and `owner` are dropped.
    pub(crate) unsafe fn import_pages(
        self: &Arc<Self>,
        owner: Owner,
        pointer: NonNull<u8>,
        size: u64,
        is_on_host: bool,
    ) -> Result<Arc<Block>> {
        assert_none_held("a memory manager");
        // SAFETY: the caller promises that the bytes stay until owner and block are dropped. The block gives the pointer
        // back by `memfree`, and by its contract the manager has then let the bytes go, if their last uses are over.
        let pinned = unsafe { self.manager().mempin(owner, pointer, size, is_on_host) }?.into_pointer();
        Ok(Arc::new(Block::new(self, if is_on_host { pinned } else { pinned.without_mapping() })))
    }

    #[inline(never)]
    fn request_host(&self, request: &Request, options: HostOptions) -> Result<MemoryPointer> {
        let pointer = self.manager().memhostalloc(request.size, options)?.into_pointer();
        if request.label != BlockLabel::new() {
            self.manager().set_label(&pointer, request.label.clone());
        }
        Ok(pointer)
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.shared.staging.generation()
    }

    /// Takes a slot of staging memory; see [`Staging::slot`].
    pub(crate) fn slot(&self, direction: Direction, size: SlotSize, len: usize) -> Result<BorrowedSlot<'_>> {
        self.shared.staging.slot(direction, size, len)
    }

    /// Takes host memory that this device and the one of `target` use for one copy; `None` if there is no such memory.
    pub(crate) fn shared_slot<'a>(&'a self, target: &'a Self) -> Result<Option<SharedSlot<'a>>> {
        SharedSlot::take([self, target].map(|side| &side.shared.staging))
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.shared.bus
    }

    pub(crate) fn copy_threads(&self) -> &CopyThreads {
        &self.shared.copy_threads
    }
}

impl Drop for AllocatorShared {
    fn drop(&mut self) {
        self.copy_threads.end(&self.staging.device);
    }
}
