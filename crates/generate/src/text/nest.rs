//! [`Nest`]: the loops over the elements of arrays, with as few axes as possible, and the arrays' strides in them.

use smallvec::SmallVec;
use vkarray_layout::Layout;

/// Loops over the elements of one shape, and how each operand moves with them. Axes are innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nest {
    /// The loops, innermost first.
    pub axes: SmallVec<[Axis; 4]>,
    /// The arrays.
    pub operands: SmallVec<[NestOperand; 6]>,
}

/// One loop: how often it runs, and the stride of each operand, counted in elements of the operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// How often the loop runs.
    pub len: u64,
    /// The stride of each operand.
    pub strides: SmallVec<[i64; 6]>,
}

/// An array in a nest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestOperand {
    /// Bytes of an element.
    pub itemsize: u64,
    /// The element of the first round, counted from the start of the block.
    pub offset: u64,
}

impl Nest {
    /// The loops over a shape. Each layout broadcasts to the shape and stands beside the size of its elements in bytes.
    pub fn new<'a>(shape: &[usize], layouts: impl Iterator<Item = (&'a Layout, u32)> + Clone) -> Self {
        let mut nest = Self { axes: SmallVec::new(), operands: SmallVec::new() };
        for (layout, itemsize) in layouts.clone() {
            nest.operands.push(NestOperand { itemsize: itemsize.into(), offset: layout.offset() as u64 });
        }
        for axis in (0..shape.len()).rev() {
            let mut strides = SmallVec::new();
            for (layout, _) in layouts.clone() {
                let own = (layout.ndim() + axis).checked_sub(shape.len());
                let own = own.filter(|&own| layout.shape()[own] != 1);
                strides.push(own.map_or(0, |own| layout.strides()[own] as i64));
            }
            nest.axes.push(Axis { len: shape[axis] as u64, strides });
        }
        nest
    }

    /// The number of rounds.
    pub fn size(&self) -> u64 {
        self.axes.iter().map(|axis| axis.len).product()
    }

    /// Sorts the axes by the strides of the first operand, so that its elements rise fastest along the innermost axis,
    /// and merges axes. The first operand must have each element once.
    pub fn sort(&mut self) {
        for axis in self.axes.iter_mut().filter(|axis| axis.strides[0] < 0) {
            for (operand, stride) in self.operands.iter_mut().zip(&mut axis.strides) {
                operand.offset = moved(operand.offset, *stride, axis.len - 1);
                *stride = -*stride;
            }
        }
        self.axes.sort_by_key(|axis| if axis.len == 1 { 0 } else { axis.strides[0] });
    }

    /// Merges axes that continue each other for every operand, and drops axes of length one. At least one axis is left.
    pub fn merge(&mut self) {
        if let [only] = &self.axes[..]
            && only.len != 1
        {
            return;
        }
        let mut merged: SmallVec<[Axis; 4]> = SmallVec::new();
        for outer in self.axes.drain(..).filter(|axis| axis.len != 1) {
            let continues = |inner: &Axis| {
                inner.strides.iter().zip(&outer.strides).all(|(&own, &next)| own * inner.len as i64 == next)
            };
            match merged.last_mut() {
                Some(inner) if continues(inner) => inner.len *= outer.len,
                _ => merged.push(outer),
            }
        }
        if merged.is_empty() {
            merged.push(Axis { len: 1, strides: SmallVec::from_elem(0, self.operands.len()) });
        }
        self.axes = merged;
    }

    /// Whether an operand's elements lie in the order of the rounds, without gaps.
    pub fn is_packed(&self, operand: usize) -> bool {
        let mut expected = 1;
        self.axes.iter().all(|axis| {
            let is_next = axis.strides[operand] == expected || axis.len == 1;
            expected *= axis.len as i64;
            is_next
        })
    }

    /// Whether every round reads the same element of an operand.
    pub fn is_single(&self, operand: usize) -> bool {
        self.axes.iter().all(|axis| axis.strides[operand] == 0 || axis.len == 1)
    }

    /// The first element of an operand in memory, and the one after the last.
    pub fn span(&self, operand: usize) -> [u64; 2] {
        let mut span = [self.operands[operand].offset; 2];
        for axis in &self.axes {
            let stride = axis.strides[operand];
            let side = usize::from(stride > 0);
            span[side] = moved(span[side], stride, axis.len.saturating_sub(1));
        }
        [span[0], span[1] + 1]
    }

    /// Parts of the nest that [`Nest::is_short`] accepts.
    pub fn pieces(&self, max_bytes: u64, max_size: u64) -> SmallVec<[Self; 1]> {
        let (mut open, mut done) = (SmallVec::from([self.clone()]), SmallVec::new());
        while let Some(nest) = open.pop() {
            let is_short = nest.is_short(max_bytes, max_size);
            match if is_short { None } else { nest.longest_axis(|_| true) } {
                None => done.push(nest),
                Some(axis) => open.extend(nest.halves(axis)),
            }
        }
        done
    }

    /// Whether the nest has at most `max_size` rounds, in which no operand spans more than `max_bytes` bytes.
    pub fn is_short(&self, max_bytes: u64, max_size: u64) -> bool {
        self.size() <= max_size && self.is_within(max_bytes)
    }

    /// Whether no operand spans more than `max_bytes` bytes.
    pub fn is_within(&self, max_bytes: u64) -> bool {
        let bytes = |operand: usize| {
            let [first, end] = self.span(operand);
            (end - first) * self.operands[operand].itemsize
        };
        (0..self.operands.len()).all(|operand| bytes(operand) <= max_bytes)
    }

    /// The axis along which an operand spans the most bytes, among the axes that `among` accepts and that have more
    /// than one round.
    pub fn longest_axis(&self, among: impl Fn(usize) -> bool) -> Option<usize> {
        let reach = |axis: &Axis| {
            let bytes = axis
                .strides
                .iter()
                .zip(&self.operands)
                .map(|(stride, operand)| stride.unsigned_abs() * operand.itemsize);
            bytes.max().unwrap_or(0).max(1) * axis.len
        };
        let long = (0..self.axes.len()).filter(|&axis| self.axes[axis].len > 1 && among(axis));
        long.max_by_key(|&axis| reach(&self.axes[axis]))
    }

    /// The second half along an axis, and the first. A long half is a multiple of 4096.
    pub fn halves(self, axis: usize) -> [Self; 2] {
        let len = self.axes[axis].len;
        let first_len = if len > 8192 { (len / 2).next_multiple_of(4096) } else { len / 2 };
        let (mut first, mut second) = (self.clone(), self);
        first.axes[axis].len = first_len;
        second.axes[axis].len = len - first_len;
        for (operand, &stride) in second.operands.iter_mut().zip(&first.axes[axis].strides) {
            operand.offset = moved(operand.offset, stride, first_len);
        }
        [second, first]
    }
}

fn moved(offset: u64, stride: i64, count: u64) -> u64 {
    offset.wrapping_add_signed(stride.wrapping_mul(count.cast_signed()))
}

#[cfg(test)]
impl Nest {
    /// A nest of these lengths and strides, innermost first.
    pub fn for_tests(lens: &[u64], strides: &[&[i64]], offsets: &[u64], dtypes: &[vkarray_shader::DType]) -> Self {
        let axis = |(i, &len): (usize, &u64)| Axis { len, strides: strides.iter().map(|own| own[i]).collect() };
        let operand = |(&offset, dtype): (&u64, &vkarray_shader::DType)| NestOperand {
            itemsize: dtype.itemsize().into(),
            offset,
        };
        Self {
            axes: lens.iter().enumerate().map(axis).collect(),
            operands: offsets.iter().zip(dtypes).map(operand).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use vkarray_layout::Order;

    use super::*;

    fn nest(shape: &[usize], layouts: &[&Layout]) -> Nest {
        Nest::new(shape, layouts.iter().map(|layout| (*layout, 4)))
    }

    fn axes(nest: &Nest) -> Vec<(u64, Vec<i64>)> {
        nest.axes.iter().map(|axis| (axis.len, axis.strides.to_vec())).collect()
    }

    #[test]
    fn axes_are_merged_where_all_operands_allow_it() {
        let packed = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
        let row = Layout::contiguous(&[4], Order::C).unwrap();
        let column = Layout::contiguous(&[2, 1, 1], Order::C).unwrap();
        type Case<'a> = (&'a [&'a Layout], Vec<(u64, Vec<i64>)>);
        let cases: [Case<'_>; 3] = [
            (&[&packed, &packed], vec![(24, vec![1, 1])]),
            (&[&packed, &row], vec![(4, vec![1, 1]), (6, vec![4, 0])]),
            (&[&packed, &column], vec![(12, vec![1, 0]), (2, vec![12, 1])]),
        ];
        for (layouts, expected) in cases {
            let mut nest = nest(&[2, 3, 4], layouts);
            nest.merge();
            assert_eq!(axes(&nest), expected);
        }
    }

    #[test]
    fn sorting_follows_the_first_operand() {
        let target = Layout::contiguous(&[3, 4], Order::F).unwrap().flip(Some(&[1])).unwrap();
        let source = Layout::contiguous(&[3, 4], Order::C).unwrap();
        let mut nest = nest(&[3, 4], &[&target, &source]);
        nest.sort();
        nest.merge();
        assert_eq!(axes(&nest), [(3, vec![1, 4]), (4, vec![3, -1])]);
        assert_eq!((nest.operands[0].offset, nest.operands[1].offset), (0, 3));
        assert_eq!((nest.span(0), nest.span(1)), ([0, 12], [0, 12]));
        assert!(nest.is_packed(0) && !nest.is_packed(1) && !nest.is_single(1));
    }

    #[test]
    fn pieces_cover_every_round_once() {
        let packed = Layout::contiguous(&[100, 1000], Order::C).unwrap();
        let column = Layout::contiguous(&[100, 1], Order::C).unwrap();
        let mut whole = nest(&[100, 1000], &[&packed, &column]);
        whole.merge();
        let pieces = whole.pieces(40_000, u64::MAX);
        assert_eq!(pieces.iter().map(Nest::size).sum::<u64>(), whole.size());
        let mut end = 0;
        for piece in &pieces {
            let [first, last] = piece.span(0);
            assert!(first == end && (last - first) * 4 <= 40_000);
            end = last;
        }
        assert_eq!(end, 100_000);
        assert_eq!(whole.pieces(u64::MAX, 30_000).len(), 4);
        assert_eq!(whole.pieces(u64::MAX, u64::MAX).len(), 1);
    }
}
