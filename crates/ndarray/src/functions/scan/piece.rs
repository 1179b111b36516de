//! [`Piece`]: the part of many rows that one launch scans. A kernel reads at most what the device binds at once.

use std::ops::Range;

use vkarray_kernel::{Element, limits_of};

use crate::context::Context;
use crate::error::Result;
use crate::functions::operand::to_u32;

/// How much of two arrays can be bound, counted in elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// The most elements from the first scanned element on.
    most: usize,
    /// A range starts at a multiple of this many elements.
    alignment: usize,
    len: usize,
    /// Elements of a tile.
    tile: usize,
}

impl Bound {
    /// For `len` elements that are read, as many results, which are not smaller, and tiles of `tile` elements. A range
    /// starts where arrays of bytes can be bound, and so can all others.
    pub(super) fn of<T: Element>(ctx: &Context, tile: usize, len: usize) -> Self {
        let limits = limits_of(ctx.info());
        let in_memory = |nbytes: u64| usize::try_from(nbytes).unwrap_or(usize::MAX);
        let alignment = in_memory(limits.min_storage_buffer_offset_alignment.max(64));
        let most = (in_memory(limits.max_storage_buffer_range) / size_of::<T>()).min(1 << 31);
        Self { most: most.saturating_sub(alignment).max(tile), alignment, len, tile }
    }
}

/// Whole rows, or a part of one row that begins with a tile.
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
    /// The number of the piece's first tile among the tiles of all rows.
    first: usize,
    /// Elements of a tile.
    tile: usize,
}

impl Piece {
    /// The range of elements that are bound.
    pub(super) fn bound(&self) -> Range<isize> {
        self.bound.cast_signed()..self.end.cast_signed()
    }

    /// The parameters of the kernels.
    pub(super) fn words(&self) -> Result<[u32; 3]> {
        Ok([to_u32(self.n)?, to_u32(self.start - self.bound)?, to_u32(self.first)?])
    }

    /// The number of tiles.
    pub(super) fn n_tiles(&self) -> usize {
        self.n_rows * self.n.div_ceil(self.tile)
    }
}

/// The pieces of `n_rows` rows of `n` elements, in order.
pub(super) fn pieces(n_rows: usize, n: usize, bound: &Bound) -> Vec<Piece> {
    let tile = bound.tile;
    let n_tiles = n.div_ceil(tile);
    let piece = |row: usize, own_tile: usize, n_rows: usize, n_own: usize| {
        let start = row * n + own_tile * tile;
        let (aligned, end) = (start / bound.alignment * bound.alignment, start + (n_rows - 1) * n + n_own);
        let first = row * n_tiles + own_tile;
        Piece { bound: aligned, start, end: end.min(bound.len), n_rows, n: n_own, first, tile }
    };
    if n <= bound.most {
        let rows = bound.most / n;
        return (0..n_rows).step_by(rows).map(|row| piece(row, 0, rows.min(n_rows - row), n)).collect();
    }
    let tiles = bound.most / tile;
    let parts = (0..n_tiles).step_by(tiles);
    let of_row = |row| parts.clone().map(move |own| piece(row, own, 1, (tiles * tile).min(n - own * tile)));
    (0..n_rows).flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: usize = 1792;

    #[test]
    fn pieces_have_every_element_once_and_fit_a_bound_range() {
        for (n_rows, n) in [(1, 1), (1, 100 * TILE + 3), (7, 5), (1000, 17), (3, 10 * TILE + 1), (2, 4 * TILE)] {
            let bound = Bound { most: 4 * TILE, alignment: 64, len: n_rows * n, tile: TILE };
            let (mut end, mut first) = (0, 0);
            for piece in pieces(n_rows, n, &bound) {
                assert_eq!((piece.start, piece.first), (end, first), "{piece:?}");
                assert!(piece.bound <= piece.start && piece.bound % 64 == 0 && piece.start - piece.bound < 64);
                assert!(piece.end - piece.bound <= bound.most + 64);
                assert!(piece.n_rows == 1 || piece.n == n, "{piece:?}");
                end = piece.end;
                first += piece.n_tiles();
            }
            assert_eq!((end, first), (n_rows * n, n_rows * n.div_ceil(TILE)));
        }
    }

    #[test]
    fn an_array_that_can_be_bound_is_one_piece() {
        let bound = Bound { most: 1 << 20, alignment: 16, len: 3000, tile: TILE };
        let whole = Piece { bound: 0, start: 0, end: 3000, n_rows: 3, n: 1000, first: 0, tile: TILE };
        assert_eq!(pieces(3, 1000, &bound), [whole]);
    }
}
