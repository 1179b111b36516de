//! Upkeep of an allocator: deferred frees, memory ahead of need, reset, and figures of its use.

use std::sync::atomic::Ordering;

use super::Allocator;
use crate::error::Result;
use crate::kind::MemoryKind;
use crate::manager::{Counters, MemoryInfo, OomCounts, Pending, Usage};
use crate::pending::DeferCleanup;

impl Allocator {
    /// Holds frees back, of all threads, until this guard and every other guard is dropped.
    ///
    /// While a guard lives, dropped memory waits without a limit. The first drop or allocation after the last guard
    /// that finds the [`PendingLimits`](crate::PendingLimits) exceeded frees it; so do a flush, and running out of
    /// memory. A pool still gives waiting memory to the next block. A leaked guard only keeps frees back.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let guard = allocator.defer_cleanup();
    /// drop(allocator.allocate(1 << 20, MemoryKind::Device)?);
    /// allocator.flush()?; // Frees nothing.
    /// assert_eq!(allocator.pending().n_blocks, 1);
    /// drop(guard);
    /// allocator.flush()?;
    /// assert_eq!(allocator.pending().n_blocks, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn defer_cleanup(&self) -> DeferCleanup {
        self.manager().defer_cleanup()
    }

    /// Dropped memory that was neither freed nor given out again. In a pool this is memory cached for a block of the same
    /// size; memory of an arena's frames is never pending.
    pub fn pending(&self) -> Pending {
        self.manager().pending()
    }

    /// Frees the dropped blocks that the device no longer uses; frees nothing while frees are held back. Never blocks.
    ///
    /// The memory goes back to the driver. A pool without limits returns it to the free ranges of its chunks instead, which
    /// [`Allocator::trim`] gives back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), [`Error::CleanupPanicked`](crate::Error::CleanupPanicked); memory
    /// whose uses could not be queried stays pending.
    pub fn try_flush(&self) -> Result<()> {
        self.device().check_process()?;
        self.shared.external.pending.try_flush()?;
        self.manager().try_flush()
    }

    /// Frees every block that was dropped before the call, like [`Allocator::try_flush`], after waiting for the device. While
    /// frees are held back, it frees nothing and does not wait.
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device. Blocks whose wait failed stay pending.
    pub fn flush(&self) -> Result<()> {
        self.device().check_process()?;
        self.shared.external.pending.flush()?;
        self.manager().flush()
    }

    /// Takes `bytes` bytes of a kind from the driver, so that later allocations find them. Blocks for as long as the driver
    /// takes; other threads can still allocate memory that the manager has.
    ///
    /// A block can take up to an eighth more than its size.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// allocator.reserve(32 << 20, MemoryKind::Device)?;
    /// let growths = allocator.counters().growths;
    /// let block = allocator.allocate(16 << 20, MemoryKind::Device)?;
    /// assert_eq!(allocator.counters().growths, growths); // The driver was not asked.
    /// drop(block);
    /// assert!(allocator.trim(0)? >= 32 << 20);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::NoSuchMemory`](crate::Error::NoSuchMemory);
    /// [`Error::Unsupported`](crate::Error::Unsupported) where the manager keeps no memory.
    pub fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        self.device().check_lost()?;
        self.manager().reserve(bytes, kind)
    }

    /// Gives unused memory back to the driver, until at most `keep` bytes of each kind are kept. Never waits for the
    /// device. Returns the number of bytes given back.
    ///
    /// # Errors
    ///
    /// [`DeviceLost`](vkarray_driver::Error::DeviceLost), and nothing is given back.
    pub fn trim(&self, keep: u64) -> Result<u64> {
        self.device().check_lost()?;
        self.shared.staging.free_slots();
        self.manager().trim(keep)
    }

    /// The numbers that the manager counts. Takes no lock.
    pub fn counters(&self) -> Counters {
        self.manager().counters()
    }

    /// How much memory the device has, and how much of it can still be allocated.
    ///
    /// The managers of this crate ask the driver at most every ten milliseconds, and after each exchange of memory with
    /// it, so allocations of other processes are noticed with that delay. A call is cheap enough for each block.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let info = allocator.memory_info()?;
    /// assert!(info.free <= info.total);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the manager does not count memory.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        self.device().check_lost()?;
        self.manager().get_memory_info()
    }

    /// How much memory the heap of a kind of memory has, and how much of it can still be allocated. The heap of shared
    /// memory may be a window of 256 MiB; see [`MemoryKind::is_scarce`].
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported) if the manager does not count memory;
    /// [`Error::NoSuchMemory`](crate::Error::NoSuchMemory).
    pub fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        self.device().check_lost()?;
        self.manager().memory_info_of(kind)
    }

    /// Gives all unused memory back to the driver, and ends every block that exists.
    ///
    /// From the call on, each use of these blocks is refused with [`Error::DeadMemory`](crate::Error::DeadMemory).
    /// Their memory goes back when their last handles are dropped, since other threads may be using them. Recorded work
    /// still runs, and recorded graphs can still be replayed. While frees are held back, the blocks end and nothing is
    /// given back.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(64, MemoryKind::Device)?;
    /// allocator.reset()?;
    /// assert!(!block.is_alive() && block.fill(&stream, 0).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device. The blocks have ended also after an error.
    pub fn reset(&self) -> Result<()> {
        self.device().check_process()?;
        self.shared.staging.generation.fetch_add(1, Ordering::Relaxed);
        self.shared.staging.free_slots();
        self.manager().reset()
    }

    /// How often memory ran out so far, and which steps helped.
    pub fn oom_counts(&self) -> OomCounts {
        self.manager().oom_counts()
    }

    /// Bytes in use and pending now, without staging memory; zero in a forked process.
    pub fn usage(&self) -> Usage {
        if self.device().is_forked() {
            return Usage::default(); // The manager's locks may stay locked forever.
        }
        let usage = self.manager().usage();
        Usage { in_use: usage.in_use.saturating_sub(self.shared.staging.bytes()), ..usage }
    }

    /// Bytes of staging memory: pinned memory that host copies go through. The manager counts these bytes as in use.
    pub fn staging_bytes(&self) -> u64 {
        self.shared.staging.bytes()
    }

    /// Gives staging memory that no copy uses back to the manager. Never blocks. [`Allocator::trim`] and
    /// [`Allocator::reset`] also do this.
    pub fn release_staging(&self) {
        self.shared.staging.free_slots();
    }
}
