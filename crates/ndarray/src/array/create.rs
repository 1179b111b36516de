//! How arrays are created: uninitialised, filled, or from host arrays.
//!
//! Arrays with the shape of other arrays are in `like.rs`, ranges of numbers in `range/`, arrays from slices in
//! `flat.rs`, arrays in memory that the host addresses in `host.rs`.

use ndarray::{ArrayBase, Axis, Data, Dimension, Slice};
use smallvec::SmallVec;
use vkarray_allocator::{BlockLabel, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};
use vkarray_layout::{IntoShape, Layout, Order};

use super::range::Number;
use super::{DeviceNDArray, Extent};
use crate::context::Context;
use crate::error::Result;

impl Context {
    /// Creates an array in C order. Its contents are undefined. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.device_array::<f32>([2, 3])?;
    /// assert_eq!((x.shape(), x.nbytes()), (&[2, 3][..], 24));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if the shape has too many elements or axes,
    /// [`Error::Memory`](crate::Error::Memory) if there is not enough memory.
    #[doc(alias = "empty")]
    pub fn device_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.device_array_with_order(shape, Order::C)
    }

    /// Creates an array in the given order, C or F. Its contents are undefined. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.device_array_with_order::<f32>([2, 3], Order::F)?;
    /// assert_eq!(x.strides(), [1, 2]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    pub fn device_array_with_order<T: Element>(&self, shape: impl IntoShape, order: Order) -> Result<DeviceNDArray<T>> {
        let shape = shape.into_shape();
        let shape = shape.as_ref();
        // The most common case has no loops or calls where the number of axes is a constant.
        if order == Order::C
            && let Some(layout) = Layout::inline_contiguous(shape)
        {
            return self.allocate(shape, layout, true);
        }
        self.allocate_any(Layout::contiguous(shape, order)?)
    }

    /// Creates an array with these strides, in elements, such as a matrix whose rows are padded. The contents are
    /// undefined, and the array has as much memory as its elements span. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.device_array_with_strides::<f32>([3, 5], &[8, 1])?; // Each row starts at a multiple of 8.
    /// assert_eq!((x.strides(), x.block().size()), (&[8, 1][..], 4 * (2 * 8 + 5)));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) if there is not one stride for each axis; and the errors of
    /// [`Context::device_array`].
    pub fn device_array_with_strides<T: Element>(
        &self,
        shape: impl IntoShape,
        strides: &[isize],
    ) -> Result<DeviceNDArray<T>> {
        let shape = shape.into_shape();
        let layout = Layout::from_lowest(shape.as_ref(), strides)?;
        let block = self.allocator().allocate(layout.span_bytes(size_of::<T>())?, MemoryKind::Device)?;
        DeviceNDArray::new(self, block, layout)
    }

    /// Creates an array of zeros in C order, on the default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<i16>(3)?.to_vec()?, [0, 0, 0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`] and [`DeviceNDArray::fill`].
    pub fn zeros<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.full(shape, T::zeroed())
    }

    /// Creates an array of ones in C order, on the default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.ones::<f32>([1, 2])?.to_vec()?, [1.0, 1.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`] and [`DeviceNDArray::fill`].
    pub fn ones<T: Number>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.full(shape, T::one())
    }

    /// Creates an array in C order with `value` in every element, on the default stream. Returns at once.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.full([2, 2], 7_u64)?.to_vec()?, [7; 4]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`] and [`DeviceNDArray::fill`].
    pub fn full<T: Element>(&self, shape: impl IntoShape, value: T) -> Result<DeviceNDArray<T>> {
        let array = self.device_array::<T>(shape)?;
        array.fill_new(value)?;
        Ok(array)
    }

    /// Copies a host array to the device, on the default stream. Returns when the host array has been read.
    ///
    /// C and F order are kept; a host array that is not contiguous becomes an array in C order. Axes that the host
    /// array repeats (broadcasting, stride 0) are repeated on the device too: one copy of their elements is sent and
    /// stored.
    ///
    /// ```
    /// use vkarray::ndarray::arr2;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.to_device(&arr2(&[[1.0_f32, 2.0], [3.0, 4.0]]))?;
    /// assert_eq!(x.get([1, 0])?, 3.0);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`] and [`DeviceNDArray::copy_from_host`].
    pub fn to_device<T, S, D>(&self, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.to_device_on(self.default_stream(), host)
    }

    /// Copies a host array to the device, on `stream`. Order and repeated axes are treated as in
    /// [`Context::to_device`].
    ///
    /// ```
    /// use vkarray::ndarray::arr1;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let stream = ctx.stream()?;
    /// let x = ctx.to_device_on(&stream, &arr1(&[1, 2, 3]))?;
    /// assert_eq!(x.to_vec()?, [1, 2, 3]); // On the default stream, after the copy.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice) for a stream of another device; and the errors of
    /// [`Context::to_device`].
    pub fn to_device_on<T, S, D>(&self, stream: &Stream, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.check_stream(stream)?;
        let is_repeated = |axis: usize| host.strides()[axis] == 0 && host.shape()[axis] > 1;
        if !host.is_empty() && (0..host.ndim()).any(is_repeated) {
            let mut once = host.view().into_dyn();
            (0..host.ndim())
                .filter(|&axis| is_repeated(axis))
                .for_each(|axis| once.slice_axis_inplace(Axis(axis), Slice::from(..1)));
            let stored = self.to_device_on::<T, _, _>(stream, &once)?;
            return Ok(stored.with_layout(stored.layout().broadcast_to(host.shape())?));
        }
        let is_f_order = host.ndim() > 1 && !host.is_standard_layout() && host.t().is_standard_layout();
        let order = if is_f_order { Order::F } else { Order::C };
        let array = self.device_array_with_order::<T>(host.shape(), order)?;
        array.on(stream).copy_from_host(host)?;
        Ok(array)
    }

    /// Allocates memory for a contiguous layout.
    pub(super) fn allocate_any<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let (shape, is_contiguous) = (SmallVec::<[usize; 8]>::from_slice(layout.shape()), layout.is_c_contiguous());
        self.allocate(&shape, layout, is_contiguous)
    }

    /// Allocates memory for a contiguous layout of this shape.
    #[inline(always)] // Inlined, so that a caller with a shape of fixed length is compiled for that length.
    fn allocate<T: Element>(&self, shape: &[usize], layout: Layout, is_contiguous: bool) -> Result<DeviceNDArray<T>> {
        let nbytes = layout.bytes(shape.iter().product(), size_of::<T>())?;
        let (context, label) = (self.for_array(), BlockLabel::array(DType::of::<T>().short_name(), shape));
        let block = context.allocator().allocate_labelled(nbytes, MemoryKind::Device, label)?;
        Ok(DeviceNDArray::with_extent(context, block, layout, Extent { nbytes, offset: 0, is_contiguous }))
    }
}
