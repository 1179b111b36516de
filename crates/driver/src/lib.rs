//! Vulkan objects for vkarray: instance, devices, streams, points, events and graphs.
//!
//! **Is:** the loader found at run time, devices described as plain data and opened by a pure plan, and streams of
//! work whose hazards are found and ordered by the runtime. **Is not:** memory (the allocator crate), shaders (the
//! kernel crate), shapes (the ndarray crate). **Start** at [`Instance`], [`Device`] and [`Stream`].
//!
//! Every object holds its parent, so drop order is never the caller's concern.

mod adopt;
mod auto_synchronize;
mod barrier;
mod batch;
mod bound;
mod budget;
mod default_streams;
mod descriptors;
mod device;
mod done;
mod error;
mod event;
mod external;
mod fork;
mod gather;
mod graph;
pub mod hazard;
mod hold;
mod instance;
mod label;
mod lane;
mod legacy;
pub mod lock;
mod loss;
mod matrix_shape;
mod number;
mod owned;
mod plan;
mod point;
mod query;
mod queue;
mod recorder;
mod released;
mod select;
mod snapshot;
mod stream;
mod stripe;
mod timeline;
mod trace;
mod tracker;
mod waiter;

pub use adopt::{Adopted, ExternalQueue};
pub use auto_synchronize::AutoSynchronize;
pub use batch::Kept;
pub use budget::HeapBudget;
pub use default_streams::DefaultStreams;
pub use device::Device;
pub use done::Done;
pub use error::{Error, Result};
pub use event::Event;
pub use fork::Origin;
pub use graph::{Graph, GraphRecorder, Node, Step};
pub use hold::{HostHold, Term};
pub use instance::{Instance, InstanceBuilder, Intercept, PhysicalDevice, ValidationMessage};
pub use label::Label;
pub use matrix_shape::{MatrixShape, scope_name};
pub use owned::{Destroy, Owned};
pub use plan::{MINIMUM_VERSION, Plan, QueuePlan, Request};
pub use point::Point;
pub use queue::QueueLock;
pub use recorder::Recorder;
pub use released::DropLater;
pub use select::Selection;
pub use snapshot::{
    DeviceInfo, DeviceType, DriverInfo, Features, Heap, Limits, MemoryType, QueueFamily, Subgroup, Version,
};
pub use stream::{Direction, Stream};
pub use stripe::{N_STRIPES, stripe};
pub use timeline::Timeline;
pub use trace::Trace;
