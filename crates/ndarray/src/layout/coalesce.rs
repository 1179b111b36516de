//! Fewer axes for the same walk, which is what copies and kernels want to loop over.
//!
//! [`Layout::coalesce`] keeps the C order of the elements. [`Layout::in_memory_order`] and [`Layout::coalesce_pair`]
//! give it up for rising addresses. Walking the result is in `runs.rs`, the next file to read.

use std::cmp::Reverse;

use smallvec::{SmallVec, smallvec};

use super::{Layout, LayoutError, Result, advance};

/// A length, and a stride in each of two layouts.
#[derive(Clone, Copy)]
struct PairedAxis {
    len: usize,
    strides: [isize; 2],
}

impl Layout {
    /// Merges axes that walk as one and drops those of length one, keeping the C order of the elements.
    ///
    /// One element has no axes; no elements have the shape `(0,)`.
    #[must_use]
    pub fn coalesce(&self) -> Self {
        self.rebuilt(&merge(self.walked_axes(self)), 0, self.offset)
    }

    /// The same elements in rising order of addresses: axes by falling stride, none negative, merged where they walk
    /// as one. It says which memory is touched, not which element is where.
    #[must_use]
    pub fn in_memory_order(&self) -> Self {
        let mut axes = self.walked_axes(self);
        let [offset, _] = make_rising(&mut axes, [self.offset, self.offset]);
        axes.sort_by_key(|axis| Reverse(axis.strides[0]));
        self.rebuilt(&merge(axes), 0, offset)
    }

    /// Prepares a copy of `src` to `dst`: two layouts of one shape that pair the same elements, in another order.
    ///
    /// The destination walks upwards in memory, its axes by falling stride; axes are merged where both sides walk as
    /// one, and those of length one dropped. Where the destination repeats an element, the source walks upwards.
    ///
    /// # Errors
    ///
    /// [`LayoutError::ShapeMismatch`].
    pub fn coalesce_pair(dst: &Self, src: &Self) -> Result<(Self, Self)> {
        if dst.shape != src.shape {
            return Err(LayoutError::ShapeMismatch { from: src.shape.to_vec(), to: dst.shape.to_vec() });
        }
        let mut axes = dst.walked_axes(src);
        let [dst_offset, src_offset] = make_rising(&mut axes, [dst.offset, src.offset]);
        axes.sort_by_key(|axis| Reverse(axis.strides.map(isize::unsigned_abs)));
        let axes = merge(axes);
        Ok((dst.rebuilt(&axes, 0, dst_offset), src.rebuilt(&axes, 1, src_offset)))
    }

    /// The axes longer than one, or one of length zero where there are no elements.
    fn walked_axes(&self, other: &Self) -> SmallVec<[PairedAxis; 4]> {
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

/// Turns axes around so that the first layout rises, or the second where the first stands still.
fn make_rising(axes: &mut [PairedAxis], offsets: [usize; 2]) -> [usize; 2] {
    let mut offsets = offsets;
    for axis in axes.iter_mut().filter(|axis| axis.strides < [0, 0]) {
        let last = axis.len - 1;
        for (offset, stride) in offsets.iter_mut().zip(&mut axis.strides) {
            *offset = advance(*offset, *stride, last);
            *stride = -*stride;
        }
    }
    offsets
}

/// Joins each axis with the one inside it where both layouts step from the end of the inner axis to its start again.
fn merge(axes: SmallVec<[PairedAxis; 4]>) -> SmallVec<[PairedAxis; 4]> {
    let mut merged: SmallVec<[PairedAxis; 4]> = SmallVec::new();
    for inner in axes {
        let turns_into = |outer: &PairedAxis| {
            let wraps = |side: usize| inner.strides[side].checked_mul(inner.len as isize) == Some(outer.strides[side]);
            wraps(0) && wraps(1)
        };
        match merged.last_mut() {
            Some(outer) if turns_into(outer) => *outer = PairedAxis { len: outer.len * inner.len, ..inner },
            _ => merged.push(inner),
        }
    }
    merged
}
