//! [`Layout::diagonal`]: the elements whose indices on two axes differ by a constant.
//!
//! The stride of a diagonal is the sum of the strides of its axes.

use super::axes::axis_from_front;
use super::{Layout, LayoutError, Result, advance};

impl Layout {
    /// Takes the elements `(.., k, .., k + shift, ..)` of axes `first` and `second`, which become one last axis over `k`.
    ///
    /// A negative `shift` takes a diagonal below the main one. A shift beyond the corner leaves no elements.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.diagonal(1, 0, 1)?.offsets().collect::<Vec<_>>(), [1, 5]);
    /// # anyhow::Ok(())
    /// ```
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
        // The sum overflows only for a diagonal of at most one element, whose stride has no meaning.
        view.strides.push(self.strides[rows].checked_add(self.strides[columns]).unwrap_or(0));
        Ok(self.view(view.shape, view.strides, advance(self.offset, self.strides[shifted], by)))
    }
}
