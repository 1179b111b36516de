//! Cutting one axis into pieces: NumPy's `split` and `array_split`, and numba's split by length.
//!
//! Every piece is a slice, so its offset and strides are those of `slice.rs`.

use super::axes::axis_from_front;
use super::{Layout, LayoutError, Result};

impl Layout {
    /// Cuts an array of one axis into pieces of `len` elements; the last may be shorter. numba's `split`.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NotOneDimensional`], [`LayoutError::ZeroSplit`].
    pub fn split(&self, len: usize) -> Result<Vec<Self>> {
        let &[size] = self.shape() else {
            return Err(LayoutError::NotOneDimensional { ndim: self.ndim(), operation: "split" });
        };
        if len == 0 {
            return Err(LayoutError::ZeroSplit { len: size });
        }
        (0..size).step_by(len).map(|start| self.slice_axis(0, start..start.saturating_add(len))).collect()
    }

    /// Cuts an axis into this many pieces; the first ones are one longer where it does not divide.
    /// NumPy's `array_split` with a number.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`], [`LayoutError::ZeroSplit`].
    pub fn array_split(&self, sections: usize, axis: isize) -> Result<Vec<Self>> {
        let size = self.shape[axis_from_front(axis, self.ndim())?];
        if sections == 0 {
            return Err(LayoutError::ZeroSplit { len: size });
        }
        let (len, n_longer) = (size / sections, size % sections);
        let start = |piece: usize| piece * len + piece.min(n_longer);
        (0..sections).map(|piece| self.slice_axis(axis, start(piece)..start(piece + 1))).collect()
    }

    /// Cuts an axis into this many pieces of one length. NumPy's `split` with a number.
    ///
    /// # Errors
    ///
    /// [`LayoutError::UnequalSplit`] if it does not divide, [`LayoutError::AxisOutOfRange`],
    /// [`LayoutError::ZeroSplit`].
    pub fn split_equally(&self, sections: usize, axis: isize) -> Result<Vec<Self>> {
        let len = self.shape[axis_from_front(axis, self.ndim())?];
        if sections != 0 && !len.is_multiple_of(sections) {
            return Err(LayoutError::UnequalSplit { len, sections });
        }
        self.array_split(sections, axis)
    }

    /// Cuts an axis before each of these positions, clipped and counted as in a slice.
    /// NumPy's `split` and `array_split` with a list.
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`].
    pub fn split_at(&self, positions: &[isize], axis: isize) -> Result<Vec<Self>> {
        let mut pieces = Vec::with_capacity(positions.len() + 1);
        let mut start = 0;
        for &stop in positions {
            pieces.push(self.slice_axis(axis, start..stop)?);
            start = stop;
        }
        pieces.push(self.slice_axis(axis, start..)?);
        Ok(pieces)
    }
}
