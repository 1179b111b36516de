//! What threads share, whatever they do with it: ranked locks, thread shards, and drops that wait for a lock's release.
//!
//! It uses nothing of Vulkan and no other room. Start with `lock.rs`, which holds the order of all locks of the workspace.

mod drop_later;
pub mod lock;
mod thread_shard;

pub use self::drop_later::{DropLater, Kept};
pub(crate) use self::drop_later::{KeptList, drop_kept};
pub use self::thread_shard::{N_STRIPES, stripe};
