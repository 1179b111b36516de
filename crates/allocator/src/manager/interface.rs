//! [`MemoryManager`]: the interface between the runtime and an object that provides memory.
//!
//! The methods are the methods of numba's external memory managers; frees follow the order of the device's work. The
//! runtime wraps the memory that a manager gives out in a [`Block`](crate::Block), and gives it back, with its last
//! uses, when the block is dropped.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::Device;

use super::{Counters, HostOptions, MemoryInfo, OomCounts, Pending, Request, Usage};
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
#[cfg(unix)]
use crate::memory::IpcHandle;
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::DeferCleanup;

/// The version of [`MemoryManager`] that this crate calls.
pub const INTERFACE_VERSION: u32 = 1;

/// Gives out a device's memory and takes it back.
///
/// Five methods are required. The others have defaults that serve a manager which frees memory as soon as its last uses
/// are over and counts nothing. Where [`upstream`](MemoryManager::upstream) names another manager, the defaults ask the
/// upstream manager. Methods are called from any thread, and no lock of the runtime is held during a call.
///
/// # Safety
///
/// The runtime lets the device and the host read and write the memory that a manager gives out, and does not check it
/// again. An implementation therefore promises, for every order of calls and for calls on several threads at once:
///
/// 1. **One device.** After [`initialize`](MemoryManager::initialize) succeeded, all memory is of that device, and
///    `initialize` with another device fails. Before it, no memory is given out.
/// 2. **As asked for.** A pointer has the size and kind that were asked for and keeps to the contracts of
///    [`MemoryPointer::new`] and [`MemoryPointer::with_mapping`]. Memory of every kind but
///    [`MemoryKind::Device`] has a mapping.
/// 3. **Exclusive.** From the moment it is given out until it comes back by [`memfree`](MemoryManager::memfree), no
///    byte of it, rounded up to 16, belongs to other memory that is given out.
/// 4. **Alive.** Buffer, memory, mapping and owner stay until the memory came back and its last uses are over. Memory
///    that never comes back is never freed, also when the manager is dropped, reset or trimmed.
/// 5. **In order.** Bytes that are given out again before the work that used them is over carry that work as
///    [last uses](MemoryPointer::after): the last uses of every pointer that had any of these bytes.
/// 6. **Passed on.** Memory that another manager gave out keeps its last uses, and goes back to that same manager,
///    under the contract of [`memfree`](MemoryManager::memfree).
/// 7. **Let go.** Memory of the program, from [`mempin`](MemoryManager::mempin), comes back by `memfree`. If its last uses
///    are over, the device can no longer reach the pages when `memfree` returns: the program may then free them. Until then
///    the manager neither reads nor writes them, since some of their bytes may be those of others.
///
/// All of this holds also after a call that failed or panicked. The other requirements in the descriptions of the methods
/// are for programs to work well: breaking them is not undefined behaviour.
///
/// A manager that only changes what another one does is an [`Adaptor`](crate::Adaptor), which needs much less.
///
/// # Examples
///
/// A manager with a name of its own that takes all memory from the pool. `examples/plugin/` of this crate is a manager
/// over gpu-allocator.
///
/// ```
/// use std::ptr::NonNull;
/// use std::sync::Arc;
///
/// use vkarray_allocator::{
///     Allocator, HostOptions, HostPointer, INTERFACE_VERSION, MemoryKind, MemoryManager, MemoryPointer, Owner, PoolManager,
///     Request, Result,
/// };
/// use vkarray_driver::{Device, Instance};
///
/// #[derive(Debug)]
/// struct Mine(PoolManager);
///
/// // SAFETY: all memory is the pool's, a private field that nothing assigns to, and goes back to it unchanged.
/// unsafe impl MemoryManager for Mine {
///     fn interface_version(&self) -> u32 {
///         INTERFACE_VERSION
///     }
///     fn upstream(&self) -> Option<&dyn MemoryManager> {
///         Some(&self.0)
///     }
///     fn initialize(&self, device: &Arc<Device>) -> Result<()> {
///         self.0.initialize(device)
///     }
///     fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
///         self.0.memalloc(request)
///     }
///     fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
///         self.0.memhostalloc(size, options)
///     }
///     unsafe fn memfree(&self, memory: MemoryPointer) {
///         // SAFETY: the caller keeps the same contract, and the pool gave the memory out.
///         unsafe { self.0.memfree(memory) }
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(Mine(PoolManager::new())))?;
/// let block = allocator.allocate(100, MemoryKind::Device)?;
/// assert_eq!(allocator.counters().n_in_use, 1); // Asked of the pool.
/// # Ok(())
/// # }
/// ```
#[doc(alias = "BaseCUDAMemoryManager")]
#[doc(alias = "DeviceMemoryResource")]
#[doc(alias = "device_memory_resource")]
pub unsafe trait MemoryManager: fmt::Debug + Send + Sync {
    /// The version of the interface that the manager was written for; see [`INTERFACE_VERSION`].
    fn interface_version(&self) -> u32;

    /// The manager that the methods with a default ask, if there is one. It may differ from the manager that gives out
    /// the memory.
    fn upstream(&self) -> Option<&dyn MemoryManager> {
        None
    }

    /// Prepares the manager for a device. Called before any allocation, perhaps more than once for the same device, and
    /// by several threads at once; a later call changes nothing. Refuses another device than the first.
    ///
    /// # Errors
    ///
    /// The manager's reason not to work. The allocator is not opened then.
    fn initialize(&self, device: &Arc<Device>) -> Result<()>;

    /// Allocates device memory, uninitialised.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], [`Error::TooLarge`], [`Error::NoSuchMemory`]; and the errors of waiting for the device.
    fn memalloc(&self, request: &Request) -> Result<MemoryPointer>;

    /// Allocates host memory that the device reaches, uninitialised.
    ///
    /// # Errors
    ///
    /// The errors of [`MemoryManager::memalloc`].
    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer>;

    /// Lets the device reach memory of the program. The default refuses, and drops the owner.
    ///
    /// # Safety
    ///
    /// The `size` bytes at `pointer` can be read and written until `owner` is dropped. While work of the device reads
    /// bytes of them, there is no mutable Rust reference to these bytes; while it writes bytes, there is no Rust
    /// reference to them at all. The returned memory goes back by [`MemoryManager::memfree`], or is dropped when no
    /// work uses it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager or the device cannot pin memory; [`Error::NotWholePages`],
    /// [`Error::AlreadyPinned`].
    unsafe fn mempin(&self, _owner: Owner, _pointer: NonNull<u8>, _size: u64, _mapped: bool) -> Result<HostPointer> {
        Err(Error::Unsupported { what: "pinning memory of the program" })
    }

    /// Takes memory back that this manager gave out. Never blocks.
    ///
    /// The work of [`MemoryPointer::last_uses`] may not be over. The manager keeps the memory until that work is over,
    /// but may give it out again at once, [after](MemoryPointer::after) that work. Memory of the program, from
    /// [`MemoryManager::mempin`], whose last uses are over is let go before the call returns.
    ///
    /// # Safety
    ///
    /// 1. This manager gave the pointer out, and its buffer, offset, size, kind, mapping, tag and owner are unchanged.
    /// 2. Its last uses name all work that may still use the bytes: the work that it was given out with and all work
    ///    since, as far as it is not known to be over.
    /// 3. The host neither reads nor writes the bytes any more, and no more work that uses them is recorded.
    ///
    /// ```
    /// # use vkarray_allocator::{MemoryManager, MemoryPointer};
    /// fn take_back(manager: &dyn MemoryManager, unused: MemoryPointer) {
    ///     // SAFETY: the callers of this function got it from `manager` and have not used it.
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

    /// Names memory for another process: at least all bytes of the pointer, in memory that
    /// [`Allocator::import`](crate::Allocator::import) opens there.
    ///
    /// [`Block::get_ipc_handle`](crate::Block::get_ipc_handle) and an array that is shared ask for the handle. It may
    /// name a part of larger memory, such as a chunk of the manager's; the receiver then gets the whole chunk, which
    /// the array's owner has to allow. Managers of this crate name no memory: exportable memory belongs to the
    /// allocator, which does not ask for it here.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager names no memory.
    #[cfg(unix)]
    fn get_ipc_handle(&self, memory: &MemoryPointer) -> Result<IpcHandle> {
        self.upstream()
            .ok_or(Error::Unsupported { what: "sharing memory with another process" })?
            .get_ipc_handle(memory)
    }

    /// How much device memory there is.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager does not count memory.
    #[doc(alias = "available_memory")]
    fn get_memory_info(&self) -> Result<MemoryInfo> {
        self.upstream().ok_or(Error::Unsupported { what: "counting free device memory" })?.get_memory_info()
    }

    /// How much memory there is on the heap that a kind of memory comes from.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager does not count memory; [`Error::NoSuchMemory`].
    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        match (self.upstream(), kind) {
            (Some(upstream), _) => upstream.memory_info_of(kind),
            (None, MemoryKind::Device) => self.get_memory_info(),
            _ => Err(Error::Unsupported { what: "counting free memory of other kinds than the device's" }),
        }
    }

    /// Gives all unused memory back to the driver, waiting for its last uses. The default without an upstream
    /// is a [`flush`](MemoryManager::flush).
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device.
    fn reset(&self) -> Result<()> {
        self.upstream().map_or_else(|| self.flush(), |upstream| upstream.reset())
    }

    /// Holds real frees back until this guard, and every other guard, is dropped. Dropping a guard frees nothing at
    /// once, and an explicit flush while a guard lives frees nothing; memory that is held back is still freed before an
    /// allocation fails.
    fn defer_cleanup(&self) -> DeferCleanup {
        self.upstream().map_or_else(|| DeferCleanup::new(|| {}), |upstream| upstream.defer_cleanup())
    }

    /// Frees dropped memory that is no longer used. Never blocks.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), [`Error::CleanupPanicked`]. Memory whose uses could not be
    /// queried stays pending.
    fn try_flush(&self) -> Result<()> {
        self.upstream().map_or(Ok(()), |upstream| upstream.try_flush())
    }

    /// Frees all memory that was dropped before the call, waiting for its last uses.
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device. Memory whose wait failed stays pending.
    fn flush(&self) -> Result<()> {
        self.upstream().map_or(Ok(()), |upstream| upstream.flush())
    }

    /// Takes `bytes` bytes of a kind from the driver ahead of need. Blocks for as long as the driver takes; threads that
    /// find memory in the manager do not wait for it.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] where the manager keeps nothing; and the errors of allocating.
    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.upstream().ok_or(Error::Unsupported { what: "taking memory ahead of need" })?.reserve(bytes, kind)
    }

    /// Gives unused memory back to the driver, until at most `keep` bytes of each kind are kept. Never waits for the
    /// device. Returns the bytes given back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), and nothing is given back.
    fn trim(&self, keep: u64) -> Result<u64> {
        self.upstream().map_or(Ok(0), |upstream| upstream.trim(keep))
    }

    /// Bytes in use and pending now.
    fn usage(&self) -> Usage {
        self.upstream().map_or_else(Usage::default, |upstream| upstream.usage())
    }

    /// Dropped memory that was neither freed nor given out again; see [`PendingLimits`](crate::PendingLimits).
    fn pending(&self) -> Pending {
        match self.upstream() {
            Some(upstream) => upstream.pending(),
            None => {
                let Usage { n_pending, pending, .. } = self.usage();
                Pending { n_blocks: n_pending, bytes: pending }
            }
        }
    }

    /// All numbers that the manager counts; zero for numbers that it does not count. Takes no lock.
    fn counters(&self) -> Counters {
        self.upstream().map_or_else(Counters::default, |upstream| upstream.counters())
    }

    /// The label of live memory of this manager; `None` if it keeps no labels.
    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        self.upstream()?.label(memory)
    }

    /// Replaces the label of live memory of this manager. A manager that makes no reports may ignore it.
    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        if let Some(upstream) = self.upstream() {
            upstream.set_label(memory, label);
        }
    }

    /// How often memory ran out so far, and which steps helped.
    fn oom_counts(&self) -> OomCounts {
        self.upstream().map_or_else(OomCounts::default, |upstream| upstream.oom_counts())
    }
}
