//! [`ProgramPages`]: the imported pages of bytes of the program, and the position of the bytes in them.
//!
//! All pages that hold a byte of the slice are imported. Other bytes of the first and the last page belong to other
//! code: copies name none of them, and kernels are given a block only if it is exactly the slice (`memory.rs`). A page
//! is imported once. Of two slices with a page in common, the second therefore has only the pages imported that hold no
//! byte of the first.

use std::any::Any;
use std::num::NonZero;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::memory::route::{MAX_NOT_IMPORTED, MIN_CUT};
use crate::vulkan::{page, pages_around, whole_pages};

/// Imported pages. Ranges of `usize` are bytes of the slice.
pub(super) struct ProgramPages {
    /// The slice's bytes that lie in the pages.
    pub(super) bytes: Range<usize>,
    /// The bytes in pages that hold only bytes of the slice.
    whole: Range<usize>,
    /// The block of all pages.
    pub(super) block: Arc<Block>,
    /// The position of the first byte of `bytes` in the block.
    offset: u64,
}

impl ProgramPages {
    /// Imports the pages of the `len` bytes at `start`, which hold `keeper`; with `only_whole`, only if the bytes are
    /// whole pages. `None` if the device imports no such pages, or the import costs more than it saves.
    ///
    /// # Safety
    ///
    /// The bytes stay, and can be read and written, until the block is dropped and its last uses are over. Work uses no
    /// byte outside of the `len` bytes. While work reads some of the bytes, there is no mutable Rust reference to
    /// these; while work writes some of the bytes, there is no Rust reference to these at all.
    pub(super) unsafe fn import(
        allocator: &Arc<Allocator>,
        (start, len): (NonNull<u8>, usize),
        keeper: &Arc<dyn Any + Send + Sync>,
        only_whole: bool,
    ) -> Result<Option<Self>> {
        let (address, page) = (start.addr().get(), page(allocator.device().info()));
        let whole = whole_pages(address, len, page);
        if (only_whole || len <= MAX_NOT_IMPORTED) && whole != (0..len) {
            return Ok(None);
        }
        let Some(around) = pages_around(address, len, page) else { return Ok(None) };
        let import = |pages: &Range<usize>| {
            let first = NonZero::new(pages.start).expect("no slice is in the page of null");
            // SAFETY: each page holds a byte of the slice, so it stays as long as the slice; the caller promises the
            // rest.
            unsafe {
                allocator.import_pages(Box::new(Arc::clone(keeper)), start.with_addr(first), pages.len() as u64, true)
            }
        };
        match import(&around) {
            Ok(block) => Ok(Some(Self { bytes: 0..len, whole, block, offset: (address - around.start) as u64 })),
            Err(Error::AlreadyPinned { .. }) if whole.is_empty() => Ok(None),
            Err(Error::AlreadyPinned { .. }) if whole != (0..len) => {
                let block = import(&(address + whole.start..address + whole.end))?;
                Ok(Some(Self { bytes: whole.clone(), whole, block, offset: 0 }))
            }
            Err(error) => Err(error),
        }
    }

    /// The bytes before and after which a copy of `len` bytes is cut.
    pub(super) fn cut(&self, len: usize) -> Range<usize> {
        if len >= MIN_CUT { self.whole.clone() } else { self.bytes.clone() }
    }

    /// The block that a part of the slice lies in and the part's range in it, if the part is imported.
    pub(super) fn place_of(&self, part: &Range<usize>) -> Option<(&Arc<Block>, Range<u64>)> {
        let is_in = self.bytes.start <= part.start && part.end <= self.bytes.end;
        is_in.then(|| {
            let first = self.offset + (part.start - self.bytes.start) as u64;
            (&self.block, first..first + part.len() as u64)
        })
    }
}

/// The parts of `range` before, in and after `cut`.
pub(super) fn parts(range: &Range<usize>, cut: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let at = [cut.start, cut.end].map(|at| at.clamp(range.start, range.end));
    [range.start..at[0], at[0]..at[1], at[1]..range.end].into_iter().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_where_the_other_begins_and_ends() {
        // The range, the cut, and the ends of the parts.
        let cases: [(_, _, &[usize]); 8] = [
            (0..10, 0..10, &[0, 10]),
            (0..10, 3..7, &[0, 3, 7, 10]),
            (4..6, 3..7, &[4, 6]),
            (4..10, 3..7, &[4, 7, 10]),
            (0..2, 3..7, &[0, 2]),
            (8..9, 3..7, &[8, 9]),
            (5..9, 0..0, &[5, 9]), // Nothing is imported.
            (5..5, 3..7, &[]),
        ];
        for (range, cut, ends) in cases {
            let expected: Vec<_> = ends.windows(2).map(|pair| pair[0]..pair[1]).collect();
            assert_eq!(parts(&range, &cut).collect::<Vec<_>>(), expected, "{range:?} cut at {cut:?}");
        }
    }
}
