//! The cases of dpctl's notes on contiguity and zero-copy views.
//!
//! dpctl's contiguity test has false positives, which are the first rows of the table. dpctl's other tests of layouts
//! follow.

use vkarray_ndarray::{Layout, LayoutError, Order, s};

use super::{c, f, flags, is_copy, parts};

#[test]
fn contiguity_list() {
    type Case<'a> = (&'a [usize], &'a [isize], (bool, bool));
    const CASES: &[Case<'_>] = &[
        (&[3, 3], &[2, 2], (false, false)),       // dpctl says C and F.
        (&[3, 5], &[3, 2], (false, false)),       // dpctl says C.
        (&[2, 2, 2], &[5, 1, 1], (false, false)), // dpctl says C.
        (&[3, 1, 2], &[1, 77, 3], (false, true)), // The stride of length one is ignored (gh-1334).
        (&[1, 1, 1], &[-5, 0, 9], (true, true)),  // All three strides are ignored.
        (&[0, 3], &[-5, 9], (true, true)),        // No elements are contiguous.
        (&[], &[], (true, true)),                 // One element is contiguous.
        (&[3], &[-1], (false, false)),            // Reversed is not contiguous.
        (&[2, 3], &[3, 1], (true, false)),        // C.
        (&[2, 3], &[1, 2], (false, true)),        // F.
    ];
    for &(shape, strides, expected) in CASES {
        assert_eq!(flags(&Layout::with_strides(shape, strides, 20).unwrap()), expected, "{shape:?} {strides:?}");
    }
}

#[test]
fn contiguity_after_permuting_and_reshaping() {
    // dpctl's flags of this array were wrong, and copying it to the host failed (dpctl 2055).
    let array = c(&[2, 3, 1]).transpose(Some(&[2, 0, 1])).unwrap().reshape([2, 3], Order::C).unwrap();
    assert_eq!(flags(&array), (true, false));
}

#[test]
fn element_offset_and_byte_bounds_of_reversed_slices() {
    let view = c(&[20]).slice(&s![15..3;-4]).unwrap();
    assert_eq!((parts(&view), view.extent()), (([3].as_slice(), [-4].as_slice(), 15), 7..16));
    assert_eq!((view.nbytes(8), view.span_bytes(8)), (Ok(24), Ok(72)));
}

#[test]
fn broadcast_expand_squeeze_permute_are_zero_copy_with_the_right_strides() {
    let array = c(&[2, 3]);
    assert_eq!(parts(&array.broadcast_to(&[4, 2, 3]).unwrap()).1, [0, 3, 1]);
    assert_eq!(parts(&array.expand_dims(&[1]).unwrap()), ([2, 1, 3].as_slice(), [3, 3, 1].as_slice(), 0));
    assert_eq!(array.expand_dims(&[1]).unwrap().squeeze(None), Ok(array.clone()));
    assert_eq!(parts(&array.transpose(Some(&[1, 0])).unwrap()).1, [1, 3]);
}

#[test]
fn reshape_rules() {
    let array = c(&[2, 3]);
    assert!(is_copy(&array.reshape([6], Order::F)), "order F of C elements");
    assert_eq!(c(&[6]).reshape([2, 3], Order::F), Ok(f(&[2, 3])), "of one axis it is a view");
    assert!(c(&[0, 3]).reshape([-1, 0], Order::C).is_err(), "-1 beside a zero");
    assert_eq!(c(&[0, 3]).reshape([3, 0], Order::C).unwrap().strides(), [1, 1], "zero size, unit strides");
    assert_eq!(c(&[1]).reshape([1; 32], Order::C).unwrap().ndim(), 32, "32 axes");
    let error = LayoutError::OrderNotAllowed { order: Order::K, operation: "reshape" };
    assert_eq!(array.reshape([6], Order::K), Err(error), "bad order");
}

#[test]
fn strides_that_do_not_fit_are_an_error() {
    assert!(matches!(Layout::with_strides(&[4], &[-1], 2), Err(LayoutError::OutOfBounds { .. })));
    assert_eq!(Layout::with_strides(&[4], &[-1], 3).unwrap().extent(), 0..4);
}
