//! What waits for the device before it is free: the work that may still use memory, and the queue of dropped items.
//!
//! All memory that was dropped carries [`PendingUses`]. A thread cache of the pool and a frame of the arena keep them
//! beside their memory, for the next block; everything else waits in a [`PendingQueue`], which drops an item once its
//! uses are over. Both ask the device through one [`CompletionQuery`]. Read `uses.rs` first, then `list.rs`, which has
//! the rules of the queue without a device, then `queue.rs`.

mod defer_guard;
mod limits;
mod list;
mod queue;
mod uses;

pub use defer_guard::DeferCleanup;
pub(crate) use defer_guard::DeferCount;
pub use limits::PendingLimits;
pub(crate) use list::HeapLimits;
pub(crate) use queue::PendingQueue;
pub(crate) use uses::{CompletionQuery, PendingUses, Uses, are_complete, bytes_by_stream};
