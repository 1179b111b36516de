//! [`SharedSlot`]: pages of host memory that two devices import, so that the host does not copy between them.
//!
//! The pages belong to no allocator. Each allocator imports them through its memory manager, and keeps the import for
//! later copies, like its slots. Several devices may have imported the same pages. One copy at a time uses them: it
//! claims them, and gives up its claim when no device uses them any more.

use std::alloc::{self, Layout};
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vkarray_driver::hazard::Mode;
use vkarray_driver::lock::assert_none_held;

use super::{SlotSource, Staging, StagingSlot};
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
struct SharedPages {
    start: NonNull<u8>,
    layout: Layout,
    is_claimed: AtomicBool,
}

// SAFETY: the address stands for memory that this object owns, and that only devices read and write.
unsafe impl Send for SharedPages {}
// SAFETY: a shared reference gives no access to the memory, which only devices read and write.
unsafe impl Sync for SharedPages {}

/// Pages and their import by one device.
#[derive(Debug)]
pub(super) struct ImportedPages {
    pages: Arc<SharedPages>,
    pub(super) slot: StagingSlot,
}

/// An allocator's import, in use by one copy.
#[derive(Debug)]
struct BorrowedImport<'a> {
    import: Option<ImportedPages>, // `None` once it went back.
    staging: &'a Staging,
    source: SlotSource<'a>,
}

/// Host memory that two devices use, for one copy.
#[derive(Debug)]
pub(crate) struct SharedSlot<'a> {
    sides: [BorrowedImport<'a>; 2],
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
    fn take_import(&self, of: Option<&Arc<SharedPages>>) -> Option<ImportedPages> {
        let mut imports = self.imports.lock();
        let is_it =
            |import: &ImportedPages| of.map_or_else(|| import.pages.claim(), |pages| Arc::ptr_eq(pages, &import.pages));
        let position = imports.iter().position(is_it)?;
        Some(imports.swap_remove(position))
    }

    /// Takes an import of the pages, or makes one.
    ///
    /// # Safety
    ///
    /// `source` is the source of the allocator whose staging memory this is.
    unsafe fn import<'a>(&'a self, source: SlotSource<'a>, pages: &Arc<SharedPages>) -> Result<BorrowedImport<'a>> {
        let import = match self.take_import(Some(pages)) {
            Some(kept) => kept,
            None => {
                assert_none_held("a memory manager");
                // SAFETY: the owner keeps the pages until it is dropped, and no Rust reference points to them. The memory goes
                // back by `memfree` with its last uses, or with the allocator's other slots.
                let pinned =
                    unsafe { source.manager.mempin(Box::new(Arc::clone(pages)), pages.start, SIZE as u64, false) }?;
                self.bytes.fetch_add(SIZE as u64, Ordering::Relaxed);
                let slot = StagingSlot::new(pinned.into_pointer(), source.device, source.generation());
                ImportedPages { pages: Arc::clone(pages), slot }
            }
        };
        Ok(BorrowedImport { import: Some(import), staging: self, source })
    }
}

impl<'a> SharedSlot<'a> {
    /// Takes a slot for a copy from the device of the first side to the device of the second; `None` if a device
    /// imports no such pages, or refuses them.
    ///
    /// # Safety
    ///
    /// Each source is the source of the allocator whose staging memory is beside it.
    pub(crate) unsafe fn take(sides: [(&'a Staging, SlotSource<'a>); 2]) -> Result<Option<Self>> {
        let [(from, source), (to, target)] = sides;
        if from.refuses_imports.load(Ordering::Relaxed) || to.refuses_imports.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (first, pages) = match from.take_import(None) {
            Some(kept) => {
                let pages = Arc::clone(&kept.pages);
                (Some(BorrowedImport { import: Some(kept), staging: from, source }), pages)
            }
            None => match SharedPages::new([source, target].map(|side| page(side.device.info()))) {
                Some(pages) => (None, pages),
                None => return Ok(None),
            },
        };
        let take = |staging: &'a Staging, source: SlotSource<'a>| {
            // SAFETY: the caller keeps this function's contract, which is the same as that of `import`.
            let import = unsafe { staging.import(source, &pages) };
            import.inspect_err(|error| {
                // Pages stay imported until the device no longer uses them, and can be imported again then.
                let is_lasting = !matches!(error, Error::AlreadyPinned { .. });
                staging.refuses_imports.fetch_or(is_lasting, Ordering::Relaxed);
            })
        };
        let imported = first.map_or_else(|| take(from, source), Ok).and_then(|first| Ok([first, take(to, target)?]));
        match imported {
            Ok(sides) => Ok(Some(Self { sides })),
            Err(error) => {
                source.device.check_lost()?;
                target.device.check_lost()?;
                log::debug!("copies between devices go through memory of each, since pages are not imported: {error}");
                Ok(None)
            }
        }
    }

    /// The pages as memory of the source's device and as memory of the target's device.
    pub(crate) fn sides(&self) -> [&StagingSlot; 2] {
        self.sides.each_ref().map(|side| &side.import.as_ref().expect("present until it goes back").slot)
    }

    /// Waits until neither device uses the pages, and gives up the claim. If the wait fails, or the slot is dropped
    /// without this call, the imports end.
    pub(crate) fn finish(self) -> Result<()> {
        for slot in self.sides() {
            slot.wait_for_copies(0..SIZE as u64, Mode::Write)?;
        }
        if let Some(import) = &self.sides[0].import {
            import.pages.is_claimed.store(false, Ordering::Release);
        }
        Ok(())
    }
}

impl Drop for BorrowedImport<'_> {
    fn drop(&mut self) {
        let Some(import) = self.import.take() else { return };
        if self.source.device.is_forked() {
            return mem::forget(import); // The memory belongs to the parent process.
        }
        let is_claimed = import.pages.is_claimed.load(Ordering::Acquire);
        if is_claimed || import.slot.generation != self.source.generation() {
            // SAFETY: the slot was made of memory of this manager, by the contract of `import`.
            return unsafe { self.staging.free_slot(import.slot, self.source.manager) };
        }
        self.staging.imports.lock().push(import);
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
