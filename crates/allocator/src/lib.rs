//! Memory for vkarray: kinds, blocks, copies and deferred cleanup.
//!
//! **Is:** the choice of memory for a purpose, blocks of bytes that the device tracks, copies between them and the
//! host, and a queue that frees a dropped block when the device is done with it. **Is not:** elements or shapes (the
//! ndarray crate), shaders (the kernel crate). **Start** at [`Allocator`] and [`Block`].

mod allocator;
mod block;
mod bytes;
mod chunk;
mod cleanup;
mod crew;
mod deferred;
mod dlpack;
mod error;
mod exchange;
mod fill;
mod graph;
mod hold;
mod holder;
mod host;
mod import;
mod kind;
mod ladder;
mod log;
mod manager;
mod mapping;
mod memory;
mod memory_info;
mod out_of_memory;
mod pending_limits;
mod pointer;
mod recent;
mod register;
mod selection;
mod staging;
mod transfer;
mod uses;

pub use allocator::{Allocator, Pending};
pub use block::Block;
pub use bytes::Bytes;
pub use dlpack::{HostTensor, Tensor, TensorError, TensorShape, tensor_of_bytes};
pub use error::{Error, Result};
pub use graph::{CopyNode, FillNode};
pub use holder::Holder;
pub use host::{HostRead, HostWrite};
pub use kind::MemoryKind;
pub use ladder::{LadderCounts, Rung, RungCount, Taken, Trail};
pub use log::{LogStep, read_log};
pub use manager::adaptor::{Adaptor, Asked};
pub use manager::failure_callback::{FailureCallback, Verdict};
pub use manager::host_only::HostOnlyMemoryManager;
pub use manager::limiting::Limiting;
pub use manager::logging::Logging;
pub use manager::statistics::{Counter, ScopeCounters, Statistics, StatisticsScope};
pub use manager::tracking::{Outstanding, Tracking};
pub use manager::{
    ArenaManager, Counters, DeferCleanup, HostOptions, INTERFACE_VERSION, IpcHandle, KindCounters, MemoryManager,
    PassthroughManager, PoolManager, Request, Usage,
};
pub use mapping::Mapping;
pub use memory::{
    DeviceMemory, HostMemory, MemoryBuilder, MemoryContext, MemoryObject, MemoryState, MirroredMemory, Reference,
    SharedMemory, UsmType,
};
pub use memory_info::{Confidence, MemoryInfo};
pub use out_of_memory::{HeapUse, Holding, OutOfMemory, PendingOn, Shortage};
pub use pending_limits::PendingLimits;
pub use pointer::{HostPointer, MappedMemory, MemoryPointer, Owner, PinnedMemory};
pub use register::{Registered, RegisteredPath};
pub use selection::{ManagerFactory, memory_manager_names, register_memory_manager, set_memory_manager};
pub use transfer::Region;
