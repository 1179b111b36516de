//! Vulkan objects for vkarray: instance, devices, streams, points, events and graphs.
//!
//! **Is:** the loader found at run time, devices described as plain data and opened by a pure plan, and streams of
//! work whose hazards are found and ordered by the runtime. **Is not:** memory (the allocator crate), shaders (the
//! kernel crate), shapes (the ndarray crate). **Start** at [`Instance`], [`Device`] and [`Stream`].
//!
//! Every object holds its parent, so objects may be dropped in any order.
//!
//! # Layers
//!
//! Each folder is a subsystem, and imports only the folders above its own line:
//!
//! | folder | holds |
//! |---|---|
//! | `sync` | ranked locks, thread shards, drops that wait for a lock's release, panics of the program's code |
//! | `instance` | variables of the environment, the loader, the properties of devices, the choice of one, and how it is opened |
//! | [`hazard`] | which operation comes after which, as pure bookkeeping |
//! | `trace` | the data of a recording of what happened when, and the file written from it |
//! | `vulkan` | the logical device, its handles, queues and timeline semaphores |
//! | `tracker` | points, the uses of memory, what the host accesses, the thread that waits |
//! | `lane` | recording operations into batches, and submitting them |
//! | `device` | [`Device`], which owns all of that, opened or adopted |
//! | `stream` | [`Stream`], [`Event`], futures, default streams |
//! | `graph` | [`Graph`] |

mod device;
mod error;
mod graph;
pub mod hazard;
mod instance;
mod lane;
mod stream;
mod sync;
#[cfg_attr(not(feature = "trace"), allow(dead_code, unused_imports, reason = "only `Trace` starts a recording"))]
mod trace;
mod tracker;
mod vulkan;

#[cfg(feature = "trace")]
pub use device::Trace;
pub use device::{Adopted, Device, ExternalQueue};
pub use error::{Error, Result};
pub use graph::{Graph, GraphNode, GraphRecorder, Step};
pub use instance::environment;
pub use instance::{
    BUFFER_USAGE, DeviceInfo, DeviceLimits, DevicePlan, DeviceRequest, DeviceType, DriverFault, DriverInfo, External,
    Features, HandleSupport, Heap, Instance, InstanceBuilder, Intercept, LimitProfile, MatrixShape, MemoryType,
    PhysicalDevice, ProcessId, QueueFamily, QueuePlan, Selection, Subgroup, ValidationMessage, Version, scope_name,
};
pub use lane::Recorder;
pub use stream::{AutoSynchronize, Completion, DefaultStreams, Direction, Event, Stream};
pub use sync::{
    DeferDrops, KeepAlive, N_THREAD_SHARDS, catch_panic, contain_panic, lock, log_in_drop, mark_background_thread,
    thread_shard,
};
pub use tracker::{HostAccess, HostAccessKind, Point};
pub use vulkan::{Destroy, HeapBudget, Label, LogicalDevice, Owned, QueueLock, Timeline};
#[cfg(unix)]
pub use vulkan::{ExternalSemaphore, SemaphoreKind};

/// Implements `Debug` by values of the object that is named before the arrow: `Graph { id: 3, n_nodes: 2, .. }`. It
/// serves types with fields that have no `Debug`, and types whose derived text would say nothing. The parameters of a
/// generic type stand in brackets before its name.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_fields {
    ($([$($parameters:tt)+])? $type:ident $(<$($arguments:tt),+>)? $(, $object:ident => $($name:ident: $value:expr),+)?) => {
        impl $(<$($parameters)+>)? ::std::fmt::Debug for $type $(<$($arguments),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $(let $object = self;)?
                f.debug_struct(stringify!($type))$($(.field(stringify!($name), &$value))+)?.finish_non_exhaustive()
            }
        }
    };
}

/// Implements `Debug` of an error as its message, which `main` prints if it returns the error.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_display {
    ($type:ident) => {
        impl ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// Implements `Display` of an enum without fields by a text for each variant.
#[doc(hidden)]
#[macro_export]
macro_rules! display_texts {
    ($type:ident { $($variant:ident: $text:literal),* $(,)? }) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(match self { $(Self::$variant => $text),* })
            }
        }
    };
}
