//! Staging memory and threads for host copies: pinned memory that an allocator keeps, so that repeated copies allocate none.
//!
//! There are slots of two sizes for each direction. Small uploads are packed one after another into a slot, so that no
//! upload waits for the one before; a large copy has several slots to itself. Unused slots go back to the manager when
//! memory runs out, when the allocator is trimmed or reset, and at its end. The folder `copy` records copies. Read
//! `slot.rs` first. Pages for copies between devices are in `shared_pages.rs`.

mod copy_threads;
mod shared_pages;
mod slot;

use std::collections::VecDeque;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vkarray_driver::lock::{Mutex, MutexGuard, Rank, assert_none_held};
use vkarray_driver::{Device, Direction};

pub(crate) use self::copy_threads::CopyThreads;
use self::shared_pages::SharedPages;
pub(crate) use self::shared_pages::{N_PARTS, SharedSlot};
pub(crate) use self::slot::StagingSlot;
use crate::error::{Error, Result};
use crate::manager::{HostOptions, MemoryManager};
use crate::memory::MemoryPointer;
use crate::memory::route::{MAX_CHUNK, MAX_SLOTS, SMALL_SLOT};

/// The sizes of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotSize {
    Small,
    Large,
}

impl SlotSize {
    fn bytes(self) -> u64 {
        match self {
            Self::Small => SMALL_SLOT,
            Self::Large => MAX_CHUNK,
        }
    }
}

/// What a slot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    /// Copies between the host and the device.
    Host(Direction, SlotSize),
    /// Copies between devices, which import the pages of the slot.
    Shared,
}

/// The slots of one kind.
#[derive(Debug, Default)]
struct SlotList {
    /// Unused slots, the most recently used last.
    slots: VecDeque<StagingSlot>,
    /// The number of slots, including those in use.
    n_made: usize,
}

/// A slot and the part of it that the host has just written.
#[derive(Debug)]
pub(crate) struct FilledSlot<'a> {
    pub(crate) slot: BorrowedSlot<'a>,
    pub(crate) part: Range<u64>,
}

/// The memory manager of one allocator, and slots of its memory, which go back to it with the staging memory.
#[derive(Debug)]
pub(crate) struct Staging {
    kept: [Mutex<SlotList>; 5],
    /// Whether an import has failed, so that no import is tried again.
    refuses_imports: AtomicBool,
    bytes: AtomicU64,
    /// The number of resets.
    pub(crate) generation: AtomicU64,
    pub(crate) manager: Box<dyn MemoryManager>,
    pub(crate) device: Arc<Device>,
}

/// A slot in use by one copy. Dropping it gives the slot back.
#[derive(Debug)]
pub(crate) struct BorrowedSlot<'a> {
    slot: Option<StagingSlot>, // `None` once it went back.
    kind: SlotKind,
    staging: &'a Staging,
}

impl Staging {
    /// Staging memory of a manager that is initialised for the device. Takes no memory yet.
    pub(crate) fn new(manager: Box<dyn MemoryManager>, device: &Arc<Device>) -> Self {
        let kept = std::array::from_fn(|_| Mutex::new(Rank::Staging, SlotList::default()));
        let (refuses_imports, bytes, generation) = Default::default();
        Self { kept, refuses_imports, bytes, generation, manager, device: Arc::clone(device) }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Bytes of all slots.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Gives unused slots back to the manager, also those that the device still uses. Returns whether there were any.
    pub(crate) fn free_slots(&self) -> bool {
        if self.device.is_forked() {
            return false; // The memory belongs to the parent process, and a lock may stay locked forever.
        }
        let mut is_any = false;
        for kept in &self.kept {
            let mut kept = kept.lock();
            kept.n_made -= kept.slots.len();
            let slots = mem::take(&mut kept.slots);
            drop(kept);
            is_any |= !slots.is_empty();
            slots.into_iter().for_each(|slot| self.free_slot(slot));
        }
        is_any
    }

    /// Gives back a slot, which this staging memory made, in the process that made it.
    fn free_slot(&self, slot: StagingSlot) {
        self.bytes.fetch_sub(slot.size(), Ordering::Relaxed);
        // SAFETY: `made` alone makes slots, of memory of this manager, and lists and borrowed slots give them to the staging
        // memory that made them. The slot is here by value, so no copy borrows it to record more work.
        unsafe { slot.free(&*self.manager) };
    }

    fn kept(&self, kind: SlotKind) -> MutexGuard<'_, SlotList> {
        let place = match kind {
            SlotKind::Host(direction, size) => {
                2 * usize::from(direction == Direction::ToHost) + usize::from(size == SlotSize::Large)
            }
            SlotKind::Shared => 4,
        };
        // No caller's code runs under the lock.
        self.kept[place].lock()
    }

    /// Takes a slot for a copy of `len` bytes, at most the size of a slot. The device does not use the slot's next
    /// `len` bytes.
    ///
    /// Blocks only if the largest number of slots is in use, or if there is no memory for another.
    pub(crate) fn slot(&self, direction: Direction, size: SlotSize, len: usize) -> Result<BorrowedSlot<'_>> {
        let kind = SlotKind::Host(direction, size);
        let taken = |slot| BorrowedSlot { slot: Some(slot), kind, staging: self };
        let mut kept = self.kept(kind);
        if let Some(newest) = kept.slots.pop_back_if(|newest| newest.has_room(len)) {
            return Ok(taken(newest));
        }
        let (oldest, n_made) = (kept.slots.pop_front(), kept.n_made);
        drop(kept);
        let Some(mut oldest) = oldest.map(taken) else {
            return match self.new_slot(direction, size) {
                Err(Error::OutOfMemory(_)) if self.free_slots() => self.new_slot(direction, size),
                outcome => outcome,
            };
        };
        if !oldest.is_idle()? {
            if n_made < MAX_SLOTS {
                match self.new_slot(direction, size) {
                    // There is no memory for another slot, so the oldest is waited for.
                    Err(Error::OutOfMemory(_)) => {}
                    made => {
                        oldest.put_back_oldest();
                        return made;
                    }
                }
            }
            oldest.wait_until_idle()?;
        }
        oldest.used = 0;
        Ok(oldest)
    }

    fn new_slot(&self, direction: Direction, size: SlotSize) -> Result<BorrowedSlot<'_>> {
        assert_none_held("a memory manager");
        let options = HostOptions::default().wc(direction == Direction::ToDevice);
        // The manager itself: the box around it is an adaptor.
        let memory = (*self.manager).memhostalloc(size.bytes(), options)?.into_pointer();
        let mut taken = self.made(memory, SlotKind::Host(direction, size), None);
        taken.wait_until_idle()?; // Waits for earlier uses of the memory.
        Ok(taken)
    }

    /// A slot of memory that the manager has just given out.
    fn made(&self, memory: MemoryPointer, kind: SlotKind, pages: Option<Arc<SharedPages>>) -> BorrowedSlot<'_> {
        let slot = StagingSlot::new(memory, self, pages);
        self.bytes.fetch_add(slot.size(), Ordering::Relaxed);
        self.kept(kind).n_made += 1;
        BorrowedSlot { slot: Some(slot), kind, staging: self }
    }

    fn put_back(&self, slot: StagingSlot, kind: SlotKind, is_oldest: bool) {
        if self.device.is_forked() {
            return mem::forget(slot); // The memory belongs to the parent process, and a lock may stay locked forever.
        }
        let is_claimed = slot.pages.as_ref().is_some_and(|pages| pages.is_claimed());
        let mut kept = self.kept(kind);
        let is_one_too_many = kept.n_made > MAX_SLOTS;
        if is_one_too_many || is_claimed || slot.generation != self.generation() {
            kept.n_made -= 1;
            drop(kept);
            return self.free_slot(slot);
        }
        if is_oldest {
            kept.slots.push_front(slot);
        } else {
            kept.slots.push_back(slot);
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.free_slots();
    }
}

impl<'a> BorrowedSlot<'a> {
    /// Copies bytes, for which there is room, to the next part of the slot, and flushes them.
    pub(crate) fn fill(self, source: &[u8]) -> Result<FilledSlot<'a>> {
        self.fill_with(source.len(), |bytes| {
            bytes.copy_from_slice(source);
            Ok(())
        })
    }

    /// Fills the next part like [`BorrowedSlot::fill`], with the `len` bytes that `write` writes.
    pub(crate) fn fill_with(
        mut self,
        len: usize,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<FilledSlot<'a>> {
        let part = self.next_part(len);
        // SAFETY: the part was unused until now, so no recorded work uses it yet.
        write(unsafe { self.bytes(&part) })?;
        self.flush(&part)?;
        Ok(FilledSlot { slot: self, part })
    }

    /// Puts the slot back as the least recently used.
    fn put_back_oldest(mut self) {
        if let Some(slot) = self.slot.take() {
            self.staging.put_back(slot, self.kind, true);
        }
    }
}

impl Deref for BorrowedSlot<'_> {
    type Target = StagingSlot;

    fn deref(&self) -> &StagingSlot {
        self.slot.as_ref().expect("present until it goes back")
    }
}

impl DerefMut for BorrowedSlot<'_> {
    fn deref_mut(&mut self) -> &mut StagingSlot {
        self.slot.as_mut().expect("present until it goes back")
    }
}

impl Drop for BorrowedSlot<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.staging.put_back(slot, self.kind, false);
        }
    }
}
