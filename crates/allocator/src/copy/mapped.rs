//! Copies between a slice of the host and a block through the block's mapping, and the waits before them.

use std::ops::Range;
use std::slice;

use smallvec::SmallVec;
use vkarray_driver::hazard::Mode;
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{HostAccess, HostAccessKind, Point};

use super::len;
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::route::n_threads;
use crate::memory::{HostIntent, Mapping};
use crate::pending::are_complete;
use crate::staging::CopyThreads;

impl Block {
    /// Copies few bytes through both mappings, if no work uses any of them. Returns whether it copied them; if not,
    /// nothing is changed.
    pub(super) fn copy_in_place(&self, offset: u64, source: &Self, range: &Range<u64>) -> Result<bool> {
        // The bytes go through the stack: a thread that held two blocks could wait for another thread that held two.
        let mut bytes: SmallVec<[u8; 4 << 10]> = SmallVec::new();
        bytes.resize(usize::try_from(range.end - range.start).expect("few bytes"), 0);
        let target = offset..offset + len(&bytes);
        Ok(source.read_if_idle(range, &mut bytes)? && self.write_if_idle(&target, &bytes)?)
    }

    /// Blocks until no work that was recorded so far uses the bytes `range`: before a message says so to another process
    /// that shares them. Later work on the bytes is not waited for. Polls at first, since such work is usually a copy.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(64, MemoryKind::Device)?;
    /// block.fill(&stream, 7)?;
    /// block.wait_until_unused(0..64)?;
    /// assert!(stream.query()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the device is lost or waiting fails.
    pub fn wait_until_unused(&self, range: Range<u64>) -> Result<()> {
        self.wait_for_copies(&range, Mode::Write)
    }

    /// Waits for uses by the device that conflict with an access of the host in `mode`.
    pub(crate) fn wait_for_uses(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(|last| last.wait(None))?)
    }

    /// Waits like [`Block::wait_for_uses`], for copies that are in flight and soon complete.
    pub(super) fn wait_for_copies(&self, range: &Range<u64>, mode: Mode) -> Result<()> {
        let uses = self.device().block_uses(self.id(), range.clone(), mode);
        Ok(uses.iter().try_for_each(Point::wait_polling)?)
    }

    /// Whether work, submitted or not, writes some of the bytes.
    pub(super) fn is_written(&self, range: &Range<u64>) -> Result<bool> {
        Ok(!are_complete(&self.device().block_uses(self.id(), range.clone(), Mode::Read))?)
    }

    /// Writes through the mapping if no work, submitted or not, uses the bytes. Returns whether it wrote them.
    pub(super) fn write_if_idle(&self, range: &Range<u64>, source: &[u8]) -> Result<bool> {
        // The pointer's own mapping: the host writes also where it does not read.
        let Some(mapping) = self.memory().mapping() else { return Ok(false) };
        let Some(_hold) = self.hold_if_idle(mapping, range, Mode::Write)? else { return Ok(false) };
        mapping.invalidate(self.device(), range, HostIntent::Overwrite)?;
        let address = self.address(mapping, range.start, source.len())?;
        // SAFETY: the mapping holds the range, as `address` checked. While the hold stands, neither the device nor
        // another thread touches it.
        let target = unsafe { slice::from_raw_parts_mut(address, source.len()) };
        copy_together(self.allocator().copy_threads(), source, target);
        mapping.flush(self.device(), range)?;
        Ok(true)
    }

    /// Reads through the mapping if no work, submitted or not, writes the bytes. Returns whether it read them.
    fn read_if_idle(&self, range: &Range<u64>, target: &mut [u8]) -> Result<bool> {
        let Some(mapping) = self.mapping() else { return Ok(false) };
        let Some(_hold) = self.hold_if_idle(mapping, range, Mode::Read)? else { return Ok(false) };
        // SAFETY: the writes are over, and the hold refuses later ones.
        unsafe { self.read_mapped(mapping, range.start, target) }?;
        Ok(true)
    }

    /// Begins an access of the host, unless some work, submitted or not, conflicts with it.
    fn hold_if_idle(&self, mapping: Mapping, range: &Range<u64>, mode: Mode) -> Result<Option<HostAccess<'_>>> {
        let atoms = mapping.atoms(self.device(), range.clone());
        let (hold, uses) = self.device().begin_host_access(self.id(), atoms, mode, HostAccessKind::Brief)?;
        Ok(are_complete(&uses)?.then_some(hold))
    }

    /// Reads through the mapping, after the work that writes the bytes.
    pub(super) fn read_when_written(&self, range: &Range<u64>, target: &mut [u8]) -> Result<()> {
        let mapping = self.mapping().ok_or(Error::NotOnHost { kind: self.kind() })?;
        // The first wait is without the hold, for which other threads may have to wait.
        let atoms = mapping.atoms(self.device(), range.clone());
        self.wait_for_uses(&atoms, Mode::Read)?;
        let (_hold, uses) = self.device().begin_host_access(self.id(), atoms, Mode::Read, HostAccessKind::Brief)?;
        uses.iter().try_for_each(|last| last.wait(None))?;
        // SAFETY: the writes were waited for, and the hold refuses later ones.
        unsafe { self.read_mapped(mapping, range.start, target) }
    }

    /// Copies from the mapping.
    ///
    /// # Safety
    ///
    /// Until the call returns, neither the device nor another thread writes the bytes: earlier writes were waited for.
    pub(crate) unsafe fn read_mapped(&self, mapping: Mapping, offset: u64, target: &mut [u8]) -> Result<()> {
        let address = self.address(mapping, offset, target.len())?;
        mapping.invalidate(self.device(), &(offset..offset + len(target)), HostIntent::Access)?;
        // SAFETY: the mapping holds the range, as `address` checked, and the caller promises that nothing writes it.
        let source = unsafe { slice::from_raw_parts(address.cast_const(), target.len()) };
        copy_together(self.allocator().copy_threads(), source, target);
        Ok(())
    }
}

/// Copies one slice to another of the same length, with several threads if it is long.
fn copy_together(copy_threads: &CopyThreads, source: &[u8], target: &mut [u8]) {
    let n = n_threads(len(source), copy_threads.n_threads());
    if n == 1 {
        return target.copy_from_slice(source);
    }
    let part = source.len().div_ceil(n);
    let parts = Mutex::new(Rank::CopyProgress, target.chunks_mut(part).zip(source.chunks(part)));
    let next = || parts.lock().next(); // No caller's code runs under the lock.
    copy_threads.run(n, &|| {
        while let Some((target, source)) = next() {
            target.copy_from_slice(source);
        }
    });
}
