//! Copies between host arrays and device arrays.
//!
//! What crosses the bus is packed: a view with gaps is gathered to a packed array on the device first, and scattered
//! from one after, so that the elements between are neither sent nor written. A host array with gaps is packed on the
//! host. Copies that do not block are in `pending.rs`; copies on the device in `assign.rs`.

use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, Data, DataMut, Dimension, IxDyn, ShapeBuilder};
use vkarray_driver::Stream;
use vkarray_kernel::Element;

use super::DeviceNDArray;
use crate::error::{Error, Result};
use crate::layout::Order;

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array to the host, on the default stream. Blocks until it is there.
    ///
    /// The host array is in F order if this array is F-contiguous and not C-contiguous, else in C order.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host_on`].
    pub fn copy_to_host(&self) -> Result<ArrayD<T>> {
        self.copy_to_host_on(self.context().default_stream())
    }

    /// Copies the array to the host, in the order of `stream`. Otherwise as [`DeviceNDArray::copy_to_host`].
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if packing, staging or waiting
    /// fails.
    pub fn copy_to_host_on(&self, stream: &Stream) -> Result<ArrayD<T>> {
        let order = self.host_order();
        let mut values = vec![T::zeroed(); self.size()];
        self.read(stream, order, &mut values)?;
        Ok(host_array(self.shape(), order, values))
    }

    /// Copies the array into a host array of the same shape, on the default stream. Blocks until it is there.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host_into_on`].
    pub fn copy_to_host_into<S, D>(&self, host: &mut ArrayBase<S, D>) -> Result<()>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
    {
        self.copy_to_host_into_on(self.context().default_stream(), host)
    }

    /// Copies the array into a host array of the same shape, in the order of `stream`. Blocks until it is there.
    ///
    /// Either side may have gaps or reversed axes; what lies between the host array's elements is not touched. A host
    /// array with gaps costs a packed copy on the host.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeMismatch`]; else as [`DeviceNDArray::copy_to_host_on`].
    pub fn copy_to_host_into_on<S, D>(&self, stream: &Stream, host: &mut ArrayBase<S, D>) -> Result<()>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
    {
        self.check_host_shape(host.shape())?;
        if let Some(values) = host.as_slice_mut() {
            return self.read(stream, Order::C, values);
        }
        let mut turned = host.view_mut().reversed_axes();
        if let Some(values) = turned.as_slice_mut() {
            return self.read(stream, Order::F, values);
        }
        let mut values = vec![T::zeroed(); self.size()];
        self.read(stream, Order::C, &mut values)?;
        let packed = ArrayViewD::from_shape(self.shape(), &values).expect("one value was made for each element");
        host.view_mut().into_dyn().assign(&packed);
        Ok(())
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
    /// [`Error::ReadOnly`]; [`Error::ShapeMismatch`]; [`Error::SharedElements`] if several elements of this array share
    /// memory; [`Error::ForeignDevice`]; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if staging or sending fails.
    pub fn copy_from_host_on<S, D>(&self, stream: &Stream, host: &ArrayBase<S, D>) -> Result<()>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.check_host_shape(host.shape())?;
        self.check_writable_on(stream)?;
        if self.is_f_contiguous() && !self.is_c_contiguous() {
            let transposed = host.t();
            let packed = transposed.as_standard_layout();
            return self.write(stream, packed.as_slice().expect("it is in standard layout"));
        }
        let packed = host.as_standard_layout();
        let values = packed.as_slice().expect("it is in standard layout");
        if self.is_c_contiguous() {
            return self.write(stream, values);
        }
        let between = self.context().device_array::<T>(self.shape())?;
        between.write(stream, values)?;
        self.copy_from_device_on(stream, &between)
    }

    /// Reads one element; negative indices count from the end. Blocks until all work on it is done.
    ///
    /// Slow: each call waits for the device and crosses the bus. Read a whole array with
    /// [`DeviceNDArray::copy_to_host`].
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] for too many or too few indices and for one out of range; [`Error::Memory`] or
    /// [`Error::Driver`] if staging or waiting fails.
    pub fn get(&self, index: impl AsRef<[isize]>) -> Result<T> {
        let (at, mut value) = (self.layout().offset_of(index.as_ref())?, T::zeroed());
        self.block().copy_to_host(
            self.context().default_stream(),
            bytes::<T>(at),
            bytemuck::bytes_of_mut(&mut value),
        )?;
        Ok(value)
    }

    /// Writes one element; negative indices count from the end. Returns when the value has been read.
    ///
    /// Slow: each call is a copy of its own. Write many elements with [`DeviceNDArray::copy_from_host`], or with
    /// [`DeviceNDArray::fill`] if they are equal.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::get`]; [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements share memory.
    pub fn set(&self, index: impl AsRef<[isize]>, value: T) -> Result<()> {
        let (at, stream) = (self.layout().offset_of(index.as_ref())?, self.context().default_stream());
        self.check_writable_on(stream)?;
        Ok(self.block().copy_from_host(stream, bytes::<T>(at), bytemuck::bytes_of(&value))?)
    }

    /// The order in which the array goes to the host without being turned.
    pub(crate) fn host_order(&self) -> Order {
        if self.is_f_contiguous() && !self.is_c_contiguous() { Order::F } else { Order::C }
    }

    /// Reads all elements in the given order, C or F.
    fn read(&self, stream: &Stream, order: Order, values: &mut [T]) -> Result<()> {
        let packed = self.to_contiguous_on(stream, order)?;
        packed.block().copy_to_host(stream, packed.byte_offset(), bytemuck::cast_slice_mut(values))?;
        Ok(())
    }

    /// Writes all elements in the order in which they are packed.
    fn write(&self, stream: &Stream, values: &[T]) -> Result<()> {
        Ok(self.block().copy_from_host(stream, self.byte_offset(), bytemuck::cast_slice(values))?)
    }

    fn check_host_shape(&self, host: &[usize]) -> Result<()> {
        if host == self.shape() {
            return Ok(());
        }
        Err(Error::ShapeMismatch { host: host.to_vec(), device: self.shape().to_vec() })
    }

    pub(crate) fn byte_offset(&self) -> u64 {
        bytes::<T>(self.offset())
    }
}

/// A host array of values in the given order, one for each element.
pub(crate) fn host_array<T>(shape: &[usize], order: Order, values: Vec<T>) -> ArrayD<T> {
    let shape = IxDyn(shape).set_f(order == Order::F);
    Array::from_shape_vec(shape, values).expect("one value was made for each element")
}

/// Bytes of `n` elements.
fn bytes<T>(n: usize) -> u64 {
    n as u64 * size_of::<T>() as u64
}
