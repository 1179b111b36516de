//! Deferred frees: memory that was dropped and that the device may still use.
//!
//! Nothing is freed before its last use is over. What freeing means is the caller's: the types here are generic over what
//! they keep, and never call the driver to free anything. Read `cleanup_queue.rs` first, which holds the rules, then
//! `deferred.rs`, which adds the device.

mod cleanup_queue;
mod defer_guard;
mod deferred;
mod pending_limits;

pub(crate) use cleanup_queue::HeapLimits;
pub use defer_guard::DeferCleanup;
pub(crate) use defer_guard::DeferCount;
pub(crate) use deferred::{Deferred, bytes_by_stream, free_now};
pub use pending_limits::PendingLimits;
