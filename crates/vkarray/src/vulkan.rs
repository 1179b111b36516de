//! Vulkan itself: objects of other libraries to work on, and the raw handles of ours.

pub use ash;
pub use vkarray_driver::hazard::{Access, BlockId, LastUse, LastUses, Mode, Stage, Stages};
pub use vkarray_driver::{
    Adopted, Destroy, ExternalQueue, Label, MINIMUM_VERSION, Origin, Owned, QueueLock, Recorder, Step, Timeline,
};
