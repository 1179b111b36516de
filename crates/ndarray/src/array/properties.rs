//! The properties of an array: shape, strides, sizes, element type, contiguity and stream.

use vkarray_driver::Stream;
use vkarray_kernel::{DType, Element};
use vkarray_layout::Layout;

use super::DeviceNDArray;
use crate::error::Result;

impl<T: Element> DeviceNDArray<T> {
    /// The shape, strides and offset of the array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, y) = (ctx.zeros::<f32>([2, 3])?, ctx.zeros::<u8>([2, 3])?);
    /// assert_eq!(x.layout(), y.layout());
    /// # anyhow::Ok(())
    /// ```
    pub fn layout(&self) -> &Layout {
        &self.leaf.layout
    }

    /// The length of each axis.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f32>([2, 3])?.shape(), [2, 3]);
    /// # anyhow::Ok(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// The stride of each axis, in elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert_eq!(x.strides(), [3, 1]);
    /// assert_eq!(x.flip(None)?.strides(), [-3, -1]);
    /// # anyhow::Ok(())
    /// ```
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// The offset of the first element in the block, in elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f32>(5)?.slice(s![2..])?.offset(), 2);
    /// # anyhow::Ok(())
    /// ```
    pub fn offset(&self) -> usize {
        self.layout().offset()
    }

    /// The address of the first element on the device, to be stored in memory where kernels read addresses.
    ///
    /// The number keeps nothing alive. A launch whose kernel reaches the array by it lists the array as
    /// [`Reached`](vkarray_kernel::Reached), which orders the launch and keeps the memory until it is done.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>(5)?;
    /// if ctx.device().plan().features.buffer_device_address {
    ///     assert_eq!(x.slice(s![2..])?.device_address()?, x.device_address()? + 8);
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::device_address`](vkarray_allocator::Block::device_address).
    pub fn device_address(&self) -> Result<u64> {
        Ok(self.block().device_address()? + (self.offset() * size_of::<T>()) as u64)
    }

    /// The number of axes.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f32>([2, 3])?.ndim(), 2);
    /// # anyhow::Ok(())
    /// ```
    pub fn ndim(&self) -> usize {
        self.layout().ndim()
    }

    /// The number of elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f32>([2, 3])?.size(), 6);
    /// # anyhow::Ok(())
    /// ```
    #[doc(alias = "len")]
    pub fn size(&self) -> usize {
        self.layout().size()
    }

    /// Bytes of one element.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f64>(3)?.itemsize(), 8);
    /// # anyhow::Ok(())
    /// ```
    pub fn itemsize(&self) -> usize {
        size_of::<T>()
    }

    /// Bytes of all elements, without gaps between them.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<f64>(3)?.nbytes(), 24);
    /// # anyhow::Ok(())
    /// ```
    pub fn nbytes(&self) -> u64 {
        self.extent.nbytes
    }

    /// The type of the elements.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.zeros::<i16>(3)?.dtype(), DType::I16);
    /// # anyhow::Ok(())
    /// ```
    pub fn dtype(&self) -> DType {
        DType::of::<T>()
    }

    /// Whether the elements are contiguous in C order. NumPy's rule.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert!(x.is_c_contiguous() && !x.t().is_c_contiguous());
    /// # anyhow::Ok(())
    /// ```
    pub fn is_c_contiguous(&self) -> bool {
        self.extent.is_contiguous
    }

    /// Whether the elements are contiguous in F order. NumPy's rule.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?;
    /// assert!(!x.is_f_contiguous() && x.t().is_f_contiguous());
    /// # anyhow::Ok(())
    /// ```
    pub fn is_f_contiguous(&self) -> bool {
        self.layout().is_f_contiguous()
    }

    /// The array with the stream on which its work runs, in place of the context's default stream.
    ///
    /// Nothing is copied or recorded. Views of the array, expressions of it, and copies that are made where there is no
    /// view keep the stream; arrays of results do not. An operation on several arrays runs on the stream of the array
    /// whose method it is, or of the first array. Work on the same memory is ordered on all streams, so a stream never
    /// changes a result; it decides which work may overlap.
    ///
    /// Operations fail with [`Error::ForeignDevice`](crate::Error::ForeignDevice) if array and stream belong to devices
    /// that were opened separately.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, stream) = (ctx.zeros::<f32>(4)?, ctx.stream()?);
    /// x.on(&stream).fill(2.5)?;
    /// let doubled = x.on(&stream).astype::<f64>()?;
    /// assert_eq!(doubled.to_vec()?, [2.5; 4]);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Self {
        let mut view = self.clone();
        view.stream = Some(stream.clone());
        view
    }

    /// The stream on which the array's work runs: that of [`DeviceNDArray::on`], or the context's default stream.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let (x, stream) = (ctx.zeros::<f32>([2, 3])?, ctx.stream()?);
    /// assert_eq!(x.on(&stream).t().stream(), &stream);
    /// assert_eq!(x.stream(), ctx.default_stream());
    /// # anyhow::Ok(())
    /// ```
    pub fn stream(&self) -> &Stream {
        self.stream.as_ref().unwrap_or_else(|| self.context().default_stream())
    }

    /// The stream of [`DeviceNDArray::on`].
    pub(crate) fn own_stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Checks that array and stream belong to the same device.
    pub(crate) fn check_stream(&self) -> Result<()> {
        self.stream.as_ref().map_or(Ok(()), |stream| self.context().check_stream(stream))
    }
}
