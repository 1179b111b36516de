//! Reshape and ravel against the list of elements: a view has the same elements, and there is one wherever possible.
//!
//! Whether a view is possible is computed from the list of elements alone. NumPy's exact strides, also those without a
//! meaning, are compared in `tests/numpy.rs`.

use super::{elements, small_layouts, small_shapes, thinned};
use crate::{Layout, LayoutError, Order};

/// Every shape of this size with up to four axes longer than one, and some shapes with axes of length one between them.
fn shapes_of(size: usize) -> Vec<Vec<isize>> {
    let mut shapes = vec![(vec![], size)];
    let mut whole = Vec::new();
    for _ in 0..=4 {
        whole.extend(shapes.iter().filter(|(_, rest)| *rest == 1).map(|(shape, _)| shape.clone()));
        let longer = |(shape, rest): &(Vec<isize>, usize)| -> Vec<(Vec<isize>, usize)> {
            let divisors = (1..=*rest).filter(|len| rest.is_multiple_of(*len));
            divisors.map(|len| ([shape.as_slice(), &[len as isize]].concat(), rest / len)).collect()
        };
        shapes = shapes.iter().flat_map(longer).filter(|(shape, _)| shape.len() <= 4).collect();
    }
    whole
}

/// Whether there are strides with which `shape` has this list of elements in this order. The only candidates are the
/// differences between the first element and its neighbour on each axis.
fn has_strides(listed: &[usize], shape: &[isize], order: Order) -> bool {
    let shape: Vec<usize> = shape.iter().map(|&len| len.unsigned_abs()).collect();
    let step = |axis: usize| -> usize {
        if order == Order::F { shape[..axis].iter().product() } else { shape[axis + 1..].iter().product() }
    };
    let walked = |axis: usize| listed[step(axis)] as isize - listed[0] as isize;
    let strides: Vec<isize> = (0..shape.len()).map(|axis| if shape[axis] > 1 { walked(axis) } else { 0 }).collect();
    let candidate = Layout::with_strides(&shape, &strides, listed[0]);
    candidate.is_ok_and(|candidate| elements(&candidate, order) == listed)
}

#[test]
fn there_is_a_view_exactly_where_strides_exist() {
    let targets: Vec<_> = (0..=if cfg!(miri) { 9 } else { 81 }).map(shapes_of).collect();
    let (mut n_views, mut n_copies) = (0, 0);
    for layout in small_shapes(4).iter().flat_map(|shape| few_layouts(shape)).filter(|layout| layout.size() > 0) {
        for order in [Order::C, Order::F] {
            let listed = elements(&layout, order);
            for to in thinned(&targets[layout.size()], 9) {
                let view = layout.reshape(to, order);
                assert_eq!(view.is_ok(), has_strides(&listed, to, order), "{layout:?} {to:?} {order}: {view:?}");
                match view {
                    Ok(view) => assert_eq!(elements(&view, order), listed, "{layout:?} {to:?} {order}"),
                    Err(error) => assert!(matches!(error, LayoutError::NeedsCopy { .. }), "{layout:?} {to:?} {error}"),
                }
                n_views += usize::from(layout.reshape(to, order).is_ok());
                n_copies += usize::from(layout.reshape(to, order).is_err());
            }
        }
    }
    assert!(cfg!(miri) || n_views > 50_000 && n_copies > 50_000, "{n_views} {n_copies}");
}

/// All layouts of up to three axes; of four axes every seventh layout, which includes all kinds.
fn few_layouts(shape: &[usize]) -> Vec<Layout> {
    small_layouts(shape).into_iter().step_by(if shape.len() == 4 { 7 } else { 1 }).collect()
}

#[test]
fn an_unknown_length_is_computed() {
    type Case<'a> = (&'a [usize], &'a [isize], Result<&'a [usize], &'a str>);
    const CASES: &[Case<'_>] = &[
        (&[2, 3, 4], &[-1], Ok(&[24])),                  // Everything.
        (&[2, 3, 4], &[6, -1], Ok(&[6, 4])),             // At the end.
        (&[2, 3, 4], &[-1, 3, 4], Ok(&[2, 3, 4])),       // In front.
        (&[2, 3, 4], &[2, -1, 2], Ok(&[2, 6, 2])),       // Between.
        (&[2, 3], &[6, -1], Ok(&[6, 1])),                // One is left.
        (&[], &[-1], Ok(&[1])),                          // No axes have one element.
        (&[0, 5], &[-1, 5], Ok(&[0, 5])),                // No elements.
        (&[0, 5], &[5, -1], Ok(&[5, 0])),                // In the other order.
        (&[0, 5], &[0, -1], Err("ReshapeMismatch")),     // Any length is possible.
        (&[2, 3], &[4, -1], Err("ReshapeMismatch")),     // Does not divide.
        (&[2, 3], &[0, -1], Err("ReshapeMismatch")),     // No length is possible.
        (&[2, 3], &[5], Err("ReshapeMismatch")),         // Too few.
        (&[2, 3], &[], Err("ReshapeMismatch")),          // No axes mean one element.
        (&[2, 3], &[-1, -1], Err("RepeatedUnknown")),    // Two unknowns.
        (&[2, 3], &[-2, 3], Err("NegativeLength")),      // NumPy treats -2 as -1.
        (&[2, 3], &[isize::MIN], Err("NegativeLength")), // Not an overflow.
        (&[2, 3], &[isize::MAX, 2], Err("Overflow")),    // Too many elements.
        (&[0], &[0, isize::MAX, 2], Err("Overflow")),    // Also without elements.
        (&[1], &[1; 33], Err("RankTooLarge")),           // One axis too many.
        (&[1], &[1; 32], Ok(&[1; 32])),                  // The most axes.
    ];
    for &(from, to, expected) in CASES {
        let view = Layout::contiguous(from, Order::C).unwrap().reshape(to, Order::C);
        let variant = |error: &LayoutError| match error {
            LayoutError::ReshapeMismatch { .. } => "ReshapeMismatch",
            LayoutError::RepeatedUnknown { .. } => "RepeatedUnknown",
            LayoutError::NegativeLength { .. } => "NegativeLength",
            LayoutError::Overflow { .. } => "Overflow",
            LayoutError::RankTooLarge { .. } => "RankTooLarge",
            _ => "another error",
        };
        assert_eq!(view.as_ref().map(Layout::shape).map_err(variant), expected, "{from:?} {to:?}");
    }
}

#[test]
fn ravel_is_a_view_exactly_where_elements_are_contiguous() {
    let mut n_keep_only = 0;
    for layout in small_shapes(4).iter().flat_map(|shape| small_layouts(shape)) {
        let packed = |order| elements(&layout, order).into_iter().eq(layout.offset()..layout.offset() + layout.size());
        for order in [Order::C, Order::F] {
            let listed = layout.ravel(order).map(|flat| elements(&flat, Order::C));
            assert_eq!(listed.ok(), packed(order).then(|| elements(&layout, order)), "{layout:?} {order}");
        }
        let first = if packed(Order::F) && !packed(Order::C) { Order::F } else { Order::C };
        assert_eq!(layout.ravel(Order::A), layout.ravel(first), "{layout:?}");
        let mut in_memory = elements(&layout, Order::C);
        in_memory.sort_unstable();
        let is_packed = in_memory.iter().copied().eq(layout.offset()..layout.offset() + layout.size());
        let listed = layout.ravel(Order::K).map(|flat| elements(&flat, Order::C));
        assert_eq!(listed.ok(), is_packed.then_some(in_memory), "{layout:?}");
        n_keep_only += usize::from(is_packed && !packed(Order::C) && !packed(Order::F));
    }
    assert!(cfg!(miri) || n_keep_only > 500, "{n_keep_only}");
}
