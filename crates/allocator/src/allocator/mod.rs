//! The allocator of one device: blocks out of a memory manager's memory.
//!
//! Where memory comes from and when it goes back is the manager's, in `manager.rs`. Every [`Block`] holds its
//! allocator, so a manager outlives what it gave out. How many hold it is one count, which threads that allocate at the
//! same time contend for; [`Allocator::another`] gives each of them an allocator, and a count, of its own.

mod block;
mod host_guard;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vkarray_driver::lock::assert_none_held;
use vkarray_driver::{Device, Direction};

use crate::error::{Error, Result};
use crate::free::DeferCleanup;
use crate::manager::{
    Counters, HostOptions, ManagerFactory, MemoryInfo, MemoryManager, Pending, Request, Usage, check_version,
};
use crate::memory::{BlockLabel, MemoryKind, MemoryPointer};
use crate::oom::OomCounts;
use crate::staging::{BorrowedSlot, CopyThreads, SlotSize, SlotSource, Staging};

pub use self::block::Block;
pub use self::host_guard::{HostRead, HostWrite};

/// Gives out blocks of a device's memory.
#[derive(Debug)]
#[repr(align(128))] // Behind an `Arc`, its counts are alone on their cache lines.
pub struct Allocator {
    shared: Arc<AllocatorShared>,
}

#[derive(Debug)]
struct AllocatorShared {
    manager: Box<dyn MemoryManager>,
    /// How often it was reset.
    generation: AtomicU64,
    /// Memory that host copies go through, given back in `drop`.
    staging: Staging,
    /// Which kinds the host reads in place as fast as from staging memory.
    read_fast: [bool; MemoryKind::ALL.len()],
    /// Threads that large host copies share.
    copy_threads: CopyThreads,
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
        Self::build(device, manager, CopyThreads::new())
    }

    /// As [`Allocator::with_manager`], and large host copies are shared by `n_threads` threads, the caller's with it.
    ///
    /// Else they are half of the processors, eight at most. With one, or none, no thread is ever started.
    ///
    /// # Errors
    ///
    /// As [`Allocator::with_manager`].
    pub fn with_copy_threads(
        device: &Arc<Device>,
        manager: Box<dyn MemoryManager>,
        n_threads: usize,
    ) -> Result<Arc<Self>> {
        Self::build(device, manager, CopyThreads::of(n_threads))
    }

    fn build(device: &Arc<Device>, manager: Box<dyn MemoryManager>, copy_threads: CopyThreads) -> Result<Arc<Self>> {
        check_version(&*manager)?;
        manager.initialize(device)?;
        let (generation, staging) = (AtomicU64::new(0), Staging::default());
        let read_fast = MemoryKind::ALL.map(|kind| kind.is_read_fast(device.info()));
        let shared =
            AllocatorShared { manager, generation, staging, read_fast, copy_threads, device: Arc::clone(device) };
        Ok(Arc::new(Self { shared: Arc::new(shared) }))
    }

    /// Another allocator of the same memory: same manager, same numbers, reset together. For a thread that allocates
    /// while others do.
    #[must_use]
    pub fn another(&self) -> Arc<Self> {
        Arc::new(Self { shared: Arc::clone(&self.shared) })
    }

    /// The device whose memory it gives out.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Arc<Device> {
        &self.shared.device
    }

    /// Where its memory comes from.
    #[must_use]
    #[inline]
    pub fn manager(&self) -> &dyn MemoryManager {
        &*self.shared.manager // Not the box, which is a manager too: one around a manager.
    }

    /// Allocates `size` bytes, uninitialised. Zero bytes are a block like any other.
    ///
    /// A block may be as large as a buffer can be (`maxBufferSize`). More than the driver promises to allocate at once
    /// (`maxMemoryAllocationSize`) is asked for all the same, as many drivers give it: NVIDIA's promises 4 GiB and gives 40.
    /// One that does not is out of memory for [`Shortage::AllocationSize`](crate::Shortage::AllocationSize). How much of a
    /// block a kernel can bind (`maxStorageBufferRange`) is checked where it is bound; copies and fills have no limit.
    ///
    /// When memory runs out, the manager takes the steps of [`OomStep`](crate::OomStep), each once, until there is enough.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::NoSuchMemory`], [`Error::OutOfMemory`]; those of waiting for the device.
    pub fn allocate(self: &Arc<Self>, size: u64, kind: MemoryKind) -> Result<Arc<Block>> {
        self.allocate_labelled(size, kind, BlockLabel::new())
    }

    /// Allocates as [`Allocator::allocate`] does, and notes who holds the memory for the report of memory running out.
    ///
    /// # Errors
    ///
    /// As [`Allocator::allocate`].
    #[inline]
    pub fn allocate_labelled(self: &Arc<Self>, size: u64, kind: MemoryKind, label: BlockLabel) -> Result<Arc<Block>> {
        self.serve(&Request { size, kind, label })
    }

    fn serve(self: &Arc<Self>, request: &Request) -> Result<Arc<Block>> {
        self.shared.device.check_lost()?;
        // Each way makes its own block: a pointer that either might bring would be moved once more.
        match self.ask(request) {
            Ok(pointer) => Ok(Arc::new(Block::new(self, pointer))),
            Err(error) => {
                let pointer = self.again(error, || self.ask(request))?;
                Ok(Arc::new(Block::new(self, pointer)))
            }
        }
    }

    #[inline]
    fn ask(&self, request: &Request) -> Result<MemoryPointer> {
        assert_none_held("a memory manager");
        match request.kind {
            MemoryKind::Device | MemoryKind::Shared => self.manager().memalloc(request),
            MemoryKind::Pinned => self.host(request, HostOptions::default()),
            MemoryKind::WriteCombined => self.host(request, HostOptions::default().wc(true)),
        }
    }

    /// Allocates host memory that the device reaches, uninitialised.
    ///
    /// # Errors
    ///
    /// As [`Allocator::allocate`].
    pub fn allocate_host(self: &Arc<Self>, size: u64, options: HostOptions) -> Result<Arc<Block>> {
        self.shared.device.check_lost()?;
        assert_none_held("a memory manager");
        let ask = || self.manager().memhostalloc(size, options);
        let memory = ask().or_else(|error| self.again(error, ask))?;
        Ok(Arc::new(Block::new(self, memory.into_pointer())))
    }

    /// Asks again after that error, if it is of a sort that giving up what is kept for host copies helps against.
    #[cold]
    fn again<R>(&self, error: Error, ask: impl Fn() -> Result<R>) -> Result<R> {
        if matches!(error, Error::OutOfMemory(_)) && self.free_slots() { ask() } else { Err(error) }
    }

    /// Lets the device into memory of the program.
    ///
    /// # Safety
    ///
    /// The bytes can be read and written until the block is gone, and nobody holds a Rust reference to them while the
    /// device uses them.
    pub(crate) unsafe fn pin(self: &Arc<Self>, pointer: NonNull<u8>, size: u64) -> Result<Arc<Block>> {
        // SAFETY: the caller vouches for the bytes until the block is gone. The block gives the pointer back by `memfree`, and
        // by its contract the manager has then let the bytes go, if their last uses are over.
        let pinned = unsafe { self.manager().mempin(Box::new(()), pointer, size, false) }?;
        Ok(Arc::new(Block::new(self, pinned.into_pointer())))
    }

    #[inline(never)]
    fn host(&self, request: &Request, options: HostOptions) -> Result<MemoryPointer> {
        let pointer = self.manager().memhostalloc(request.size, options)?.into_pointer();
        if request.label != BlockLabel::new() {
            self.manager().set_label(&pointer, request.label.clone());
        }
        Ok(pointer)
    }

    /// Holds real frees back, of all threads, until the guard and every other one is dropped. Guards nest.
    ///
    /// Dropped memory then waits without limit: for the next drop or allocation after the last guard that finds too
    /// much waiting ([`PendingLimits`](crate::PendingLimits)), for a flush, or for memory running out, which frees it all the
    /// same. A pool gives memory that waits to the next block meanwhile. A leaked guard is harmless.
    pub fn defer_cleanup(&self) -> DeferCleanup {
        self.manager().defer_cleanup()
    }

    /// What was dropped and was neither freed nor given out again. In a pool that is memory which lies ready for a block of
    /// the same size, or will when the device is done with it; memory of an arena's frames never waits.
    #[must_use]
    pub fn pending(&self) -> Pending {
        self.manager().pending()
    }

    /// Frees the dropped blocks that the device is done with; none while frees are held back. Never blocks.
    ///
    /// What is freed goes back to the driver. A pool without limits joins it with the free ranges of its chunks instead,
    /// which [`Allocator::trim`] gives back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), [`Error::CleanupPanicked`]; what could not be asked about
    /// stays pending.
    pub fn try_flush(&self) -> Result<()> {
        self.device().check_process()?;
        self.manager().try_flush()
    }

    /// Frees every dropped block, as [`Allocator::try_flush`] does: waits until the device is done with those dropped before
    /// the call. Frees none, and waits for none, while frees are held back.
    ///
    /// # Errors
    ///
    /// Those of waiting; what is not waited for stays pending.
    pub fn flush(&self) -> Result<()> {
        self.device().check_process()?;
        self.manager().flush()
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
        self.shared.device.check_lost()?;
        self.manager().reserve(bytes, kind)
    }

    /// Gives memory that nobody has back to the driver, until at most `keep` bytes a kind are kept for later. Never waits
    /// for the device. Returns the bytes given back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost); nothing is given back then.
    pub fn trim(&self, keep: u64) -> Result<u64> {
        self.shared.device.check_lost()?;
        self.free_slots();
        self.manager().trim(keep)
    }

    /// All that the manager counts. Takes no lock.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.manager().counters()
    }

    /// How much memory the device has, and how much of it can still be had.
    ///
    /// Our managers ask the driver at most every ten milliseconds, and whenever they took memory from it or gave some back
    /// since: what other processes do is seen that late. Cheap enough to be called for each block.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the manager does not know.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.shared.device.check_lost()?;
        self.manager().get_memory_info()
    }

    /// The same of the heap that a kind of memory comes from. That of shared memory may be a window of 256 MiB; see
    /// [`MemoryKind::is_scarce`].
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if the manager does not know; [`Error::NoSuchMemory`].
    pub fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        self.shared.device.check_lost()?;
        self.shared.manager.memory_info_of(kind)
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
        self.device().check_process()?;
        self.shared.generation.fetch_add(1, Ordering::Relaxed);
        self.free_slots();
        self.manager().reset()
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Relaxed)
    }

    /// How often memory ran out so far, and what helped.
    #[must_use]
    pub fn oom_counts(&self) -> OomCounts {
        self.manager().oom_counts()
    }

    /// Bytes held and pending now, without what is kept for host copies.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let usage = self.managers_usage();
        Usage { in_use: usage.in_use.saturating_sub(self.shared.staging.bytes()), ..usage }
    }

    /// Nothing in a forked process, where the manager's locks may stay locked for ever.
    fn managers_usage(&self) -> Usage {
        if self.device().is_forked() {
            return Usage { in_use: 0, reserved: 0, n_pending: 0, pending: 0 };
        }
        self.manager().usage()
    }

    /// Bytes of pinned memory that are kept for host copies, or that copies go through now. Its manager counts them among
    /// what is in use.
    #[must_use]
    pub fn staging_bytes(&self) -> u64 {
        self.shared.staging.bytes()
    }

    /// Gives the memory that is kept for host copies, and that none goes through now, back to its manager. Never blocks.
    /// [`Allocator::trim`] and [`Allocator::reset`] do so first.
    pub fn release_staging(&self) {
        self.free_slots();
    }

    fn slot_source(&self) -> SlotSource<'_> {
        let AllocatorShared { manager, device, generation, .. } = &*self.shared;
        SlotSource { manager: &**manager, device, generation }
    }

    /// Takes a slot of staging memory; see [`Staging::slot`].
    pub(crate) fn slot(&self, direction: Direction, size: SlotSize, len: usize) -> Result<BorrowedSlot<'_>> {
        // SAFETY: the staging memory and the source are both this allocator's.
        unsafe { self.shared.staging.slot(self.slot_source(), direction, size, len) }
    }

    /// Gives the slots that no copy has back to the manager. Returns whether there were any.
    fn free_slots(&self) -> bool {
        // SAFETY: the slots were made of memory of this allocator's own manager.
        unsafe { self.shared.staging.free_slots(self.device(), self.manager()) }
    }

    pub(crate) fn is_read_fast(&self, kind: MemoryKind) -> bool {
        self.shared.read_fast[kind.index()]
    }

    pub(crate) fn copy_threads(&self) -> &CopyThreads {
        &self.shared.copy_threads
    }
}

impl Drop for AllocatorShared {
    fn drop(&mut self) {
        self.copy_threads.end(&self.device);
        // SAFETY: the slots were made of memory of this allocator's own manager.
        unsafe { self.staging.free_slots(&self.device, &*self.manager) };
    }
}
