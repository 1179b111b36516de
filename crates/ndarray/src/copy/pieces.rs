//! Cuts a copy into pieces that one dispatch can do.
//!
//! A shader counts in 32 bits, binds ranges of limited length that start at aligned bytes, and has push constants for a
//! limited number of axes. A copy that exceeds a limit is halved along the axis that causes it. The next file to read is
//! `dispatch.rs`.

use std::ops::Range;

use super::limits::CopyLimits;
use super::strided::{CopyAxis, StridedCopy};

/// The most axes of a dispatch. `walk.wgsl` declares its push constants with the same number.
pub(super) const MAX_AXES: usize = 8;

/// The most units of a piece: far enough below 2³² that the indices of a partly filled last workgroup also have 32
/// bits.
const MAX_UNITS: u64 = 1 << 30;

/// A long axis is cut at a multiple of this many units, so that rows stay aligned.
const CUT_MULTIPLE: u64 = 64;

/// The two sides of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopySide {
    Source,
    Target,
}

impl CopyAxis {
    fn stride(&self, side: CopySide) -> i64 {
        match side {
            CopySide::Source => self.source,
            CopySide::Target => self.target,
        }
    }

    /// The distance from the first unit of the axis to the last.
    fn reach(&self, side: CopySide) -> i64 {
        self.stride(side) * (self.len.cast_signed() - 1)
    }
}

impl StridedCopy {
    /// The bytes of a side that a dispatch binds: they start at an aligned offset and end at a whole word.
    pub(super) fn bound_range(&self, side: CopySide, alignment: u64) -> Range<u64> {
        let offset = if side == CopySide::Source { self.source } else { self.target };
        let reaches = || self.axes.iter().map(|axis| axis.reach(side));
        let low = offset.wrapping_add_signed(reaches().map(|reach| reach.min(0)).sum::<i64>());
        let high = offset.wrapping_add_signed(reaches().map(|reach| reach.max(0)).sum::<i64>()) + 1;
        low * self.unit / alignment * alignment..(high * self.unit).next_multiple_of(self.unit.max(4))
    }

    /// The axis along which the source is contiguous, if it is not the innermost one.
    pub(super) fn source_axis(&self) -> Option<usize> {
        let outer = self.axes.split_last().map_or(&[][..], |(_, outer)| outer);
        outer.iter().rposition(|axis| axis.source.unsigned_abs() == 1)
    }

    /// The copy in pieces, each within the limits of one dispatch.
    pub(super) fn pieces(self, limits: &CopyLimits) -> Vec<Self> {
        let (mut uncut, mut pieces) = (vec![self], Vec::new());
        while let Some(copy) = uncut.pop() {
            match copy.too_large(limits) {
                None => pieces.push(copy),
                Some(Cut::IntoSteps(axis)) => uncut.extend((0..copy.axes[axis].len).rev().map(|i| copy.at(axis, i))),
                Some(Cut::InHalf(axis)) => uncut.extend(copy.halves(axis).into_iter().rev()),
            }
        }
        pieces
    }

    fn too_large(&self, limits: &CopyLimits) -> Option<Cut> {
        let longest = |key: &dyn Fn(&CopyAxis) -> u64| (0..self.axes.len()).max_by_key(|&axis| key(&self.axes[axis]));
        if self.axes.len() > MAX_AXES {
            let outermost = usize::from(self.source_axis() == Some(0));
            return Some(Cut::IntoSteps(outermost));
        }
        for side in [CopySide::Source, CopySide::Target] {
            let bound = self.bound_range(side, limits.alignment);
            if bound.end - bound.start > limits.max_range {
                return longest(&|axis| axis.reach(side).unsigned_abs()).map(Cut::InHalf);
            }
        }
        if self.size() > MAX_UNITS { longest(&|axis| axis.len).map(Cut::InHalf) } else { None }
    }

    /// The part of the copy at index `i` of an axis, without that axis.
    fn at(&self, axis: usize, i: u64) -> Self {
        let mut part = self.starting_at(axis, i);
        part.axes.remove(axis);
        part
    }

    fn halves(&self, axis: usize) -> [Self; 2] {
        let len = self.axes[axis].len;
        let first = (len / 2).next_multiple_of(CUT_MULTIPLE);
        self.cut(axis, if first < len { first } else { len / 2 })
    }

    /// Two parts of the copy: the first `first` indices of an axis, and the remaining ones.
    pub(super) fn cut(&self, axis: usize, first: u64) -> [Self; 2] {
        let (mut head, mut tail) = (self.clone(), self.starting_at(axis, first));
        (head.axes[axis].len, tail.axes[axis].len) = (first, self.axes[axis].len - first);
        [head, tail]
    }

    /// The copy with an axis in reverse order on both sides.
    pub(super) fn reversed(&self, axis: usize) -> Self {
        let mut reversed = self.starting_at(axis, self.axes[axis].len - 1);
        let CopyAxis { source, target, .. } = &mut reversed.axes[axis];
        (*source, *target) = (-*source, -*target);
        reversed
    }

    fn starting_at(&self, axis: usize, i: u64) -> Self {
        let CopyAxis { source, target, .. } = self.axes[axis];
        let mut part = self.clone();
        part.source = self.source.wrapping_add_signed(source * i.cast_signed());
        part.target = self.target.wrapping_add_signed(target * i.cast_signed());
        part
    }
}

/// How a copy that is too large is cut.
enum Cut {
    /// One piece for each index of the axis.
    IntoSteps(usize),
    /// Two halves of the axis.
    InHalf(usize),
}
