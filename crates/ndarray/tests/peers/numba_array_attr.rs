//! The layout tests of numba's `test_array_attr.py`, and of its "like" and `view` tests, by name.
//!
//! Where numba's device arrays refuse what NumPy allows, the expected result is NumPy's.
//! Slices are in `numba_slicing.rs`.

use vkarray_ndarray::{Index, Layout, LayoutError, Order, s};

use super::{c, f, flags, is_copy, parts};

#[test]
fn contiguous_2d_3d_4d() {
    for shape in [&[5, 4][..], &[5, 4, 3], &[5, 4, 3, 2]] {
        assert_eq!((flags(&c(shape)), flags(&f(shape))), ((true, false), (false, true)), "{shape:?}");
    }
}

#[test]
fn ravel_of_packed_arrays() {
    for order in [Order::C, Order::F, Order::A] {
        assert_eq!(c(&[60]).ravel(order), Ok(c(&[60])), "ravel_1d {order}");
    }
    for order in [Order::C, Order::A] {
        assert_eq!(c(&[2, 5, 3, 2]).ravel(order), Ok(c(&[60])), "ravel_c {order}");
    }
    for order in [Order::F, Order::A] {
        assert_eq!(f(&[2, 5, 3, 2]).ravel(order), Ok(c(&[60])), "ravel_f {order}");
    }
    assert_eq!(c(&[]).ravel(Order::C), Ok(c(&[1])));
    assert_eq!(c(&[2, 0]).ravel(Order::C).unwrap().shape(), [0]);
}

#[test]
fn ravel_of_strided_arrays_needs_a_copy() {
    let step = s![.., ..;2, .., ..];
    assert!(is_copy(&c(&[60]).slice(&s![..;2]).unwrap().ravel(Order::C)), "ravel_stride_1d");
    assert!(is_copy(&c(&[2, 5, 3, 2]).slice(&step).unwrap().ravel(Order::C)), "ravel_stride_c");
    assert!(is_copy(&f(&[2, 5, 3, 2]).slice(&step).unwrap().ravel(Order::F)), "ravel_stride_f");
}

#[test]
fn reshape_c_and_reshape_f() {
    assert_eq!(c(&[10]).reshape([2, 5], Order::C), Ok(c(&[2, 5])));
    assert_eq!(c(&[10]).reshape([2, 5], Order::F), Ok(f(&[2, 5])));
}

#[test]
fn array_like() {
    type Case<'a> = (&'a str, Layout, &'a [isize]);
    let double = |layout: &Layout| layout.slice(&vec![Index::stepped(.., 2); layout.ndim()]).unwrap();
    let turned = |layout: &Layout| layout.transpose(None).unwrap();
    let cases: [Case<'_>; 11] = [
        ("1d", c(&[10]), &[1]),
        ("2d", c(&[10, 12]), &[12, 1]),
        ("2d_transpose", turned(&c(&[10, 12])), &[1, 12]),
        ("3d", c(&[10, 12, 14]), &[168, 14, 1]),
        ("2d_f", f(&[10, 12]), &[1, 10]),
        ("2d_f_transpose", turned(&f(&[10, 12])), &[10, 1]),
        ("3d_f", f(&[10, 12, 14]), &[1, 10, 120]),
        ("1d_view", double(&c(&[10])), &[1]),
        ("2d_view", double(&c(&[10, 12])), &[6, 1]),
        ("2d_view_f", double(&f(&[10, 12])), &[1, 5]),
        ("2d_view_f_transpose", turned(&double(&f(&[10, 12]))), &[5, 1]),
    ];
    for (name, layout, strides) in cases {
        assert_eq!(parts(&layout.like()), (layout.shape(), strides, 0), "{name}");
    }
}

#[test]
fn view_ok_and_bad() {
    let array = c(&[3, 4]);
    assert_eq!(parts(&array.view_as(2, 4).unwrap()), ([3, 2].as_slice(), [2, 1].as_slice(), 0));
    assert_eq!(parts(&array.view_as(2, 8).unwrap()), ([3, 1].as_slice(), [1, 1].as_slice(), 0));
    let column = array.slice(&s![.., ..;2]).unwrap();
    assert_eq!(column.view_as(2, 2), Ok(column.clone()), "view_ok_not_c_contig");
    let error = LayoutError::ViewStrided { from: 2, to: 4, stride: 2 };
    assert_eq!(column.view_as(2, 4), Err(error), "view_bad_not_c_contig");
    let error = LayoutError::ViewItemSize { from: 2, to: 16, len: 4 };
    assert_eq!(array.view_as(2, 16), Err(error), "view_bad_itemsize");
}
