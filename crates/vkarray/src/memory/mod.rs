//! Memory below arrays: blocks of bytes, their kinds, memory of the program that the device reaches, and memory running out.
//!
//! A [`Block`] is bytes of one [`MemoryKind`] that the device tracks; arrays are typed views of blocks. An [`Allocator`]
//! gives blocks out, from a manager of [`managers`]. [`usm`] has memory objects without types.
//!
//! ```
//! use vkarray::memory::MemoryKind;
//! use vkarray::prelude::*;
//!
//! # fn main() -> vkarray::Result<()> {
//! let ctx = Context::open_default()?;
//! let block = ctx.allocator().allocate(1024, MemoryKind::Device)?;
//! block.fill(ctx.default_stream(), 7)?;
//! assert_eq!((block.size(), block.kind()), (1024, MemoryKind::Device));
//! # Ok(())
//! # }
//! ```

pub mod managers;
pub mod usm;

pub use vkarray_allocator::{
    Allocator, Block, BlockLabel, BlockRange, Bytes, DeferCleanup, Error, HostOptions, HostWrite, Lent, LiveBlock,
    MemoryInfo, MemoryKind, OomStep, OutOfMemory, Pending, PinError, Pinned, Reference, Region, RegisteredMemory,
    RegisteredPath, Result, Shortage, StableDeref, StepOutcome, Usage,
};
