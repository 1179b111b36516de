//! A copy of many regions between two blocks, as one command.
//!
//! Whether the regions may be copied together is decided on plain data before a command is recorded.

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use vkarray_driver::Stream;
use vkarray_driver::hazard::Stage;

use super::{BlockCommand, Command};
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::vulkan::check_same_device;

/// A range of bytes of a source block and its position in a target block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The position in the source, in bytes.
    pub source: u64,
    /// The position in the target, in bytes.
    pub target: u64,
    /// The number of bytes.
    pub size: u64,
}

impl Block {
    /// Copies regions of `source` to this block, in one command, in the order of `stream`. Returns at once.
    ///
    /// The regions are copied in no defined order. Later work on bytes between them waits for the copy too.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// use vkarray_allocator::Region;
    ///
    /// let (source, target) = (allocator.allocate(4, MemoryKind::Pinned)?, allocator.allocate(4, MemoryKind::Pinned)?);
    /// source.write_on_host(0..4)?.copy_from_slice(&[1, 2, 3, 4]);
    /// let regions = [0, 1, 2, 3].map(|i| Region { source: i, target: 3 - i, size: 1 }); // Reverses the bytes.
    /// target.copy_regions(&stream, &source, &regions)?;
    /// assert_eq!(*target.read_on_host(0..4)?, [4, 3, 2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ForeignDevice`]; [`Error::Overlap`] if a target region shares bytes with a
    /// source region of the same block, or with another target region; and the errors of recording.
    pub fn copy_regions(self: &Arc<Self>, stream: &Stream, source: &Arc<Self>, regions: &[Region]) -> Result<()> {
        self.record_regions(stream, source, regions, false)
    }

    /// Copies regions as [`Block::copy_regions`] does. Between host and device memory, a transfer queue of the stream
    /// copies also few bytes, so that kernels that use other bytes run meanwhile, recorded before or after. That starts
    /// some microseconds later.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind, Region};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (x, y) = (allocator.allocate(64, MemoryKind::Device)?, allocator.allocate(4, MemoryKind::Pinned)?);
    /// x.fill(&stream, 0x0707_0707)?;
    /// y.copy_regions_beside(&stream, &x, &[Region { source: 8, target: 0, size: 4 }])?;
    /// x.fill_range(&stream, 16..64, &[9, 0, 0, 0])?; // Runs meanwhile.
    /// assert_eq!(*y.read_on_host(0..4)?, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_regions`].
    pub fn copy_regions_beside(
        self: &Arc<Self>,
        stream: &Stream,
        source: &Arc<Self>,
        regions: &[Region],
    ) -> Result<()> {
        self.record_regions(stream, source, regions, true)
    }

    fn record_regions(
        self: &Arc<Self>,
        stream: &Stream,
        source: &Arc<Self>,
        regions: &[Region],
        is_beside: bool,
    ) -> Result<()> {
        check_same_device(stream.device(), self.device())?;
        check_same_device(stream.device(), source.device())?;
        for region in regions {
            source.check_range(region.source, region.size)?;
            self.check_range(region.target, region.size)?;
        }
        if let Some((from, to)) = shared_bytes(regions, Arc::ptr_eq(self, source)) {
            return Err(Error::Overlap { from, to });
        }
        let regions: Vec<Region> = regions.iter().copied().filter(|region| region.size > 0).collect();
        let Some((from, to)) = extents(&regions) else { return Ok(()) };
        let accesses = [source.read(from, Stage::Transfer), self.write(to, Stage::Transfer)];
        let ((src, from), (dst, to)) = (source.place(0), self.place(0));
        let region_of = |region: &Region| {
            let (src_offset, dst_offset) = (from + region.source, to + region.target);
            vk::BufferCopy { src_offset, dst_offset, size: region.size }
        };
        let command = Command::Copy { src, dst, regions: regions.iter().map(region_of).collect() };
        let bytes = regions.iter().map(|region| region.size).sum();
        let copy = BlockCommand { accesses: accesses.into(), command, bytes, host_reads: self.is_read_beside() };
        let queue = self.queue_from(source, stream, copy.bytes, is_beside)?;
        // SAFETY: no target region shares bytes with another target region or with a source region, which was checked;
        // both blocks outlive their last uses, which are recorded with the accesses.
        unsafe { copy.send(stream, queue) }
    }
}

/// The range from the first to the last byte in the source and in the target; `None` without regions.
fn extents(regions: &[Region]) -> Option<(Range<u64>, Range<u64>)> {
    let extent = |start: fn(&Region) -> u64| {
        let first = regions.iter().map(start).min()?;
        let end = regions.iter().map(|region| start(region) + region.size).max()?;
        Some(first..end)
    };
    Some((extent(|region| region.source)?, extent(|region| region.target)?))
}

/// A target range that shares bytes with another range, and that range: another target range, or a source range of the
/// same block.
fn shared_bytes(regions: &[Region], is_one_block: bool) -> Option<(Range<u64>, Range<u64>)> {
    let mut ranges: Vec<(Range<u64>, bool)> = Vec::with_capacity(2 * regions.len());
    for region in regions.iter().filter(|region| region.size > 0) {
        ranges.push((region.target..region.target + region.size, true));
        if is_one_block {
            ranges.push((region.source..region.source + region.size, false));
        }
    }
    ranges.sort_unstable_by_key(|(range, _)| range.start);
    // The range with the greatest end so far, of the targets and of the sources.
    let mut furthest: [Option<Range<u64>>; 2] = [None, None];
    for (range, is_target) in ranges {
        let may_meet = if is_target { &furthest[..] } else { &furthest[..1] };
        if let Some(met) = may_meet.iter().flatten().find(|met| met.end > range.start) {
            return Some((met.clone(), range));
        }
        let own = &mut furthest[usize::from(!is_target)];
        if own.as_ref().is_none_or(|met| met.end < range.end) {
            *own = Some(range);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_are_found_as_byte_by_byte() {
        // All pairs of regions of up to two bytes among seven.
        let region = |code: u64| Region { source: code % 5, target: code / 5 % 5, size: code / 25 };
        let mut n_shared = 0;
        for code in 0..75 * 75 {
            let regions = [region(code % 75), region(code / 75)];
            for is_one_block in [false, true] {
                let covers = |start: u64, size: u64, byte: u64| u64::from((start..start + size).contains(&byte));
                let writes = |byte| regions.iter().map(|r| covers(r.target, r.size, byte)).sum::<u64>();
                let reads = |byte| regions.iter().map(|r| covers(r.source, r.size, byte)).sum::<u64>();
                let is_shared = |byte| writes(byte) > 1 || (is_one_block && writes(byte) * reads(byte) > 0);
                let expected = (0..7).any(is_shared);
                assert_eq!(shared_bytes(&regions, is_one_block).is_some(), expected, "{regions:?} {is_one_block}");
                n_shared += usize::from(expected);
            }
        }
        assert!(n_shared > 1000);
    }

    #[test]
    fn extents_span_all_regions() {
        let regions = [Region { source: 8, target: 1, size: 4 }, Region { source: 2, target: 30, size: 3 }];
        assert_eq!(extents(&regions), Some((2..12, 1..33)));
        assert_eq!(extents(&[]), None);
    }
}
