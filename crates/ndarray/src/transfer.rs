//! Copies between host arrays and device arrays.
//!
//! What lies packed in the block is copied whole. A view with gaps is copied run by run of adjacent elements, so that
//! the elements between are neither read over the bus nor written.

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, IxDyn, ShapeBuilder};
use vkarray_driver::Stream;
use vkarray_kernel::Element;

use crate::array::DeviceNDArray;
use crate::error::{Error, Result};

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array to the host, on the default stream. Blocks until it is there.
    ///
    /// The host array is in F order if this array is F-contiguous and not C-contiguous, else in C order.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] or [`Error::Driver`] if staging or waiting fails.
    pub fn copy_to_host(&self) -> Result<ArrayD<T>> {
        self.copy_to_host_on(self.context().default_stream())
    }

    /// Copies the array to the host, in the order of `stream`. Otherwise as [`DeviceNDArray::copy_to_host`].
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host`], and [`Error::ForeignDevice`].
    pub fn copy_to_host_on(&self, stream: &Stream) -> Result<ArrayD<T>> {
        self.context().check_stream(stream)?;
        let mut values = vec![T::zeroed(); self.size()];
        let is_f_order = self.is_f_contiguous() && !self.is_c_contiguous();
        if is_f_order || self.is_c_contiguous() {
            self.block().copy_to_host(stream, self.byte_offset(), bytemuck::cast_slice_mut(&mut values))?;
        } else {
            let mut rest = values.as_mut_slice();
            for (offset, len) in self.layout().runs() {
                let (target, after) = rest.split_at_mut(len);
                self.block().copy_to_host(stream, bytes::<T>(offset), bytemuck::cast_slice_mut(target))?;
                rest = after;
            }
        }
        let shape = IxDyn(self.shape()).set_f(is_f_order);
        Ok(Array::from_shape_vec(shape, values).expect("one value was made for each element"))
    }

    /// Copies a host array of the same shape into this array, on the default stream. Returns when it has been read.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_from_host_on`].
    pub fn copy_from_host<S, D>(&self, host: &ArrayBase<S, D>) -> Result<()>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.copy_from_host_on(self.context().default_stream(), host)
    }

    /// Copies a host array of the same shape into this array, in the order of `stream`. Returns when it has been read.
    ///
    /// Either side may have gaps or reversed axes; what lies between this array's elements is not touched.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::ShapeMismatch`]; [`Error::SharedElements`] if several elements of this array share memory;
    /// [`Error::ForeignDevice`]; [`Error::Memory`] or [`Error::Driver`] if staging or sending fails.
    pub fn copy_from_host_on<S, D>(&self, stream: &Stream, host: &ArrayBase<S, D>) -> Result<()>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.context().check_stream(stream)?;
        self.check_writable()?;
        if host.shape() != self.shape() {
            return Err(Error::ShapeMismatch { host: host.shape().to_vec(), device: self.shape().to_vec() });
        }
        if self.layout().has_internal_overlap() {
            return Err(Error::SharedElements { shape: self.shape().to_vec(), strides: self.strides().to_vec() });
        }
        if self.is_c_contiguous() {
            let packed = host.as_standard_layout();
            let values = packed.as_slice().expect("it is in standard layout");
            return self.write(stream, self.offset(), values);
        }
        if self.is_f_contiguous() {
            let transposed = host.t();
            let packed = transposed.as_standard_layout();
            let values = packed.as_slice().expect("it is in standard layout");
            return self.write(stream, self.offset(), values);
        }
        let packed = host.as_standard_layout();
        let mut rest = packed.as_slice().expect("it is in standard layout");
        for (offset, len) in self.layout().runs() {
            let (values, after) = rest.split_at(len);
            self.write(stream, offset, values)?;
            rest = after;
        }
        Ok(())
    }

    fn write(&self, stream: &Stream, offset: usize, values: &[T]) -> Result<()> {
        Ok(self.block().copy_from_host(stream, bytes::<T>(offset), bytemuck::cast_slice(values))?)
    }

    fn byte_offset(&self) -> u64 {
        bytes::<T>(self.offset())
    }
}

/// Bytes of `n` elements.
fn bytes<T>(n: usize) -> u64 {
    n as u64 * size_of::<T>() as u64
}
