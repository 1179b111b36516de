//! A range of an allocation that can be freed under its holders: what all memory objects are.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::Stream;
use vkarray_driver::lock::{Mutex, Rank};

use super::{MemoryContext, Reference};
use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::vulkan::check_same_device;

/// Where blocks start in their buffers, and so the least alignment.
const BLOCK_ALIGNMENT: u64 = 256;

/// Bytes that are carried over the host at a time, between devices.
const HOST_PIECE: u64 = 16 << 20;

#[derive(Clone)]
pub struct MemoryRange {
    /// Empty once it was freed.
    allocation: Arc<Mutex<Option<Arc<Block>>>>,
    range: Range<u64>,
    alignment: u64,
    stream: Stream,
    reference: Option<Reference>,
}

impl MemoryRange {
    pub(super) fn allocate(
        context: &impl MemoryContext,
        kind: MemoryKind,
        nbytes: u64,
        alignment: u64,
    ) -> Result<Self> {
        if nbytes == 0 {
            return Err(Error::InvalidSize);
        }
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(Error::InvalidAlignment { alignment });
        }
        let stream = context.stream();
        let limit = stream.device().info().limits.max_buffer_size;
        let room = if alignment > BLOCK_ALIGNMENT { alignment } else { 0 };
        let bytes = nbytes.checked_add(room).ok_or(Error::TooLarge { bytes: nbytes, limit })?;
        let block = context.allocator().allocate(bytes, kind)?;
        let first = block.mapped().map_or(block.buffer_offset(), |address| address.addr().get() as u64);
        let start = if room > 0 { first.next_multiple_of(alignment) - first } else { 0 };
        Ok(Self::new(stream, block, start..start + nbytes, alignment))
    }

    pub(super) fn of_block(
        context: &impl MemoryContext,
        kind: MemoryKind,
        block: &Arc<Block>,
        range: Range<u64>,
        reference: Reference,
    ) -> Result<Self> {
        if block.kind() != kind {
            return Err(Error::OtherKind { held: block.kind(), wanted: kind });
        }
        let stream = context.stream();
        check_same_device(block.device(), stream.device())?;
        let range = subrange(&(0..block.size()), range)?;
        Ok(Self { reference: Some(reference), ..Self::new(stream, Arc::clone(block), range, 0) })
    }

    fn new(stream: &Stream, block: Arc<Block>, range: Range<u64>, alignment: u64) -> Self {
        let allocation = Arc::new(Mutex::new(Rank::MemoryObject, Some(block)));
        Self { allocation, range, alignment, stream: stream.clone(), reference: None }
    }

    pub(super) fn nbytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    pub(super) fn alignment(&self) -> u64 {
        self.alignment
    }

    pub(super) fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn is_known_to(&self, context: &impl MemoryContext) -> bool {
        Arc::ptr_eq(self.stream.device(), context.stream().device())
    }

    pub(super) fn block(&self) -> Result<(Arc<Block>, Range<u64>)> {
        self.stream.device().check_process()?;
        let held = self.allocation.lock();
        let block = held.as_ref().ok_or_else(|| Error::UsedAfterFree { nbytes: self.nbytes() })?;
        Ok((Arc::clone(block), self.range.clone()))
    }

    pub(super) fn free(&self) -> Result<()> {
        self.stream.device().check_process()?;
        let taken = self.allocation.lock().take();
        // Dropped without the lock: the manager's own code runs.
        taken.map(drop).ok_or_else(|| Error::FreedTwice { nbytes: self.nbytes() })
    }

    pub(super) fn view(&self, range: Range<u64>) -> Result<Self> {
        self.block()?;
        Ok(Self { range: subrange(&self.range, range)?, alignment: 0, ..self.clone() })
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let (block, range) = self.block()?;
        let len = usize::try_from(self.nbytes()).map_err(|_| self.too_large())?;
        let mut bytes = vec![0; len];
        block.copy_to_host(&self.stream, range.start, &mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn copy_to_host_into(&self, target: &mut [u8]) -> Result<()> {
        let (block, range) = self.block()?;
        let target_len = target.len() as u64;
        let fits = usize::try_from(self.nbytes()).ok().and_then(|len| target.get_mut(..len));
        let target = fits.ok_or(Error::SizeMismatch { source_size: self.nbytes(), target_size: target_len })?;
        block.copy_to_host(&self.stream, range.start, target)
    }

    pub(super) fn copy_from_host(&self, source: &[u8]) -> Result<()> {
        let (block, range) = self.block()?;
        self.check_holds(source.len() as u64)?;
        block.copy_from_host(&self.stream, range.start, source)
    }

    pub(super) fn copy_from(&self, source: &Self) -> Result<()> {
        let ((to, at), (from, range)) = (self.block()?, source.block()?);
        let len = source.nbytes();
        self.check_holds(len)?;
        if !Arc::ptr_eq(to.device(), from.device()) {
            return self.copy_through_host(&to, source, &from);
        }
        let overlaps = Arc::ptr_eq(&to, &from) && at.start < range.end && range.start < at.start + len;
        if !overlaps {
            return to.copy_from_block(&self.stream, at.start, &from, range);
        }
        if at.start == range.start {
            return Ok(()); // Every byte is where it belongs.
        }
        let between = to.allocator().allocate(len, MemoryKind::Device)?;
        between.copy_from_block(&self.stream, 0, &from, range)?;
        to.copy_from_block(&self.stream, at.start, &between, 0..len)
    }

    pub(super) fn fill(&self, pattern: &[u8]) -> Result<()> {
        let (block, range) = self.block()?;
        block.fill_range(&self.stream, range, pattern)
    }

    /// Copies over the host, a bounded piece at a time, after what this stream waits for.
    fn copy_through_host(&self, to: &Arc<Block>, source: &Self, from: &Arc<Block>) -> Result<()> {
        if let Some(waits) = self.stream.pending_wait()? {
            waits.wait(None)?;
        }
        let mut done = 0;
        while done < source.nbytes() {
            let len = HOST_PIECE.min(source.nbytes() - done);
            let mut bytes = vec![0; usize::try_from(len).expect("a piece is small")];
            from.copy_to_host(&source.stream, source.range.start + done, &mut bytes)?;
            to.copy_from_host(&self.stream, self.range.start + done, &bytes)?;
            done += len;
        }
        Ok(())
    }

    fn check_holds(&self, len: u64) -> Result<()> {
        if len <= self.nbytes() {
            return Ok(());
        }
        Err(Error::SizeMismatch { source_size: len, target_size: self.nbytes() })
    }

    fn too_large(&self) -> Error {
        Error::TooLarge { bytes: self.nbytes(), limit: usize::MAX as u64 }
    }
}

impl fmt::Debug for MemoryRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRange").field("range", &self.range).finish_non_exhaustive()
    }
}

/// The subrange `inner` of `outer`, whose first byte it calls zero.
fn subrange(outer: &Range<u64>, inner: Range<u64>) -> Result<Range<u64>> {
    let Range { start, end } = inner;
    let (len, size) = (end.checked_sub(start).ok_or(Error::ReversedRange { start, end })?, outer.end - outer.start);
    if end > size {
        return Err(Error::OutOfBounds { offset: start, len, size });
    }
    Ok(outer.start + start..outer.start + end)
}
