//! [`Runs`]: an iterator over contiguous elements, which can be copied together.
//!
//! Runs are in C order, which is the order of a copy into a contiguous array. For runs in order of address, take the runs
//! of [`Layout::in_memory_order`] (in `coalesce.rs`).

use std::iter::FusedIterator;

use super::{Layout, Offsets};

/// Runs of contiguous elements as `(offset, len)`. Made by [`Layout::runs`].
#[derive(Debug, Clone)]
pub struct Runs {
    rows: Offsets,
    row_len: usize,
    pending: Option<usize>,
}

impl Layout {
    /// Iterates over the elements in C order, as the longest runs of elements that are contiguous in the block.
    ///
    /// No run is empty, and the lengths add up to the size. A C-contiguous layout is one run.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.slice(&s![.., 1..])?.runs().collect::<Vec<_>>(), [(1, 2), (4, 2)]);
    /// # anyhow::Ok(())
    /// ```
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
        // Two rows can be adjacent at the end of an axis even where its stride leaves gaps.
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
