//! How arrays come to be: uninitialised, filled, or from host data.

use ndarray::{ArrayBase, Data, Dimension};
use smallvec::SmallVec;
use vkarray_allocator::{BlockLabel, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::layout::{Layout, Order};

impl Context {
    /// Creates an array in C order. Its contents are undefined. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] if the shape cannot be addressed, [`Error::Memory`] if there is no room.
    pub fn device_array<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        self.device_array_with_order(shape, Order::C)
    }

    /// Creates an array in the given order. Its contents are undefined. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn device_array_with_order<T: Element>(
        &self,
        shape: impl AsRef<[usize]>,
        order: Order,
    ) -> Result<DeviceNDArray<T>> {
        let shape = shape.as_ref();
        // The usual case is one straight line, of which little is left where the compiler knows how many axes there are.
        if order == Order::C
            && let Some(layout) = Layout::inline_contiguous(shape)
        {
            return self.allocate(shape, layout, true);
        }
        self.allocate_any(Layout::contiguous(shape, order)?)
    }

    /// Creates an array of the same shape, packed in the order of `like`'s strides: NumPy's order 'K'. Its contents are
    /// undefined.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn device_array_like<T: Element, U: Element>(&self, like: &DeviceNDArray<U>) -> Result<DeviceNDArray<T>> {
        self.allocate_any(like.layout().like())
    }

    /// Creates an array of zeros in C order, on the default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`].
    pub fn zeros<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<DeviceNDArray<T>> {
        self.full(shape, T::zeroed())
    }

    /// Creates an array in C order that holds `value` everywhere, on the default stream.
    ///
    /// Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`] and [`DeviceNDArray::fill`].
    pub fn full<T: Element>(&self, shape: impl AsRef<[usize]>, value: T) -> Result<DeviceNDArray<T>> {
        let array = self.device_array::<T>(shape)?;
        array.fill(value)?;
        Ok(array)
    }

    /// Creates an array of zeros of the same shape, packed in the order of `like`'s strides, on the default stream.
    ///
    /// # Errors
    ///
    /// As [`Context::full`].
    pub fn zeros_like<T: Element, U: Element>(&self, like: &DeviceNDArray<U>) -> Result<DeviceNDArray<T>> {
        self.full_like(like, T::zeroed())
    }

    /// Creates an array of the same shape that holds `value` everywhere, packed in the order of `like`'s strides, on the
    /// default stream. Returns at once.
    ///
    /// # Errors
    ///
    /// As [`Context::full`].
    pub fn full_like<T: Element, U: Element>(&self, like: &DeviceNDArray<U>, value: T) -> Result<DeviceNDArray<T>> {
        let array = self.device_array_like(like)?;
        array.fill(value)?;
        Ok(array)
    }

    /// Copies a host array to the device, on the default stream. Returns when the host array has been read.
    ///
    /// C and F order are kept; an array with gaps or reversed axes is packed in C order.
    ///
    /// # Errors
    ///
    /// As [`Context::device_array`], and [`Error::Driver`] if sending fails.
    pub fn to_device<T, S, D>(&self, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.to_device_on(self.default_stream(), host)
    }

    /// Copies a host array to the device, in the order of `stream`. Otherwise as [`Context::to_device`].
    ///
    /// # Errors
    ///
    /// As [`Context::to_device`], and [`Error::ForeignDevice`].
    pub fn to_device_on<T, S, D>(&self, stream: &Stream, host: &ArrayBase<S, D>) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        S: Data<Elem = T>,
        D: Dimension,
    {
        self.check_stream(stream)?;
        let is_f_order = host.ndim() > 1 && !host.is_standard_layout() && host.t().is_standard_layout();
        let order = if is_f_order { Order::F } else { Order::C };
        let array = self.device_array_with_order::<T>(host.shape(), order)?;
        array.copy_from_host_on(stream, host)?;
        Ok(array)
    }

    /// Copies values to a one-dimensional array on the device, on the default stream.
    ///
    /// # Errors
    ///
    /// As [`Context::to_device`].
    pub fn slice_to_device<T: Element>(&self, values: &[T]) -> Result<DeviceNDArray<T>> {
        self.to_device(&ndarray::ArrayView1::from(values))
    }

    /// Allocates what a packed layout takes.
    fn allocate_any<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let (shape, is_contiguous) = (SmallVec::<[usize; 8]>::from_slice(layout.shape()), layout.is_c_contiguous());
        self.allocate(&shape, layout, is_contiguous)
    }

    /// Allocates what a packed layout of that shape takes.
    #[inline(always)] // It has two callers, and the one that matters knows the shape.
    fn allocate<T: Element>(&self, shape: &[usize], layout: Layout, is_contiguous: bool) -> Result<DeviceNDArray<T>> {
        let nbytes = layout.bytes(shape.iter().product(), size_of::<T>())?;
        let (context, label) = (self.held(), BlockLabel::array(DType::of::<T>().short_name(), shape));
        let block = context.allocator().allocate_labelled(nbytes, MemoryKind::Device, label)?;
        Ok(DeviceNDArray::packed(context, block, layout, nbytes, is_contiguous))
    }
}
