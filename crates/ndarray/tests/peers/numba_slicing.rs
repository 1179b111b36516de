//! The view tests of numba's `test_cuda_array_slicing.py`, by name.
//!
//! Shape, strides and offset are checked instead of the elements of a device array. Assignment through views, which needs a
//! device, is tested in `tests/ndarray/assigned_views.rs` of the repository.

use vkarray_ndarray::{LayoutError, s};

use super::{c, f, listed, parts, python_range};

#[test]
fn index_1d_2d_3d() {
    for shape in [&[10][..], &[3, 4], &[3, 4, 5]] {
        for array in [c(shape), f(shape)] {
            for (axis, &len) in shape.iter().enumerate() {
                let at = |index: isize| {
                    let mut full = vec![0; shape.len()];
                    full[axis] = index;
                    array.offset_of(&full)
                };
                let (len, stride) = (len as isize, array.strides()[axis].unsigned_abs());
                for index in 0..len {
                    assert_eq!(at(index), Ok(index.unsigned_abs() * stride), "{shape:?} {axis} {index}");
                    assert_eq!(at(index - len), at(index), "{shape:?} {axis} {index}");
                }
                for index in [len, -len - 1] {
                    let error = LayoutError::IndexOutOfRange { axis, index, len: shape[axis] };
                    assert_eq!(at(index), Err(error), "{shape:?}");
                }
            }
        }
    }
}

#[test]
fn strided_index() {
    let array = c(&[6, 7, 8]);
    for (i, j, k) in (0..6).flat_map(|i| (0..7).flat_map(move |j| (0..8).map(move |k| (i, j, k)))) {
        let view = array.slice(&s![i..;2, j..;2, k..;2]).unwrap();
        let halves = [6 - i, 7 - j, 8 - k].map(|rest| usize::try_from((rest + 1) / 2).unwrap());
        let offset = usize::try_from(56 * i + 8 * j + k).unwrap();
        assert_eq!(parts(&view), (halves.as_slice(), [112, 16, 2].as_slice(), offset));
    }
}

#[test]
fn prefix_1d_and_2d() {
    for (i, j) in (0..5_usize).flat_map(|i| (0..5_usize).map(move |j| (i, j))) {
        let view = c(&[5, 5]).slice(&s![i.., j..]).unwrap();
        assert_eq!(parts(&view), ([5 - i, 5 - j].as_slice(), [5, 1].as_slice(), 5 * i + j));
    }
}

#[test]
fn select_3d_first_two_dim() {
    let array = c(&[3, 4, 5]);
    assert_eq!(parts(&array.slice(&s![2]).unwrap()), ([4, 5].as_slice(), [5, 1].as_slice(), 40));
    assert_eq!(parts(&array.slice(&s![2, 3]).unwrap()), ([5].as_slice(), [1].as_slice(), 55));
}

#[test]
fn select_f_and_select_c() {
    for array in [f(&[5, 5, 5]), c(&[5, 5, 5])] {
        for (i, j) in (0..5_usize).flat_map(|i| (0..5_usize).map(move |j| (i, j))) {
            let kept = [s![i, j, ..], s![i, .., j], s![.., i, j]].map(|index| array.slice(&index).unwrap());
            for (axis, line) in kept.iter().rev().enumerate() {
                let mut steps = array.strides().iter().enumerate().filter(|(other, _)| *other != axis).map(|(_, s)| s);
                let offset = steps.by_ref().zip([i, j]).map(|(step, at)| step.unsigned_abs() * at).sum();
                assert_eq!(parts(line), ([5].as_slice(), &array.strides()[axis..=axis], offset));
            }
        }
    }
}

#[test]
fn prefix_select() {
    let view = f(&[5, 5]).slice(&s![..2, 2]).unwrap();
    assert_eq!(parts(&view), ([2].as_slice(), [1].as_slice(), 10));
}

#[test]
fn negative_slicing_1d() {
    for (i, j) in (-10..10).flat_map(|i| (-10..10).map(move |j| (i, j))) {
        assert_eq!(listed(&c(&[10]).slice(&s![i..j]).unwrap()), python_range(10, Some(i), Some(j)), "{i}:{j}");
    }
}

#[test]
fn negative_slicing_2d() {
    let ends = || (-4..4).flat_map(|start| (-4..4).map(move |stop| (start, stop)));
    let mut n_combinations = 0;
    for ((i, j), (k, l)) in ends().flat_map(|rows| ends().map(move |columns| (rows, columns))) {
        let (rows, columns) = (python_range(3, Some(i), Some(j)), python_range(4, Some(k), Some(l)));
        let expected: Vec<_> = rows.iter().flat_map(|row| columns.iter().map(move |column| 4 * row + column)).collect();
        assert_eq!(listed(&c(&[3, 4]).slice(&s![i..j, k..l]).unwrap()), expected, "{i}:{j}, {k}:{l}");
        n_combinations += 1;
    }
    assert_eq!(n_combinations, 4096);
}

#[test]
fn empty_slice_1d_and_2d() {
    for shape in [&[5][..], &[5, 5]] {
        for start in 0..5_usize {
            let empty = c(shape).slice(&s![start..start]).unwrap();
            assert_eq!((empty.shape()[0], empty.size()), (0, 0));
            assert_eq!(empty.slice(&s![..]).unwrap().shape(), empty.shape()); // An empty slice of an empty slice.
            assert_eq!(empty.slice(&s![100..200]).unwrap().shape(), empty.shape()); // Out of bounds of an empty one.
            assert!(empty.slice(&s![0]).is_err());
        }
    }
}
