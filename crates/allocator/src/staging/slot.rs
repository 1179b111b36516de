//! [`StagingSlot`]: a piece of pinned memory that host copies go through.
//!
//! The device tracks it like a block, so that its uses are ordered and can be waited for. Unlike a block it has no reference
//! to its allocator, which owns it.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_driver::hazard::{BlockAccess, BlockId, Mode, Stage};
use vkarray_driver::{Device, Point};

use super::Staging;
use super::shared_pages::SharedPages;
use crate::error::Result;
use crate::manager::MemoryManager;
use crate::memory::{HostIntent, Mapping, MemoryPointer};
use crate::pending::are_complete;

/// The alignment of parts, in bytes: a cache line.
const ALIGNMENT: u64 = 64;

/// A piece of pinned memory for host copies.
#[derive(Debug)]
pub(crate) struct StagingSlot {
    memory: MemoryPointer,
    id: BlockId,
    /// The number of resets of the allocator when the slot was made.
    pub(super) generation: u64,
    /// The end of the parts in use: from this byte on, neither the device nor a copy uses the slot.
    pub(super) used: u64,
    /// The pages of the memory, if other devices import them too.
    pub(super) pages: Option<Arc<SharedPages>>,
    device: Arc<Device>,
}

impl StagingSlot {
    pub(super) fn new(memory: MemoryPointer, staging: &Staging, pages: Option<Arc<SharedPages>>) -> Self {
        let (device, generation) = (Arc::clone(&staging.device), staging.generation());
        let id = device.track_block_after(memory.last_uses());
        Self { memory, id, generation, used: 0, pages, device }
    }

    pub(super) fn size(&self) -> u64 {
        self.memory.size()
    }

    /// Whether `len` bytes fit after the parts in use.
    pub(super) fn has_room(&self, len: usize) -> bool {
        self.size() - self.used >= len as u64
    }

    /// Takes the next `len` bytes, for which there is room.
    pub(crate) fn next_part(&mut self, len: usize) -> Range<u64> {
        debug_assert!(self.has_room(len), "{len} bytes after {} of {}", self.used, self.size());
        let part = self.used..self.used + len as u64;
        let end = self.mapping().atoms(&self.device, part.clone()).end;
        self.used = end.next_multiple_of(ALIGNMENT).min(self.size());
        part
    }

    /// Makes finished writes of the device to a part visible to the host.
    pub(crate) fn invalidate(&self, part: &Range<u64>) -> Result<()> {
        self.mapping().invalidate(&self.device, part, HostIntent::Access)
    }

    /// Makes writes of the host to a part visible to the device. Parts share no atoms, so no invalidation was needed.
    pub(crate) fn flush(&self, part: &Range<u64>) -> Result<()> {
        self.mapping().flush(&self.device, part)
    }

    fn mapping(&self) -> Mapping {
        self.memory.mapping().expect("host memory is mapped")
    }

    /// The bytes of a part, which must lie in the slot.
    ///
    /// # Safety
    ///
    /// The device does not use the bytes as long as the result lives: no work with them was recorded, or it was waited for.
    pub(crate) unsafe fn bytes(&mut self, part: &Range<u64>) -> &mut [u8] {
        assert!(part.start <= part.end && part.end <= self.size(), "{part:?} is outside {} bytes", self.size());
        let place = |at: u64| usize::try_from(at).expect("a mapping is smaller than the address space");
        let (start, len) = (place(part.start), place(part.end - part.start));
        let base = self.mapping().address();
        // SAFETY: the part lies in the memory, which was checked.
        let address = unsafe { base.as_ptr().add(start) };
        // SAFETY: the slot owns its memory and is borrowed mutably as long as the slice, so the host has no other reference
        // to it; the caller promises that the device does not use the part; any bytes are valid `u8`s.
        unsafe { slice::from_raw_parts_mut(address, len) }
    }

    /// The buffer and the offset in it of the slot's byte at `offset`.
    pub(crate) fn place(&self, offset: u64) -> (vk::Buffer, u64) {
        (self.memory.buffer(), self.memory.offset() + offset)
    }

    /// Describes that a copy reads a part.
    pub(crate) fn read(&self, part: Range<u64>) -> BlockAccess {
        BlockAccess::read(self.id, part, Stage::Transfer)
    }

    /// Describes that a copy writes a part.
    pub(crate) fn write(&self, part: Range<u64>) -> BlockAccess {
        BlockAccess::write(self.id, part, Stage::Transfer)
    }

    /// Waits for copies in flight that use a part, and that conflict with an access in `mode`.
    pub(crate) fn wait_for_copies(&self, part: Range<u64>, mode: Mode) -> Result<()> {
        Ok(self.uses(part, mode).iter().try_for_each(Point::wait_polling)?)
    }

    /// Waits until the device does not use the slot, so that all of it can be written.
    pub(crate) fn wait_until_idle(&mut self) -> Result<()> {
        self.wait_for_copies(0..self.size(), Mode::Write)?;
        self.used = 0;
        Ok(())
    }

    /// Whether the device does not use the slot. Never blocks.
    pub(super) fn is_idle(&self) -> Result<bool> {
        are_complete(&self.uses(0..self.size(), Mode::Write))
    }

    fn uses(&self, part: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        self.device.block_uses(self.id, part, mode)
    }

    /// Gives the memory back, with the work that may still use it.
    ///
    /// # Safety
    ///
    /// `manager` gave the memory out in this process, and no more work that uses it is recorded.
    pub(super) unsafe fn free(mut self, manager: &dyn MemoryManager) {
        // SAFETY: the slot tracked the id, ends here, and gives its memory back with the uses that are left.
        self.memory.last_uses_mut().set(unsafe { self.device.retire_block(self.id) });
        // SAFETY: the caller promises that the manager gave the pointer out, of which only the uses were changed. The
        // tracker returned all uses of the slot, and the slot ends here.
        unsafe { manager.memfree(self.memory) };
    }
}
