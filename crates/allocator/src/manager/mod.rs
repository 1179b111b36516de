//! Memory managers: where memory comes from, and when it goes back to the driver.
//!
//! [`MemoryManager`] is the interface, which programs can implement. [`PoolManager`] is the default;
//! [`PassthroughManager`] gives each allocation a separate buffer, [`ArenaManager`] gives out memory by frames of work,
//! and an adaptor wraps any manager. A manager never sees a [`Block`](crate::Block): the folder `allocator` wraps the
//! memory that it gives out. Read `interface.rs` first. `registry.rs` decides which manager a program gets.

pub(crate) mod adaptors;
mod arena;
mod counters;
mod host_only;
mod interface;
mod memory_info;
mod oom_fallback;
mod passthrough;
mod pool;
mod registry;
mod request;
#[cfg(test)]
pub(crate) mod tests;

pub use self::arena::ArenaManager;
pub use self::counters::{Counters, KindCounters};
pub use self::host_only::HostOnlyMemoryManager;
pub use self::interface::{INTERFACE_VERSION, MemoryManager};
pub use self::memory_info::{Confidence, MemoryInfo};
pub(crate) use self::oom_fallback::{MAX_WAIT, OomFallback, OomHandler};
pub use self::oom_fallback::{OomCounts, OomStepCount};
pub use self::passthrough::PassthroughManager;
pub use self::pool::PoolManager;
pub(crate) use self::registry::check_version;
pub use self::registry::{ManagerFactory, memory_manager_names, register_memory_manager, set_memory_manager};
pub use self::request::{HostOptions, Pending, Request, Usage};
