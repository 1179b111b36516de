//! [`StridedCopy`]: which bytes go where, with as few axes as possible, first in bytes and then in the largest unit.
//!
//! The layout algebra merges and sorts the axes of elements. Here the bytes of an element become one more axis, so that
//! elements of any size are copied in units of 1, 2, 4, 8 or 16 bytes. The next file to read is `plan.rs`.

use smallvec::{SmallVec, smallvec};
use vkarray_allocator::Region;

use vkarray_layout::{Layout, LayoutError};

/// Bytes of the largest unit that a kernel copies.
pub(super) const MAX_UNIT: u64 = 16;

/// One axis of a copy: its length, and its stride in the source and in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyAxis {
    pub(crate) len: u64,
    pub(crate) source: i64,
    pub(crate) target: i64,
}

/// A copy between two strided ranges: the axes, sorted by falling target stride, and the offsets of both sides.
///
/// Strides and offsets are in units of `unit` bytes. No axis has length zero, and an axis of length one is the only axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StridedCopy {
    pub(crate) unit: u64,
    pub(crate) axes: SmallVec<[CopyAxis; 8]>,
    /// Offset of the first unit in the source.
    pub(crate) source: u64,
    /// Offset of the first unit in the target.
    pub(crate) target: u64,
}

impl StridedCopy {
    /// The copy from `source` to `target`, layouts of one shape with elements of `itemsize` bytes. `None` if there are
    /// no elements.
    pub(crate) fn new(source: &Layout, target: &Layout, itemsize: usize) -> Result<Option<Self>, LayoutError> {
        let item = itemsize as u64;
        // The usual copy is one run, which this test finds faster than sorting and merging axes.
        if source.shape() == target.shape() && source.is_c_contiguous() && target.is_c_contiguous() {
            let run = CopyAxis { len: target.size() as u64 * item, source: 1, target: 1 };
            let (source, target) = (source.offset() as u64 * item, target.offset() as u64 * item);
            return Ok((run.len > 0).then(|| Self { unit: 1, axes: smallvec![run], source, target }));
        }
        let (target, source) = Layout::coalesce_pair(target, source)?;
        if target.size() == 0 {
            return Ok(None);
        }
        let strides = source.strides().iter().zip(target.strides());
        let elements = target.shape().iter().zip(strides).map(|(&len, (&source, &target))| CopyAxis {
            len: len as u64,
            source: bytes(source, itemsize),
            target: bytes(target, itemsize),
        });
        let mut copy = Self {
            unit: 1,
            axes: elements.collect(),
            source: source.offset() as u64 * item,
            target: target.offset() as u64 * item,
        };
        copy.push(CopyAxis { len: item, source: 1, target: 1 });
        Ok(Some(copy))
    }

    /// The copy that repeats one pattern over `target`. The pattern has [`MAX_UNIT`] bytes, which are repetitions of an
    /// element; the element's size therefore divides [`MAX_UNIT`].
    pub(crate) fn of_pattern(target: &Layout, itemsize: usize) -> Option<Self> {
        let copy = Self::new(target, target, itemsize).expect("a layout has its own shape")?;
        let mut copy = copy.in_units();
        copy.source = 0;
        copy.axes.iter_mut().for_each(|axis| axis.source = 0);
        Some(copy)
    }

    /// Adds an innermost axis. It is merged with the next outer axis where one step of the outer axis continues the
    /// inner axis on both sides.
    fn push(&mut self, inner: CopyAxis) {
        let continues = |outer: &CopyAxis| {
            let reach = |stride: i64| stride.checked_mul(inner.len.cast_signed());
            reach(inner.source) == Some(outer.source) && reach(inner.target) == Some(outer.target)
        };
        match self.axes.last_mut() {
            Some(outer) if continues(outer) => *outer = CopyAxis { len: outer.len * inner.len, ..inner },
            _ => self.axes.push(inner),
        }
    }

    /// The copy in the largest unit that divides every stride, both offsets and the innermost length.
    pub(crate) fn in_units(mut self) -> Self {
        debug_assert_eq!(self.unit, 1, "the copy is in bytes");
        let run = self.axes.pop().expect("the last axis of a copy in bytes is the bytes of an element");
        let strides = self.axes.iter().flat_map(|axis| [axis.source.unsigned_abs(), axis.target.unsigned_abs()]);
        let unit = largest_unit(strides.chain([self.source, self.target, run.len]));
        let step = unit.cast_signed();
        for axis in &mut self.axes {
            (axis.source, axis.target) = (axis.source / step, axis.target / step);
        }
        if run.len > unit || self.axes.is_empty() {
            self.axes.push(CopyAxis { len: run.len / unit, ..run });
        }
        Self { unit, source: self.source / unit, target: self.target / unit, axes: self.axes }
    }

    /// The number of units.
    pub(crate) fn size(&self) -> u64 {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// The bytes that are contiguous on both sides. The copy must be in bytes.
    pub(crate) fn run_bytes(&self) -> u64 {
        self.axes.last().map_or(1, |run| run.len)
    }

    /// One region for each contiguous run. The copy must be in bytes.
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

/// The largest unit, in bytes, that divides all of these numbers.
pub(super) fn largest_unit(bytes: impl Iterator<Item = u64>) -> u64 {
    1 << bytes.fold(MAX_UNIT, |bits, bytes| bits | bytes).trailing_zeros()
}

/// A stride of elements, in bytes. A stride inside a block cannot overflow.
fn bytes(stride: isize, itemsize: usize) -> i64 {
    stride as i64 * itemsize as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use vkarray_layout::Order;

    type Part<'a> = (&'a [usize], &'a [isize], usize);

    fn copy(source: Part<'_>, target: Part<'_>, itemsize: usize) -> StridedCopy {
        let layout = |(shape, strides, offset)| Layout::with_strides(shape, strides, offset).unwrap();
        StridedCopy::new(&layout(source), &layout(target), itemsize).unwrap().unwrap()
    }

    #[test]
    fn units_are_as_large_as_all_strides_allow() {
        // Shape, source strides and offset, target strides and offset, element size; unit, axes, offsets.
        type Case<'a> =
            (&'a [usize], (&'a [isize], usize), (&'a [isize], usize), usize, u64, &'a [(u64, i64, i64)], [u64; 2]);
        const CASES: &[Case<'_>] = &[
            (&[4, 4], (&[4, 1], 0), (&[4, 1], 0), 4, 16, &[(4, 1, 1)], [0, 0]), // Packed on both sides.
            (&[3, 3], (&[3, 1], 0), (&[3, 1], 0), 4, 4, &[(9, 1, 1)], [0, 0]),  // Nine floats have no larger unit.
            (&[8], (&[1], 1), (&[1], 0), 4, 4, &[(8, 1, 1)], [1, 0]),           // One side starts at an odd float.
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
            let copy = copy((shape, source.0, source.1), (shape, target.0, target.1), itemsize).in_units();
            let found: Vec<_> = copy.axes.iter().map(|axis| (axis.len, axis.source, axis.target)).collect();
            assert_eq!((copy.unit, found.as_slice(), [copy.source, copy.target]), (unit, axes, places), "{shape:?}");
        }
    }

    #[test]
    fn contiguous_arrays_are_one_run_of_bytes() {
        for (shape, itemsize) in [(&[][..], 4), (&[1], 1), (&[7], 3), (&[2, 3, 4], 8), (&[1, 5, 1], 2)] {
            let layout = Layout::contiguous(shape, Order::C).unwrap();
            let run = StridedCopy::new(&layout, &layout, itemsize).unwrap().unwrap();
            let bytes = layout.size() as u64 * itemsize as u64;
            assert_eq!(run.axes.as_slice(), [CopyAxis { len: bytes, source: 1, target: 1 }], "{shape:?}");
            assert_eq!((run.unit, run.source, run.target, run.size(), run.run_bytes()), (1, 0, 0, bytes, bytes));
        }
        let empty = Layout::contiguous(&[3, 0], Order::C).unwrap();
        assert_eq!(StridedCopy::new(&empty, &empty, 4).unwrap(), None);
    }

    #[test]
    fn a_pattern_has_source_strides_of_zero() {
        let rows = Layout::with_strides(&[3, 4], &[8, 1], 8).unwrap();
        let copy = StridedCopy::of_pattern(&rows, 4).unwrap();
        let axes = [CopyAxis { len: 3, source: 0, target: 2 }];
        assert_eq!((copy.unit, copy.axes.as_slice(), copy.source, copy.target), (16, axes.as_slice(), 0, 2));
        assert_eq!(StridedCopy::of_pattern(&Layout::with_strides(&[0], &[1], 0).unwrap(), 4), None);
    }

    #[test]
    fn each_run_is_a_region() {
        let copy = copy((&[2, 2, 3], &[12, -6, 1], 6), (&[2, 2, 3], &[8, 4, 1], 0), 2);
        let regions: Vec<_> = copy.regions().iter().map(|r| (r.source, r.target, r.size)).collect();
        assert_eq!(regions, [(12, 0, 6), (0, 8, 6), (36, 16, 6), (24, 24, 6)]);
    }
}
