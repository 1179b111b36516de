//! Memory managers: where memory comes from, and when it goes back.
//!
//! The pool is the default, and adaptors such as [`Limiting`] or [`AllocationStatistics`] are put around any manager. This
//! module, [`memory`](crate::memory) and [`vulkan`](crate::vulkan) have everything for a [`MemoryManager`] of your own; the
//! crate `vkarray-conformance` tests one.
//!
//! ```
//! use std::sync::Arc;
//! use vkarray::memory::managers::{ManagerFactory, PoolManager, AllocationStatistics};
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
    Adaptor, AllocationStatistics, ArenaManager, Counter, Counters, FailureCallback, HostOnlyMemoryManager,
    HostPointer, INTERFACE_VERSION, Limiting, ManagerFactory, Mapping, MemoryManager, MemoryPointer, Owner,
    PassthroughManager, PendingLimits, PoolManager, Request, StatisticsScope, Tracking, Verdict, memory_manager_names,
    register_memory_manager, set_memory_manager,
};
#[cfg(feature = "allocation-log")]
pub use vkarray_allocator::{LogStep, Logging, read_log};
