//! Memory managers: where memory comes from, and when it goes back. An interface that programs can implement.
//!
//! The methods are those of numba's external memory managers, with frees in the order of the device's work. The
//! runtime wraps what a manager gives out in a [`Block`](crate::Block) and gives it back, with its last uses, when the
//! block is dropped. Ours are in `manager/`, and those that go around others start at `manager/adaptor.rs`; which one a
//! program gets is `selection.rs`.

pub(crate) mod adaptors;
mod arena;
mod counters;
#[cfg(test)]
pub(crate) mod fake;
mod host_only;
mod memory_info;
mod passthrough;
mod pool;
mod registry;

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use crate::error::{Error, Result};
use crate::free::DeferCleanup;
use crate::memory::{BlockLabel, HostPointer, MemoryKind, MemoryPointer, Owner};
use crate::oom::OomCounts;

pub use self::arena::ArenaManager;
pub use self::counters::{Counters, KindCounters};
pub use self::host_only::HostOnlyMemoryManager;
pub use self::memory_info::{Confidence, MemoryInfo};
pub use self::passthrough::PassthroughManager;
pub use self::pool::PoolManager;
pub(crate) use self::registry::check_version;
pub use self::registry::{ManagerFactory, memory_manager_names, register_memory_manager, set_memory_manager};

/// The version of this interface that the runtime speaks.
pub const INTERFACE_VERSION: u32 = 1;

/// A request for device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// Bytes. Zero is a size like any other.
    pub size: u64,
    /// [`MemoryKind::Device`] or [`MemoryKind::Shared`].
    pub kind: MemoryKind,
    /// Who wants it, for the report of memory running out.
    pub label: BlockLabel,
}

impl Request {
    /// Asks for `size` bytes of that kind.
    #[must_use]
    pub fn new(size: u64, kind: MemoryKind) -> Self {
        Self { size, kind, label: BlockLabel::new() }
    }

    /// Says who wants it.
    #[must_use]
    pub fn with_label(mut self, label: BlockLabel) -> Self {
        self.label = label;
        self
    }
}

/// What host memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HostOptions {
    /// Kernels address it.
    pub mapped: bool,
    /// Other contexts may use it too. A wish: memory of a Vulkan device is that device's, so ours gives the same memory
    /// with and without, which other contexts reach by copies.
    pub portable: bool,
    /// Written in order by the host and not read by it: write-combined.
    pub wc: bool,
}

impl HostOptions {
    /// Memory that kernels address.
    #[must_use]
    pub fn mapped(mut self, mapped: bool) -> Self {
        self.mapped = mapped;
        self
    }

    /// Memory that other contexts may use.
    #[must_use]
    pub fn portable(mut self, portable: bool) -> Self {
        self.portable = portable;
        self
    }

    /// Write-combined memory.
    #[must_use]
    pub fn wc(mut self, wc: bool) -> Self {
        self.wc = wc;
        self
    }

    /// The kind of memory that serves.
    #[must_use]
    pub fn kind(self) -> MemoryKind {
        if self.wc { MemoryKind::WriteCombined } else { MemoryKind::Pinned }
    }
}

/// A name under which another process finds memory.
#[derive(Debug)]
pub struct IpcHandle {
    /// Bytes.
    pub size: u64,
    /// Where they start in what is shared.
    pub offset: u64,
}

/// Bytes held and pending, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of blocks that live or wait to be freed.
    pub in_use: u64,
    /// Bytes taken from the driver.
    pub reserved: u64,
    /// Dropped blocks whose memory the next block cannot have yet: the device may still use it, or it waits to go back
    /// to the driver.
    pub n_pending: usize,
    /// Their bytes.
    pub pending: u64,
}

/// Dropped memory that was neither freed nor given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// How many blocks.
    pub n_blocks: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Gives out a device's memory and takes it back.
///
/// Called from any thread. No lock of the runtime is held during a call.
///
/// # Safety
///
/// The runtime lets the device and the host read and write what a manager gives out, and does not check it again. So an
/// implementation promises, for every order of calls and for calls on several threads at once:
///
/// 1. **One device.** After [`initialize`](MemoryManager::initialize) succeeded, all memory is of that device, and
///    `initialize` with another device fails. Before it, nothing is given out.
/// 2. **As asked for.** A pointer has the size and kind that were asked for and keeps to the contracts of
///    [`MemoryPointer::new`] and [`MemoryPointer::with_mapping`]. Memory of every kind but
///    [`MemoryKind::Device`] has a mapping.
/// 3. **Exclusive.** From the moment it is given out until it comes back by [`memfree`](MemoryManager::memfree), no
///    byte of it, rounded up to 16, belongs to other memory that is given out.
/// 4. **Alive.** Buffer, memory, mapping and owner stay until it came back and its last uses are over. What never comes
///    back is never freed, also when the manager is dropped, reset or trimmed.
/// 5. **In order.** Bytes that are given out again before the work that used them is over carry that work as
///    [last uses](MemoryPointer::after): the last uses of every pointer that had any of these bytes.
/// 6. **Passed on.** Memory that another manager gave out keeps its last uses, and goes back to that same manager,
///    under the contract of [`memfree`](MemoryManager::memfree).
/// 7. **Let go.** Memory of the program, from [`mempin`](MemoryManager::mempin), comes back by `memfree`. If its last uses
///    are over, the device can no longer reach the pages when `memfree` returns: the program may then free them.
///
/// All of this holds also after a call that failed or panicked. What else the methods' descriptions ask for is for
/// programs to work well: where a manager breaks it, nothing is undefined.
///
/// A manager around another one is an [`Adaptor`](crate::Adaptor), which asks for much less. A whole manager is
/// `examples/plugin/` of this crate.
pub unsafe trait MemoryManager: fmt::Debug + Send + Sync {
    /// The version of the interface that the manager was written for; see [`INTERFACE_VERSION`].
    fn interface_version(&self) -> u32;

    /// Makes the manager ready for a device. Called before anything is allocated, perhaps more than once for the same
    /// device, and by several threads at once; a later call changes nothing. Refuses another device than the first.
    ///
    /// # Errors
    ///
    /// Whatever keeps the manager from working; the allocator is not opened then.
    fn initialize(&self, device: &Arc<Device>) -> Result<()>;

    /// Allocates device memory, uninitialised.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::TooLarge`], [`Error::NoSuchMemory`]; those of waiting for the device.
    fn memalloc(&self, request: &Request) -> Result<MemoryPointer>;

    /// Allocates host memory that the device reaches, uninitialised.
    ///
    /// # Errors
    ///
    /// As [`MemoryManager::memalloc`].
    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer>;

    /// Lets the device reach memory of the program.
    ///
    /// # Safety
    ///
    /// The `size` bytes at `pointer` can be read and written until `owner` is dropped, and nobody holds a Rust
    /// reference to them while the device uses them. What is returned goes back by [`MemoryManager::memfree`], or is
    /// dropped when no work uses it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager or the device cannot; [`Error::NotWholePages`],
    /// [`Error::AlreadyPinned`].
    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer>;

    /// Takes memory back that this manager gave out. Never blocks.
    ///
    /// The work of [`MemoryPointer::last_uses`] may not be over. The manager does not let the memory go before it is,
    /// but may give it out again at once, [after](MemoryPointer::after) that work. Memory of the program, from
    /// [`MemoryManager::mempin`], whose last uses are over is let go before the call returns.
    ///
    /// # Safety
    ///
    /// 1. This manager gave the pointer out, and its buffer, offset, size, kind, mapping, tag and owner are as they were.
    /// 2. Its last uses name all work that may still use the bytes: the work that it was given out with and all work
    ///    since, as far as it is not known to be over.
    /// 3. The host neither reads nor writes the bytes any more, and no more work that uses them is recorded.
    ///
    /// ```
    /// # use vkarray_allocator::{MemoryManager, MemoryPointer};
    /// fn take_back(manager: &dyn MemoryManager, unused: MemoryPointer) {
    ///     // SAFETY: for the callers of this function, to whom `manager` just gave it.
    ///     unsafe { manager.memfree(unused) }
    /// }
    /// ```
    ///
    /// ```compile_fail,E0133
    /// # use vkarray_allocator::{MemoryManager, MemoryPointer};
    /// fn take_back(manager: &dyn MemoryManager, unused: MemoryPointer) {
    ///     manager.memfree(unused)
    /// }
    /// ```
    unsafe fn memfree(&self, memory: MemoryPointer);

    /// Names memory for another process.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where it cannot.
    fn get_ipc_handle(&self, _memory: &MemoryPointer) -> Result<IpcHandle> {
        Err(Error::Unsupported { what: "sharing memory with another process" })
    }

    /// How much device memory there is.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager does not know.
    fn get_memory_info(&self) -> Result<MemoryInfo>;

    /// The same of the heap that a kind of memory comes from.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager does not know; [`Error::NoSuchMemory`].
    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        match kind {
            MemoryKind::Device => self.get_memory_info(),
            _ => Err(Error::Unsupported { what: "counting free memory of other kinds than the device's" }),
        }
    }

    /// Gives all memory back to the driver that nobody holds, waiting for its last uses.
    ///
    /// # Errors
    ///
    /// Those of waiting.
    fn reset(&self) -> Result<()>;

    /// Holds real frees back until the guard, and every other one, is dropped. Nothing is freed at that moment, and an
    /// explicit flush meanwhile frees nothing; what is held back is freed all the same before an allocation fails.
    fn defer_cleanup(&self) -> DeferCleanup;

    /// Frees what was dropped and is no longer used. Never blocks.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), [`Error::CleanupPanicked`]; what could not be asked about
    /// stays pending.
    fn try_flush(&self) -> Result<()>;

    /// Frees everything that was dropped before the call, waiting for its last uses.
    ///
    /// # Errors
    ///
    /// Those of waiting; what is not waited for stays pending.
    fn flush(&self) -> Result<()>;

    /// Takes `bytes` bytes of a kind from the driver ahead of need. Blocks for as long as the driver takes, which other
    /// threads with memory of their own do not.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager keeps nothing; those of allocating.
    fn reserve(&self, _bytes: u64, _kind: MemoryKind) -> Result<()> {
        Err(Error::Unsupported { what: "taking memory ahead of need" })
    }

    /// Gives memory that nobody has back to the driver, until at most `keep` bytes a kind are kept. Never waits for the
    /// device. Returns the bytes given back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost); nothing is given back then.
    fn trim(&self, _keep: u64) -> Result<u64> {
        Ok(0) // A manager that keeps nothing has nothing to give.
    }

    /// Bytes held and pending now.
    fn usage(&self) -> Usage;

    /// Dropped memory that was neither freed nor given out again; see [`PendingLimits`](crate::PendingLimits).
    fn pending(&self) -> Pending {
        let Usage { n_pending, pending, .. } = self.usage();
        Pending { n_blocks: n_pending, bytes: pending }
    }

    /// All that the manager counts; all zero where it does not. Takes no lock.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Who holds live memory of this manager; nothing if it does not keep that.
    fn label(&self, _memory: &MemoryPointer) -> Option<BlockLabel> {
        None
    }

    /// Says who holds live memory of this manager from now on. One that makes no reports need not care.
    fn set_label(&self, _memory: &MemoryPointer, _holder: BlockLabel) {}

    /// How often memory ran out so far, and what helped.
    fn oom_counts(&self) -> OomCounts {
        OomCounts::default()
    }
}
