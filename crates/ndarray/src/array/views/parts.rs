//! Views of parts of an array: slices, positions, diagonals, and the parts that a split gives.

use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use vkarray_layout::{Index, IntoAxis, IntoReshape, Layout};

impl<T: Element> DeviceNDArray<T> {
    /// Views a part of the array: an [`Index`] for each axis, best written with [`s!`](crate::s). Axes without one are taken
    /// whole. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 12, 1)?.reshape([3, 4])?;
    /// assert_eq!(x.slice(s![1.., ..;-2])?.to_vec()?, [7, 5, 11, 9]);
    /// assert_eq!(x.slice(s![-1])?.to_vec()?, [8, 9, 10, 11]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an index is out of range or there are too many.
    pub fn slice(&self, index: impl AsRef<[Index]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().slice(index.as_ref())?))
    }

    /// Views a part of one axis, and the others whole. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.slice_axis(-1, 1..)?.to_vec()?, [1, 2, 4, 5]);
    /// assert_eq!(x.slice_axis(1, Index::stepped(.., 2))?.to_vec()?, [0, 2, 3, 5]);
    /// assert_eq!(x.slice_axis(0, 1)?.shape(), [3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the axis does not exist, an integer is out of range, or the step is zero.
    pub fn slice_axis(&self, axis: impl IntoAxis, index: impl Into<Index>) -> Result<Self> {
        Ok(self.with_layout(self.layout().slice_axis(axis.into_axis(), index)?))
    }

    /// Views one position of the first axes, which are removed. An index for each axis leaves an array without axes, of one
    /// element. Negative indices count from the end.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.index(-1)?.to_vec()?, [3, 4, 5]);
    /// assert_eq!(x.index([0, 1])?.ndim(), 0);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an index is out of range or there are too many.
    pub fn index(&self, index: impl IntoReshape) -> Result<Self> {
        let index: Vec<_> = index.into_reshape().iter().map(|&at| Index::At(at)).collect();
        self.slice(&index)
    }

    /// Iterates over the first axis: a view of each of its positions, as iterating over an array in NumPy and numba does.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([3, 2])?;
    /// for (i, row) in (0..).zip(x.outer_iter()?) {
    ///     assert_eq!(row.to_vec()?, [2 * i, 2 * i + 1]);
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`] for an array without axes.
    pub fn outer_iter(&self) -> Result<impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + use<'_, T>> {
        let Some(&len) = self.shape().first() else { return Err(Error::NoAxis { operation: "outer_iter" }) };
        Ok((0..len).map(|at| {
            let layout = self.layout().slice(&[Index::from(at)]).expect("the position is on the axis");
            self.with_layout(layout)
        }))
    }

    /// Views the elements with the named axes reversed; `None` reverses all. NumPy's `flip`. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.flip(Some(&[1]))?.to_vec()?, [2, 1, 0, 5, 4, 3]);
    /// assert_eq!(x.flip(None)?.to_vec()?, [5, 4, 3, 2, 1, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an axis does not exist or is named twice.
    pub fn flip(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().flip(axes)?))
    }

    /// Views a diagonal of two axes, which become one last axis: the elements whose index on `second` is `shift` larger
    /// than their index on `first`. NumPy's `diagonal`. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 9, 1)?.reshape([3, 3])?;
    /// assert_eq!(x.diagonal(0, 0, 1)?.to_vec()?, [0, 4, 8]);
    /// assert_eq!(x.diagonal(-1, 0, 1)?.to_vec()?, [3, 7]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if there are fewer than two axes, or an axis does not exist or is named twice.
    pub fn diagonal(&self, shift: isize, first: impl IntoAxis, second: impl IntoAxis) -> Result<Self> {
        Ok(self.with_layout(self.layout().diagonal(shift, first.into_axis(), second.into_axis())?))
    }

    /// Splits an array of one axis into views of `len` elements; the last may be shorter. numba's `split`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = ctx.arange(0, 5, 1)?.split(2)?;
    /// assert_eq!(parts.len(), 3);
    /// assert_eq!(parts[2].to_vec()?, [4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if there is not exactly one axis, or `len` is zero.
    pub fn split(&self, len: usize) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().split(len)?))
    }

    /// Splits an axis into this many views; if the length is not a multiple, the first views are one longer. NumPy's
    /// `array_split` with a number.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = ctx.arange(0, 5, 1)?.array_split(2, 0)?;
    /// assert_eq!((parts[0].to_vec()?, parts[1].to_vec()?), (vec![0, 1, 2], vec![3, 4]));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the axis does not exist, or `sections` is zero.
    pub fn array_split(&self, sections: usize, axis: impl IntoAxis) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().array_split(sections, axis.into_axis())?))
    }

    /// Splits an axis into this many views of equal length. NumPy's `split` with a number.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?;
    /// assert_eq!(x.split_equally(3, 0)?[1].to_vec()?, [2, 3]);
    /// assert!(x.split_equally(4, 0).is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the length is not a multiple of `sections`, the axis does not exist, or
    /// `sections` is zero.
    pub fn split_equally(&self, sections: usize, axis: impl IntoAxis) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().split_equally(sections, axis.into_axis())?))
    }

    /// Splits an axis before each of these positions, which are clipped and may be negative as in a slice. NumPy's `split` with
    /// a list.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let parts = ctx.arange(0, 6, 1)?.split_at([1, -1], 0)?;
    /// assert_eq!(parts[1].to_vec()?, [1, 2, 3, 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the axis does not exist.
    pub fn split_at(&self, positions: impl IntoReshape, axis: impl IntoAxis) -> Result<Vec<Self>> {
        Ok(self.with_layouts(self.layout().split_at(&positions.into_reshape(), axis.into_axis())?))
    }

    fn with_layouts(&self, layouts: Vec<Layout>) -> Vec<Self> {
        layouts.into_iter().map(|layout| self.with_layout(layout)).collect()
    }
}
