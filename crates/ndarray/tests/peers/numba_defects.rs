//! Wrong results of numba's device arrays. Each test has the name of the correct behaviour.
//!
//! A comment at the end of a line has numba's result. numba's own tests are in the other files of this folder.

use vkarray_ndarray::{Index, Layout, LayoutError, Order, s};

use super::{c, f, flags, is_copy, listed, parts, strided};

#[test]
fn reshape_in_another_order_needs_a_copy() {
    // numba returns a view with permuted elements for each of these reshapes.
    assert!(is_copy(&f(&[2, 3]).reshape([6], Order::C)));
    assert!(is_copy(&f(&[2, 3]).reshape([3, 2], Order::C)));
    assert!(is_copy(&c(&[2, 3]).reshape([6], Order::F)));
    assert!(is_copy(&c(&[2, 3]).reshape([3, 2], Order::F)));
    assert_eq!(listed(&f(&[2, 3]).reshape([6], Order::F).unwrap()), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn reshape_of_a_strided_array_is_a_view_where_one_exists() {
    // numba raises NotImplementedError for both reshapes.
    let rows = strided(&[4, 4], &[16, 4]).reshape([2, 2, 4], Order::C).unwrap();
    assert_eq!(parts(&rows), ([2, 2, 4].as_slice(), [32, 16, 4].as_slice(), 0));
    let every_second = c(&[12]).slice(&s![..;2]).unwrap().reshape([2, 3], Order::C).unwrap();
    assert_eq!(listed(&every_second), [0, 2, 4, 6, 8, 10]);
}

#[test]
fn integer_index_on_fortran_order_keeps_strides() {
    let array = f(&[2, 3, 4]);
    for at in 0..4 {
        let page = array.slice(&[Index::from(..), Index::from(..), Index::At(at)]).unwrap();
        let offset = 6 * at.unsigned_abs();
        assert_eq!(parts(&page), ([2, 3].as_slice(), [1, 2].as_slice(), offset)); // numba: strides (3, 1).
    }
    assert_eq!(parts(&array.slice(&s![1]).unwrap()), ([3, 4].as_slice(), [2, 6].as_slice(), 1));
    assert_eq!(parts(&array.slice(&s![.., 1]).unwrap()), ([2, 4].as_slice(), [1, 6].as_slice(), 2));
}

#[test]
fn reversing_twice_is_the_array_again() {
    let array = c(&[5]);
    let reversed = array.slice(&s![..;-1]).unwrap();
    assert_eq!(parts(&reversed), ([5].as_slice(), [-1].as_slice(), 4));
    assert_eq!(reversed.slice(&s![..]).unwrap(), reversed); // numba: empty.
    assert_eq!(reversed.slice(&s![..;-1]).unwrap(), array); // numba: empty.
    assert_eq!(reversed.offset_of(&[1]), Ok(3)); // numba: IndexError.
    assert_eq!(reversed.extent(), 0..5); // numba: one element of length zero.
}

#[test]
fn slices_of_broadcast_axes_keep_their_length() {
    let array = c(&[3]).broadcast_to(&[4, 3]).unwrap();
    let middle = array.slice(&s![1..3]).unwrap();
    assert_eq!(parts(&middle), ([2, 3].as_slice(), [0, 1].as_slice(), 0)); // numba: (1, 3).
}

#[test]
fn indices_on_broadcast_axes_are_checked() {
    let array = c(&[3]).broadcast_to(&[4, 3]).unwrap();
    assert!(array.slice(&s![3]).is_ok());
    for index in [4, 9, -5] {
        let error = LayoutError::IndexOutOfRange { axis: 0, index, len: 4 };
        assert_eq!(array.slice(&[Index::At(index)]), Err(error.clone()));
        assert_eq!(array.offset_of(&[index, 0]), Err(error));
    }
}

#[test]
fn order_a_is_fortran_only_where_the_array_is_nothing_else() {
    for both in [c(&[6]), c(&[1, 6]), f(&[6, 1])] {
        assert_eq!(parts(&both.reshape([2, 3], Order::A).unwrap()).1, [3, 1]); // numba: (1, 2).
    }
    assert_eq!(parts(&f(&[2, 3]).reshape([3, 2], Order::A).unwrap()).1, [1, 3]);
    assert_eq!(parts(&c(&[2, 3]).reshape([3, 2], Order::A).unwrap()).1, [2, 1]);
}

#[test]
fn the_same_shape_from_any_container_is_the_same_view() {
    let array = strided(&[2, 3], &[9, 2]);
    let (fixed, list) = ([2, 3], vec![2, 3]);
    assert_eq!(array.reshape(fixed, Order::C), Ok(array.clone()));
    assert_eq!(array.reshape(&list, Order::C), Ok(array.clone())); // numba: NotImplementedError.
    assert_eq!(array.reshape(&list, Order::F), Ok(array));
}

#[test]
fn stride_zero_on_an_axis_of_length_one_is_contiguous() {
    assert_eq!(flags(&strided(&[10, 1], &[1, 0])), (true, true)); // numba: neither.
    assert_eq!(flags(&strided(&[1], &[0])), (true, true));
    assert_eq!(flags(&strided(&[1, 10], &[100, 1])), (true, true));
    assert_eq!(flags(&strided(&[10, 2], &[1, 0])), (false, false)); // Significant for an axis longer than one.
}

#[test]
fn ellipsis_and_new_axis_work() {
    let array = c(&[2, 3]);
    assert_eq!(array.slice(&s![Ellipsis]).unwrap(), array); // numba: TypeError.
    assert_eq!(array.slice(&s![.., NewAxis]).unwrap().shape(), [2, 1, 3]);
}

#[test]
fn transpose_of_any_rank_is_a_view() {
    let cube = c(&[2, 3, 4]).transpose(None).unwrap();
    assert_eq!(parts(&cube), ([4, 3, 2].as_slice(), [1, 4, 12].as_slice(), 0)); // numba: not implemented.
    assert_eq!(c(&[5]).transpose(None).unwrap(), c(&[5])); // numba: raises.
}

#[test]
fn view_of_another_size_needs_only_the_last_axis() {
    let rows = strided(&[3, 4], &[8, 1]).view_as(4, 8).unwrap();
    assert_eq!(parts(&rows), ([3, 2].as_slice(), [4, 1].as_slice(), 0)); // numba: needs the whole array.
}

#[test]
fn like_sorts_by_magnitude_of_stride() {
    let reversed = f(&[4, 6]).slice(&s![..;-2, ..;2]).unwrap();
    assert_eq!(reversed.like().strides(), [1, 2]); // numba sorts by sign first.
}

#[test]
fn split_by_zero_is_an_error() {
    assert_eq!(c(&[5]).split(0), Err(LayoutError::ZeroSplit { len: 5 })); // numba: ZeroDivisionError.
    let lens = |pieces: Vec<Layout>| pieces.iter().map(Layout::size).collect::<Vec<_>>();
    assert_eq!(lens(c(&[5]).split(2).unwrap()), [2, 2, 1]);
    assert_eq!(lens(c(&[0]).split(2).unwrap()), [0_usize; 0]);
    let every_second = c(&[9]).slice(&s![..;2]).unwrap();
    assert_eq!(listed(&every_second.split(3).unwrap()[1]), [6, 8]); // numba: unit stride only.
}
