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
mod error;
mod fill;
mod graph;
mod hold;
mod holder;
mod host;
mod import;
mod kind;
mod ladder;
mod manager;
mod memory;
mod memory_info;
mod out_of_memory;
mod pending_limits;
mod pointer;
mod register;
mod staging;
mod transfer;

pub use allocator::{Allocator, Pending};
pub use block::Block;
pub use bytes::Bytes;
pub use error::{Error, Result};
pub use graph::{CopyNode, FillNode};
pub use holder::Holder;
pub use host::{HostRead, HostWrite};
pub use kind::MemoryKind;
pub use ladder::{LadderCounts, Rung, RungCount, Taken, Trail};
pub use manager::{
    ArenaManager, Counters, DeferCleanup, HostOptions, INTERFACE_VERSION, IpcHandle, KindCounters, MemoryManager,
    PassthroughManager, PoolManager, Request, Usage,
};
pub use memory::{
    DeviceMemory, HostMemory, MemoryBuilder, MemoryContext, MemoryObject, MemoryState, MirroredMemory, Reference,
    SharedMemory, UsmType,
};
pub use memory_info::{Confidence, MemoryInfo};
pub use out_of_memory::{HeapUse, Holding, OutOfMemory, PendingOn, Shortage};
pub use pending_limits::PendingLimits;
pub use pointer::{HostPointer, MappedMemory, MemoryPointer, Owner, PinnedMemory};
pub use register::{Registered, RegisteredPath};
pub use transfer::Region;
