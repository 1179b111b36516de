//! Merging axes, so that copies loop over fewer of them.
//!
//! [`Layout::coalesce`] keeps the C order of the elements; [`Layout::in_memory_order`] and [`Layout::coalesce_pair`] sort
//! them by address. The result is iterated over in `runs.rs`, the next file to read.

use std::cmp::Reverse;

use smallvec::{SmallVec, smallvec};

use super::{Layout, LayoutError, Result, advance};

/// The length of an axis, and its stride in each of two layouts.
#[derive(Clone, Copy)]
struct PairedAxis {
    len: usize,
    strides: [isize; 2],
}

impl Layout {
    /// Merges axes that one stride can step through and removes those of length one. The elements keep their C order.
    ///
    /// One element gives a layout without axes, and no elements give shape `(0,)`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.coalesce().shape(), [6]);
    /// assert_eq!(x.transpose(None)?.coalesce().shape(), [3, 2]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn coalesce(&self) -> Self {
        self.rebuilt(&merge(self.axes_with(self)), 0, self.offset)
    }

    /// The elements in order of address: axes are sorted by falling stride, no stride is negative, and axes are merged
    /// where one stride can step through them. The result says which elements of the block belong to the layout, and no
    /// longer at which index.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.transpose(None)?.flip(None)?.in_memory_order().strides(), [1]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn in_memory_order(&self) -> Self {
        let mut axes = self.axes_with(self);
        let [offset, _] = make_rising(&mut axes, [self.offset, self.offset]);
        axes.sort_by_key(|axis| Reverse(axis.strides[0]));
        self.rebuilt(&merge(axes), 0, offset)
    }

    /// Prepares a copy of `src` to `dst`: two layouts of one shape that pair the same elements in another order.
    ///
    /// The destination is in order of address, its axes sorted by falling stride. Axes are merged where one stride on
    /// each side can step through them, and axes of length one are removed. Where the destination repeats an element,
    /// the source is in order of address.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let (target, source) = Layout::coalesce_pair(&x, &x.slice(&s![.., ..])?)?;
    /// assert_eq!((target.shape(), source.shape()), (&[6][..], &[6][..]));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::ShapeMismatch`].
    pub fn coalesce_pair(dst: &Self, src: &Self) -> Result<(Self, Self)> {
        if dst.shape != src.shape {
            return Err(LayoutError::ShapeMismatch { from: src.shape.to_vec(), to: dst.shape.to_vec() });
        }
        let mut axes = dst.axes_with(src);
        let [dst_offset, src_offset] = make_rising(&mut axes, [dst.offset, src.offset]);
        axes.sort_by_key(|axis| Reverse(axis.strides.map(isize::unsigned_abs)));
        let axes = merge(axes);
        Ok((dst.rebuilt(&axes, 0, dst_offset), src.rebuilt(&axes, 1, src_offset)))
    }

    /// The axes longer than one, or a single axis of length zero if there are no elements.
    fn axes_with(&self, other: &Self) -> SmallVec<[PairedAxis; 4]> {
        if self.size() == 0 {
            return smallvec![PairedAxis { len: 0, strides: [1, 1] }];
        }
        let strides = self.strides.iter().zip(&other.strides);
        let axes = self.shape.iter().zip(strides).filter(|&(&len, _)| len != 1);
        axes.map(|(&len, (&own, &others))| PairedAxis { len, strides: [own, others] }).collect()
    }

    fn rebuilt(&self, axes: &[PairedAxis], side: usize, offset: usize) -> Self {
        let strides = axes.iter().map(|axis| axis.strides[side]).collect();
        self.view(axes.iter().map(|axis| axis.len).collect(), strides, offset)
    }
}

/// Reverses the axes with a negative stride in the first layout, or in the second where the first has stride 0.
fn make_rising(axes: &mut [PairedAxis], mut offsets: [usize; 2]) -> [usize; 2] {
    for axis in axes.iter_mut().filter(|axis| axis.strides < [0, 0]) {
        let last = axis.len - 1;
        for (offset, stride) in offsets.iter_mut().zip(&mut axis.strides) {
            *offset = advance(*offset, *stride, last);
            *stride = -*stride;
        }
    }
    offsets
}

/// Merges each axis with the next inner one where, in both layouts, its stride is the length of the inner one times the
/// inner stride.
fn merge(axes: SmallVec<[PairedAxis; 4]>) -> SmallVec<[PairedAxis; 4]> {
    let mut merged: SmallVec<[PairedAxis; 4]> = SmallVec::new();
    for inner in axes {
        let continues = |outer: &PairedAxis| {
            let is_multiple =
                |side: usize| inner.strides[side].checked_mul(inner.len as isize) == Some(outer.strides[side]);
            is_multiple(0) && is_multiple(1)
        };
        match merged.last_mut() {
            Some(outer) if continues(outer) => *outer = PairedAxis { len: outer.len * inner.len, ..inner },
            _ => merged.push(inner),
        }
    }
    merged
}
