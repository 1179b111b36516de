//! Memory for vkarray: kinds, blocks, copies and deferred cleanup.
//!
//! **Is:** the choice of memory for a purpose, blocks of bytes that the device tracks, copies between them and the
//! host, and a queue that frees a dropped block when the device is done with it. **Is not:** elements or shapes (the
//! ndarray crate), shaders (the kernel crate). **Start** at [`Allocator`] and [`Block`].

mod allocator;
mod block;
mod chunk;
mod cleanup;
mod deferred;
mod error;
mod fill;
mod graph;
mod host;
mod import;
mod kind;
mod manager;
mod memory;
mod pointer;
mod register;
mod transfer;

pub use allocator::Allocator;
pub use block::Block;
pub use error::{Error, Result};
pub use graph::{CopyNode, FillNode};
pub use host::{HostRead, HostWrite};
pub use kind::MemoryKind;
pub use manager::{
    DeferCleanup, HostOptions, INTERFACE_VERSION, IpcHandle, MemoryInfo, MemoryManager, PassthroughManager, Request,
    Usage,
};
pub use memory::{
    DeviceMemory, HostMemory, MemoryBuilder, MemoryContext, MemoryObject, MemoryState, MirroredMemory, Reference,
    SharedMemory, UsmType,
};
pub use pointer::{HostPointer, MappedMemory, MemoryPointer, Owner, PinnedMemory};
pub use register::{Registered, RegisteredPath};
