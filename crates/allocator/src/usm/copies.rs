//! Copies and fills of memory objects.

use std::ops::Range;
use std::sync::Arc;

use super::{UsmKind, UsmMemory};
use crate::allocator::Block;
use crate::copy::BlockRange;
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

impl<K: UsmKind> UsmMemory<K> {
    /// Copies all bytes to the host. Blocks until the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::UsedAfterFree`]; [`Error::NoHostMemory`]; and the errors of
    /// [`Block::copy_to_host`](crate::Block::copy_to_host).
    pub fn copy_to_host(&self) -> Result<Vec<u8>> {
        let (block, range) = self.block()?;
        let no_memory = || Error::NoHostMemory { bytes: self.nbytes() };
        let len = usize::try_from(self.nbytes()).map_err(|_| no_memory())?;
        let mut bytes = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| no_memory())?;
        block.copy_to_host(&self.stream, range.start, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies all bytes to the host; another name of [`UsmMemory::copy_to_host`].
    ///
    /// # Errors
    ///
    /// The errors of [`UsmMemory::copy_to_host`].
    #[doc(alias = "tobytes")]
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.copy_to_host()
    }

    /// Copies all bytes to the beginning of `target`. Blocks until the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::SizeMismatch`] if `target` is smaller; and the errors of [`UsmMemory::copy_to_host`].
    pub fn copy_to_host_into(&self, target: &mut [u8]) -> Result<()> {
        let (block, range) = self.block()?;
        let target_size = target.len() as u64;
        let fits = usize::try_from(self.nbytes()).ok().and_then(|len| target.get_mut(..len));
        let target = fits.ok_or(Error::SizeMismatch { source_size: self.nbytes(), target_size })?;
        block.copy_to_host(&self.stream, range.start, target)
    }

    /// Copies `source`, bytes of any form (a vector, an array, a slice), to the beginning. Returns when the source has
    /// been read.
    ///
    /// # Errors
    ///
    /// [`Error::SizeMismatch`] if `source` is larger; [`Error::UsedAfterFree`]; and the errors of
    /// [`Block::copy_from_host`](crate::Block::copy_from_host).
    pub fn copy_from_host(&self, source: impl AsRef<[u8]>) -> Result<()> {
        let ((block, range), source) = (self.block()?, source.as_ref());
        self.check_holds(source.len() as u64)?;
        block.copy_from_host(&self.stream, range.start, source)
    }

    /// Copies all of `source`, of any kind, to the beginning. Returns at once on the same device, and when the bytes
    /// have been read from another device; see [`BlockRange::copy_to`]. Overlapping ranges of one allocation are copied
    /// as if through a temporary.
    ///
    /// # Errors
    ///
    /// [`Error::SizeMismatch`] if `source` is larger; [`Error::UsedAfterFree`]; and the errors of copying.
    pub fn copy_from_device<J: UsmKind>(&self, source: &UsmMemory<J>) -> Result<()> {
        let ((to, at), (from, range)) = (self.block()?, source.block()?);
        if Arc::ptr_eq(to.device(), from.device()) {
            return self.copy_from_block(&from, range);
        }
        let len = source.nbytes();
        self.check_holds(len)?;
        let source = BlockRange { block: &from, range, stream: &source.stream };
        let target = at.start..at.start + len;
        source.copy_to(&BlockRange { block: &to, range: target, stream: &self.stream })
    }

    /// Copies the bytes `range` of a block of the same device to the beginning; see [`UsmMemory::copy_from_device`].
    ///
    /// ```
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_allocator::{Allocator, DeviceMemory, MemoryKind};
    /// use vkarray_driver::{Device, Instance, Stream};
    ///
    /// let device = Device::open_selected(&Instance::new()?, None)?;
    /// let context = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (block, memory) = (context.0.allocate(16, MemoryKind::Device)?, DeviceMemory::new(&context, 8)?);
    /// block.fill(&context.1, 7)?;
    /// memory.copy_from_block(&block, 4..12)?;
    /// assert_eq!(memory.to_bytes()?, [7, 0, 0, 0, 7, 0, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`UsmMemory::copy_from_device`] and of [`Block::copy_from_block`](crate::Block::copy_from_block).
    pub fn copy_from_block(&self, from: &Arc<Block>, range: Range<u64>) -> Result<()> {
        let (to, at) = self.block()?;
        let len = range.end.saturating_sub(range.start);
        self.check_holds(len)?;
        let overlaps = Arc::ptr_eq(&to, from) && at.start < range.end && range.start < at.start + len;
        if !overlaps {
            return to.copy_from_block(&self.stream, at.start, from, range);
        }
        if at.start == range.start {
            return Ok(()); // Source and target are the same bytes.
        }
        let between = to.allocator().allocate(len, MemoryKind::Device)?;
        between.copy_from_block(&self.stream, 0, from, range)?;
        to.copy_from_block(&self.stream, at.start, &between, 0..len)
    }

    /// Writes `value` to every byte. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::UsedAfterFree`]; and the errors of recording.
    pub fn memset(&self, value: u8) -> Result<()> {
        self.fill(&[value])
    }

    /// Writes `pattern`, of any length, repeatedly. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::BadPattern`] if the pattern is empty or its length does not divide the number of bytes; and the errors
    /// of [`UsmMemory::memset`].
    pub fn fill(&self, pattern: &[u8]) -> Result<()> {
        let (block, range) = self.block()?;
        block.fill_range(&self.stream, range, pattern)
    }

    fn check_holds(&self, len: u64) -> Result<()> {
        if len <= self.nbytes() {
            return Ok(());
        }
        Err(Error::SizeMismatch { source_size: len, target_size: self.nbytes() })
    }
}
