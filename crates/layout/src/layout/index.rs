//! [`Index`], [`Span`] and the [`s!`](crate::s) macro: how a caller writes an index.
//!
//! An index has the parts of NumPy's: integers, `start:stop:step` with any step, `...` and `None`. The `ndarray`
//! crate's `SliceInfoElem` has no ellipsis, and its `a..b;-1` takes the elements of `a..b` in reverse order, where
//! Python's `a:b:-1` starts at `a`. Converted into an [`Index`], a `SliceInfoElem` keeps the `ndarray` crate's meaning.
//! [`Layout::slice`](crate::Layout::slice) applies an index.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use ndarray::SliceInfoElem;

/// What to take of one axis, or where to put a new one.
///
/// ```
/// use vkarray_layout::{Index, Layout, Order, s};
///
/// let x = Layout::contiguous(&[2, 3], Order::C)?;
/// let reversed = Index::Range { start: None, stop: None, step: -1 };
/// let row = x.slice(&[Index::At(1), reversed])?; // Elements 5, 4 and 3.
/// assert_eq!((row.offset(), row.strides()), (5, [-1].as_slice()));
/// assert_eq!(x.slice(&s![1, ..;-1])?, row);
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// One position of the axis, which is removed. Negative positions count from the end.
    At(isize),
    /// Python's `start:stop:step`: clipped to the axis, negative ends count from its end.
    Range {
        /// First element taken; `None` is the first element, or the last if `step` is negative.
        start: Option<isize>,
        /// First element not taken; `None` takes all up to the end, or up to the start if `step` is negative.
        stop: Option<isize>,
        /// The distance from one element to the next; negative for reverse order. Not 0.
        step: isize,
    },
    /// All axes that no other part of the index names. At most one in an index.
    Ellipsis,
    /// A new axis of length one.
    NewAxis,
}

/// The two ends of an [`Index::Range`], without a step. Rust's ranges convert into it.
///
/// ```
/// use vkarray_layout::{Index, Span};
///
/// let span = Span::from(2..5);
/// assert_eq!(Index::stepped(span, 1), Index::from(2..5));
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    start: Option<isize>,
    stop: Option<isize>,
    /// Whether the position `stop` is taken.
    is_inclusive: bool,
}

impl Index {
    /// Every `step`-th element of a range. A negative step goes from `start` down to `stop`; `a..=b` takes the element
    /// at `stop`, and `a..b` does not.
    ///
    /// ```
    /// use vkarray_layout::{Index, s};
    ///
    /// assert_eq!([Index::stepped(5..1, -2)], s![5..1;-2]);
    /// # anyhow::Ok(())
    /// ```
    pub fn stepped(span: impl Into<Span>, step: isize) -> Self {
        let Span { start, stop, is_inclusive } = span.into();
        let stop = match stop {
            Some(last) if is_inclusive => {
                // A neighbour before position 0 or after position -1 would have a number that means a position at the
                // other end.
                let end = if step < 0 { 0 } else { -1 };
                (last != end).then(|| last.saturating_add(if step < 0 { -1 } else { 1 }))
            }
            stop => stop,
        };
        Self::Range { start, stop, step }
    }
}

impl<T: Into<Span>> From<T> for Index {
    fn from(span: T) -> Self {
        Self::stepped(span, 1)
    }
}

impl From<RangeFull> for Span {
    fn from(_: RangeFull) -> Self {
        Self { start: None, stop: None, is_inclusive: false }
    }
}

/// Ranges of integers as spans: the type of a range, its two ends, and whether the position of the second is taken.
macro_rules! span_from_range {
    ($integer:ty: $($type:ty, $range:ident => $start:expr, $stop:expr, $is_inclusive:expr;)*) => { $(
        impl From<$type> for Span {
            fn from($range: $type) -> Self {
                let position = |at: $integer| isize::try_from(at).unwrap_or(isize::MAX);
                Self { start: $start.map(position), stop: $stop.map(position), is_inclusive: $is_inclusive }
            }
        }
    )* };
}

/// Integers as indices. An integer that is too large for `isize` becomes `isize::MAX`, which is past the end of every
/// axis.
macro_rules! index_from_integer {
    ($($integer:ty)*) => { $(
        impl From<$integer> for Index {
            fn from(at: $integer) -> Self {
                Self::At(isize::try_from(at).unwrap_or(isize::MAX))
            }
        }

        span_from_range! {
            $integer:
            Range<$integer>, range => Some(range.start), Some(range.end), false;
            RangeFrom<$integer>, range => Some(range.start), None, false;
            RangeTo<$integer>, range => None, Some(range.end), false;
            RangeInclusive<$integer>, range => Some(*range.start()), Some(*range.end()), true;
            RangeToInclusive<$integer>, range => None, Some(range.end), true;
        }
    )* };
}

index_from_integer!(i32 u32 usize isize);

impl From<SliceInfoElem> for Index {
    /// Keeps the meaning that the `ndarray` crate gives a slice: a negative step takes the same range in reverse order.
    fn from(element: SliceInfoElem) -> Self {
        match element {
            SliceInfoElem::Index(at) => Self::At(at),
            SliceInfoElem::NewAxis => Self::NewAxis,
            SliceInfoElem::Slice { start, end, step } if step >= 0 => {
                Self::Range { start: Some(start), stop: end, step }
            }
            // An end of 0 minus one would mean the last element.
            SliceInfoElem::Slice { end: Some(0), step, .. } => Self::Range { start: Some(0), stop: Some(0), step },
            SliceInfoElem::Slice { start, end, step } => {
                let stop = if start == 0 { None } else { Some(start.saturating_sub(1)) };
                Self::Range { start: end.map(|end| end.saturating_sub(1)), stop, step }
            }
        }
    }
}

/// Writes an index as an array of [`Index`]: `s![2, 1..-1, ..;-1, Ellipsis, NewAxis]`.
///
/// An integer takes one position, `a..b` is Python's `a:b`, and `a..b;c` is Python's `a:b:c`: `5..1;-2` takes elements
/// 5 and 3, and `1..5;-2` is empty, where the `ndarray` crate takes elements 4 and 2. `a..=b` also takes element `b`.
/// `Ellipsis` and `NewAxis` are in scope inside the macro.
///
/// ```
/// use vkarray_layout::{Layout, Order, s};
///
/// let layout = Layout::contiguous(&[2, 3, 10], Order::C)?;
/// let view = layout.slice(&s![-1, Ellipsis, NewAxis, 8..2;-3])?;
/// assert_eq!((view.shape(), view.strides(), view.offset()), ([3, 1, 2].as_slice(), [10, 0, -3].as_slice(), 38));
/// # anyhow::Ok(())
/// ```
#[macro_export]
macro_rules! s {
    (@index $span:expr; $step:expr) => { $crate::Index::stepped($span, $step) };
    (@index $index:expr) => { $crate::Index::from($index) };
    ($($index:expr $(; $step:expr)?),* $(,)?) => {{
        #[allow(unused_imports, reason = "most indices name neither")]
        use $crate::Index::{Ellipsis, NewAxis};
        #[allow(clippy::reversed_empty_ranges, reason = "a range with a negative step goes down")]
        let index: [$crate::Index; _] = [$($crate::s!(@index $index $(; $step)?)),*];
        index
    }};
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, ArrayView1, Axis, Slice};

    use super::*;
    use crate::layout::tests::thinned;
    use crate::{Layout, Order};

    #[test]
    fn macro_writes_every_kind() {
        let range = |start, stop, step| Index::Range { start, stop, step };
        let (at, len) = (-2_isize, 7_usize);
        let written = s![3, at, len, .., 1.., ..-1, 2..len, ..;-1, 5..1;-2, at..;3, Ellipsis, NewAxis, Index::At(4)];
        let meant = [
            Index::At(3),
            Index::At(-2), // Signed variables.
            Index::At(7),  // Unsigned variables.
            range(None, None, 1),
            range(Some(1), None, 1),
            range(None, Some(-1), 1),
            range(Some(2), Some(7), 1),
            range(None, None, -1),
            range(Some(5), Some(1), -2),
            range(Some(-2), None, 3),
            Index::Ellipsis,
            Index::NewAxis,
            Index::At(4), // A value of the enum.
        ];
        assert_eq!(written, meant);
        assert_eq!(s![], [] as [Index; 0]);
    }

    #[test]
    fn inclusive_ranges_take_their_last_element() {
        let taken = |index: Index, len: usize| -> Vec<isize> {
            let layout = Layout::contiguous(&[len], Order::C).unwrap().slice(&[index]).unwrap();
            layout.offsets().map(|at| at as isize).collect()
        };
        for [first, last, step] in
            [[1, 3, 1], [0, -1, 1], [-3, -1, 2], [0, 0, 1], [4, 0, -1], [-1, -5, -2], [3, 3, -1], [2, 1, 1]]
        {
            let at = |i: isize| i.rem_euclid(5);
            let expected: Vec<_> = std::iter::successors(Some(at(first)), |i| Some(i + step))
                .take_while(|&i| if step < 0 { i >= at(last) } else { i <= at(last) })
                .collect();
            assert_eq!(taken(Index::stepped(first..=last, step), 5), expected, "{first}..={last};{step}");
        }
        assert_eq!(
            s![..=1, ..=isize::MAX, 2_usize..=3],
            [Index::from(..2), Index::from(..isize::MAX), Index::from(2..4)]
        );
    }

    #[test]
    fn integers_past_isize_are_past_every_axis() {
        assert_eq!(Index::from(usize::MAX), Index::At(isize::MAX));
        let all = Layout::contiguous(&[4], Order::C).unwrap();
        assert_eq!(all.slice(&s![..usize::MAX]).unwrap(), all);
    }

    #[test]
    fn slices_of_the_ndarray_crate_keep_their_meaning() {
        for len in 0_isize..5 {
            let host = Array1::from_iter(0..len);
            for (start, end, step) in thinned(ndarray_slices(len), 11) {
                let expected = host.slice_axis(Axis(0), Slice::new(start, end, step));
                let element = SliceInfoElem::Slice { start, end, step };
                let layout = Layout::contiguous(host.shape(), Order::C).unwrap().slice(&[element.into()]).unwrap();
                let offsets: Vec<_> = layout.offsets().map(|at| at as isize).collect();
                assert_eq!(ArrayView1::from(&offsets), expected, "{element:?} of {len}");
            }
        }
    }

    /// Every slice of an axis this long that the `ndarray` crate accepts.
    fn ndarray_slices(len: isize) -> Vec<(isize, Option<isize>, isize)> {
        let mut slices = Vec::new();
        for start in -len..=len {
            for end in (-len..=len).map(Some).chain([None]) {
                slices.extend([-3, -2, -1, 1, 2, 3].map(|step| (start, end, step)));
            }
        }
        slices
    }
}
