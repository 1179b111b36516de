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
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use vkarray_driver::lock::{Mutex, MutexGuard, Rank, assert_none_held};
use vkarray_driver::{Device, Direction};

pub(crate) use self::copy_threads::CopyThreads;
use self::shared_pages::ImportedPages;
pub(crate) use self::shared_pages::{N_PARTS, SharedSlot};
pub(crate) use self::slot::StagingSlot;
use crate::error::{Error, Result};
use crate::manager::{HostOptions, MemoryManager};
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

/// The direction and size of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlotKind {
    direction: Direction,
    size: SlotSize,
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

/// The slots of one allocator.
#[derive(Debug)]
pub(crate) struct Staging {
    kept: [Mutex<SlotList>; 4],
    /// Imports of pages that other devices also import, and that no copy of this device uses.
    imports: Mutex<Vec<ImportedPages>>,
    /// Whether an import has failed, so that no import is tried again.
    refuses_imports: AtomicBool,
    bytes: AtomicU64,
}

/// A slot in use by one copy. Dropping it gives the slot back.
#[derive(Debug)]
pub(crate) struct BorrowedSlot<'a> {
    slot: Option<StagingSlot>, // `None` once it went back.
    kind: SlotKind,
    staging: &'a Staging,
    source: SlotSource<'a>,
}

impl Default for Staging {
    fn default() -> Self {
        let kept = std::array::from_fn(|_| Mutex::new(Rank::Staging, SlotList::default()));
        let imports = Mutex::new(Rank::Staging, Vec::new());
        Self { kept, imports, refuses_imports: AtomicBool::new(false), bytes: AtomicU64::new(0) }
    }
}

impl Staging {
    /// Bytes of all slots.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Gives unused slots back to the manager, also those that the device still uses. Returns whether there were any.
    ///
    /// # Safety
    ///
    /// `manager` is the manager of the allocator whose staging memory this is.
    pub(crate) unsafe fn free_slots(&self, device: &Device, manager: &dyn MemoryManager) -> bool {
        if device.is_forked() {
            return false; // The memory belongs to the parent process, and a lock may stay locked forever.
        }
        let mut is_any = false;
        for kept in &self.kept {
            let mut kept = kept.lock();
            kept.n_made -= kept.slots.len();
            let slots = std::mem::take(&mut kept.slots);
            drop(kept);
            is_any |= !slots.is_empty();
            // SAFETY: the caller keeps this function's contract, which is the same as that of `free_slot`.
            slots.into_iter().for_each(|slot| unsafe { self.free_slot(slot, manager) });
        }
        let imports = std::mem::take(&mut *self.imports.lock());
        is_any |= !imports.is_empty();
        // SAFETY: the caller keeps this function's contract, which is the same as that of `free_slot`.
        imports.into_iter().for_each(|import| unsafe { self.free_slot(import.slot, manager) });
        is_any
    }

    /// # Safety
    ///
    /// The obligations of [`Staging::free_slots`].
    unsafe fn free_slot(&self, slot: StagingSlot, manager: &dyn MemoryManager) {
        self.bytes.fetch_sub(slot.size(), Ordering::Relaxed);
        // SAFETY: the allocator makes its slots from its manager's memory. The slot is here by value, so no copy
        // borrows it to record more work.
        unsafe { slot.free(manager) };
    }

    fn kept(&self, kind: SlotKind) -> MutexGuard<'_, SlotList> {
        let place = 2 * usize::from(kind.direction == Direction::ToHost) + usize::from(kind.size == SlotSize::Large);
        // No caller's code runs under the lock.
        self.kept[place].lock()
    }
}

/// The source of the memory of slots: an allocator's manager, its device, and its number of resets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotSource<'a> {
    pub(crate) manager: &'a dyn MemoryManager,
    pub(crate) device: &'a Arc<Device>,
    pub(crate) generation: &'a AtomicU64,
}

impl SlotSource<'_> {
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }
}

impl Staging {
    /// Takes a slot for a copy of `len` bytes, at most the size of a slot. The device does not use the slot's next
    /// `len` bytes.
    ///
    /// Blocks only if the largest number of slots is in use, or if there is no memory for another.
    ///
    /// # Safety
    ///
    /// `source` is the source of the allocator whose staging memory this is.
    pub(crate) unsafe fn slot<'a>(
        &'a self,
        source: SlotSource<'a>,
        direction: Direction,
        size: SlotSize,
        len: usize,
    ) -> Result<BorrowedSlot<'a>> {
        let kind = SlotKind { direction, size };
        let taken = |slot| BorrowedSlot { slot: Some(slot), kind, staging: self, source };
        let mut kept = self.kept(kind);
        if let Some(newest) = kept.slots.pop_back_if(|newest| newest.has_room(len)) {
            return Ok(taken(newest));
        }
        let (oldest, n_made) = (kept.slots.pop_front(), kept.n_made);
        drop(kept);
        let Some(mut oldest) = oldest.map(taken) else {
            return match self.new_slot(source, kind) {
                Err(error @ Error::OutOfMemory(_)) => {
                    // SAFETY: the caller keeps this function's contract, which is the same as that of `free_slots`.
                    let is_any = unsafe { self.free_slots(source.device, source.manager) };
                    if is_any { self.new_slot(source, kind) } else { Err(error) }
                }
                outcome => outcome,
            };
        };
        if !oldest.is_idle()? {
            if n_made < MAX_SLOTS {
                match self.new_slot(source, kind) {
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

    fn new_slot<'a>(&'a self, source: SlotSource<'a>, kind: SlotKind) -> Result<BorrowedSlot<'a>> {
        assert_none_held("a memory manager");
        let options = HostOptions::default().wc(kind.direction == Direction::ToDevice);
        let memory = source.manager.memhostalloc(kind.size.bytes(), options)?.into_pointer();
        let slot = StagingSlot::new(memory, source.device, source.generation());
        self.bytes.fetch_add(kind.size.bytes(), Ordering::Relaxed);
        self.kept(kind).n_made += 1;
        let mut taken = BorrowedSlot { slot: Some(slot), kind, staging: self, source };
        taken.wait_until_idle()?; // Waits for earlier uses of the memory.
        Ok(taken)
    }

    fn put_back(&self, source: SlotSource<'_>, slot: StagingSlot, kind: SlotKind, is_oldest: bool) {
        let mut kept = self.kept(kind);
        let is_one_too_many = kept.n_made > MAX_SLOTS;
        if is_one_too_many || slot.generation != source.generation() {
            kept.n_made -= 1;
            drop(kept);
            // SAFETY: the slot was made of memory of this manager, by the contract of `slot`.
            return unsafe { self.free_slot(slot, source.manager) };
        }
        if is_oldest {
            kept.slots.push_front(slot);
        } else {
            kept.slots.push_back(slot);
        }
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
            self.staging.put_back(self.source, slot, self.kind, true);
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
            self.staging.put_back(self.source, slot, self.kind, false);
        }
    }
}
