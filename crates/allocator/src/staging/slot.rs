//! [`StagingSlot`]: a piece of pinned memory that host copies go through, again and again.
//!
//! Like a block it is known to the device's book, so that what the device still does with it is ordered and can be
//! waited for. Unlike a block it does not hold its allocator, which holds it.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use vkarray_driver::hazard::{Access, BlockId, Mode, Stage};
use vkarray_driver::{Device, Point};

use crate::error::Result;
use crate::manager::MemoryManager;
use crate::memory::{HostIntent, Mapping, MemoryPointer};

/// Parts of a slot start at multiples of this many bytes, a cache line.
const ALIGNMENT: u64 = 64;

/// Pinned memory that belongs to nobody's block.
#[derive(Debug)]
pub(crate) struct StagingSlot {
    memory: MemoryPointer,
    id: BlockId,
    /// How often its allocator had been reset when it was made.
    pub(super) generation: u64,
    /// From this byte on, nothing was written by the host since the device was last seen to use nothing.
    pub(super) used: u64,
    device: Arc<Device>,
}

impl StagingSlot {
    pub(super) fn new(memory: MemoryPointer, device: &Arc<Device>, generation: u64) -> Self {
        let id = device.track_block_after(memory.last_uses());
        Self { memory, id, generation, used: 0, device: Arc::clone(device) }
    }

    pub(super) fn size(&self) -> u64 {
        self.memory.size()
    }

    /// Whether `len` bytes fit behind what is used.
    pub(super) fn has_room(&self, len: usize) -> bool {
        self.size() - self.used >= len as u64
    }

    /// Sets aside the next `len` bytes, for which there is room.
    pub(crate) fn next_part(&mut self, len: usize) -> Range<u64> {
        debug_assert!(self.has_room(len), "{len} bytes behind {} of {}", self.used, self.size());
        let part = self.used..self.used + len as u64;
        let end = self.mapping().atoms(&self.device, part.clone()).end;
        self.used = end.next_multiple_of(ALIGNMENT).min(self.size());
        part
    }

    /// Lets the host see what the device wrote to a part, as far as it was waited for.
    pub(crate) fn invalidate(&self, part: &Range<u64>) -> Result<()> {
        self.mapping().invalidate(&self.device, part, HostIntent::Access)
    }

    /// Lets the device see what the host wrote to a part. Parts share no atoms, so there was nothing to open.
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
        // SAFETY: the part lies in the memory, as was checked.
        let address = unsafe { base.as_ptr().add(start) };
        // SAFETY: the slot owns its memory and is borrowed mutably as long as the slice, so the host has no other reference
        // to it; the caller promises that the device does not use the part; any bytes are valid `u8`s.
        unsafe { slice::from_raw_parts_mut(address, len) }
    }

    pub(crate) fn buffer(&self) -> vk::Buffer {
        self.memory.buffer()
    }

    /// The first byte's place in the buffer.
    pub(crate) fn buffer_offset(&self) -> u64 {
        self.memory.offset()
    }

    /// Describes that a copy reads a part.
    pub(crate) fn read(&self, part: Range<u64>) -> Access {
        Access::read(self.id, part, Stage::Transfer)
    }

    /// Describes that a copy writes a part.
    pub(crate) fn write(&self, part: Range<u64>) -> Access {
        Access::write(self.id, part, Stage::Transfer)
    }

    /// Blocks until what the device does with a part is done, as far as an access in `mode` conflicts with it.
    pub(crate) fn wait_for_uses(&self, part: Range<u64>, mode: Mode) -> Result<()> {
        Ok(self.uses(part, mode).iter().try_for_each(|point| point.wait(None))?)
    }

    /// As [`StagingSlot::wait_for_uses`], for copies that are on their way.
    pub(crate) fn wait_for_copies(&self, part: Range<u64>, mode: Mode) -> Result<()> {
        Ok(self.uses(part, mode).iter().try_for_each(Point::wait_polling)?)
    }

    /// As [`StagingSlot::wait_until_idle`], for copies that are on their way.
    pub(crate) fn wait_until_emptied(&mut self) -> Result<()> {
        self.wait_for_copies(0..self.size(), Mode::Write)?;
        self.used = 0;
        Ok(())
    }

    /// Waits until the device uses nothing of it, so that all of it can be written.
    pub(crate) fn wait_until_idle(&mut self) -> Result<()> {
        self.wait_for_uses(0..self.size(), Mode::Write)?;
        self.used = 0;
        Ok(())
    }

    /// Whether the device uses nothing of it. Never blocks.
    pub(super) fn is_idle(&self) -> Result<bool> {
        for point in self.uses(0..self.size(), Mode::Write) {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn uses(&self, part: Range<u64>, mode: Mode) -> SmallVec<[Point; 2]> {
        self.device.block_uses(self.id, part, mode)
    }

    /// Gives the memory back, with what the device may still do with it.
    ///
    /// # Safety
    ///
    /// `manager` gave the memory out, and no more work that uses it is recorded.
    pub(super) unsafe fn free(mut self, manager: &dyn MemoryManager) {
        if self.device.is_forked() {
            return std::mem::forget(self); // It is the parent's.
        }
        // SAFETY: the slot tracked it, is at its end, and gives its memory back with the uses that are left.
        self.memory.set_last_uses(unsafe { self.device.retire_block(self.id) });
        // SAFETY: by the caller's promise the manager gave the pointer out, which nothing changed but for its uses. Those
        // are all that the tracker knows of the slot, and the slot ends here.
        unsafe { manager.memfree(self.memory) };
    }
}
