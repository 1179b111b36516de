//! A span: a range of a chunk as it goes from hand to hand, with all that a pointer to it needs.

use std::ptr::NonNull;

use ash::vk;

use super::ground::Piece;
use crate::kind::MemoryKind;

/// A range of a chunk's buffer. Somebody has it: a block, the shelf it lies ready on, or the thread that moves it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) buffer: vk::Buffer,
    /// Bytes from the buffer's start.
    pub(super) offset: u64,
    /// The first byte's address on the host, where it has one.
    pub(super) mapped: Option<NonNull<u8>>,
    pub(super) kind: MemoryKind,
    /// Where it goes when it is given back to its chunk.
    pub(super) piece: Piece,
}

// SAFETY: the address is not used here; it goes into the pointer for which the range is given out.
unsafe impl Send for Span {}
