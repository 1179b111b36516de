//! Views with another shape: reshape, ravel and broadcasting.

use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::error::Result;
use vkarray_layout::{IntoReshape, IntoShape, Order};

impl<T: Element> DeviceNDArray<T> {
    /// Views the elements, in C order, with another shape, one length of which may be -1. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?;
    /// let matrix = x.reshape([2, -1])?;
    /// assert_eq!(matrix.shape(), [2, 3]);
    /// matrix.fill(9)?; // The view shares the memory of `x`.
    /// assert_eq!(x.to_vec()?, [9; 6]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the numbers of elements differ, or if there is no such view without a
    /// copy; see [`DeviceNDArray::reshape_copy`].
    pub fn reshape(&self, shape: impl IntoReshape) -> Result<Self> {
        self.reshape_with_order(shape, Order::C)
    }

    /// Views the elements, in the given order, with another shape, one length of which may be -1. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape_with_order([2, 3], Order::F)?;
    /// assert_eq!(x.to_vec()?, [0, 2, 4, 1, 3, 5]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::reshape`].
    pub fn reshape_with_order(&self, shape: impl IntoReshape, order: Order) -> Result<Self> {
        Ok(self.with_layout(self.layout().reshape(shape, order)?))
    }

    /// Views all elements, in the given order, on one axis. Never copies.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert_eq!(x.ravel(Order::C)?.shape(), [6]);
    /// assert!(x.ravel(Order::F).is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the elements are not contiguous in that order.
    pub fn ravel(&self, order: Order) -> Result<Self> {
        Ok(self.with_layout(self.layout().ravel(order)?))
    }

    /// Views the elements repeated along new leading axes and along axes of length one. NumPy's rules. Never copies.
    ///
    /// Several elements of the view share memory, so copies into it are refused.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let row = ctx.slice_to_device(&[1, 2])?;
    /// assert_eq!(row.broadcast_to([2, 2])?.to_vec()?, [1, 2, 1, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if a length is neither one nor that of `shape`, or `shape` has fewer axes.
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Result<Self> {
        Ok(self.with_layout(self.layout().broadcast_to(shape.into_shape().as_ref())?))
    }
}
