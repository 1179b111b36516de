//! Views with the axes in another order, with more axes or with fewer.

use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::error::Result;
use vkarray_layout::{IntoAxis, IntoReshape};

impl<T: Element> DeviceNDArray<T> {
    /// Views the array with its axes in the given order, or reversed for `None`. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3, 4])?;
    /// assert_eq!(x.transpose(Some(&[2, 0, 1]))?.shape(), [4, 2, 3]);
    /// assert_eq!(x.transpose(None)?.shape(), [4, 3, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if `axes` is not a permutation of the axes.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().transpose(axes)?))
    }

    /// Views the array with its axes in reverse order. NumPy's `a.T`. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.t().to_vec()?, [0, 3, 1, 4, 2, 5]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn t(&self) -> Self {
        self.with_layout(self.layout().transpose(None).expect("reversing the axes cannot fail"))
    }

    /// Views the array with two axes exchanged.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3, 4])?;
    /// assert_eq!(x.swap_axes(0, -1)?.shape(), [4, 3, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an axis does not exist.
    #[doc(alias = "swapaxes")]
    pub fn swap_axes(&self, first: impl IntoAxis, second: impl IntoAxis) -> Result<Self> {
        Ok(self.with_layout(self.layout().swap_axes(first.into_axis(), second.into_axis())?))
    }

    /// Views the array with axis `from[k]` at position `to[k]`. The other axes keep their order. One axis needs no list.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3, 4])?;
    /// assert_eq!(x.move_axis(0, -1)?.shape(), [3, 4, 2]);
    /// assert_eq!(x.move_axis([0, 1], [2, 0])?.shape(), [3, 4, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the lists differ in length, or an axis does not exist or is named twice.
    #[doc(alias = "moveaxis")]
    pub fn move_axis(&self, from: impl IntoReshape, to: impl IntoReshape) -> Result<Self> {
        Ok(self.with_layout(self.layout().move_axis(&from.into_reshape(), &to.into_reshape())?))
    }

    /// Views the array without the named axes, which must have length one; `None` removes every such axis.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([1, 3, 1])?;
    /// assert_eq!(x.squeeze(None)?.shape(), [3]);
    /// assert_eq!(x.squeeze(Some(&[0]))?.shape(), [3, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if an axis is longer, does not exist or is named twice.
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self> {
        Ok(self.with_layout(self.layout().squeeze(axes)?))
    }

    /// Views the array with new axes of length one, at these positions of the result.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(3)?;
    /// assert_eq!(x.expand_dims(0)?.shape(), [1, 3]);
    /// assert_eq!(x.expand_dims([0, -1])?.shape(), [1, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the result has too many axes, or a position does not exist or is named
    /// twice.
    pub fn expand_dims(&self, axes: impl IntoReshape) -> Result<Self> {
        Ok(self.with_layout(self.layout().expand_dims(&axes.into_reshape())?))
    }

    /// Views the array with at least one axis. NumPy's `atleast_1d`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.full([], 1.0_f32)?.atleast_1d().shape(), [1]);
    /// assert_eq!(ctx.full(3, 1.0_f32)?.atleast_1d().shape(), [3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_1d(&self) -> Self {
        self.with_layout(self.layout().atleast_1d())
    }

    /// Views the array with at least two axes; new ones are in front. NumPy's `atleast_2d`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.full(3, 1.0_f32)?.atleast_2d().shape(), [1, 3]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_2d(&self) -> Self {
        self.with_layout(self.layout().atleast_2d())
    }

    /// Views the array with at least three axes: `(n,)` becomes `(1, n, 1)`, and `(m, n)` becomes `(m, n, 1)`. NumPy's
    /// `atleast_3d`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.full(3, 1.0_f32)?.atleast_3d().shape(), [1, 3, 1]);
    /// assert_eq!(ctx.full([2, 3], 1.0_f32)?.atleast_3d().shape(), [2, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn atleast_3d(&self) -> Self {
        self.with_layout(self.layout().atleast_3d())
    }
}
