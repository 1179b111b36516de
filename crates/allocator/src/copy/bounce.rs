//! Copies between two devices through memory that both devices address, cut into parts.
//!
//! The source's device writes half of the parts while the target's device reads the others. The memory is pages of the
//! host (`staging/shared_pages.rs`) or, for two devices of the same hardware, exported memory of the source's device.

use std::ops::Range;
#[cfg(unix)]
use std::sync::Arc;

use vkarray_driver::Direction;
use vkarray_driver::hazard::Mode;

use super::between::BlockRange;
#[cfg(unix)]
use crate::allocator::{Allocator, Block};
use crate::error::Result;
#[cfg(unix)]
use crate::kind::MemoryKind;
#[cfg(unix)]
use crate::manager::Request;
use crate::memory::route::EXPORTED_PART;
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

/// Memory of the source's device, and the import of it by the target's device.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct ExportedBounce {
    there: Arc<Block>,
    here: Arc<Block>,
    /// Bytes of a part.
    pub(super) part: u64,
}

#[cfg(unix)]
impl ExportedBounce {
    /// Memory for a copy of `len` bytes, which are not zero, from the device of the first allocator to the device of
    /// the second.
    pub(super) fn new([from, to]: [&Arc<Allocator>; 2], len: u64) -> Result<Self> {
        let part = EXPORTED_PART.min(len);
        let size = part * len.div_ceil(part).min(N_PARTS as u64);
        let there = from.allocate_for(&Request::new(size, MemoryKind::Device).exportable(true))?;
        let here = to.import(&there.export()?)?;
        Ok(Self { there, here, part })
    }
}

#[cfg(unix)]
impl Bounce for ExportedBounce {
    fn fill(&self, source: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()> {
        self.here.wait_for_copies(&part, Mode::Write)?;
        let len = part.end - part.start;
        self.there.copy_from_block(source.stream, part.start, source.block, offset..offset + len)
    }

    fn empty(&self, target: &BlockRange<'_>, offset: u64, part: Range<u64>) -> Result<()> {
        self.there.wait_for_copies(&part, Mode::Read)?;
        target.block.copy_from_block(target.stream, offset, &self.here, part)
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
