//! [`PendingCopy`]: a copy to the host that runs while the host does something else.
//!
//! The copy owns the pinned memory that the device writes, so no memory of the caller is written after the caller
//! dropped or leaked the copy. Copies that block are in `transfer.rs`.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use ndarray::ArrayD;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Completion;
use vkarray_kernel::{DType, Element};
use vkarray_layout::Order;

use super::DeviceNDArray;
use super::transfer::{host_array, host_values};
use crate::error::Result;

/// A copy to the host in progress. Made by [`DeviceNDArray::copy_to_host_async`].
///
/// It is a future of the host array; [`PendingCopy::wait`] blocks for the array. If a `PendingCopy` is dropped, the
/// copy runs to its end and its elements are discarded.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let copy = ctx.full(3, 2.0_f32)?.copy_to_host_async()?;
/// // The host does something else here.
/// assert_eq!(copy.wait()?.sum(), 6.0);
/// # anyhow::Ok(())
/// ```
pub struct PendingCopy<T: Element> {
    done: Completion,
    staging: Arc<Block>,
    shape: Vec<usize>,
    order: Order,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> DeviceNDArray<T> {
    /// Starts to copy the array to the host, on the default stream. Returns at once.
    ///
    /// The copy has the elements as earlier work on the array leaves them; later work on the array runs after the copy.
    /// Until the [`PendingCopy`] is waited for or dropped, it holds as many bytes of pinned memory as the array has.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.full(4, 2.0_f32)?;
    /// let copy = x.copy_to_host_async()?;
    /// x.fill(3.0)?; // Runs after the copy.
    /// assert_eq!(copy.wait()?.sum(), 8.0); // In async code: copy.await?
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::copy_to_host`].
    pub fn copy_to_host_async(&self) -> Result<PendingCopy<T>> {
        let stream = self.stream();
        let order = self.host_order();
        let packed = self.to_contiguous(order)?;
        let staging = self.context().allocator().allocate(self.nbytes(), MemoryKind::Pinned)?;
        let from = packed.byte_offset();
        staging.copy_from_block(stream, 0, packed.block(), from..from + self.nbytes())?;
        let shape = self.shape().to_vec();
        Ok(PendingCopy { done: stream.async_done()?, staging, shape, order, element: PhantomData })
    }
}

impl<T: Element> PendingCopy<T> {
    /// Whether the copy is complete. Never blocks.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let copy = ctx.zeros::<f32>(4)?.copy_to_host_async()?;
    /// ctx.synchronize()?;
    /// assert!(copy.is_complete()?);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the device is lost.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.done.point().is_complete()?)
    }

    /// Blocks until the copy is complete, and returns the host array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let copies = [1, 2].map(|value| ctx.full(3, value).and_then(|x| x.copy_to_host_async()));
    /// let mut sum = 0;
    /// for copy in copies {
    ///     sum += copy?.wait()?.sum();
    /// }
    /// assert_eq!(sum, 9);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if waiting fails.
    pub fn wait(self) -> Result<ArrayD<T>> {
        self.done.point().wait(None)?;
        self.read()
    }

    /// The elements of a copy that is complete.
    fn read(&self) -> Result<ArrayD<T>> {
        let mut values = host_values(&self.shape)?;
        self.staging.copy_to_host_in_place(0, bytemuck::cast_slice_mut(&mut values))?;
        Ok(host_array(&self.shape, self.order, values))
    }
}

impl<T: Element> Future for PendingCopy<T> {
    type Output = Result<ArrayD<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.done).poll(context))?;
        Poll::Ready(self.read())
    }
}

vkarray_driver::debug_fields!([T: Element] PendingCopy<T>, this =>
    dtype: format_args!("{}", DType::of::<T>()),
    shape: this.shape,
    done: this.done
);
