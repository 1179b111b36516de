//! Vulkan's own objects as Rust values: the logical device, the handles made from it, queues and timeline semaphores.
//!
//! Every handle holds the logical device, so handles may be dropped in any order. The folder never records commands and
//! never decides what is ordered after what. Start with `logical_device.rs`. `owned.rs` destroys handles, `loss.rs`
//! says what a failed device does, `queue.rs` has the queues that work is submitted to, and `timeline.rs` waits for
//! work.

mod budget;
mod close;
mod create;
mod label;
mod logical_device;
pub(crate) mod loss;
mod owned;
mod queue;
#[cfg(unix)]
mod semaphore;
mod timeline;

pub use self::budget::HeapBudget;
pub use self::label::Label;
pub use self::logical_device::LogicalDevice;
pub use self::owned::{Destroy, Owned};
pub use self::queue::QueueLock;
pub(crate) use self::queue::{Queue, QueueIndex};
#[cfg(unix)]
pub use self::semaphore::{ExternalSemaphore, SemaphoreKind};
pub use self::timeline::Timeline;
pub(crate) use self::timeline::wait_any;
