//! Elements from and to slices and vectors, in C order.
//!
//! A thin door to `transfer.rs`: the slice is seen as a host array of the device array's shape. One-dimensional arrays
//! are made from slices in `create.rs`.

use ndarray::{ArrayView, ArrayViewMut, IxDyn};
use vkarray_kernel::Element;

use super::DeviceNDArray;
use crate::context::Context;
use crate::context::check_fills;
use crate::error::Result;
use crate::layout::{Layout, Order};

const FILLS: &str = "there is one value for each element";

impl Context {
    /// Copies values, in C order, to a new array of that shape, on the default stream. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the values do not fill the shape; else as
    /// [`Context::to_device`].
    pub fn shaped_to_device<T: Element>(&self, values: &[T], shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        let shape = shape.as_ref();
        check_fills(&Layout::contiguous(shape, Order::C)?, values)?;
        self.to_device(&ArrayView::from_shape(IxDyn(shape), values).expect(FILLS))
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// Copies values, in C order, into this array, on the default stream. Returns when they have been read.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if they do not fill the array; else as
    /// [`DeviceNDArray::copy_from_host`].
    pub fn copy_from_slice(&self, values: &[T]) -> Result<()> {
        check_fills(self.layout(), values)?;
        self.copy_from_host(&ArrayView::from_shape(IxDyn(self.shape()), values).expect(FILLS))
    }

    /// Copies the elements, in C order, into a slice of as many values. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`](crate::Error::LengthMismatch) if the slice has more or fewer; else as
    /// [`DeviceNDArray::copy_to_host`].
    pub fn copy_to_slice(&self, values: &mut [T]) -> Result<()> {
        check_fills(self.layout(), values)?;
        self.copy_to_host_into(&mut ArrayViewMut::from_shape(IxDyn(self.shape()), values).expect(FILLS))
    }

    /// The elements, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.size()];
        self.copy_to_slice(&mut values)?;
        Ok(values)
    }
}
