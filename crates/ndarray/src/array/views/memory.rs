//! Views of an array's memory: other element types, fields of records, any strides; and whether two views overlap.

use std::sync::Arc;

use vkarray_kernel::Element;
use vkarray_layout::{IntoShape, Layout, LayoutError};

use crate::array::DeviceNDArray;
use crate::error::Result;

impl<T: Element> DeviceNDArray<T> {
    /// Views the same bytes as elements of another type. Where the sizes of the types differ, the length of the last
    /// axis changes.
    ///
    /// NumPy's rules apply, except that the new elements must lie at multiples of their size in the memory.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, -2.0])?;
    /// assert_eq!(x.view::<u32>()?.to_vec()?, [1.0_f32.to_bits(), (-2.0_f32).to_bits()]);
    /// assert_eq!(x.view::<u8>()?.shape(), [8]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the sizes differ and the last axis is not contiguous or its bytes are not a
    /// multiple of the new size, or there is no axis; or if an element would not lie at a multiple of its size.
    pub fn view<U: Element>(&self) -> Result<DeviceNDArray<U>> {
        Ok(self.with_layout(self.layout().view_as(size_of::<T>(), size_of::<U>())?))
    }

    /// Views one field of an array of records: the elements of type `U` that start `at` bytes after the start of each record,
    /// as [`std::mem::offset_of!`] gives it. NumPy's `a["field"]`. Never copies.
    ///
    /// ```
    /// use vkarray::array::Complex32;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[Complex32 { re: 1.0, im: -1.0 }, Complex32 { re: 2.0, im: -2.0 }])?;
    /// let imaginary = x.field::<f32>(4)?;
    /// assert_eq!(imaginary.to_vec()?, [-1.0, -2.0]);
    /// imaginary.fill(0.0)?;
    /// assert_eq!(x.get([1])?, Complex32 { re: 2.0, im: 0.0 });
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the field ends outside the record, or does not lie at a multiple of its
    /// size in every record.
    pub fn field<U: Element>(&self, at: usize) -> Result<DeviceNDArray<U>> {
        Ok(self.with_layout(self.layout().field(size_of::<T>(), size_of::<U>(), at)?))
    }

    /// Views the array's memory with any shape and strides, which are counted in elements, from this array's first element.
    /// NumPy's `as_strided`, but checked: every element must be in the memory that the array was created with. Never copies.
    ///
    /// The elements may overlap. Copies into such a view are refused, like copies into broadcast views.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 5, 1)?;
    /// let windows = x.as_strided([3, 3], &[1, 1])?; // Sliding windows of three elements.
    /// assert_eq!(windows.to_vec()?, [0, 1, 2, 1, 2, 3, 2, 3, 4]);
    /// assert!(windows.fill(0).is_err());
    /// assert!(x.as_strided([4, 3], &[1, 1]).is_err()); // Its last element would be outside.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an element is outside the memory, or the numbers of lengths and strides
    /// differ.
    pub fn as_strided(&self, shape: impl IntoShape, strides: &[isize]) -> Result<Self> {
        let shape = shape.into_shape();
        let layout = Layout::with_strides(shape.as_ref(), strides, self.offset())?;
        let (end, len) = (layout.extent().end, self.block().size() / size_of::<T>() as u64);
        if end as u64 > len {
            let (shape, strides) = (shape.as_ref().to_vec(), strides.to_vec());
            return Err(LayoutError::OutsideMemory { shape, strides, offset: self.offset(), end, len }.into());
        }
        Ok(self.with_layout(layout))
    }

    /// Whether the arrays have an element in common, so that writing to one changes the other. NumPy's `shares_memory`.
    ///
    /// `false` is always exact. For rare layouts of several axes `true` may be wrong; see
    /// [`Layout::overlaps`](crate::Layout::overlaps).
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?;
    /// let (even, odd) = (x.slice(s![..;2])?, x.slice(s![1..;2])?);
    /// assert!(x.overlaps(&odd) && !even.overlaps(&odd));
    /// # anyhow::Ok(())
    /// ```
    pub fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.block(), other.block()) && self.layout().overlaps(other.layout())
    }
}
