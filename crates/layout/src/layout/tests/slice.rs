//! Slices against Python's rule, computed position by position.
//!
//! Flips and splits are here too, because they are slices. Combinations of many kinds of index are tested in
//! `tests/numpy.rs`, slices of the `ndarray` crate in `index.rs`.

use super::{elements, small_layouts, small_shapes, thinned};
use crate::{Index, Layout, LayoutError, Order, s};

/// The positions that `start:stop:step` takes, by checking each position.
fn python_positions(len: isize, start: Option<isize>, stop: Option<isize>, step: isize) -> Vec<usize> {
    let from_front = |end: isize| if end < 0 { end + len } else { end };
    let is_before_stop =
        |at: isize| stop.is_none_or(|stop| if step > 0 { at < from_front(stop) } else { at > from_front(stop) });
    // A start outside the axis is moved to its nearest end.
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let start = start.map_or(if step > 0 { 0 } else { len - 1 }, |start| from_front(start).clamp(low, high));
    let is_after_start = |at: isize| if step > 0 { at >= start } else { at <= start };
    let is_taken = |at: &isize| is_after_start(*at) && is_before_stop(*at) && (at - start) % step == 0;
    let mut taken: Vec<usize> = (0..len).filter(is_taken).map(|at| at.unsigned_abs()).collect();
    if step < 0 {
        taken.reverse();
    }
    taken
}

#[test]
fn one_axis_slices_as_in_python() {
    let ends = || (-7..=7).chain([isize::MIN, isize::MAX]).map(Some).chain([None]);
    for len in 0..=5 {
        for stride in thinned([1, 3, -2, 0], 2) {
            let layout = Layout::with_strides(&[len], &[stride], 20).unwrap();
            for (start, stop) in thinned(ends().flat_map(|start| ends().map(move |stop| (start, stop))), 61) {
                for step in [1, 2, 3, 6, isize::MAX, -1, -2, -3, -6, isize::MIN] {
                    let view = layout.slice(&[Index::Range { start, stop, step }]).unwrap();
                    // All ends beyond the axis are equivalent.
                    let near = |end: Option<isize>| end.map(|end| end.clamp(-20, 20));
                    let taken = python_positions(len as isize, near(start), near(stop), step.clamp(-20, 20));
                    let expected: Vec<_> = taken.iter().map(|&at| layout.offset_of(&[at as isize]).unwrap()).collect();
                    assert_eq!(elements(&view, Order::C), expected, "{len} {stride} {start:?}:{stop:?}:{step}");
                }
            }
        }
    }
}

#[test]
fn axes_are_sliced_independently() {
    let indices = [s![..], s![1..], s![..;-1], s![..;2], s![-2..], s![..-1], s![5..], s![-1..;-2]].map(|[index]| index);
    for layout in small_shapes(2).iter().flat_map(|shape| small_layouts(shape)).filter(|layout| layout.ndim() == 2) {
        for row in thinned(indices, 3) {
            for column in thinned(indices, 5) {
                let positions = |axis: usize, index| match index {
                    Index::Range { start, stop, step } => {
                        python_positions(layout.shape()[axis] as isize, start, stop, step)
                    }
                    _ => unreachable!("only ranges are listed"),
                };
                let (rows, columns) = (positions(0, row), positions(1, column));
                let at = |i: usize, j: usize| layout.offset_of(&[i as isize, j as isize]).unwrap();
                let expected: Vec<_> = rows.iter().flat_map(|&i| columns.iter().map(move |&j| at(i, j))).collect();
                let view = layout.slice(&[row, column]).unwrap();
                assert_eq!(view.shape(), [rows.len(), columns.len()], "{layout:?} {row:?} {column:?}");
                assert_eq!(elements(&view, Order::C), expected, "{layout:?} {row:?} {column:?}");
            }
        }
    }
}

#[test]
fn kinds_of_index_can_be_combined() {
    type Case = (Vec<Index>, Result<(Vec<usize>, Vec<isize>, usize), LayoutError>);
    let view = |shape: &[usize], strides: &[isize], offset| Ok((shape.to_vec(), strides.to_vec(), offset));
    // Slices of the C-ordered (2, 3, 4) array with strides (12, 4, 1).
    let cases: [Case; 18] = [
        (s![].to_vec(), view(&[2, 3, 4], &[12, 4, 1], 0)), // Missing axes are whole.
        (s![1].to_vec(), view(&[3, 4], &[4, 1], 12)),      // An integer drops its axis.
        (s![-1, -1, -1].to_vec(), view(&[], &[], 23)),     // The last element.
        (s![.., 1].to_vec(), view(&[2, 4], &[12, 1], 4)),  // Between whole axes.
        (s![Ellipsis, 1].to_vec(), view(&[2, 3], &[12, 4], 1)), // From the end.
        (s![1, Ellipsis, 2].to_vec(), view(&[3], &[4], 14)), // Around the middle.
        (s![1, 1, 1, Ellipsis].to_vec(), view(&[], &[], 17)), // An ellipsis for no axis.
        (s![Ellipsis].to_vec(), view(&[2, 3, 4], &[12, 4, 1], 0)), // An ellipsis for all.
        (s![NewAxis].to_vec(), view(&[1, 2, 3, 4], &[0, 12, 4, 1], 0)), // In front.
        (s![Ellipsis, NewAxis].to_vec(), view(&[2, 3, 4, 1], &[12, 4, 1, 0], 0)), // At the end.
        (s![0, NewAxis, .., 2..;-1].to_vec(), view(&[1, 3, 3], &[0, 4, -1], 2)), // All at once.
        (s![1.., 5..].to_vec(), view(&[1, 0, 4], &[12, 4, 1], 0)), // No elements: no offset.
        (s![2].to_vec(), Err(LayoutError::IndexOutOfRange { axis: 0, index: 2, len: 2 })), // One past the end.
        (s![.., -4].to_vec(), Err(LayoutError::IndexOutOfRange { axis: 1, index: -4, len: 3 })), // One before the start.
        (s![0, 0, 0, 0].to_vec(), Err(LayoutError::TooManyIndices { given: 4, ndim: 3 })),       // One axis too many.
        (s![Ellipsis, 0, 0, 0, ..].to_vec(), Err(LayoutError::TooManyIndices { given: 4, ndim: 3 })), // Also with an ellipsis.
        (s![Ellipsis, Ellipsis].to_vec(), Err(LayoutError::RepeatedEllipsis { count: 2 })), // Two are ambiguous.
        (s![NewAxis, .., ..;0].to_vec(), Err(LayoutError::ZeroStep { axis: 1 })), // The number of the axis, not of the index.
    ];
    let array = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
    for (index, expected) in cases {
        let sliced = array.slice(&index);
        let parts = |view: &Layout| (view.shape().to_vec(), view.strides().to_vec(), view.offset());
        assert_eq!(sliced.as_ref().map(parts).map_err(Clone::clone), expected, "{index:?}");
    }
    let too_many = [Index::NewAxis; 30];
    assert_eq!(array.slice(&too_many), Err(LayoutError::RankTooLarge { ndim: 33, limit: 32 }));
}

#[test]
fn flip_reverses_the_elements() {
    for layout in small_shapes(3).iter().flat_map(|shape| small_layouts(shape)) {
        let backwards: Vec<_> = elements(&layout, Order::C).into_iter().rev().collect();
        assert_eq!(elements(&layout.flip(None).unwrap(), Order::C), backwards, "{layout:?}");
        let twice = layout.flip(None).unwrap().flip(None).unwrap();
        assert_eq!(elements(&twice, Order::C), elements(&layout, Order::C), "{layout:?}");
    }
}

#[test]
fn parts_together_are_the_whole() {
    let layouts = small_shapes(3).into_iter().flat_map(|shape| small_layouts(&shape));
    for layout in thinned(layouts.filter(|layout| layout.ndim() > 0), 5) {
        let front = layout.move_axis(&[0], &[-1]).unwrap();
        let listed = |parts: Vec<Layout>| -> Vec<usize> {
            parts.iter().flat_map(|piece| elements(&piece.move_axis(&[-1], &[0]).unwrap(), Order::C)).collect()
        };
        let whole = elements(&layout, Order::C);
        for sections in 1..5 {
            let parts = front.array_split(sections, -1).unwrap();
            let lens: Vec<_> = parts.iter().map(|piece| piece.shape()[front.ndim() - 1]).collect();
            assert!(lens.is_sorted_by(|a, b| a >= b) && lens[0] - lens[sections - 1] <= 1, "{layout:?} {lens:?}");
            assert_eq!(listed(parts), whole, "{layout:?} {sections}");
        }
        assert_eq!(listed(front.split_at(&[1, 2], -1).unwrap()), whole, "{layout:?}");
    }
}
