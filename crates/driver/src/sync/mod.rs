//! Tools for threads: ranked locks, thread shards, and drops that are postponed until a lock is released.
//!
//! It uses nothing of Vulkan and no other folder. Start with `lock.rs`, which holds the order of all locks of the workspace.

mod drop_later;
pub mod lock;
mod thread_shard;

pub use self::drop_later::{DeferDrops, KeepAlive};
pub use self::thread_shard::{N_THREAD_SHARDS, thread_shard};
