//! Splitting an axis: NumPy's `split` and `array_split`, and numba's split by length.
//!
//! Every part is a slice, made in `slice.rs`.

use super::axes::axis_from_front;
use super::{Layout, LayoutError, Result};

impl Layout {
    /// Splits a layout of one axis into parts of `len` elements; the last part may be shorter. numba's `split`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let parts = x.ravel(Order::C)?.split(4)?;
    /// assert_eq!((parts[0].size(), parts[1].size()), (4, 2));
    /// # anyhow::Ok(())
    /// ```
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
        let starts = (0..size).step_by(len);
        collect_parts(size, starts.map(|start| self.slice_axis(0, start..start.saturating_add(len))))
    }

    /// Splits an axis into this many parts. If the length is not a multiple, the first parts are one longer.
    /// NumPy's `array_split` with a number.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let lens: Vec<_> = x.array_split(2, 1)?.iter().map(|part| part.shape()[1]).collect();
    /// assert_eq!(lens, [2, 1]);
    /// # anyhow::Ok(())
    /// ```
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
        let start = |part: usize| part * len + part.min(n_longer);
        collect_parts(size, (0..sections).map(|part| self.slice_axis(axis, start(part)..start(part + 1))))
    }

    /// Splits an axis into this many parts of equal length. NumPy's `split` with a number.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.split_equally(3, 1)?[2].offset(), 2);
    /// assert!(x.split_equally(2, 1).is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::UnequalSplit`] if the length is not a multiple, [`LayoutError::AxisOutOfRange`],
    /// [`LayoutError::ZeroSplit`].
    pub fn split_equally(&self, sections: usize, axis: isize) -> Result<Vec<Self>> {
        let len = self.shape[axis_from_front(axis, self.ndim())?];
        if sections != 0 && !len.is_multiple_of(sections) {
            return Err(LayoutError::UnequalSplit { len, sections });
        }
        self.array_split(sections, axis)
    }

    /// Splits an axis before each of these positions, which are clipped and may be negative as in a slice.
    /// NumPy's `split` and `array_split` with a list.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let lens: Vec<_> = x.split_at(&[1], 1)?.iter().map(|part| part.shape()[1]).collect();
    /// assert_eq!(lens, [1, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::AxisOutOfRange`].
    pub fn split_at(&self, positions: &[isize], axis: isize) -> Result<Vec<Self>> {
        let mut parts = Vec::with_capacity(positions.len() + 1);
        let mut start = 0;
        for &stop in positions {
            parts.push(self.slice_axis(axis, start..stop)?);
            start = stop;
        }
        parts.push(self.slice_axis(axis, start..)?);
        Ok(parts)
    }
}

/// The parts of an axis of this length.
fn collect_parts(len: usize, parts: impl ExactSizeIterator<Item = Result<Layout>>) -> Result<Vec<Layout>> {
    let mut collected = Vec::new();
    collected.try_reserve_exact(parts.len()).map_err(|_| LayoutError::TooManyParts { parts: parts.len(), len })?;
    for part in parts {
        collected.push(part?);
    }
    Ok(collected)
}
