//! Copies between host arrays and device arrays.
//!
//! Only contiguous elements cross the bus. A device array that is not contiguous is copied to a contiguous one on the device
//! before it is sent, and filled from one after it is received, so that memory between its elements is neither sent nor
//! written. A host array that is not contiguous is packed on the host. Copies that do not block are in `pending.rs`;
//! copies on the device in `assign.rs`; slices and vectors in `flat.rs`.

use std::borrow::Cow;

use ndarray::{Array, ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension, IxDyn, ShapeBuilder};
use vkarray_kernel::{DType, Element};
use vkarray_layout::{IntoReshape, Order};

use super::DeviceNDArray;
use crate::error::{Error, Result};

pub(super) const IS_FULL: &str = "there is one value for each element";

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array to the host, on the default stream. Blocks until the elements are on the host.
    ///
    /// The host array is in F order if this array is F-contiguous and not C-contiguous, otherwise in C order. Its number of
    /// axes is known only at run time; see [`DeviceNDArray::copy_to_host_as`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// let host = x.copy_to_host()?;
    /// assert_eq!(host.shape(), [2, 3]);
    /// assert_eq!(host[[1, 2]], 5);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`] if the host has no memory for the elements; [`Error::Memory`], [`Error::Kernel`] or
    /// [`Error::Driver`] if copying, staging or waiting fails.
    #[doc(alias = "asnumpy")]
    pub fn copy_to_host(&self) -> Result<ArrayD<T>> {
        let order = self.host_order();
        let mut values = host_values(self.shape())?;
        self.read(order, &mut values)?;
        Ok(host_array(self.shape(), order, values))
    }

    /// Copies the array to a host array whose number of axes is part of its type, on the default stream. Blocks until the
    /// elements are on the host. The order of the host array is the order of [`DeviceNDArray::copy_to_host`].
    ///
    /// ```
    /// use vkarray::ndarray::Ix2;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 4.0, 1.0)?.reshape([2, 2])?;
    /// let host = x.copy_to_host_as::<Ix2>()?; // An `Array2<f32>`.
    /// assert_eq!(host.dot(&host)[(1, 0)], 6.0);
    /// assert!(x.copy_to_host_as::<vkarray::ndarray::Ix1>().is_err());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::RankMismatch`] if the array has another number of axes than `D`; and the errors of
    /// [`DeviceNDArray::copy_to_host`].
    pub fn copy_to_host_as<D: Dimension>(&self) -> Result<Array<T, D>> {
        let shape = self.shape();
        match D::NDIM {
            Some(expected) if expected != shape.len() => Err(Error::RankMismatch { expected, shape: shape.to_vec() }),
            _ => Ok(self.copy_to_host()?.into_dimensionality().expect("the number of axes is checked")),
        }
    }

    /// Copies the array into a host array of the same shape, on the default stream. Blocks until the copy is complete.
    ///
    /// Either side may have any strides; memory between the host array's elements is not changed. A host array that is not
    /// contiguous is filled from a contiguous copy on the host.
    ///
    /// ```
    /// use vkarray::ndarray::Array2;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let mut host = Array2::zeros([3, 2]);
    /// ctx.full([3, 2], 1.5_f64)?.copy_to_host_into(&mut host)?;
    /// assert_eq!(host.sum(), 9.0);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ShapeMismatch`]; and the errors of [`DeviceNDArray::copy_to_host`].
    pub fn copy_to_host_into<S, D>(&self, host: &mut ArrayBase<S, D>) -> Result<()>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
    {
        self.check_host_shape(host.shape())?;
        if let Some(values) = host.as_slice_mut() {
            return self.read(Order::C, values);
        }
        let mut transposed = host.view_mut().reversed_axes();
        if let Some(values) = transposed.as_slice_mut() {
            return self.read(Order::F, values);
        }
        let mut values = host_values(self.shape())?;
        self.read(Order::C, &mut values)?;
        let packed = ArrayViewD::from_shape(self.shape(), &values).expect(IS_FULL);
        host.view_mut().into_dyn().assign(&packed);
        Ok(())
    }

    /// Copies a host array of the same shape into this array, on the default stream. Returns when the host array has
    /// been read.
    ///
    /// Either side may have any strides; memory between this array's elements is not changed.
    ///
    /// ```
    /// use vkarray::ndarray::arr2;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<u32>([2, 2])?;
    /// x.copy_from_host(&arr2(&[[1, 2], [3, 4]]))?;
    /// assert_eq!(x.to_vec()?, [1, 2, 3, 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::ShapeMismatch`]; [`Error::SharedElements`] if several elements of this array share
    /// memory; [`Error::Memory`], [`Error::Kernel`] or [`Error::Driver`] if staging or submitting fails.
    pub fn copy_from_host<S, D>(&self, host: &ArrayBase<S, D>) -> Result<()>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.check_host_shape(host.shape())?;
        self.check_writable()?;
        if self.host_order() == Order::F {
            return self.write(&packed_values(host.t().into_dyn())?);
        }
        let values = packed_values(host.view().into_dyn())?;
        if self.is_c_contiguous() {
            return self.write(&values);
        }
        let temporary = self.context().device_array::<T>(self.shape())?.on(self.stream());
        temporary.write(&values)?;
        self.copy_from_device(&temporary)
    }

    /// Reads one element; negative indices count from the end. Blocks until all work on the element is complete. The
    /// index is a number, or a list of numbers of any of the types of [`IntoReshape`]; `()` is the index of an array
    /// without axes.
    ///
    /// Each call waits for the device and crosses the bus, which takes microseconds. Read many elements with
    /// [`DeviceNDArray::copy_to_host`].
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    /// assert_eq!(x.get([1, -1])?, 5);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] for too many or too few indices and for one out of range; [`Error::Memory`], [`Error::Kernel`] or
    /// [`Error::Driver`] if staging, the kernel that copies, or waiting fails.
    pub fn get(&self, index: impl IntoReshape) -> Result<T> {
        let (offset, mut value) = (self.layout().offset_of(&index.into_reshape())?, T::zeroed());
        self.check_stream()?;
        let target = bytemuck::bytes_of_mut(&mut value);
        self.context().copy_to_host(self.stream(), self.block(), bytes::<T>(offset), target)?;
        Ok(value)
    }

    /// The only element of an array that has one, such as the result of a reduction over all axes. Blocks until the
    /// element is on the host.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.full([1, 1], 2.5_f32)?.item()?, 2.5);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if it has another number of elements; and the errors of [`DeviceNDArray::get`].
    pub fn item(&self) -> Result<T> {
        if self.size() != 1 {
            let (expected, shape) = (self.size(), self.shape().to_vec());
            return Err(Error::LengthMismatch { given: 1, expected, shape, dtype: self.dtype() });
        }
        self.get(vec![0_usize; self.ndim()])
    }

    /// Writes one element; negative indices count from the end. Returns when the value has been read.
    ///
    /// Each call is a copy of its own. Write many elements with [`DeviceNDArray::copy_from_host`], or with
    /// [`DeviceNDArray::fill`] if they are equal.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<i32>([2, 2])?;
    /// x.set([0, -1], 9)?;
    /// assert_eq!(x.to_vec()?, [0, 9, 0, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::SharedElements`] if several elements share memory; and the errors of
    /// [`DeviceNDArray::get`].
    pub fn set(&self, index: impl IntoReshape, value: T) -> Result<()> {
        let offset = self.layout().offset_of(&index.into_reshape())?;
        self.check_writable()?;
        self.check_stream()?;
        Ok(self.block().copy_from_host(self.stream(), bytes::<T>(offset), bytemuck::bytes_of(&value))?)
    }

    /// The order in which the elements are copied to the host.
    pub(super) fn host_order(&self) -> Order {
        if self.is_f_contiguous() && !self.is_c_contiguous() { Order::F } else { Order::C }
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

    /// Reads all elements in the given order, C or F.
    fn read(&self, order: Order, values: &mut [T]) -> Result<()> {
        let packed = self.to_contiguous(order)?;
        let (block, bytes) = (packed.block(), bytemuck::cast_slice_mut(values));
        packed.context().copy_to_host(self.stream(), block, packed.byte_offset(), bytes)
    }

    /// Writes all elements of a contiguous array, in the order of its memory.
    fn write(&self, values: &[T]) -> Result<()> {
        Ok(self.block().copy_from_host(self.stream(), self.byte_offset(), bytemuck::cast_slice(values))?)
    }
}

/// A zero for each element of a shape, or the error that the host has no memory for them.
pub(crate) fn host_values<T: Element>(shape: &[usize]) -> Result<Vec<T>> {
    let no_memory = || Error::HostMemory { shape: shape.to_vec(), dtype: DType::of::<T>() };
    let size = shape.iter().try_fold(1, |size: usize, &len| size.checked_mul(len)).ok_or_else(no_memory)?;
    bytemuck::allocation::try_zeroed_vec(size).map_err(|()| no_memory())
}

/// Values for `len` elements on the host, or the error that the host has no memory for them.
///
/// # Errors
///
/// [`Error::HostMemory`].
pub(crate) fn collect_values<T: Element>(len: usize, from: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let no_memory = |_| Error::HostMemory { shape: vec![len], dtype: DType::of::<T>() };
    values.try_reserve_exact(len).map_err(no_memory)?;
    values.extend(from);
    Ok(values)
}

/// The elements of a host array in C order: its own memory, or a copy.
fn packed_values<T: Element>(host: ArrayViewD<'_, T>) -> Result<Cow<'_, [T]>> {
    if let Some(values) = host.to_slice() {
        return Ok(Cow::Borrowed(values));
    }
    let mut values = host_values(host.shape())?;
    ArrayViewMutD::from_shape(host.shape(), &mut values).expect(IS_FULL).assign(&host);
    Ok(Cow::Owned(values))
}

/// A host array of values in the given order, one for each element.
pub(super) fn host_array<T>(shape: &[usize], order: Order, values: Vec<T>) -> ArrayD<T> {
    let shape = IxDyn(shape).set_f(order == Order::F);
    Array::from_shape_vec(shape, values).expect(IS_FULL)
}

/// Bytes of `n` elements.
fn bytes<T>(n: usize) -> u64 {
    n as u64 * size_of::<T>() as u64
}
