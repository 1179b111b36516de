//! A block: a piece of a manager's memory, tracked by the device.
//!
//! Arrays share a block and view it; the last to be dropped gives the memory back to its manager, with the work that
//! may still use it. Knows bytes, not elements.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use ash::vk;
use vkarray_driver::Device;
use vkarray_driver::hazard::{Access, BlockId, Stage};
use vkarray_driver::lock::assert_none_held;

use crate::allocator::Allocator;
use crate::error::{Error, Result};
use crate::memory::{BlockLabel, Mapping, MemoryKind, MemoryPointer};

/// Kernels read and write whole words.
const WORD: u64 = 4;

/// A piece of memory that kernels and copies reach: bytes of a buffer.
///
/// Dropping it never blocks and never frees early.
pub struct Block {
    memory: Option<MemoryPointer>, // StepOutcome when given back.
    /// Given at the first use, so that memory which is never used costs the device's book nothing.
    id: OnceLock<BlockId>,
    /// How often its allocator had been reset when it was made.
    generation: u64,
    allocator: Arc<Allocator>,
}

impl Block {
    pub(crate) fn new(allocator: &Arc<Allocator>, memory: MemoryPointer) -> Self {
        let (id, generation) = (OnceLock::new(), allocator.generation());
        Self { memory: Some(memory), id, generation, allocator: Arc::clone(allocator) }
    }

    /// Its size in bytes, as asked for.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.memory().size()
    }

    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> MemoryKind {
        self.memory().kind()
    }

    /// The device it lies on.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Arc<Device> {
        self.allocator.device()
    }

    /// The allocator it came from.
    #[must_use]
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.allocator
    }

    /// The buffer that it is a part of. Having it is safe; using it is up to the caller's `unsafe`.
    #[must_use]
    #[inline]
    pub fn buffer(&self) -> vk::Buffer {
        self.memory().buffer()
    }

    /// The first byte's place in the buffer: a multiple of 256, so it can be bound at any device.
    #[must_use]
    #[inline]
    pub fn buffer_offset(&self) -> u64 {
        self.memory().offset()
    }

    /// Its bytes `range`, as they are bound. The memory reaches past the last byte to a whole word, and so may the range.
    ///
    /// # Errors
    ///
    /// As [`Block::check_range`], and [`Error::ReversedRange`].
    #[inline]
    pub fn binding(&self, range: &Range<u64>) -> Result<vk::DescriptorBufferInfo> {
        let memory = self.memory();
        self.check_within(range, memory.size().next_multiple_of(WORD))?;
        let (offset, range) = (memory.offset() + range.start, range.end - range.start);
        Ok(vk::DescriptorBufferInfo { buffer: memory.buffer(), offset, range })
    }

    /// Its name in the device's hazard table.
    #[must_use]
    #[inline]
    pub fn id(&self) -> BlockId {
        match self.id.get() {
            Some(&id) => id,
            None => self.track(),
        }
    }

    fn track(&self) -> BlockId {
        if self.device().is_forked() {
            return BlockId::default(); // The initialisation may have been in progress on another thread at the fork.
        }
        *self.id.get_or_init(|| self.device().track_block_after(self.memory().last_uses()))
    }

    /// Describes a read of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn read(&self, range: Range<u64>, stage: Stage) -> Access {
        Access::read(self.id(), range, stage)
    }

    /// Describes a write, or a read and write, of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn write(&self, range: Range<u64>, stage: Stage) -> Access {
        Access::write(self.id(), range, stage)
    }

    /// Who holds it, as its manager knows.
    #[must_use]
    pub fn label(&self) -> Option<BlockLabel> {
        if self.device().is_forked() {
            return None; // The manager's locks may stay locked for ever in a forked process.
        }
        self.allocator.manager().label(self.memory())
    }

    /// Names it in the report of memory running out, if its manager keeps names.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        if self.device().is_forked() {
            return;
        }
        let manager = self.allocator.manager();
        let former = manager.label(self.memory()).unwrap_or_default();
        manager.set_label(self.memory(), former.with_name(label));
    }

    /// Whether the host can address it.
    #[must_use]
    #[inline]
    pub fn is_mapped(&self) -> bool {
        self.mapped().is_some()
    }

    /// Whether the host can address it, and sees what the device wrote there without being told: so may show it to
    /// others. [`Block::read_on_host`] and [`Block::write_on_host`] do not need it.
    #[must_use]
    pub fn is_coherent(&self) -> bool {
        self.mapping().is_some_and(|mapping| mapping.is_coherent())
    }

    /// Whether its allocator has not been reset since it was made. One that is not alive is refused by every use.
    #[inline]
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.generation == self.allocator.generation()
    }

    /// Checks that it is alive.
    ///
    /// # Errors
    ///
    /// [`Error::DeadMemory`].
    pub fn check_alive(&self) -> Result<()> {
        if self.is_alive() { Ok(()) } else { Err(Error::DeadMemory { size: self.size(), kind: self.kind() }) }
    }

    /// Checks that `len` bytes at `offset` lie in the block, and that it is alive.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`].
    pub fn check_range(&self, offset: u64, len: u64) -> Result<Range<u64>> {
        let size = self.size();
        let Some(end) = offset.checked_add(len) else { return Err(Error::OutOfBounds { offset, len, size }) };
        self.check_within(&(offset..end), size).map(|()| offset..end)
    }

    /// The one place that decides which bytes are bound, copied, filled or shown to the host: those before `limit`, of a
    /// block that is alive.
    #[inline]
    fn check_within(&self, range: &Range<u64>, limit: u64) -> Result<()> {
        if self.is_alive() && range.start <= range.end && range.end <= limit { Ok(()) } else { Err(self.refuse(range)) }
    }

    #[cold]
    fn refuse(&self, &Range { start, end }: &Range<u64>) -> Error {
        match (self.check_alive(), end.checked_sub(start)) {
            (Err(dead), _) => dead,
            (Ok(()), Some(len)) => Error::OutOfBounds { offset: start, len, size: self.size() },
            (Ok(()), None) => Error::ReversedRange { start, end },
        }
    }

    /// The bytes of a range, alive or not: a reset by another thread may end the block in the midst of a call, and the
    /// memory stays until its last handle is dropped.
    pub(crate) fn bytes(&self, offset: u64, len: u64) -> Result<Range<u64>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size() => Ok(offset..end),
            _ => Err(Error::OutOfBounds { offset, len, size: self.size() }),
        }
    }

    /// The address of the first byte on the host, where the host can address the block.
    ///
    /// Whoever reads or writes through it keeps out of the way of the device and of other threads.
    pub(crate) fn mapped(&self) -> Option<NonNull<u8>> {
        self.memory().mapped()
    }

    /// How the host addresses it, where it can. Bytes are opened before they are looked at, and closed when they are
    /// written.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<Mapping> {
        self.memory().mapping()
    }

    /// Gives the memory back as memory that nothing uses any more.
    ///
    /// # Safety
    ///
    /// All work that uses the block is over.
    pub(crate) unsafe fn give_back_idle(mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        if self.device().is_forked() {
            return mem::forget(memory);
        }
        if let Some(&id) = self.id.get() {
            // SAFETY: the block tracked the id and is here by value: no guard borrows it, and the id ends with it. The uses
            // are over, as the caller promises, so that they can be forgotten.
            drop(unsafe { self.device().retire_block(id) });
        }
        drop(memory.take_last_uses());
        assert_none_held("a memory manager");
        // SAFETY: the pointer came from this manager, and only its last uses were changed. Those are over, as the caller
        // promises, and the block, which is here by value, is used for no more work.
        unsafe { self.allocator.manager().memfree(memory) };
    }

    #[inline]
    fn memory(&self) -> &MemoryPointer {
        self.memory.as_ref().expect("taken only at its end")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        if self.device().is_forked() {
            return mem::forget(memory); // It is the parent's.
        }
        if let Some(&id) = self.id.get() {
            // SAFETY: the block tracked the id, and this is its last use. Guards over the bytes borrow the block, so none is
            // left. The memory goes back to its manager with the uses that the tracker returns.
            memory.set_last_uses(unsafe { self.device().retire_block(id) });
        }
        assert_none_held("a memory manager");
        // SAFETY: the pointer came from this manager, and only its last uses were changed. Recording work borrows the block
        // until the tracker has noted the work, so the tracker's answer names all of it, and the uses that the block was given
        // out with; a block that was never tracked still has the latter. This was the last handle, so no more work follows.
        unsafe { self.allocator.manager().memfree(memory) };
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block").field("size", &self.size()).field("kind", &self.kind()).finish_non_exhaustive()
    }
}
