//! Copies of one device to or from memory that another device has exported to it: memory of a block, or of an
//! [`ExportedBounce`] between two blocks.
//!
//! The hazard table of neither device has the work of the other device. Each side therefore waits for the other's
//! stream, and the exporter records that its bytes are in use until then. Meanwhile other threads record nothing on the
//! bytes of both sides: such work would be ordered neither before the copy nor after it.

use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::hazard::{BlockAccess, Mode, Stage};
use vkarray_driver::{HostAccess, HostAccessKind};

use super::between::BlockRange;
use super::bounce::Bounce;
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;
use crate::manager::Request;
use crate::memory::route::EXPORTED_PART;
use crate::staging::N_PARTS;

/// A side of a copy, and how the copy uses its bytes.
type Side<'a> = (&'a BlockRange<'a>, Mode);

/// Records the copy that `copy` records on the stream of the side `by`, after earlier work of the exporting side on its
/// bytes, and before its later work on them. Returns at once, or when other threads have finished recording on the
/// bytes.
pub(super) fn copy_imported((exporter, mode): Side<'_>, by: Side<'_>, copy: impl FnOnce() -> Result<()>) -> Result<()> {
    let _held = hold_both((exporter, mode), by)?;
    let by = by.0.stream;
    exporter.record_use(mode)?;
    by.wait_for(&exporter.stream.point()?)?;
    copy()?;
    exporter.stream.wait_for(&by.point()?)?;
    exporter.record_use(mode)
}

/// Keeps other threads from the bytes of both sides. All threads take the sides of two devices in one order, so that no
/// two threads wait for each other.
fn hold_both<'a>(exporter: Side<'a>, by: Side<'a>) -> Result<[HostAccess<'a>; 2]> {
    let mut sides = [exporter, by];
    sides.sort_by_key(|(side, _)| Arc::as_ptr(side.block.device()).addr());
    let [first, second] = sides.map(|(side, mode)| move || side.hold(mode));
    Ok([first()?, second()?])
}

impl<'a> BlockRange<'a> {
    fn hold(&'a self, mode: Mode) -> Result<HostAccess<'a>> {
        let range = self.range.clone();
        let held = self.block.device().begin_host_access(self.block.id(), range, mode, HostAccessKind::Recording);
        Ok(held?.0) // The devices wait for the uses so far.
    }

    /// Records an operation without commands that uses the bytes, so that they are ordered with other streams of their device.
    fn record_use(&self, mode: Mode) -> Result<()> {
        let access = BlockAccess { mode, ..self.block.read(self.range.clone(), Stage::Transfer) };
        // SAFETY: no command is recorded, so none touches memory that is not listed.
        unsafe { self.stream.record(&[access], |_| Ok::<_, Error>(())) }
    }
}

/// Memory of the source's device, and the import of it by the target's device.
#[derive(Debug)]
pub(super) struct ExportedBounce {
    there: Arc<Block>,
    here: Arc<Block>,
    /// Bytes of a part.
    pub(super) part: u64,
}

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
