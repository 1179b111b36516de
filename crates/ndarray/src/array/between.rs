//! Copies between arrays of different contexts, on one device or on two.
//!
//! Only contiguous elements go from device to device: a view is packed on the source's device, and a target with gaps is filled
//! from a packed array on its own device. How bytes go from one device to another is decided in the allocator crate, in
//! `copy/between.rs`. Copies within a device are in `assign.rs`.

use std::sync::Arc;

use vkarray_allocator::BlockRange;
use vkarray_kernel::Element;
use vkarray_layout::{LayoutError, Order};

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;

impl<T: Element> DeviceNDArray<T> {
    /// Copies the array to a new one of another context, on its stream and the default stream of that context. Its axes are in the order of this
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
        let copy = context.device_array_like(self)?;
        copy.copy_from_context(self)?;
        Ok(copy)
    }

    /// Copies the elements of an array of the same shape, of another context, into this array, on the streams of both.
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
        let (from, to) = (source.stream(), self.stream());
        if source.shape() != self.shape() {
            return Err(LayoutError::ShapeMismatch { from: source.shape().to_vec(), to: self.shape().to_vec() }.into());
        }
        self.check_writable()?;
        source.check_stream()?;
        if Arc::ptr_eq(source.context().device(), self.context().device()) {
            if let Some(waits) = from.pending_wait()? {
                to.wait_for(&waits)?;
            }
            return self.copy_from_device(source);
        }
        if source.size() == 0 {
            return Ok(());
        }
        if !self.is_dense() {
            let dense = self.context().device_array_like(self)?.on(to);
            dense.copy_from_context(source)?;
            return self.copy_from_device(&dense);
        }
        if source.strides() == self.strides() {
            return Ok(source.block_range().copy_to(&self.block_range())?);
        }
        let alike = source.context().device_array_like(self)?.on(from);
        alike.copy_from_device(source)?;
        Ok(alike.block_range().copy_to(&self.block_range())?)
    }

    /// The range of the block that the array's contiguous elements take.
    fn block_range(&self) -> BlockRange<'_> {
        let start = self.byte_offset();
        BlockRange { block: self.block(), range: start..start + self.nbytes(), stream: self.stream() }
    }

    /// Whether the elements are contiguous in some order of the axes, with positive strides.
    fn is_dense(&self) -> bool {
        self.layout().ravel(Order::K).is_ok()
    }
}
