//! Tools for threads: ranked locks, thread shards, drops that are postponed until a lock is released, and panics of the
//! program's code.
//!
//! The folder uses nothing of Vulkan and no other folder. Start with `lock.rs`, which has the order of all locks of the
//! workspace.

mod background;
mod drop_later;
pub mod lock;
mod panics;
mod thread_shard;

pub(crate) use self::background::is_background_thread;
pub use self::background::mark_background_thread;
pub use self::drop_later::{DeferDrops, KeepAlive};
pub use self::panics::{catch_panic, contain_panic, log_in_drop};
pub use self::thread_shard::{N_THREAD_SHARDS, thread_shard};
