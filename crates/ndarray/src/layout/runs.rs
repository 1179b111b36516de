//! [`Runs`]: the stretches of neighbouring elements a walk passes, which is what a copy engine copies.
//!
//! Runs come in C order, as a gather into a packed array needs. For the parts of memory touched, in rising order and
//! whatever the axes, walk the runs of [`Layout::in_memory_order`] (in `coalesce.rs`).

use std::iter::FusedIterator;

use super::{Layout, Offsets};

/// Stretches of neighbouring elements as `(offset, len)`. Made by [`Layout::runs`].
#[derive(Debug, Clone)]
pub struct Runs {
    rows: Offsets,
    row_len: usize,
    pending: Option<usize>,
}

impl Layout {
    /// Walks the elements in C order, as the longest stretches of elements that follow each other in the block.
    ///
    /// The lengths add up to the size, and none is zero. An array that is packed in C order is one run.
    #[must_use]
    pub fn runs(&self) -> Runs {
        let mut outer = self.coalesce();
        let row_len = match (outer.shape.last(), outer.strides.last()) {
            (Some(&len), Some(1)) if len != 0 => {
                outer.shape.pop();
                outer.strides.pop();
                len
            }
            _ => 1,
        };
        Runs { rows: outer.offsets(), row_len, pending: None }
    }
}

impl Iterator for Runs {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let offset = self.pending.take().or_else(|| self.rows.next())?;
        let mut len = self.row_len;
        // Rows can touch at the end of an axis even where its stride leaves gaps.
        for row in self.rows.by_ref() {
            if row != offset + len {
                self.pending = Some(row);
                break;
            }
            len += self.row_len;
        }
        Some((offset, len))
    }
}

impl FusedIterator for Runs {}
