//! Copies between arrays and slices or vectors, in C order.
//!
//! A slice is treated as a host array of the device array's shape and copied by `transfer.rs`.

use ndarray::{ArrayView, ArrayView1, ArrayViewMut, IxDyn};
use vkarray_kernel::Element;
use vkarray_layout::{IntoShape, Layout, Order};

use super::DeviceNDArray;
use super::transfer::{IS_FULL, host_values};
use crate::context::{Context, check_fills};
use crate::error::Result;

impl Context {
    /// Copies values to a one-dimensional array on the device, on the default stream. Returns when they have been read.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1.0_f32, 2.0, 3.0])?;
    /// assert_eq!((x.shape(), x.dtype()), (&[3][..], DType::F32));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::to_device`].
    #[doc(alias = "array")]
    #[doc(alias = "asarray")]
    pub fn slice_to_device<T: Element>(&self, values: &[T]) -> Result<DeviceNDArray<T>> {
        self.to_device(&ArrayView1::from(values))
    }

    /// Copies values, in C order, to a new array of this shape, on the default stream. Returns when they have been read.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.shaped_to_device(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// assert_eq!(x.get([1, 0])?, 4);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the number of values is not that of the shape; and
    /// the errors of [`Context::to_device`].
    pub fn shaped_to_device<T: Element>(&self, values: &[T], shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let shape = shape.into_shape();
        check_fills(&Layout::contiguous(shape.as_ref(), Order::C)?, values)?;
        self.to_device(&ArrayView::from_shape(IxDyn(shape.as_ref()), values).expect(IS_FULL))
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Copies values, in C order, into this array, on the default stream. Returns when they have been read.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<u8>([2, 2])?;
    /// x.copy_from_slice(&[1, 2, 3, 4])?;
    /// assert_eq!(x.t().to_vec()?, [1, 3, 2, 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the number of values is not that of the array; and
    /// the errors of [`DeviceNDArray::copy_from_host`].
    pub fn copy_from_slice(&self, values: &[T]) -> Result<()> {
        check_fills(self.layout(), values)?;
        self.copy_from_host(&ArrayView::from_shape(IxDyn(self.shape()), values).expect(IS_FULL))
    }

    /// Copies the elements, in C order, into a slice of as many values, on the default stream. Blocks until the copy is
    /// complete.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let mut values = [0.0; 3];
    /// ctx.full(3, 0.5_f32)?.copy_to_slice(&mut values)?;
    /// assert_eq!(values, [0.5; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the slice has another length; and the errors of
    /// [`DeviceNDArray::copy_to_host`].
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<()> {
        check_fills(self.layout(), values)?;
        self.copy_to_host_into(&mut ArrayViewMut::from_shape(IxDyn(self.shape()), values).expect(IS_FULL))
    }

    /// The elements in C order, copied on the default stream. Blocks until the copy is complete.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(5, 0, -2)?.to_vec()?, [5, 3, 1]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::copy_to_host`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = host_values(self.shape())?;
        self.copy_to_slice(&mut values)?;
        Ok(values)
    }
}
