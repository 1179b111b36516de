//! [`Walk`]: what a copy walks, as few axes as there can be, first in bytes and then in the largest unit that fits.
//!
//! Pure. The layout algebra merges and sorts the axes of elements; here the bytes of an element become one more axis,
//! so that items of any size are copies of units of 1, 2, 4, 8 or 16 bytes. How a walk is carried out is for `plan.rs`,
//! the next file to read.

use smallvec::SmallVec;
use vkarray_allocator::Region;

use crate::layout::{Layout, LayoutError};

/// Bytes of the largest unit a kernel moves at a time.
pub(super) const MAX_UNIT: u64 = 16;

/// A length, and how far apart its steps are in the source and in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) len: u64,
    pub(crate) source: i64,
    pub(crate) target: i64,
}

/// Pairs of places, one in the source and one in the target: axes by falling target stride, and where both begin.
///
/// Strides and places are in units of `unit` bytes. No length is zero, and lengths of one only stand alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) unit: u64,
    pub(crate) axes: SmallVec<[Axis; 8]>,
    pub(crate) source: u64,
    pub(crate) target: u64,
}

impl Walk {
    /// Walks `source` and `target`, layouts of one shape with items of `itemsize` bytes; nothing of no elements.
    pub(crate) fn new(source: &Layout, target: &Layout, itemsize: usize) -> Result<Option<Self>, LayoutError> {
        let (target, source) = Layout::coalesce_pair(target, source)?;
        if target.size() == 0 {
            return Ok(None);
        }
        let item = itemsize as u64;
        let strides = source.strides().iter().zip(target.strides());
        let elements = target.shape().iter().zip(strides).map(|(&len, (&source, &target))| Axis {
            len: len as u64,
            source: bytes(source, itemsize),
            target: bytes(target, itemsize),
        });
        let mut walk = Self {
            unit: 1,
            axes: elements.collect(),
            source: source.offset() as u64 * item,
            target: target.offset() as u64 * item,
        };
        walk.push(Axis { len: item, source: 1, target: 1 });
        Ok(Some(walk))
    }

    /// Walks `target` while the source stands still, on a pattern of [`MAX_UNIT`] bytes that repeats an item of a size
    /// that divides it.
    pub(crate) fn of_pattern(target: &Layout, itemsize: usize) -> Option<Self> {
        let walk = Self::new(target, target, itemsize).expect("a layout has its own shape")?;
        let mut walk = walk.in_units();
        walk.source = 0;
        walk.axes.iter_mut().for_each(|axis| axis.source = 0);
        Some(walk)
    }

    /// Adds an innermost axis, and joins it with the one outside where both sides step from its end to its start.
    fn push(&mut self, inner: Axis) {
        let wraps = |outer: &Axis| {
            let reach = |stride: i64| stride.checked_mul(inner.len.cast_signed());
            reach(inner.source) == Some(outer.source) && reach(inner.target) == Some(outer.target)
        };
        match self.axes.last_mut() {
            Some(outer) if wraps(outer) => *outer = Axis { len: outer.len * inner.len, ..inner },
            _ => self.axes.push(inner),
        }
    }

    /// The same bytes, in the largest unit that divides every stride, both places and the innermost run.
    pub(crate) fn in_units(mut self) -> Self {
        debug_assert_eq!(self.unit, 1, "only bytes are counted in units");
        let run = self.axes.pop().expect("a walk in bytes ends in the bytes of an item");
        let strides = self.axes.iter().flat_map(|axis| [axis.source.unsigned_abs(), axis.target.unsigned_abs()]);
        let unit = largest_unit(strides.chain([self.source, self.target, run.len]));
        let step = unit.cast_signed();
        for axis in &mut self.axes {
            (axis.source, axis.target) = (axis.source / step, axis.target / step);
        }
        if run.len > unit || self.axes.is_empty() {
            self.axes.push(Axis { len: run.len / unit, ..run });
        }
        Self { unit, source: self.source / unit, target: self.target / unit, axes: self.axes }
    }

    /// How many units there are.
    pub(crate) fn size(&self) -> u64 {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// Bytes that follow each other on both sides, of a walk in bytes.
    pub(crate) fn run_bytes(&self) -> u64 {
        self.axes.last().map_or(1, |run| run.len)
    }

    /// Its runs, of a walk in bytes.
    pub(crate) fn regions(&self) -> Vec<Region> {
        let run = self.run_bytes();
        let outer = self.axes.split_last().map_or(&[][..], |(_, outer)| outer);
        let mut places = vec![(self.source, self.target)];
        for axis in outer {
            let step = |(source, target): (u64, u64)| {
                (0..axis.len.cast_signed()).map(move |i| {
                    (source.wrapping_add_signed(i * axis.source), target.wrapping_add_signed(i * axis.target))
                })
            };
            places = places.into_iter().flat_map(step).collect();
        }
        places.into_iter().map(|(source, target)| Region { source, target, size: run }).collect()
    }
}

/// The largest unit of which all of these are multiples.
pub(super) fn largest_unit(bytes: impl Iterator<Item = u64>) -> u64 {
    1 << bytes.fold(MAX_UNIT, |bits, bytes| bits | bytes).trailing_zeros()
}

/// A stride of elements, in bytes. Inside a block it fits.
fn bytes(stride: isize, itemsize: usize) -> i64 {
    stride as i64 * itemsize as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    type Part<'a> = (&'a [usize], &'a [isize], usize);

    fn walk(source: Part<'_>, target: Part<'_>, itemsize: usize) -> Walk {
        let layout = |(shape, strides, offset)| Layout::with_strides(shape, strides, offset).unwrap();
        Walk::new(&layout(source), &layout(target), itemsize).unwrap().unwrap()
    }

    #[test]
    fn units_are_as_large_as_all_strides_allow() {
        // Shape, source strides and offset, target strides and offset, item size; unit, axes, places.
        type Case<'a> =
            (&'a [usize], (&'a [isize], usize), (&'a [isize], usize), usize, u64, &'a [(u64, i64, i64)], [u64; 2]);
        const CASES: &[Case<'_>] = &[
            (&[4, 4], (&[4, 1], 0), (&[4, 1], 0), 4, 16, &[(4, 1, 1)], [0, 0]), // Packed on both sides.
            (&[3, 3], (&[3, 1], 0), (&[3, 1], 0), 4, 4, &[(9, 1, 1)], [0, 0]),  // Nine floats have no larger unit.
            (&[8], (&[1], 1), (&[1], 0), 4, 4, &[(8, 1, 1)], [1, 0]),           // One side is off by a float.
            (&[4, 8], (&[16, 1], 4), (&[8, 1], 0), 4, 16, &[(4, 4, 2), (2, 1, 1)], [1, 0]), // Rows with gaps.
            (&[8], (&[2], 0), (&[1], 0), 1, 1, &[(8, 2, 1)], [0, 0]),           // Every other byte.
            (&[8], (&[-1], 7), (&[1], 0), 8, 8, &[(8, -1, 1)], [7, 0]),         // Backwards.
            (&[5], (&[2], 0), (&[1], 0), 24, 8, &[(5, 6, 3), (3, 1, 1)], [0, 0]), // A record of three units.
            (&[2], (&[2], 0), (&[1], 0), 3, 1, &[(2, 6, 3), (3, 1, 1)], [0, 0]), // Three bytes.
            (&[2, 3], (&[1, 2], 0), (&[3, 1], 0), 4, 4, &[(2, 1, 3), (3, 2, 1)], [0, 0]), // Transposed.
            (&[3], (&[0], 5), (&[1], 0), 2, 2, &[(3, 0, 1)], [5, 0]),           // Repeated.
            (&[], (&[], 3), (&[], 4), 4, 4, &[(1, 1, 1)], [3, 4]),              // One element.
        ];
        for &(shape, source, target, itemsize, unit, axes, places) in CASES {
            let walk = walk((shape, source.0, source.1), (shape, target.0, target.1), itemsize).in_units();
            let found: Vec<_> = walk.axes.iter().map(|axis| (axis.len, axis.source, axis.target)).collect();
            assert_eq!((walk.unit, found.as_slice(), [walk.source, walk.target]), (unit, axes, places), "{shape:?}");
        }
    }

    #[test]
    fn a_pattern_stands_still() {
        let rows = Layout::with_strides(&[3, 4], &[8, 1], 8).unwrap();
        let walk = Walk::of_pattern(&rows, 4).unwrap();
        let axes = [Axis { len: 3, source: 0, target: 2 }];
        assert_eq!((walk.unit, walk.axes.as_slice(), walk.source, walk.target), (16, axes.as_slice(), 0, 2));
        assert_eq!(Walk::of_pattern(&Layout::with_strides(&[0], &[1], 0).unwrap(), 4), None);
    }

    #[test]
    fn regions_are_the_runs() {
        let walk = walk((&[2, 2, 3], &[12, -6, 1], 6), (&[2, 2, 3], &[8, 4, 1], 0), 2);
        let regions: Vec<_> = walk.regions().iter().map(|r| (r.source, r.target, r.size)).collect();
        assert_eq!(regions, [(12, 0, 6), (0, 8, 6), (36, 16, 6), (24, 24, 6)]);
    }
}
