//! Copies between two devices through memory that both devices address, cut into parts.
//!
//! The source's device writes half of the parts while the target's device reads the others. The memory is pages of the
//! host (`staging/shared_pages.rs`) or, for two devices of the same hardware, exported memory of the source's device
//! (`imported.rs`).

use std::ops::Range;

use vkarray_driver::Direction;
use vkarray_driver::hazard::Mode;

use super::between::BlockRange;
use crate::error::Result;
use crate::staging::{N_PARTS, SharedSlot};

/// Memory that two devices address, for one copy.
pub(super) trait Bounce {
    /// Copies bytes from `offset` of the source's block to a part, after the target's device has read the part's
    /// earlier bytes.
    fn fill(&self, source: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()>;

    /// Copies a part to `offset` of the target's block, after the source's device has written it.
    fn empty(&self, target: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()>;
}

impl Bounce for SharedSlot<'_> {
    fn fill(&self, source: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()> {
        let [there, here] = self.sides();
        here.wait_for_copies(part.clone(), Mode::Write)?;
        let queue = source.block.queue_of(source.stream, Direction::ToHost, part.end - part.start)?;
        source.block.record_slot(Direction::ToHost, (source.stream, queue), offset, (there, part))
    }

    fn empty(&self, target: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()> {
        let [there, here] = self.sides();
        there.wait_for_copies(part.clone(), Mode::Read)?;
        let queue = target.block.queue_of(target.stream, Direction::ToDevice, part.end - part.start)?;
        target.block.record_slot(Direction::ToDevice, (target.stream, queue), offset, (here, part))
    }
}

/// Copies `len` bytes in parts of `size` bytes.
pub(super) fn copy_through(
    bounce: &impl Bounce,
    source: &BlockRange<'_>,
    target: &BlockRange<'_>,
    size: u64,
    len: usize,
) -> Result<()> {
    let (n_parts, n_arriving, len) = (N_PARTS as u64, N_PARTS as u64 / 2, len as u64);
    let n_chunks = len.div_ceil(size);
    let part = |chunk: u64| {
        let start = chunk % n_parts * size;
        start..start + size.min(len - chunk * size)
    };
    for chunk in 0..n_chunks + n_arriving {
        if chunk < n_chunks {
            bounce.fill(source, source.range.start + chunk * size, part(chunk))?;
            source.stream.flush()?;
        }
        if let Some(chunk) = chunk.checked_sub(n_arriving).filter(|&chunk| chunk < n_chunks) {
            bounce.empty(target, target.range.start + chunk * size, part(chunk))?;
            target.stream.flush()?;
        }
    }
    Ok(())
}
