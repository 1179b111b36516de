//! Properties of a layout: contiguity, extent, offsets of elements, broadcasting, overlap.
//!
//! Each property is computed again from the list of elements. Operations that make views are tested in `reshape.rs`,
//! `slice.rs` and `coalesce.rs`.

use std::collections::HashSet;

use super::{elements, small_layouts, small_shapes, thinned};
use crate::{Layout, Order};

#[test]
fn contiguous_elements_have_consecutive_offsets() {
    let (mut n_c, mut n_f, mut n_neither) = (0, 0, 0);
    for layout in small_shapes(4).iter().flat_map(|shape| small_layouts(shape)) {
        let follows = |order| elements(&layout, order).into_iter().eq(layout.offset()..layout.offset() + layout.size());
        let (c, f) = (follows(Order::C), follows(Order::F));
        assert_eq!((layout.is_c_contiguous(), layout.is_f_contiguous()), (c, f), "{layout:?}");
        n_c += usize::from(c && !f);
        n_f += usize::from(f && !c);
        n_neither += usize::from(!c && !f);
    }
    assert!(cfg!(miri) || n_c > 1_000 && n_f > 1_000 && n_neither > 10_000, "{n_c} {n_f} {n_neither}");
}

#[test]
fn properties_agree_with_the_list_of_elements() {
    for layout in small_shapes(4).iter().flat_map(|shape| small_layouts(shape)) {
        let listed = elements(&layout, Order::C);
        assert!(layout.offsets().eq(listed.iter().copied()), "{layout:?}");
        let start = listed.iter().min().copied().unwrap_or(layout.offset());
        let end = listed.iter().max().map_or(layout.offset(), |last| last + 1);
        assert_eq!(layout.extent(), start..end, "{layout:?}");
        assert_eq!(layout.nbytes(4), Ok(4 * listed.len() as u64), "{layout:?}");
        assert_eq!(layout.span_bytes(4), Ok(4 * (end - start) as u64), "{layout:?}");
        let distinct: HashSet<_> = listed.iter().collect();
        assert_eq!(layout.has_internal_overlap(), distinct.len() < listed.len(), "{layout:?}");
    }
}

#[test]
fn every_index_in_range_finds_its_element_from_both_ends() {
    for layout in small_shapes(3).iter().flat_map(|shape| small_layouts(shape)) {
        let shape = layout.shape();
        for (position, element) in elements(&layout, Order::C).into_iter().enumerate() {
            let (mut rest, mut index) = (position, vec![0; shape.len()]);
            for axis in (0..shape.len()).rev() {
                index[axis] = (rest % shape[axis]) as isize;
                rest /= shape[axis];
            }
            let from_end: Vec<_> = index.iter().zip(shape).map(|(&at, &len)| at - len as isize).collect();
            assert_eq!(layout.offset_of(&index), Ok(element), "{layout:?} {index:?}");
            assert_eq!(layout.offset_of(&from_end), Ok(element), "{layout:?} {from_end:?}");
        }
    }
}

#[test]
fn overlap_of_two_is_a_common_element() {
    let layouts: Vec<Layout> = small_shapes(2).iter().flat_map(|shape| small_layouts(shape)).collect();
    let (mut n_shared, mut n_apart) = (0, 0);
    for a in &layouts {
        let ours: HashSet<_> = elements(a, Order::C).into_iter().collect();
        for b in thinned(&layouts, 17) {
            let shares = elements(b, Order::C).iter().any(|element| ours.contains(element));
            assert_eq!(a.overlaps(b), shares, "{a:?} {b:?}");
            let within = a.extent().start < b.extent().end && b.extent().start < a.extent().end;
            n_shared += usize::from(shares);
            n_apart += usize::from(within && !shares);
        }
    }
    assert!(cfg!(miri) || n_shared > 10_000 && n_apart > 300, "{n_shared} {n_apart}");
}

#[test]
fn overlap_of_three_axes_is_exact_too() {
    let shapes = [[2, 3, 2], [3, 2, 3], [1, 3, 3]];
    let strides = [1, 2, 3, 5, 7, -4, 11];
    let mut layouts = Vec::new();
    for (at, shape) in shapes.iter().enumerate() {
        for (i, &outer) in thinned(strides.iter().enumerate(), 4) {
            for &middle in &strides[i..] {
                let inner = strides[(i + at) % strides.len()];
                // A scale of 1 gives strides without a common divisor, a scale of 2 strides with one.
                for scale in thinned([1, 2], 2) {
                    let strides = [outer, middle, inner].map(|stride| stride * scale);
                    layouts.push(Layout::with_strides(shape, &strides, 48 + i + at).unwrap());
                }
            }
        }
    }
    for a in &layouts {
        let listed = elements(a, Order::C);
        let ours: HashSet<_> = listed.iter().copied().collect();
        assert_eq!(a.has_internal_overlap(), ours.len() < listed.len(), "{a:?}");
        for b in thinned(&layouts, 17) {
            let shares = elements(b, Order::C).iter().any(|element| ours.contains(element));
            assert_eq!(a.overlaps(b), shares, "{a:?} {b:?}");
        }
    }
}

#[test]
fn overlap_of_large_tiles_is_exact() {
    type Tile<'a> = (&'a [usize], &'a [isize], usize);
    const CASES: &[(Tile<'_>, Tile<'_>, bool)] = &[
        ((&[16384, 8192], &[16384, 1], 0), (&[16384, 8192], &[16384, 1], 8192), false), // Left and right half.
        ((&[16384, 8193], &[16384, 1], 0), (&[16384, 8192], &[16384, 1], 8192), true),  // One column in common.
        ((&[1 << 30], &[2], 0), (&[1 << 30], &[2], 1), false),                          // Even and odd.
        ((&[1 << 30], &[2], 0), (&[1 << 30], &[3], 1), true),                           // 4 is in both.
        ((&[1 << 30], &[-2], 1 << 31), (&[1 << 30], &[4], 3), false),                   // Even ones in reverse.
        ((&[3], &[1_000_003], 0), (&[3], &[1_000_033], 1), false),                      // Few elements, far apart.
    ];
    for &(a, b, shares) in CASES {
        let [left, right] =
            [a, b].map(|(shape, strides, offset)| Layout::with_strides(shape, strides, offset).unwrap());
        assert_eq!((left.overlaps(&right), right.overlaps(&left)), (shares, shares), "{a:?} {b:?}");
    }
}
