//! [`Piece`]: the part of many rows that one launch scans. A kernel reads at most what the device binds at once.

use std::ops::Range;

use vkarray_kernel::{Element, Groups, limits_of};

use super::BLOCK;
use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::functions::operand::to_u32;

/// How much of an array can be bound, counted in elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// The most elements from the first scanned element on.
    most: usize,
    /// A range starts at a multiple of this many elements.
    alignment: usize,
    len: usize,
}

impl Bound {
    pub(super) fn of<T: Element>(array: &DeviceNDArray<T>) -> Self {
        let limits = limits_of(array.context().info());
        let elements = |nbytes: u64| usize::try_from(nbytes).unwrap_or(usize::MAX) / size_of::<T>();
        let alignment = elements(limits.min_storage_buffer_offset_alignment.max(64)).max(1);
        let most = elements(limits.max_storage_buffer_range).min(1 << 31);
        Self { most: most.saturating_sub(alignment).max(BLOCK), alignment, len: array.size() }
    }
}

/// Whole rows, or a part of one row that begins with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first element that is bound and the first element that is scanned, as positions in the whole array.
    bound: usize,
    start: usize,
    /// The position behind the last element that is bound.
    end: usize,
    n_rows: usize,
    /// The number of elements of a row that this piece scans.
    n: usize,
    /// The block of the row with which the piece begins, and the number of the piece's first block among the blocks of
    /// all rows.
    block: usize,
    first: usize,
}

impl Piece {
    /// The range of elements that are bound.
    pub(super) fn bound(&self) -> Range<isize> {
        self.bound.cast_signed()..self.end.cast_signed()
    }

    /// The parameters of the kernels.
    pub(super) fn words(&self) -> Result<[u32; 5]> {
        let words = [self.n, self.n.div_ceil(BLOCK), self.start - self.bound, self.block, self.first];
        let mut found = [0; 5];
        for (found, word) in found.iter_mut().zip(words) {
            *found = to_u32(word)?;
        }
        Ok(found)
    }

    /// The launch size: one workgroup for each block.
    pub(super) fn groups(&self) -> Groups<'_> {
        Groups::covering(self.n_rows * self.n.div_ceil(BLOCK) * 256)
    }
}

/// The pieces of `n_rows` rows of `n` elements, in order.
pub(super) fn pieces(n_rows: usize, n: usize, bound: &Bound) -> Vec<Piece> {
    let n_blocks = n.div_ceil(BLOCK);
    let piece = |row: usize, block: usize, n_rows: usize, n_own: usize| {
        let start = row * n + block * BLOCK;
        let (aligned, end) = (start / bound.alignment * bound.alignment, start + (n_rows - 1) * n + n_own);
        let first = row * n_blocks + block;
        Piece { bound: aligned, start, end: end.min(bound.len), n_rows, n: n_own, block, first }
    };
    if n <= bound.most {
        let rows = bound.most / n;
        return (0..n_rows).step_by(rows).map(|row| piece(row, 0, rows.min(n_rows - row), n)).collect();
    }
    let blocks = bound.most / BLOCK;
    let parts = (0..n_blocks).step_by(blocks);
    let of_row = |row| parts.clone().map(move |block| piece(row, block, 1, (blocks * BLOCK).min(n - block * BLOCK)));
    (0..n_rows).flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_every_element_once_and_fit_a_bound_range() {
        for (n_rows, n) in [(1, 1), (1, 100 * BLOCK + 3), (7, 5), (1000, 17), (3, 10 * BLOCK + 1), (2, 4 * BLOCK)] {
            let bound = Bound { most: 4 * BLOCK, alignment: 64, len: n_rows * n };
            let (mut end, mut first) = (0, 0);
            for piece in pieces(n_rows, n, &bound) {
                assert_eq!((piece.start, piece.first), (end, first), "{piece:?}");
                assert!(piece.bound <= piece.start && piece.bound % 64 == 0 && piece.start - piece.bound < 64);
                assert!(piece.end - piece.bound <= bound.most + 64);
                assert!(piece.n_rows == 1 || (piece.block == 0 && piece.n == n), "{piece:?}");
                end = piece.end;
                first += piece.n_rows * piece.n.div_ceil(BLOCK);
            }
            assert_eq!((end, first), (n_rows * n, n_rows * n.div_ceil(BLOCK)));
        }
    }

    #[test]
    fn an_array_that_can_be_bound_is_one_piece() {
        let bound = Bound { most: 1 << 20, alignment: 16, len: 3000 };
        let whole = Piece { bound: 0, start: 0, end: 3000, n_rows: 3, n: 1000, block: 0, first: 0 };
        assert_eq!(pieces(3, 1000, &bound), [whole]);
    }
}
