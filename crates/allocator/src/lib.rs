//! Memory for vkarray: kinds, blocks, copies and deferred cleanup.
//!
//! **Is:** the choice of memory for a purpose, blocks of bytes that the device tracks, copies between them and the
//! host, and a queue that frees a dropped block when the device is done with it. **Is not:** elements or shapes (the
//! ndarray crate), shaders (the kernel crate). **Start** at [`Allocator`] and [`Block`].
//!
//! The folders, from the lowest to the highest; each may use those before it and none behind it:
//!
//! | folder | what is decided there |
//! |---|---|
//! | `kind` | what memory is called: kinds, labels, numbers of bytes |
//! | `error` | every failure, and the report of memory that ran out |
//! | `pending` | what waits for the device before it is free, and how much of it may wait |
//! | `memory` | host mappings, what a manager gives out, routes of copies |
//! | `vulkan` | how memory is asked of the driver: chunks, imports of host memory |
//! | `manager` | where memory comes from, when it goes back, what is tried when it runs out: the trait, the pool, the arena, adaptors |
//! | `staging` | pinned memory and threads that host copies go through |
//! | `allocator` | [`Allocator`], [`Block`] and the guards of host access |
//! | `copy` | copies and fills, on streams and in graphs; memory of the program that the device reaches |
//! | `interop` | DLPack and the order with foreign work |
//! | `usm` | memory objects with dpctl's kinds: device, host, shared |

mod allocator;
mod copy;
mod error;
mod interop;
mod kind;
mod manager;
mod memory;
mod pending;
mod staging;
mod usm;
mod vulkan;

pub use allocator::{Allocator, Block, HostRead, HostWrite, Image, connection_between, note_connection_failure};
pub use copy::{
    BlockRange, CopyNode, FillNode, Lent, PinError, Pinned, Region, Registered, RegisteredMemory, RegisteredPath,
};
#[cfg(target_os = "linux")]
pub use error::IpcError;
#[cfg(feature = "dlpack")]
pub use error::TensorError;
pub use error::{
    Error, HeapUse, ImageProblem, LiveBlock, OomStep, OutOfMemory, PendingOn, Result, Shortage, StepOutcome,
    StepOutcomes,
};
#[cfg(feature = "dlpack")]
pub use interop::{HostTensor, Tensor, TensorShape, tensor_of_bytes};
pub use kind::{BlockLabel, Bytes, MemoryKind, UsmType};
pub use manager::adaptors::{
    Adaptor, AllocationStatistics, Counter, FailureCallback, Limiting, Outstanding, ScopeCounters, StatisticsScope,
    Tracking, Verdict,
};
#[cfg(feature = "allocation-log")]
pub use manager::adaptors::{LogStep, Logging, read_log};
pub use manager::{
    ArenaManager, Confidence, Counters, HostOnlyMemoryManager, HostOptions, INTERFACE_VERSION, KindCounters,
    ManagerFactory, MemoryInfo, MemoryManager, OomCounts, OomStepCount, PassthroughManager, Pending, PoolManager,
    Request, Usage, memory_manager_names, register_memory_manager, set_memory_manager,
};
pub use memory::{
    ConnectionEnd, ConnectionLimit, ConnectionSync, ConnectionTraits, ConnectionTrials, HostPointer, Mapping,
    MemoryConnection, MemoryDescription, MemoryPointer, MigrationPath, Owner, PeerFeatures, Trial, UnifiedBy,
    memory_connection,
};
#[cfg(unix)]
pub use memory::{ExportedMemory, IpcHandle};
pub use pending::{DeferCleanup, PendingLimits};
/// What an owner of pinned memory promises: its elements stay where they are when it is moved.
pub use stable_deref_trait::StableDeref;
pub use usm::{
    DeviceMemory, HostMemory, HostVisible, MemoryContext, MemoryState, OnBoth, OnDevice, OnHost, Reference,
    SharedMemory, UsmKind, UsmMemory,
};
pub use vulkan::ImageShape;

/// Checks and decisions that the crates above share. Not for programs; the names may change in any version.
#[doc(hidden)]
pub mod internal {
    pub use crate::memory::{is_by_rows, is_packed_first};
    pub use crate::vulkan::check_same_device;
}
