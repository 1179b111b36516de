//! [`OnStream`]: an array together with the stream on which its work runs.
//!
//! Every operation that records work is written once, for [`OnStream`], in the file of its subject; the method of the same
//! name on [`DeviceNDArray`] calls it with the context's default stream.

use std::fmt;

use vkarray_driver::Stream;
use vkarray_kernel::Element;

use super::DeviceNDArray;
use crate::error::Result;

/// An array whose work runs on a stream of the caller's choice. Made by [`DeviceNDArray::on`].
///
/// It has the methods of an array that record work. Each returns what the [`DeviceNDArray`] method of the same name
/// returns, and also fails with [`Error::ForeignDevice`](crate::Error::ForeignDevice) if array and stream belong to
/// devices that were opened separately.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let (x, y, stream) = (ctx.ones::<f32>(3)?, ctx.zeros::<f32>(3)?, ctx.stream()?);
/// let y_on_stream = y.on(&stream);
/// y_on_stream.copy_from_device(&x)?;
/// assert_eq!(y_on_stream.copy_to_host()?.sum(), 3.0);
/// # anyhow::Ok(())
/// ```
pub struct OnStream<'a, T: Element> {
    pub(super) array: &'a DeviceNDArray<T>,
    pub(super) stream: &'a Stream,
}

impl<T: Element> DeviceNDArray<T> {
    /// The array with another stream than the context's default stream: `x.on(&stream).fill(0.0)?`.
    ///
    /// Nothing is copied or recorded. Work on the same memory is ordered on all streams, so a stream never changes a
    /// result; it decides which work may overlap.
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
    pub fn on<'a>(&'a self, stream: &'a Stream) -> OnStream<'a, T> {
        OnStream { array: self, stream }
    }

    pub(super) fn on_default(&self) -> OnStream<'_, T> {
        self.on(self.context().default_stream())
    }
}

impl<'a, T: Element> OnStream<'a, T> {
    /// The array.
    pub fn array(&self) -> &'a DeviceNDArray<T> {
        self.array
    }

    /// The stream.
    pub fn stream(&self) -> &'a Stream {
        self.stream
    }
}

impl<T: Element> OnStream<'_, T> {
    /// Checks that array and stream belong to the same device.
    pub(super) fn check(&self) -> Result<()> {
        self.array.context().check_stream(self.stream)
    }

    /// Checks that the array can be written on the stream.
    pub(super) fn check_writable(&self) -> Result<()> {
        self.check()?;
        self.array.check_writable()
    }
}

impl<T: Element> Clone for OnStream<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for OnStream<'_, T> {}

impl<T: Element> fmt::Debug for OnStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStream").field("array", self.array).field("stream", self.stream).finish()
    }
}
