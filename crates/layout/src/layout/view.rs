//! [`Layout::view_as`] and [`Layout::field`]: the same bytes as elements of another size.
//!
//! NumPy counts strides in bytes and this crate in elements. A view whose elements would not lie at multiples of their
//! size, which NumPy allows, is therefore an error here.

use super::{Layout, LayoutError, Result, Strides};

impl Layout {
    /// Interprets elements of `from` bytes as elements of `to` bytes. The length of the last axis changes accordingly.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// assert_eq!(x.view_as(4, 2)?.shape(), [2, 6]); // From `f32` to `u16`.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::ViewZeroDim`], [`LayoutError::ViewStrided`], [`LayoutError::ViewItemSize`] where NumPy refuses;
    /// [`LayoutError::ViewMisaligned`] if the offset or the stride of an axis longer than one is not a multiple of the new
    /// size; [`LayoutError::ZeroItemSize`], [`LayoutError::Overflow`].
    pub fn view_as(&self, from: usize, to: usize) -> Result<Self> {
        if from == 0 || to == 0 {
            return Err(LayoutError::ZeroItemSize { from, to });
        }
        if from == to {
            return Ok(self.clone());
        }
        let Some((&len, &stride)) = self.shape.last().zip(self.strides.last()) else {
            return Err(LayoutError::ViewZeroDim { from, to });
        };
        if len != 1 && self.size() != 0 && stride != 1 {
            return Err(LayoutError::ViewStrided { from, to, stride });
        }
        let overflow = || LayoutError::Overflow { shape: self.shape.to_vec(), itemsize: from };
        let row_bytes = len.checked_mul(from).ok_or_else(overflow)?;
        // For smaller elements, the new size must divide the old one; for larger elements, it must divide the bytes of
        // the last axis.
        let divided = if to < from { from } else { row_bytes };
        if !divided.is_multiple_of(to) {
            return Err(LayoutError::ViewItemSize { from, to, len });
        }
        let mut shape = self.shape.clone();
        let last = shape.len() - 1;
        shape[last] = row_bytes / to;
        let mut strides = self.whole_strides(last, from, to)?;
        strides.push(1);
        let offset_bytes = self.offset.checked_mul(from).ok_or_else(overflow)?;
        if self.size() != 0 && !offset_bytes.is_multiple_of(to) {
            return Err(LayoutError::ViewMisaligned { from, to, elements: self.offset as isize });
        }
        Self::with_strides(&shape, &strides, offset_bytes / to).map_err(|_| overflow())
    }

    /// Views one field of records of `from` bytes: elements of `to` bytes that start `at` bytes after each record. NumPy's
    /// `a["field"]`.
    ///
    /// ```
    /// use vkarray_layout::{Layout, Order, s};
    ///
    /// let x = Layout::contiguous(&[2, 3], Order::C)?;
    /// let y = x.field(12, 4, 8)?; // The last of three `f32`.
    /// assert_eq!((y.strides(), y.offset()), (&[9, 3][..], 2));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LayoutError::FieldOutOfBounds`] if the field ends outside the record; [`LayoutError::ViewMisaligned`] if the
    /// stride of an axis longer than one is not a multiple of the field's size; [`LayoutError::FieldMisaligned`] if the
    /// offset of the first field is not; [`LayoutError::ZeroItemSize`], [`LayoutError::Overflow`].
    pub fn field(&self, from: usize, to: usize, at: usize) -> Result<Self> {
        if from == 0 || to == 0 {
            return Err(LayoutError::ZeroItemSize { from, to });
        }
        if at.checked_add(to).is_none_or(|end| end > from) {
            return Err(LayoutError::FieldOutOfBounds { at, size: to, record: from });
        }
        let strides = self.whole_strides(self.ndim(), from, to)?;
        let overflow = || LayoutError::Overflow { shape: self.shape.to_vec(), itemsize: from };
        let start = self.offset.checked_mul(from).and_then(|bytes| bytes.checked_add(at)).ok_or_else(overflow)?;
        if !start.is_multiple_of(to) {
            return Err(LayoutError::FieldMisaligned { at: start, size: to });
        }
        // Without records there may be no memory behind the start, to which the field would move.
        let start = if self.size() == 0 { start - at } else { start };
        Self::with_strides(&self.shape, &strides, start / to).map_err(|_| overflow())
    }

    /// The strides of the first axes, which count elements of `from` bytes, in elements of `to` bytes.
    fn whole_strides(&self, n_axes: usize, from: usize, to: usize) -> Result<Strides> {
        let whole = |(&len, &stride): (&usize, &isize)| match whole_elements(stride, from, to) {
            None if self.size() != 0 && len > 1 => Err(LayoutError::ViewMisaligned { from, to, elements: stride }),
            // The stride of an axis of length one, or without elements, has no meaning.
            scaled => Ok(scaled.unwrap_or(0)),
        };
        self.shape.iter().zip(&self.strides).take(n_axes).map(whole).collect()
    }
}

/// Converts a number of elements of `from` bytes to a number of elements of `to` bytes, if it is an integer that fits.
fn whole_elements(count: isize, from: usize, to: usize) -> Option<isize> {
    let bytes = count as i128 * from as i128;
    let to = to as i128;
    if bytes % to == 0 { isize::try_from(bytes / to).ok() } else { None }
}
