//! [`BufferRange`]: a range of a chunk with all that a pointer to it needs.

use ash::vk;

use super::free_list::ChunkRange;
use crate::memory::{Mapping, MemoryKind};

/// A range of a chunk's buffer. It belongs to one block or one thread cache at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferRange {
    pub(super) buffer: vk::Buffer,
    /// Where it starts in the buffer, in bytes.
    pub(super) offset: u64,
    /// Where the host addresses its first byte, if it does.
    pub(super) mapping: Option<Mapping>,
    pub(super) kind: MemoryKind,
    /// The same range in the free list of its chunk.
    pub(super) chunk_range: ChunkRange,
}
