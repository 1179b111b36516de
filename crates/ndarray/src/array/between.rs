//! Copies between arrays of different contexts, on one device or on two.
//!
//! Only contiguous elements go from device to device: a view is packed on the source's device, and a target with gaps is filled
//! from a packed array on its own device. How bytes go from one device to another is decided in the allocator crate, in
//! `copy/between.rs`. Copies within a device are in `assign.rs`.

use std::sync::Arc;

use vkarray_allocator::BlockRange;
use vkarray_driver::Stream;
use vkarray_kernel::Element;
use vkarray_layout::{LayoutError, Order};

use super::{DeviceNDArray, OnStream};
use crate::context::Context;
use crate::error::Result;

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array to a new one of another context, on the default streams of both. Its axes are in the order of this
    /// array's strides, as with [`Context::device_array_like`].
    ///
    /// Returns when this array has been read, or at once if both contexts are of one opened device. Where both devices import
    /// host memory, a copy of more than 64 KiB returns when the new array is written.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (here, there) = (Context::open_default()?, Context::open_default()?); // The same GPU, or two.
    /// let x = here.arange(0, 6, 1)?.reshape([2, 3])?;
    /// let y = x.slice(s![.., ..;-2])?.copy_to_context(&there)?;
    /// assert_eq!(y.to_vec()?, [2, 0, 5, 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`] in the other context and of [`DeviceNDArray::copy_from_context`].
    #[doc(alias = "cudaMemcpyPeer")]
    pub fn copy_to_context(&self, context: &Context) -> Result<Self> {
        self.on_default().copy_to_context(context, context.default_stream())
    }

    /// Copies the elements of an array of the same shape, of another context, into this array, on the default streams of both.
    ///
    /// Either side may be a view, and memory of any kind. Blocks as [`DeviceNDArray::copy_to_context`] does.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (here, there) = (Context::open_default()?, Context::open_default()?);
    /// let (x, y) = (here.full(3, 7_u32)?, there.pinned_array::<u32>(3)?);
    /// y.copy_from_context(&x)?;
    /// assert_eq!(y.read_on_host()?.as_slice(), Some(&[7; 3][..]));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::copy_from_device`], and of copying to the host and from it. An error may leave a
    /// part of this array written; the source does not change.
    pub fn copy_from_context(&self, source: &Self) -> Result<()> {
        self.on_default().copy_from_context(&source.on_default())
    }

    /// The range of the block that the array's contiguous elements take.
    fn block_range<'a>(&'a self, stream: &'a Stream) -> BlockRange<'a> {
        let start = self.byte_offset();
        BlockRange { block: self.block(), range: start..start + self.nbytes(), stream }
    }

    /// Whether the elements are contiguous in some order of the axes, with positive strides.
    fn is_dense(&self) -> bool {
        self.layout().ravel(Order::K).is_ok()
    }
}

impl<T: Element> OnStream<'_, T> {
    /// Copies the array to a new one of another context, in the order of this stream and of `stream`, a stream of the
    /// other context. Blocks as [`DeviceNDArray::copy_to_context`] does.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (here, there) = (Context::open_default()?, Context::open_default()?);
    /// let (source, target) = (here.stream()?, there.stream()?);
    /// let x = here.full(3, 7_u32)?;
    /// let y = x.on(&source).copy_to_context(&there, &target)?;
    /// target.synchronize()?;
    /// assert_eq!(y.to_vec()?, [7; 3]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice) if `stream` is not of the device of `context`; and the
    /// errors of [`DeviceNDArray::copy_to_context`].
    pub fn copy_to_context(&self, context: &Context, stream: &Stream) -> Result<DeviceNDArray<T>> {
        let copy = context.device_array_like(self.array)?;
        copy.on(stream).copy_from_context(self)?;
        Ok(copy)
    }

    /// Copies the elements of an array of another context into this array, in the order of both streams. Blocks as
    /// [`DeviceNDArray::copy_from_context`] does.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (here, there) = (Context::open_default()?, Context::open_default()?);
    /// let (source, target) = (here.stream()?, there.stream()?);
    /// let (x, y) = (here.full([2, 2], 7_u32)?, there.zeros::<u32>([2, 2])?);
    /// y.on(&target).copy_from_context(&x.on(&source))?;
    /// assert_eq!(y.to_vec()?, [7; 4]); // On the default stream, after the copy.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ForeignDevice`](crate::Error::ForeignDevice) if a stream is not of its array's device; and the errors
    /// of [`DeviceNDArray::copy_from_context`].
    pub fn copy_from_context(&self, source: &OnStream<'_, T>) -> Result<()> {
        let (from, to) = (source.array, self.array);
        if from.shape() != to.shape() {
            return Err(LayoutError::ShapeMismatch { from: from.shape().to_vec(), to: to.shape().to_vec() }.into());
        }
        self.check_writable()?;
        source.check()?;
        if Arc::ptr_eq(from.context().device(), to.context().device()) {
            if let Some(waits) = source.stream.pending_wait()? {
                self.stream.wait_for(&waits)?;
            }
            return self.copy_from_device(from);
        }
        if from.size() == 0 {
            return Ok(());
        }
        if !to.is_dense() {
            let dense = to.context().device_array_like(to)?;
            dense.on(self.stream).copy_from_context(source)?;
            return self.copy_from_device(&dense);
        }
        if from.strides() == to.strides() {
            return Ok(from.block_range(source.stream).copy_to(&to.block_range(self.stream))?);
        }
        let alike = from.context().device_array_like(to)?;
        alike.on(source.stream).copy_from_device(from)?;
        Ok(alike.block_range(source.stream).copy_to(&to.block_range(self.stream))?)
    }
}
