//! `a[index] = value` as in numba's tests: assignment to a view, with broadcasting.
//!
//! Results are compared with the `ndarray` crate. `assignment.rs` has copies between generated views, and also checks the
//! bytes in the gaps.

use ::ndarray::{ArrayD, SliceInfoElem};
use vkarray::array::LayoutError;
use vkarray::{Error, Index};

use super::counted;
use crate::fixture::{Fixture, contents};

const ALL: SliceInfoElem = SliceInfoElem::Slice { start: 0, end: None, step: 1 };

const fn at(index: isize) -> SliceInfoElem {
    SliceInfoElem::Index(index)
}

const fn part(start: isize, end: Option<isize>, step: isize) -> SliceInfoElem {
    SliceInfoElem::Slice { start, end, step }
}

#[test]
fn values_are_assigned_to_views_as_on_the_host() {
    type Case<'a> = (&'a [usize], &'a [SliceInfoElem], &'a [usize]);
    const CASES: &[Case<'_>] = &[
        // Array, index, value; the name of numba's test.
        (&[5], &[at(2)], &[]),                                              // test_scalar
        (&[5, 7], &[at(2)], &[]),                                           // test_rank
        (&[5, 7], &[ALL, at(2)], &[]),                                      // test_broadcast
        (&[5, 7], &[ALL, at(-1)], &[5]),                                    // test_array_assign_column
        (&[5, 7], &[at(4)], &[7]),                                          // test_array_assign_row
        (&[5, 6, 7], &[part(0, Some(2), 1), ALL, ALL], &[6, 7]),            // test_array_assign_subarray
        (&[5, 6, 7, 8], &[ALL, part(2, Some(4), 1), ALL, ALL], &[2, 7, 8]), // test_array_assign_deep_subarray
        (&[5, 7], &[ALL, ALL], &[5, 7]),                                    // test_array_assign_all
        (&[20], &[part(0, None, 2)], &[]),                                  // test_strides
        (&[20], &[part(0, None, -3)], &[7]),                                // Backwards.
        (&[3, 4], &[part(1, Some(1), 1)], &[4]),                            // Nothing is assigned to.
        (&[3, 1, 4], &[ALL, ALL, part(1, Some(3), 1)], &[3, 1, 1]),         // Lengths of one are repeated.
    ];
    let fixture = Fixture::open();
    for &(shape, index, value) in CASES {
        let value: ArrayD<i32> = counted(value).mapv(|v| -1 - v);
        let (mut expected, device) = (counted(shape), fixture.to_device(&counted(shape)).unwrap());
        let mut whole = index.to_vec();
        whole.resize(shape.len(), ALL);
        expected.slice_mut(whole.as_slice()).assign(&value);
        let items: Vec<Index> = index.iter().map(|&item| item.into()).collect();
        device.slice(&items).unwrap().assign(&fixture.to_device(&value).unwrap()).unwrap();
        assert_eq!(device.copy_to_host().unwrap(), expected, "{shape:?} {index:?}");
    }
}

/// numba refuses every value of a higher rank; NumPy accepts leading lengths of one.
#[test]
fn leading_axes_of_length_one_are_dropped_from_the_value() {
    let fixture = Fixture::open();
    let device = fixture.zeros::<i32>([2, 3]).unwrap();
    device.assign(&fixture.to_device(&counted(&[1, 1, 2, 3])).unwrap()).unwrap();
    assert_eq!(contents(&device), [0, 1, 2, 3, 4, 5]);
    device.assign(&fixture.to_device(&counted(&[1, 1, 3])).unwrap()).unwrap();
    assert_eq!(contents(&device), [0, 1, 2, 0, 1, 2]);
    let element = device.index([1, 1]).unwrap();
    element.assign(&fixture.full([1, 1], 9).unwrap()).unwrap();
    assert_eq!(contents(&device), [0, 1, 2, 0, 9, 2]);
}

#[test]
fn values_that_do_not_broadcast_are_refused_with_both_shapes() {
    type Case<'a> = (&'a [usize], &'a [usize]);
    const CASES: &[Case<'_>] = &[
        (&[5], &[2, 5]),    // test_incompatible_highdim
        (&[5], &[4]),       // test_incompatible_shape
        (&[5, 7], &[5]),    // Only the last axes are compared.
        (&[1], &[2]),       // The target is never stretched.
        (&[0, 3], &[2, 3]), // The target is not shortened to length zero.
    ];
    let fixture = Fixture::open();
    for &(shape, value) in CASES {
        let device = fixture.to_device(&counted(shape)).unwrap();
        let error = device.assign(&fixture.full(value, 9).unwrap()).unwrap_err();
        let expected = LayoutError::BroadcastMismatch { from: value.to_vec(), to: shape.to_vec() };
        assert!(matches!(&error, Error::Layout(mismatch) if *mismatch == expected), "{shape:?} {value:?}: {error}");
        assert_eq!(contents(&device), counted(shape).into_raw_vec_and_offset().0);
    }
}
