//! A range: a range of a chunk as it goes from hand to hand, with all that a pointer to it needs.

use ash::vk;

use super::free_list::ChunkRange;
use crate::memory::{Mapping, MemoryKind};

/// A range of a chunk's buffer. Somebody has it: a block, the cache it lies ready on, or the thread that moves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferRange {
    pub(super) buffer: vk::Buffer,
    /// Bytes from the buffer's start.
    pub(super) offset: u64,
    /// Where the host addresses its first byte, if it does.
    pub(super) mapping: Option<Mapping>,
    pub(super) kind: MemoryKind,
    /// Where it goes when it is given back to its chunk.
    pub(super) chunk_range: ChunkRange,
}
