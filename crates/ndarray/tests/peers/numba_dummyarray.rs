//! The 33 tests of numba's `test_dummyarray.py`, by name.
//!
//! The ten reshapes are rows of one table. numba's "extents" are [`Layout::runs`] here. Slices of device arrays are in
//! `numba_slicing.rs`.

use vkarray_ndarray::{Index, LayoutError, Order, s};

use super::{c, f, flags, listed, parts, python_range, strided};

/// Slices with every pair of ends, `None` included, on each axis. The expected flags follow the rule for slices of a
/// contiguous array with unit steps.
fn check_slices(shape: &[usize], with_start: bool, with_stop: bool) {
    let len = shape[0] as isize;
    let ends = |wanted: bool| -> Vec<Option<isize>> {
        if wanted { (-len - 2..=len + 2).map(Some).collect() } else { vec![None] }
    };
    let array = c(shape);
    for (start, stop) in ends(with_start).into_iter().flat_map(|a| ends(with_stop).into_iter().map(move |b| (a, b))) {
        let range = Index::Range { start, stop, step: 1 };
        let index = vec![range; shape.len()];
        let view = array.slice(&index).unwrap();
        let taken: Vec<Vec<usize>> = shape.iter().map(|&n| python_range(n as isize, start, stop)).collect();
        let lens: Vec<usize> = taken.iter().map(Vec::len).collect();
        assert_eq!((view.shape(), view.strides()), (lens.as_slice(), array.strides()), "{shape:?} {start:?}:{stop:?}");
        let consecutive = listed(&view).windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert_eq!(view.is_c_contiguous(), consecutive, "{shape:?} {start:?}:{stop:?}");
        if let Some(first) = taken.iter().map(|taken| taken.first()).collect::<Option<Vec<_>>>() {
            let first: Vec<isize> = first.iter().map(|&&at| at as isize).collect();
            assert_eq!(Ok(view.offset()), array.offset_of(&first), "{shape:?} {start:?}:{stop:?}");
        }
    }
}

#[test]
fn slice0_1d() {
    check_slices(&[4], true, false);
}

#[test]
fn slice1_1d() {
    check_slices(&[4], false, true);
}

#[test]
fn slice2_1d() {
    check_slices(&[4], true, true);
}

#[test]
fn slice0_2d() {
    check_slices(&[4, 5], true, false);
}

#[test]
fn slice1_2d() {
    check_slices(&[4, 5], false, true);
}

#[test]
fn slice2_2d() {
    check_slices(&[4, 5], true, true);
}

/// Steps on every axis: lengths round up, a negative step starts at the end.
fn check_steps(shape: &[usize]) {
    let array = c(shape);
    let mut steps = vec![vec![]];
    for _ in shape {
        steps = steps.iter().flat_map(|s| [-2, -1, 1, 2].map(|step| [s.as_slice(), &[step]].concat())).collect();
    }
    for steps in steps {
        let index: Vec<_> = steps.iter().map(|&step| Index::stepped(.., step)).collect();
        let view = array.slice(&index).unwrap();
        let lens: Vec<usize> = shape.iter().zip(&steps).map(|(len, step)| len.div_ceil(step.unsigned_abs())).collect();
        let strides: Vec<isize> = array.strides().iter().zip(&steps).map(|(stride, step)| stride * step).collect();
        let first: Vec<isize> = steps.iter().map(|&step| if step < 0 { -1 } else { 0 }).collect();
        let expected = (lens.as_slice(), strides.as_slice(), array.offset_of(&first).unwrap());
        assert_eq!(parts(&view), expected, "{shape:?} {steps:?}");
        let is_whole = steps.iter().all(|&step| step == 1);
        assert_eq!(flags(&view), (is_whole, is_whole && shape.len() == 1), "{shape:?} {steps:?}");
    }
}

#[test]
fn strided_1d() {
    check_steps(&[4]);
}

#[test]
fn strided_2d() {
    check_steps(&[4, 5]);
}

#[test]
fn strided_3d() {
    check_steps(&[4, 5, 6]);
}

#[test]
fn issue_2766() {
    let array = c(&[1, 2, 3]).transpose(Some(&[2, 0, 1])).unwrap();
    assert_eq!((array.shape(), array.strides()), ([3, 1, 2].as_slice(), [1, 6, 3].as_slice()));
    assert_eq!(flags(&array), (false, true));
}

#[test]
fn reshapes_of_packed_arrays() {
    type Case<'a> = (&'a str, &'a [usize], &'a [isize], &'a [usize], &'a [isize]);
    const CASES: &[Case<'_>] = &[
        ("reshape_2d2d", &[4, 5], &[5, 4], &[5, 4], &[4, 1]),
        ("reshape_2d1d", &[4, 5], &[20], &[20], &[1]),
        ("reshape_3d3d", &[3, 4, 5], &[5, 3, 4], &[5, 3, 4], &[12, 4, 1]),
        ("reshape_3d2d", &[3, 4, 5], &[12, 5], &[12, 5], &[5, 1]),
        ("reshape_3d1d", &[3, 4, 5], &[60], &[60], &[1]),
        ("reshape_infer2d2d", &[4, 5], &[-1, 4], &[5, 4], &[4, 1]),
        ("reshape_infer2d1d", &[4, 5], &[-1], &[20], &[1]),
        ("reshape_infer3d3d", &[3, 4, 5], &[5, -1, 4], &[5, 3, 4], &[12, 4, 1]),
        ("reshape_infer3d2d", &[3, 4, 5], &[3, -1], &[3, 20], &[20, 1]),
        ("reshape_infer3d1d", &[3, 4, 5], &[-1], &[60], &[1]),
    ];
    for &(name, from, to, shape, strides) in CASES {
        assert_eq!(parts(&c(from).reshape(to, Order::C).unwrap()), (shape, strides, 0), "{name}");
    }
}

#[test]
fn reshape_infer_two_unknowns() {
    let error = LayoutError::RepeatedUnknown { to: vec![-1, -1, 3] };
    assert_eq!(c(&[3, 4, 5]).reshape([-1, -1, 3], Order::C), Err(error));
}

#[test]
fn reshape_infer_invalid_shape() {
    for to in [vec![-1, 7], vec![-1, 0]] {
        let error = LayoutError::ReshapeMismatch { from: vec![3, 4, 5], size: 60, to: to.clone() };
        assert_eq!(c(&[3, 4, 5]).reshape(&to, Order::C), Err(error));
    }
}

#[test]
fn squeeze() {
    let array = strided(&[1, 2, 1, 4, 1, 3], &[7, 12, 8, 3, 9, 1]);
    let squeezed =
        |axes: Option<&[isize]>| array.squeeze(axes).map(|view| (view.shape().to_vec(), view.strides().to_vec()));
    assert_eq!(squeezed(None), Ok((vec![2, 4, 3], vec![12, 3, 1])));
    assert_eq!(squeezed(Some(&[0])), Ok((vec![2, 1, 4, 1, 3], vec![12, 8, 3, 9, 1])));
    assert_eq!(squeezed(Some(&[2, -2])), Ok((vec![1, 2, 4, 3], vec![7, 12, 3, 1])));
    assert_eq!(squeezed(Some(&[])), Ok((array.shape().to_vec(), array.strides().to_vec())));
}

#[test]
fn squeeze_invalid_axis() {
    let array = c(&[1, 2, 1]);
    assert_eq!(array.squeeze(Some(&[1])), Err(LayoutError::SqueezeLength { axis: 1, len: 2 }));
    assert_eq!(array.squeeze(Some(&[0, 3])), Err(LayoutError::AxisOutOfRange { axis: 3, ndim: 3 }));
}

#[test]
fn extent_1d() {
    assert_eq!(c(&[4]).extent(), 0..4);
    assert_eq!(c(&[4]).span_bytes(8), c(&[4]).nbytes(8));
}

#[test]
fn extent_2d() {
    assert_eq!(c(&[4, 5]).extent(), 0..20);
    assert_eq!(c(&[4, 5]).span_bytes(8), c(&[4, 5]).nbytes(8));
}

#[test]
fn extent_iter_1d() {
    assert_eq!(c(&[4]).runs().collect::<Vec<_>>(), [(0, 4)]);
}

#[test]
fn extent_iter_2d() {
    assert_eq!(c(&[4, 5]).runs().collect::<Vec<_>>(), [(0, 20)]);
    assert_eq!(c(&[4, 5]).slice(&s![..;2]).unwrap().runs().collect::<Vec<_>>(), [(0, 5), (10, 5)]);
    assert_eq!(f(&[4, 5]).in_memory_order().runs().collect::<Vec<_>>(), [(0, 20)]);
}

#[test]
fn for_loop() {
    let array = c(&[4]);
    let ends = (0..).map(|at| array.offset_of(&[at])).find_map(Result::err);
    assert_eq!(ends, Some(LayoutError::IndexOutOfRange { axis: 0, index: 4, len: 4 }));
}

#[test]
fn empty_array_flags() {
    let shapes: [&[usize]; 8] = [&[0], &[0, 3], &[3, 0], &[0, 0], &[2, 0, 3], &[0, 2, 3], &[2, 3, 0], &[0, 0, 0]];
    for shape in shapes {
        assert_eq!(flags(&c(shape)), (true, true), "{shape:?}");
        assert_eq!(flags(&strided(shape, &[-7, 0, 5][..shape.len()])), (true, true), "{shape:?}");
    }
}

#[test]
fn empty_array_typeof() {
    // Two empty arrays of the same shape are equal, however they were made.
    let (fresh, sliced) = (c(&[0, 4]), c(&[3, 4]).slice(&s![3..]).unwrap());
    assert_eq!((fresh.shape(), flags(&fresh), fresh.nbytes(4)), (sliced.shape(), flags(&sliced), sliced.nbytes(4)));
}

#[test]
fn from_desc_with_numpy_integer_types() {
    let array = c(&[3, 4]);
    let (signed, unsigned, short, word) = (1_isize, 1_usize, 1_i32, 1_u32);
    let views = [s![signed, ..2], s![unsigned, ..2_usize], s![short, ..2_i32], s![word, ..2_u32]];
    assert!(views.iter().all(|index| array.slice(index) == array.slice(&s![1, ..2])));
}

#[test]
fn from_desc_tuple_from_numpy_array() {
    let (fixed, list, small) = ([3, 4], vec![3, 4], smallvec::SmallVec::<[usize; 4]>::from_slice(&[3, 4]));
    assert_eq!(c(&fixed), c(&list));
    assert_eq!(c(&list), c(&small));
}
