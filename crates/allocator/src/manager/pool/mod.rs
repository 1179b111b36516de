//! The pool: large chunks from the driver, cut into ranges that are reused without asking the driver.
//!
//! The memory of a dropped block can be reused at once: it carries the work that may still use it, and work of the next
//! block comes after that work on the device. The pool has two levels: `thread_cache.rs` keeps freed ranges whole for
//! the threads that freed them; `free_list.rs` cuts chunks into ranges and joins neighbours. `state.rs` has the fast
//! paths, `search.rs` the order in which memory is searched, `growth.rs` the exchange with the driver, `fallback.rs`
//! the steps when memory runs out. The reasons are in `docs/decisions/012-the-pool.md`.
//!
//! Blocks are neighbours in one buffer. A kernel with checked indices stays in the range it was given; a kernel that
//! was built without the checks can reach the next block.

mod fallback;
mod free_list;
mod gauges;
mod growth;
mod lane_history;
mod search;
mod size_class;
mod sizing;
mod state;
mod tag;
mod thread_cache;

use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use vkarray_driver::Device;

use self::state::PoolState;
use super::{Counters, HostOptions, INTERFACE_VERSION, MemoryInfo, MemoryManager, OomCounts, Pending, Request, Usage};
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::{DeferCleanup, DeferCount, PendingLimits};
use crate::vulkan::check_same_device;

/// Keeps memory for the next block, by default without a limit.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(PoolManager::with_limit(64 << 20)))?;
/// for _ in 0..100 {
///     allocator.allocate(1 << 20, MemoryKind::Device)?; // Dropped at once.
/// }
/// assert_eq!(allocator.counters().growths, 1); // The driver was asked once.
/// # Ok(())
/// # }
/// ```
#[doc(alias = "PoolMemoryResource")]
#[doc(alias = "CudaAsyncMemoryResource")]
#[doc(alias = "BinningMemoryResource")]
#[doc(alias = "FixedSizeMemoryResource")]
#[derive(Debug, Default)]
pub struct PoolManager {
    state: OnceLock<PoolState>,
    /// The most bytes that are taken from the driver; no limit without it.
    limit: Option<u64>,
    pending_limits: Option<PendingLimits>,
    deferrals: DeferCount,
}

impl PoolManager {
    /// Creates a pool for one device, which [`MemoryManager::initialize`] names. Takes no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a pool that takes at most `bytes` bytes of memory, of all kinds together, from the driver.
    pub fn with_limit(bytes: u64) -> Self {
        Self { limit: Some(bytes), ..Self::default() }
    }

    /// Limits how much dropped memory may wait for the next block. When more waits, memory that the device no longer
    /// uses goes back to the driver, as far as whole chunks are free. Takes precedence over the environment; see
    /// [`PendingLimits::from_environment`]. Without this call and without the variables there is no limit.
    #[must_use]
    pub fn with_pending_limits(mut self, limits: PendingLimits) -> Self {
        self.pending_limits = Some(limits);
        self
    }

    fn state(&self) -> Result<&PoolState> {
        self.state.get().ok_or(Error::NotInitialized)
    }

    /// The state; an error in a forked process, where threads that the process does not have may hold locks.
    #[inline]
    fn checked_state(&self) -> Result<&PoolState> {
        match self.state.get() {
            Some(state) if !state.device().is_forked() => Ok(state),
            _ => self.refused(),
        }
    }

    #[cold]
    fn refused(&self) -> Result<&PoolState> {
        let state = self.state()?;
        state.device().check_lost()?;
        Ok(state)
    }

    /// Takes memory with an owner back. It is memory of the program, if this manager imported it.
    #[cold]
    fn free_owned(&self, memory: MemoryPointer) {
        let Ok(state) = self.checked_state() else { return };
        if let Some(mut memory) = state.imports.end(memory) {
            state.free(&mut memory);
        }
    }
}

// SAFETY: ranges are cut out of chunks of the device that the state was made for, so that no two overlap. Each is in one
// place at a time: with a block, in a thread cache, or free in its chunk. A cached range keeps its last uses, which go with
// it to the next block, and becomes free in its chunk when they are over. A chunk goes back to the driver when all of it is
// free. Host memory is mapped. `Imports` does the same for memory of the program. A state with ranges that did not come
// back leaks its chunks: see its `Drop`.
unsafe impl MemoryManager for PoolManager {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        if self.state.get().is_none() {
            // Another thread may have set the state first; that state serves as well, if it is of the same device.
            let limits =
                self.pending_limits.map_or_else(PendingLimits::set_by_environment, |limits| Ok(Some(limits)))?;
            let state = PoolState::new(device, self.limit.unwrap_or(u64::MAX), limits, self.deferrals.clone())?;
            let _ = self.state.set(state);
        }
        check_same_device(self.state()?.device(), device)
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        self.checked_state()?.allocate(request.size, request.kind, &request.label)
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        let pointer = self.checked_state()?.allocate(size, options.kind(), &BlockLabel::new())?;
        Ok(HostPointer::new(pointer, options.mapped).expect("memory of host kinds is mapped"))
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same as that of `pin`.
        unsafe { self.state()?.imports.pin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, mut memory: MemoryPointer) {
        if memory.owner().is_some() {
            return self.free_owned(memory);
        }
        if let Some(state) = self.state.get()
            && !state.device().is_forked()
        {
            state.free(&mut memory);
        }
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        self.memory_info_of(MemoryKind::Device)
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        self.state()?.memory_info(kind)
    }

    fn reset(&self) -> Result<()> {
        self.flush()?;
        self.trim(0).map(|_| ())
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        self.deferrals.guard()
    }

    fn try_flush(&self) -> Result<()> {
        let state = self.checked_state()?;
        state.imports.pending.try_flush()?;
        if state.deferrals.is_active() { Ok(()) } else { state.free_dropped() }
    }

    fn flush(&self) -> Result<()> {
        let state = self.checked_state()?;
        state.imports.pending.flush()?;
        if state.deferrals.is_active() {
            return Ok(());
        }
        state.wait_for_all()?;
        state.free_dropped()
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.checked_state()?.reserve(bytes, kind)
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        self.checked_state()?.trim(keep)
    }

    fn usage(&self) -> Usage {
        let counters = self.counters();
        let pending = counters.total(|kind| kind.pending);
        Usage {
            in_use: counters.total(|kind| kind.in_use) + pending,
            reserved: counters.total(|kind| kind.reserved),
            n_pending: usize::try_from(counters.n_pending).unwrap_or(usize::MAX),
            pending,
        }
    }

    /// All cached ranges, with or without pending uses.
    fn pending(&self) -> Pending {
        let Some(state) = self.state.get() else { return Pending::default() };
        let (n_blocks, kinds) = state.dropped();
        // In a forked process the lock may stay locked forever.
        let is_forked = state.device().is_forked();
        let (n_imports, imports) = if is_forked { (0, 0) } else { state.imports.pending.pending() };
        let n_blocks = usize::try_from(n_blocks).unwrap_or(usize::MAX).saturating_add(n_imports);
        Pending { n_blocks, bytes: kinds.iter().sum::<u64>() + imports }
    }

    fn counters(&self) -> Counters {
        self.state.get().map_or_else(Counters::default, |state| state.counters())
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        self.state.get()?.with_label(memory, |held| held.clone())
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        if let Some(state) = self.state.get() {
            state.with_label(memory, |held| *held = label);
        }
    }

    fn oom_counts(&self) -> OomCounts {
        self.state.get().map_or_else(OomCounts::default, |state| state.fallback.counts())
    }
}
