//! Extreme values, and errors with the values of both sides.
//!
//! Shapes that overflow, strides that leave the addressable range, steps of `isize::MIN`: each is refused or correct, and
//! none panics. Ordinary layouts are tested in the other files of this folder.

use crate::{Index, Layout, LayoutError, MAX_NDIM, Order, s};

const MAX: usize = isize::MAX as usize;

#[test]
fn shapes_of_too_many_elements_are_refused() {
    type Case<'a> = (&'a [usize], bool);
    const CASES: &[Case<'_>] = &[
        (&[MAX], true),                  // The longest axis.
        (&[MAX + 1], false),             // One longer.
        (&[usize::MAX], false),          // Not -1.
        (&[1 << 31, 1 << 31], true),     // 2^62.
        (&[1 << 32, 1 << 31], false),    // 2^63.
        (&[0, 1 << 31, 1 << 31], true),  // Empty, and the other lengths fit.
        (&[0, 1 << 32, 1 << 32], false), // Empty, yet 2^64 wraps to a valid product of 0.
        (&[1 << 32, 1 << 32, 0], false), // In any order.
        (&[1; MAX_NDIM], true),          // The most axes.
        (&[1; MAX_NDIM + 1], false),     // One more.
    ];
    for &(shape, is_valid) in CASES {
        for order in [Order::C, Order::F] {
            let fresh = Layout::contiguous(shape, order);
            assert_eq!(fresh.is_ok(), is_valid, "{shape:?} {fresh:?}");
        }
        let strides = vec![0; shape.len()];
        assert_eq!(Layout::with_strides(shape, &strides, 0).is_ok(), is_valid, "{shape:?}");
    }
    let limit = LayoutError::RankTooLarge { ndim: 33, limit: 32 };
    assert_eq!(Layout::contiguous(&[0; 33], Order::C), Err(limit));
    let order = LayoutError::OrderNotAllowed { order: Order::K, operation: "contiguous" };
    assert_eq!(Layout::contiguous(&[2], Order::K), Err(order));
}

#[test]
fn strides_must_stay_in_the_addressable_range() {
    type Case<'a> = (&'a [usize], &'a [isize], usize, bool);
    const CASES: &[Case<'_>] = &[
        (&[3], &[-1], 2, true),                        // Down to element 0.
        (&[3], &[-1], 1, false),                       // Down to element -1.
        (&[3, 2], &[-2, 1], 4, true),                  // The lowest corner is 0.
        (&[3, 2], &[-2, -1], 4, false),                // The lowest corner is -1.
        (&[2], &[isize::MAX - 1], 0, true),            // The last element is isize::MAX - 1.
        (&[2], &[isize::MAX], 0, false),               // No room past the last one.
        (&[2], &[isize::MIN], MAX, false),             // One below zero.
        (&[3], &[isize::MAX], 0, false),               // The product overflows.
        (&[2, 2], &[isize::MAX - 9, 10], 0, false),    // The sum overflows.
        (&[1], &[isize::MIN], 0, true),                // The stride of length one has no meaning.
        (&[0, 9], &[isize::MIN, isize::MAX], 0, true), // Strides without elements have no meaning.
        (&[0], &[1], MAX + 1, false),                  // The offset must be in range nevertheless.
        (&[], &[], MAX - 1, true),                     // One element at the end.
        (&[], &[], MAX, false),                        // Past the end.
    ];
    for &(shape, strides, offset, is_valid) in CASES {
        let layout = Layout::with_strides(shape, strides, offset);
        assert_eq!(layout.is_ok(), is_valid, "{shape:?} {strides:?} {offset}: {layout:?}");
    }
    let count = LayoutError::StrideCount { shape: vec![2, 3], strides: vec![1] };
    assert_eq!(Layout::with_strides(&[2, 3], &[1], 0), Err(count));
}

#[test]
fn no_view_of_an_extreme_layout_overflows() {
    let extremes: [(&[usize], &[isize], usize); 6] = [
        (&[1, 1], &[isize::MIN, isize::MAX], MAX - 1),
        (&[0, 5, 3], &[isize::MAX, isize::MIN, 7], 3),
        (&[2, 1], &[isize::MAX - 1, isize::MIN], 0),
        (&[2, 1, 1], &[-isize::MAX + 1, isize::MAX, isize::MIN], MAX - 1),
        (&[MAX], &[1], 0),
        (&[MAX], &[0], MAX - 1),
    ];
    for (shape, strides, offset) in extremes {
        let layout = Layout::with_strides(shape, strides, offset).unwrap();
        let mut views = vec![layout.coalesce(), layout.in_memory_order(), layout.like()];
        views.extend([layout.flip(None), layout.transpose(None), layout.squeeze(None)].map(Result::unwrap));
        views.extend([Order::C, Order::F].into_iter().filter_map(|order| layout.reshape([1, -1, 1], order).ok()));
        views.extend([isize::MIN, -2, 2, isize::MAX].map(|step| layout.slice(&[Index::stepped(.., step)]).unwrap()));
        views.extend(layout.diagonal(isize::MIN, 0, 1).into_iter().chain(layout.diagonal(isize::MAX, 0, 1)));
        views.extend(layout.broadcast_to(&[&[1], shape].concat()).ok());
        for view in views {
            assert_eq!(Layout::with_strides(view.shape(), view.strides(), view.offset()).as_ref(), Ok(&view));
            let _ =
                (view.is_c_contiguous(), view.is_f_contiguous(), view.has_internal_overlap(), view.overlaps(&layout));
        }
    }
}

#[test]
fn the_number_of_bytes_is_checked() {
    let repeated = Layout::with_strides(&[1 << 40, 3], &[0, 1], 5).unwrap();
    assert_eq!(repeated.nbytes(8), Ok(3 << 43)); // Each repetition counts.
    assert_eq!(repeated.span_bytes(8), Ok(24)); // The block has three.
    let overflow = |itemsize| Err(LayoutError::Overflow { shape: vec![MAX], itemsize });
    let longest = Layout::contiguous(&[MAX], Order::C).unwrap();
    assert_eq!((longest.nbytes(2), longest.nbytes(3)), (Ok(2 * MAX as u64), overflow(3)));
    assert_eq!(longest.span_bytes(3), overflow(3));
    assert!(matches!(longest.view_as(2, 1), Err(LayoutError::Overflow { itemsize: 2, .. })));
    let far = Layout::with_strides(&[2], &[1], MAX / 2 + 1).unwrap();
    assert!(matches!(far.view_as(2, 1), Err(LayoutError::Overflow { .. })));
}

#[test]
fn errors_have_the_values_of_both_sides() {
    let array = Layout::contiguous(&[2, 3], Order::C).unwrap();
    let row = array.slice(&s![0]).unwrap();
    let cases: [(Result<Layout, LayoutError>, LayoutError); 16] = [
        (array.transpose(Some(&[0])), LayoutError::AxisCount { given: 1, expected: 2 }),
        (array.transpose(Some(&[0, -2])), LayoutError::RepeatedAxis { axis: 0, axes: vec![0, -2] }),
        (array.transpose(Some(&[0, 2])), LayoutError::AxisOutOfRange { axis: 2, ndim: 2 }),
        (array.swap_axes(-3, 0), LayoutError::AxisOutOfRange { axis: -3, ndim: 2 }),
        (array.move_axis(&[0, 1], &[0]), LayoutError::AxisCount { given: 1, expected: 2 }),
        (array.squeeze(Some(&[-1])), LayoutError::SqueezeLength { axis: 1, len: 3 }),
        (array.expand_dims(&[4]), LayoutError::AxisOutOfRange { axis: 4, ndim: 3 }),
        (array.broadcast_to(&[3]), LayoutError::BroadcastMismatch { from: vec![2, 3], to: vec![3] }),
        (array.broadcast_to(&[2, 2, 4]), LayoutError::BroadcastMismatch { from: vec![2, 3], to: vec![2, 2, 4] }),
        (row.diagonal(0, 0, 1), LayoutError::DiagonalRank { ndim: 1 }),
        (array.view_as(4, 0), LayoutError::ZeroItemSize { from: 4, to: 0 }),
        (array.view_as(4, 8), LayoutError::ViewItemSize { from: 4, to: 8, len: 3 }),
        (array.transpose(None).and_then(|t| t.view_as(4, 2)), LayoutError::ViewStrided { from: 4, to: 2, stride: 3 }),
        (
            array.slice(&s![.., 1..]).and_then(|s| s.view_as(4, 8)),
            LayoutError::ViewMisaligned { from: 4, to: 8, elements: 3 },
        ),
        (
            array.split(1).map(|mut parts| parts.remove(0)),
            LayoutError::NotOneDimensional { ndim: 2, operation: "split" },
        ),
        (row.split(0).map(|mut parts| parts.remove(0)), LayoutError::ZeroSplit { len: 3 }),
    ];
    for (result, expected) in cases {
        assert_eq!(result, Err(expected));
    }
    assert_eq!(array.offset_of(&[0]), Err(LayoutError::TooFewIndices { given: 1, ndim: 2 }));
    assert_eq!(array.offset_of(&[0, 0, 0]), Err(LayoutError::TooManyIndices { given: 3, ndim: 2 }));
    assert_eq!(array.offset_of(&[1, 3]), Err(LayoutError::IndexOutOfRange { axis: 1, index: 3, len: 3 }));
}
