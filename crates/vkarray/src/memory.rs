//! Memory below arrays: blocks of bytes, memory objects, and the managers that memory comes from.
//!
//! A [`Block`] is bytes of one [`MemoryKind`] that the device tracks; arrays are typed views of blocks. A
//! [`MemoryManager`] decides where memory comes from and when it goes back: the pool is the default, and adaptors such
//! as [`Limiting`] or [`AllocationStatistics`] are put around any manager. This module and [`vulkan`](crate::vulkan) have
//! everything for a manager of your own; the crate `vkarray-conformance` tests one.
//!
//! ```
//! use std::sync::Arc;
//! use vkarray::memory::{ManagerFactory, PoolManager, AllocationStatistics};
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let statistics = Arc::new(AllocationStatistics::new(PoolManager::new()));
//! let manager = Arc::clone(&statistics);
//! let factory = ManagerFactory::new(move || Ok(Box::new(Arc::clone(&manager))));
//! let ctx = Context::builder().memory_manager(factory).open()?;
//! let array = ctx.zeros::<f32>([256])?;
//! assert_eq!(statistics.counted().bytes.current, 1024);
//! # drop(array);
//! # Ok(())
//! # }
//! ```

pub use vkarray_allocator::{
    Adaptor, AllocationStatistics, Allocator, ArenaManager, Block, BlockLabel, BlockRange, Bytes, Confidence,
    ConnectionLimit, ConnectionSync, ConnectionTraits, Counter, Counters, DeferCleanup, DeviceMemory, Error,
    FailureCallback, HostMemory, HostOnlyMemoryManager, HostOptions, HostPointer, HostVisible, HostWrite,
    INTERFACE_VERSION, Lent, Limiting, LiveBlock, ManagerFactory, Mapping, MemoryConnection, MemoryContext,
    MemoryDescription, MemoryInfo, MemoryKind, MemoryManager, MemoryPointer, MemoryState, MigrationPath, OnBoth,
    OnDevice, OnHost, OomStep, OutOfMemory, Owner, PassthroughManager, Pending, PendingLimits, PinError, Pinned,
    PoolManager, Reference, Region, RegisteredMemory, RegisteredPath, Request, Result, SharedMemory, Shortage,
    StableDeref, StatisticsScope, StepOutcome, Tracking, UnifiedBy, Usage, UsmKind, UsmMemory, UsmType, Verdict,
    connection_between, memory_connection, memory_manager_names, note_connection_failure, register_memory_manager,
    set_memory_manager,
};
#[cfg(unix)]
pub use vkarray_allocator::{ExportedMemory, IpcHandle};
#[cfg(feature = "allocation-log")]
pub use vkarray_allocator::{LogStep, Logging, read_log};
