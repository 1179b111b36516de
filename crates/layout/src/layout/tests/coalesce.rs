//! Coalescing and runs against the list of elements.
//!
//! A coalesced layout must have the same elements, or the same pairs of them, with the fewest possible axes. Offsets are
//! tested in `facts.rs`.

use super::{elements, small_layouts, small_shapes, thinned};
use crate::{Layout, LayoutError, Order};

#[test]
fn coalesced_layouts_list_the_same_elements() {
    for layout in small_shapes(4).iter().flat_map(|shape| small_layouts(shape)) {
        let merged = layout.coalesce();
        assert_eq!(elements(&merged, Order::C), elements(&layout, Order::C), "{layout:?}");
        assert!(layout.size() == 0 || !merged.shape().contains(&1), "{layout:?} {merged:?}");
        assert!(!layout.is_c_contiguous() || merged.ndim() <= 1, "{layout:?} {merged:?}");
        assert_eq!(merged.coalesce(), merged, "{layout:?}");
        let sorted = layout.in_memory_order();
        let [mut ours, mut theirs] = [&sorted, &layout].map(|layout| elements(layout, Order::C));
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{layout:?}");
        assert!(sorted.strides().is_sorted_by(|a, b| a >= b) && sorted.strides().iter().all(|&stride| stride >= 0));
        let packed = theirs.iter().copied().eq(layout.extent());
        assert!(!packed || sorted.ndim() <= 1, "{layout:?} {sorted:?}");
    }
}

#[test]
fn a_pair_keeps_its_pairs() {
    for shape in small_shapes(3) {
        let layouts = small_layouts(&shape);
        for (dst, src) in thinned(layouts.iter().flat_map(|dst| layouts.iter().map(move |src| (dst, src))), 3) {
            let (to, from) = Layout::coalesce_pair(dst, src).unwrap();
            assert_eq!(to.shape(), from.shape());
            let pairs = |dst, src| {
                let mut pairs: Vec<_> = elements(dst, Order::C).into_iter().zip(elements(src, Order::C)).collect();
                pairs.sort_unstable();
                pairs
            };
            assert_eq!(pairs(&to, &from), pairs(dst, src), "{dst:?} {src:?} became {to:?} {from:?}");
            assert!(to.strides().is_sorted_by(|a, b| a >= b), "{dst:?} {src:?} became {to:?}");
            assert!(to.strides().iter().all(|&stride| stride >= 0), "{dst:?} {src:?} became {to:?}");
        }
    }
}

#[test]
fn pairs_have_the_fewest_possible_axes() {
    type Side<'a> = (&'a [isize], usize);
    type Case<'a> = (&'a [usize], Side<'a>, Side<'a>, &'a [usize], Side<'a>, Side<'a>);
    const CASES: &[Case<'_>] = &[
        // Shape, destination, source; then shape, destination and source after coalescing.
        (&[2, 3, 4], (&[12, 4, 1], 0), (&[12, 4, 1], 0), &[24], (&[1], 0), (&[1], 0)), // Both contiguous.
        (&[2, 3, 4], (&[1, 2, 6], 0), (&[1, 2, 6], 5), &[24], (&[1], 0), (&[1], 5)),   // Both in F order.
        (&[2, 3], (&[3, 1], 0), (&[1, 2], 0), &[2, 3], (&[3, 1], 0), (&[1, 2], 0)),    // A transposition remains one.
        (&[2, 3], (&[1, 2], 0), (&[3, 1], 0), &[3, 2], (&[2, 1], 0), (&[1, 3], 0)),    // Sorted for the destination.
        (&[6], (&[-1], 5), (&[-1], 5), &[6], (&[1], 0), (&[1], 0)), // Both reversed: the axis is reversed in both.
        (&[6], (&[-1], 5), (&[1], 0), &[6], (&[1], 0), (&[-1], 5)), // Reversed only in the source.
        (&[2, 3], (&[3, 1], 0), (&[0, 1], 0), &[2, 3], (&[3, 1], 0), (&[0, 1], 0)), // A broadcast source.
        (&[2, 3], (&[3, 1], 0), (&[0, 0], 7), &[6], (&[1], 0), (&[0], 7)), // One element everywhere.
        // An axis of length one is ignored.
        (&[2, 1, 3], (&[3, 9, 1], 0), (&[3, -9, 1], 9), &[6], (&[1], 0), (&[1], 9)),
        (&[2, 3, 4], (&[12, 4, 1], 0), (&[20, 4, 1], 0), &[2, 12], (&[12, 1], 0), (&[20, 1], 0)), // A gap.
        (&[4], (&[0], 2), (&[-1], 8), &[4], (&[0], 2), (&[1], 5)), // The destination stands still, the source rises.
        (&[1, 1], (&[5, 5], 1), (&[7, 7], 2), &[], (&[], 1), (&[], 2)), // One element has no axes.
        (&[2, 0], (&[5, 5], 1), (&[7, 7], 2), &[0], (&[1], 1), (&[1], 2)), // No elements.
    ];
    for &(shape, dst, src, merged, to, from) in CASES {
        let layout = |shape, (strides, offset)| Layout::with_strides(shape, strides, offset).unwrap();
        let pair = Layout::coalesce_pair(&layout(shape, dst), &layout(shape, src)).unwrap();
        assert_eq!(pair, (layout(merged, to), layout(merged, from)), "{shape:?} {dst:?} {src:?}");
    }
    let [row, column] = [[1, 3], [3, 1]].map(|shape| Layout::contiguous(&shape, Order::C).unwrap());
    let mismatch = LayoutError::ShapeMismatch { from: vec![3, 1], to: vec![1, 3] };
    assert_eq!(Layout::coalesce_pair(&row, &column), Err(mismatch));
}

#[test]
fn runs_are_the_longest_stretches_of_the_walk() {
    let mut n_joined = 0;
    for layout in small_shapes(4).iter().flat_map(|shape| small_layouts(shape)) {
        let mut expected: Vec<(usize, usize)> = Vec::new();
        for element in elements(&layout, Order::C) {
            match expected.last_mut() {
                Some((offset, len)) if *offset + *len == element => *len += 1,
                _ => expected.push((element, 1)),
            }
        }
        n_joined += usize::from(expected.iter().any(|&(_, len)| len > 1));
        assert_eq!(layout.runs().collect::<Vec<_>>(), expected, "{layout:?}");
    }
    assert!(cfg!(miri) || n_joined > 10_000, "{n_joined}");
}
