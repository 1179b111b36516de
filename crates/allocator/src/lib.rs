//! Memory for vkarray: kinds, blocks, copies and deferred cleanup.
//!
//! **Is:** the choice of memory for a purpose, blocks of bytes that the device tracks, copies between them and the
//! host, and a queue that frees a dropped block when the device is done with it. **Is not:** elements or shapes (the
//! ndarray crate), shaders (the kernel crate). **Start** at [`Allocator`] and [`Block`].

mod allocator;
mod block;
mod cleanup;
mod error;
mod graph;
mod kind;
mod transfer;

pub use allocator::{Allocator, Usage};
pub use block::Block;
pub use error::{Error, Result};
pub use graph::{CopyNode, FillNode};
pub use kind::MemoryKind;
