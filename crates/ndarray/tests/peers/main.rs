//! Tests and known defects of other array libraries.
//!
//! There is one module for each library and file of tests. Each test has the name that it has in that library. Expected
//! values are NumPy's, written out; random cases are in `../numpy.rs`.

#![expect(clippy::unwrap_used, reason = "an error here is a failed test")]

mod dpctl;
mod numba_array_attr;
mod numba_defects;
mod numba_dummyarray;
mod numba_slicing;

use vkarray_ndarray::{Layout, LayoutError, Order};

fn c(shape: &[usize]) -> Layout {
    Layout::contiguous(shape, Order::C).unwrap()
}

fn f(shape: &[usize]) -> Layout {
    Layout::contiguous(shape, Order::F).unwrap()
}

fn strided(shape: &[usize], strides: &[isize]) -> Layout {
    Layout::with_strides(shape, strides, 0).unwrap()
}

fn flags(layout: &Layout) -> (bool, bool) {
    (layout.is_c_contiguous(), layout.is_f_contiguous())
}

fn parts(layout: &Layout) -> (&[usize], &[isize], usize) {
    (layout.shape(), layout.strides(), layout.offset())
}

fn listed(layout: &Layout) -> Vec<usize> {
    layout.offsets().collect()
}

fn is_copy(result: &Result<Layout, LayoutError>) -> bool {
    matches!(result, Err(LayoutError::NeedsCopy { .. }))
}

/// The numbers of Python's `range(len)[start:stop]`.
fn python_range(len: isize, start: Option<isize>, stop: Option<isize>) -> Vec<usize> {
    let clip = |end: isize| if end < 0 { (end + len).max(0) } else { end.min(len) };
    (start.map_or(0, clip)..stop.map_or(len, clip)).map(|at| at.unsigned_abs()).collect()
}
