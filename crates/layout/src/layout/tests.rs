//! Exhaustive tests over every small layout, and tests of extreme values.
//!
//! The oracle lists elements by dividing positions into indices. It shares no code with what it tests.
//! Comparison with NumPy itself is in `tests/numpy.rs`. Under Miri, which is a thousand times slower, [`thinned`]
//! takes a sample of the layouts, and the numbers of cases are not checked.

mod coalesce;
mod edges;
mod facts;
mod reshape;
mod slice;

use super::{Layout, Order};

/// All of `cases`; under Miri, one case in `step`.
pub(super) fn thinned<T>(cases: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if cfg!(miri) { step } else { 1 })
}

/// Every shape of up to `max_ndim` axes with lengths `0..=3`.
fn small_shapes(max_ndim: usize) -> Vec<Vec<usize>> {
    let max_ndim = if cfg!(miri) { max_ndim.min(2) } else { max_ndim };
    let mut shapes = vec![vec![]];
    let mut longest = shapes.clone();
    for _ in 0..max_ndim {
        longest = longest.iter().flat_map(|shape| (0..4).map(|len| [shape.as_slice(), &[len]].concat())).collect();
        shapes.extend(longest.iter().cloned());
    }
    shapes
}

/// Layouts of a shape: every order of axes in memory; packed, with gaps, reversed, broadcast and overlapping.
fn small_layouts(shape: &[usize]) -> Vec<Layout> {
    let mut layouts = Vec::new();
    for axes in permutations(shape.len()) {
        // Miri takes every seventh variant: seven does not divide the number of variants, so each kind occurs.
        for variant in thinned(0..6 + 2 * shape.len(), 7) {
            layouts.push(small_layout(shape, &axes, variant));
        }
    }
    layouts
}

fn small_layout(shape: &[usize], fastest_first: &[usize], variant: usize) -> Layout {
    let mut strides = vec![0; shape.len()];
    let mut step = if variant == 1 { 2 } else { 1 };
    for (place, &axis) in fastest_first.iter().enumerate() {
        strides[axis] = step;
        // Variants 2 and 3 have gaps: variant 2 after each row, variant 3 after the first axis only.
        let gap = if variant == 2 || (variant == 3 && place == 0) { 1 } else { 0 };
        step = step * shape[axis].max(1) as isize + gap;
    }
    match variant {
        4 => strides.iter_mut().for_each(|stride| *stride = -*stride),
        5 => strides.fill(1),
        6.. if variant.is_multiple_of(2) => strides[(variant - 6) / 2] *= -1,
        6.. => strides[(variant - 6) / 2] = 0,
        _ => {}
    }
    let below: isize =
        shape.iter().zip(&strides).map(|(&len, &stride)| (stride * (len.max(1) as isize - 1)).min(0)).sum();
    Layout::with_strides(shape, &strides, 3 + below.unsigned_abs()).unwrap()
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for item in 0..n {
        let insert = |shorter: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..=shorter.len()).map(|at| [&shorter[..at], &[item], &shorter[at..]].concat()).collect()
        };
        all = all.iter().flat_map(insert).collect();
    }
    all
}

/// The elements of a layout, read in C or F order: each position is divided into its indices.
fn elements(layout: &Layout, order: Order) -> Vec<usize> {
    let axes: Vec<(usize, isize)> = layout.shape().iter().copied().zip(layout.strides().iter().copied()).collect();
    let fastest_first: Vec<_> = if order == Order::F { axes } else { axes.into_iter().rev().collect() };
    let size: usize = layout.shape().iter().product();
    let element = |position: usize| {
        let (mut rest, mut at) = (position, layout.offset() as isize);
        for &(len, stride) in &fastest_first {
            at += stride * (rest % len) as isize;
            rest /= len;
        }
        usize::try_from(at).unwrap()
    };
    (0..size).map(element).collect()
}

#[test]
#[cfg(not(miri))]
fn the_number_of_small_layouts_is_as_expected() {
    let shapes = small_shapes(4);
    assert_eq!(shapes.len(), 1 + 4 + 16 + 64 + 256);
    assert_eq!(permutations(4).len(), 24);
    let n_layouts: usize = shapes.iter().map(|shape| small_layouts(shape).len()).sum();
    assert_eq!(n_layouts, 6 + 4 * 8 + 16 * 2 * 10 + 64 * 6 * 12 + 256 * 24 * 14);
}
