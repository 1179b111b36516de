//! [`SharedSlot`]: pages of host memory that two devices import, so that the host does not copy between them.
//!
//! The pages belong to no allocator. Each allocator imports them through its memory manager, and keeps the import for
//! later copies, like its slots. Several devices may have imported the same pages. One copy at a time uses them: it
//! claims them, and gives up its claim when no device uses them any more.

use std::alloc::{self, Layout};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vkarray_driver::hazard::Mode;
use vkarray_driver::lock::assert_none_held;

use super::{BorrowedSlot, SlotKind, Staging, StagingSlot};
use crate::error::{Error, Result};
use crate::memory::route::MAX_CHUNK;
use crate::vulkan::page;

/// Parts of a shared slot, each of which can hold another chunk of a copy.
pub(crate) const N_PARTS: usize = 4;

/// Bytes of the pages.
#[expect(clippy::cast_possible_truncation, reason = "a chunk has 2 MiB")]
const SIZE: usize = N_PARTS * MAX_CHUNK as usize;

/// Pages of host memory that no Rust reference ever points to.
#[derive(Debug)]
pub(super) struct SharedPages {
    start: NonNull<u8>,
    layout: Layout,
    is_claimed: AtomicBool,
}

// SAFETY: the address stands for memory that this object owns, and that only devices read and write.
unsafe impl Send for SharedPages {}
// SAFETY: a shared reference gives no access to the memory, which only devices read and write.
unsafe impl Sync for SharedPages {}

/// Host memory that two devices use, for one copy.
#[derive(Debug)]
pub(crate) struct SharedSlot<'a> {
    sides: [BorrowedSlot<'a>; 2],
}

impl SharedPages {
    /// Claimed pages for devices that import pages of these sizes; `None` if a device imports no pages, or no pages
    /// this small.
    fn new(page_sizes: [u64; 2]) -> Option<Arc<Self>> {
        let alignment = usize::try_from(page_sizes.into_iter().max()?).ok()?;
        let is_suitable = page_sizes.iter().all(|&page| page > 0) && SIZE.is_multiple_of(alignment.max(1));
        let layout = Layout::from_size_align(SIZE, alignment).ok().filter(|_| is_suitable)?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc(layout) })?;
        Some(Arc::new(Self { start, layout, is_claimed: AtomicBool::new(true) }))
    }

    pub(super) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Acquire)
    }

    /// Claims the pages. Returns whether they were unclaimed.
    fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::AcqRel)
    }
}

impl Drop for SharedPages {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout; each import holds the pages until its device does not use
        // them.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Staging {
    /// Takes an import of the pages `of`. Without `of`, takes an import of any pages that no copy has claimed, and
    /// claims them.
    fn take_import(&self, of: Option<&Arc<SharedPages>>) -> Option<BorrowedSlot<'_>> {
        let mut kept = self.kept(SlotKind::Shared);
        let is_it = |own: &Arc<SharedPages>| of.map_or_else(|| own.claim(), |pages| Arc::ptr_eq(pages, own));
        let position = kept.slots.iter().position(|slot| slot.pages.as_ref().is_some_and(is_it))?;
        let slot = kept.slots.swap_remove_back(position);
        Some(BorrowedSlot { slot, kind: SlotKind::Shared, staging: self })
    }

    /// Takes an import of the pages, or makes one.
    fn import(&self, pages: &Arc<SharedPages>) -> Result<BorrowedSlot<'_>> {
        if let Some(kept) = self.take_import(Some(pages)) {
            return Ok(kept);
        }
        assert_none_held("a memory manager");
        let (owner, start) = (Box::new(Arc::clone(pages)), pages.start);
        // SAFETY: the owner keeps the pages until it is dropped, and no Rust reference points to them. The memory goes
        // back by `memfree` with its last uses, or with the allocator's other slots.
        let pinned = unsafe { (*self.manager).mempin(owner, start, SIZE as u64, false) }?;
        Ok(self.made(pinned.into_pointer(), SlotKind::Shared, Some(Arc::clone(pages))))
    }
}

impl<'a> SharedSlot<'a> {
    /// Takes a slot for a copy from the device of the first side to the device of the second; `None` if a device
    /// imports no such pages, or refuses them.
    pub(crate) fn take(sides: [&'a Staging; 2]) -> Result<Option<Self>> {
        let [from, to] = sides;
        if from.refuses_imports.load(Ordering::Relaxed) || to.refuses_imports.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let first = from.take_import(None);
        let pages = match &first {
            Some(kept) => kept.pages.clone(),
            None => SharedPages::new(sides.map(|side| page(side.device.info()))),
        };
        let Some(pages) = pages else { return Ok(None) };
        let take = |staging: &'a Staging| {
            staging.import(&pages).inspect_err(|error| {
                // Pages stay imported until the device no longer uses them, and can be imported again then.
                let is_lasting = !matches!(error, Error::AlreadyPinned { .. });
                staging.refuses_imports.fetch_or(is_lasting, Ordering::Relaxed);
            })
        };
        let imported = first.map_or_else(|| take(from), Ok).and_then(|first| Ok([first, take(to)?]));
        match imported {
            Ok(sides) => Ok(Some(Self { sides })),
            Err(error) => {
                from.device.check_lost()?;
                to.device.check_lost()?;
                log::debug!("copies between devices go through memory of each, since pages are not imported: {error}");
                Ok(None)
            }
        }
    }

    /// The pages as memory of the source's device and as memory of the target's device.
    pub(crate) fn sides(&self) -> [&StagingSlot; 2] {
        self.sides.each_ref().map(|side| &**side)
    }

    /// Waits until neither device uses the pages, and gives up the claim. If the wait fails, or the slot is dropped
    /// without this call, the imports end.
    pub(crate) fn finish(self) -> Result<()> {
        for slot in self.sides() {
            slot.wait_for_copies(0..SIZE as u64, Mode::Write)?;
        }
        if let Some(pages) = &self.sides[0].pages {
            pages.is_claimed.store(false, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_for_both_devices_and_claimed_once() {
        for page_sizes in [[4096, 4096], [4096, 65_536], [65_536, 4096]] {
            let pages = SharedPages::new(page_sizes).expect("suitable sizes");
            assert!(page_sizes.iter().all(|&page| (pages.start.addr().get() as u64).is_multiple_of(page)));
            assert!(!pages.claim(), "new pages are claimed");
            pages.is_claimed.store(false, Ordering::Release);
            assert!(pages.claim() && !pages.claim());
        }
    }

    #[test]
    fn no_pages_are_made_for_a_device_that_imports_none_or_only_larger_ones() {
        for page_sizes in [[0, 4096], [4096, 0], [0, 0], [4096, 1 << 30], [u64::MAX, 4096]] {
            assert!(SharedPages::new(page_sizes).is_none(), "{page_sizes:?}");
        }
    }
}
