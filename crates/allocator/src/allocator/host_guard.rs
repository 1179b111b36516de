//! Host access in place: guards over bytes of a block that the host addresses.
//!
//! A guard waits for the device's conflicting uses and keeps later ones off: work that would touch its bytes is refused
//! with [`HeldByHost`](vkarray_driver::Error::HeldByHost) while it lives. That is state in the device's book
//! (`hold.rs` of the driver crate), so a leaked guard keeps the device off too, until the block is freed. Copies
//! through staging memory, which hold nothing, are in `transfer.rs`.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::slice;

use vkarray_driver::hazard::Mode;
use vkarray_driver::{HostAccess, HostAccessKind};

use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::{HostIntent, Mapping};

/// Bytes of a block that the host reads in place. The device and others may read them too.
pub struct HostRead<'a> {
    bytes: &'a [u8],
    _hold: HostAccess<'a>,
}

/// Bytes of a block that the host reads and writes in place, alone.
pub struct HostWrite<'a> {
    bytes: &'a mut [u8],
    hold: Option<HostAccess<'a>>, // StepOutcome if the bytes must stay the host's.
    block: &'a Block,
    range: Range<u64>,
}

impl Block {
    /// Opens the bytes `range` to be read in place. Blocks until nothing on the device writes them.
    ///
    /// The guard belongs to no stream: what a stream waits for delays it only where work on these bytes does too.
    ///
    /// In memory that is not coherent (see [`Block::is_coherent`]) the bytes that share an atom with them, at most 255 on
    /// either side, are held too.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::OutOfBounds`], [`Error::ReversedRange`];
    /// [`HeldByHost`](vkarray_driver::Error::HeldByHost) if another guard writes some of them; those of waiting.
    pub fn read_on_host(&self, range: Range<u64>) -> Result<HostRead<'_>> {
        let (address, len, hold) = self.hold_on_host(&range, Mode::Read)?;
        // SAFETY: the mapping holds the range and lives as long as the block. Nothing writes the bytes while the hold
        // stands: work of the device was waited for, and later work and other guards are refused.
        let bytes = unsafe { slice::from_raw_parts(address, len) };
        Ok(HostRead { bytes, _hold: hold })
    }

    /// Opens the bytes `range` to be read and written in place. Blocks until nothing on the device uses them.
    ///
    /// # Errors
    ///
    /// As [`Block::read_on_host`]; also if another guard reads some of them.
    pub fn write_on_host(&self, range: Range<u64>) -> Result<HostWrite<'_>> {
        let (address, len, hold) = self.hold_on_host(&range, Mode::Write)?;
        // SAFETY: as above; and nothing else reads or writes them.
        let bytes = unsafe { slice::from_raw_parts_mut(address, len) };
        Ok(HostWrite { bytes, hold: Some(hold), block: self, range })
    }

    fn hold_on_host(&self, range: &Range<u64>, mode: Mode) -> Result<(*mut u8, usize, HostAccess<'_>)> {
        let Range { start, end } = *range;
        let len = end.checked_sub(start).ok_or(Error::ReversedRange { start, end })?;
        let range = self.check_range(start, len)?;
        // Device memory may be mapped on some devices; programs that relied on it would fail on others.
        let mapping = self.mapping().filter(|_| self.kind().is_host_visible());
        let mapping = mapping.ok_or(Error::NotOnHost { kind: self.kind() })?;
        self.device().check_lost()?;
        let atoms = mapping.atoms(self.device(), range.clone());
        let (hold, uses) = self.device().begin_host_access(self.id(), atoms, mode, HostAccessKind::Lasting)?;
        uses.iter().try_for_each(|last| last.wait(None))?;
        mapping.invalidate(self.device(), &range, HostIntent::Access)?;
        let len = usize::try_from(len).expect("a mapping is smaller than the address space");
        Ok((self.address(mapping, start, len)?, len, hold))
    }

    /// The address of `len` bytes at `offset`, through the block's own mapping. The block may have ended since the call
    /// began; its memory is there as long as the block.
    pub(crate) fn address(&self, mapping: Mapping, offset: u64, len: usize) -> Result<*mut u8> {
        self.bytes(offset, len as u64)?;
        let offset = usize::try_from(offset).expect("a mapping is smaller than the address space");
        // SAFETY: the offset lies inside the mapping, which is at least as large as the block.
        Ok(unsafe { mapping.address().as_ptr().add(offset) })
    }
}

/// The device sees what was written from here on.
impl Drop for HostWrite<'_> {
    fn drop(&mut self) {
        if self.block.device().is_forked() {
            return; // The memory is the parent's.
        }
        let Some(mapping) = self.block.mapping() else { return };
        if let Err(error) = mapping.flush(self.block.device(), &self.range) {
            log::error!("the device does not see what the host wrote, and is kept off it: {error}");
            std::mem::forget(self.hold.take());
        }
    }
}

impl Deref for HostRead<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Deref for HostWrite<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl DerefMut for HostWrite<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.bytes
    }
}

impl fmt::Debug for HostRead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRead").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for HostWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostWrite").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}
