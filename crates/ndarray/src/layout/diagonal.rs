//! [`Layout::diagonal`]: the elements where two axes agree.
//!
//! One stride is the sum of two. Reordering axes lives in `axes.rs`, cutting them in `slice.rs`.

use super::axes::axis_from_front;
use super::{Layout, LayoutError, Result, advance};

impl Layout {
    /// Views the elements `(.., k, .., k + shift, ..)` of two axes, as a last axis over `k`.
    ///
    /// A negative `shift` moves the diagonal below the main one. Beyond the corner it has no elements.
    ///
    /// # Errors
    ///
    /// [`LayoutError::DiagonalRank`] with fewer than two axes, [`LayoutError::AxisOutOfRange`],
    /// [`LayoutError::RepeatedAxis`].
    pub fn diagonal(&self, shift: isize, first: isize, second: isize) -> Result<Self> {
        let ndim = self.ndim();
        if ndim < 2 {
            return Err(LayoutError::DiagonalRank { ndim });
        }
        let (rows, columns) = (axis_from_front(first, ndim)?, axis_from_front(second, ndim)?);
        if rows == columns {
            return Err(LayoutError::RepeatedAxis { axis: rows, axes: vec![first, second] });
        }
        let (shifted, other) = if shift < 0 { (rows, columns) } else { (columns, rows) };
        let by = shift.unsigned_abs();
        let len = self.shape[shifted].saturating_sub(by).min(self.shape[other]);
        let mut view = self.clone();
        for axis in [rows.max(columns), rows.min(columns)] {
            view.shape.remove(axis);
            view.strides.remove(axis);
        }
        view.shape.push(len);
        // The sum overflows only where the diagonal has at most one element, and its stride no meaning.
        view.strides.push(self.strides[rows].checked_add(self.strides[columns]).unwrap_or(0));
        Ok(self.view(view.shape, view.strides, advance(self.offset, self.strides[shifted], by)))
    }
}
