//! [`BufferRange`]: a range of a chunk, with the data for a pointer to it.

use ash::vk;

use super::free_list::ChunkRange;
use crate::kind::MemoryKind;
use crate::memory::Mapping;

/// A range of a chunk's buffer. It belongs to one block or one thread cache at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferRange {
    pub(super) buffer: vk::Buffer,
    /// The start of the range in the buffer, in bytes.
    pub(super) offset: u64,
    /// The host's address of the first byte, if the host addresses it.
    pub(super) mapping: Option<Mapping>,
    pub(super) kind: MemoryKind,
    /// The range in the free list of its chunk.
    pub(super) chunk_range: ChunkRange,
}
