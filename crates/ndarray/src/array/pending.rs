//! [`PendingCopy`]: a copy to the host that goes on while the host does something else.
//!
//! It owns the pinned memory that the device writes, so nothing of the caller's is written behind its back, whatever is
//! dropped or forgotten. Blocking copies are in `transfer.rs`.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use ndarray::ArrayD;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::{Done, Stream};
use vkarray_kernel::{DType, Element};

use super::DeviceNDArray;
use super::transfer::host_array;
use crate::error::Result;
use crate::layout::Order;

/// A copy on its way to the host. Made by [`DeviceNDArray::copy_to_host_async`].
///
/// Awaiting it gives the array; so does [`PendingCopy::wait`]. Dropping it lets the copy run and forgets what it brings.
pub struct PendingCopy<T: Element> {
    done: Done,
    staging: Arc<Block>,
    shape: Vec<usize>,
    order: Order,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> DeviceNDArray<T> {
    /// Starts to copy the array to the host, in the order of `stream`. Returns at once.
    ///
    /// The copy holds as much pinned memory as the array has bytes, until it is waited for or dropped. It brings what
    /// the array holds at this point of the stream: later work on the array waits for it.
    ///
    /// # Errors
    ///
    /// As [`DeviceNDArray::copy_to_host_on`].
    pub fn copy_to_host_async(&self, stream: &Stream) -> Result<PendingCopy<T>> {
        let order = self.host_order();
        let packed = self.to_contiguous_on(stream, order)?;
        let staging = self.context().allocator().allocate(self.nbytes(), MemoryKind::Pinned)?;
        let from = packed.byte_offset();
        staging.copy_from_block(stream, 0, packed.block(), from..from + self.nbytes())?;
        let shape = self.shape().to_vec();
        Ok(PendingCopy { done: stream.async_done()?, staging, shape, order, element: PhantomData })
    }
}

impl<T: Element> PendingCopy<T> {
    /// Whether the copy has arrived. Never blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if the device is lost.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.done.point().is_complete()?)
    }

    /// Blocks until the copy has arrived, and returns it.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver) if waiting fails.
    pub fn wait(self) -> Result<ArrayD<T>> {
        self.done.point().wait(None)?;
        self.arrived()
    }

    fn arrived(&self) -> Result<ArrayD<T>> {
        let mut values = vec![T::zeroed(); self.shape.iter().product()];
        self.staging.copy_to_host_in_place(0, bytemuck::cast_slice_mut(&mut values))?;
        Ok(host_array(&self.shape, self.order, values))
    }
}

impl<T: Element> Future for PendingCopy<T> {
    type Output = Result<ArrayD<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Self::Output> {
        ready!(Pin::new(&mut self.done).poll(context))?;
        Poll::Ready(self.arrived())
    }
}

impl<T: Element> fmt::Debug for PendingCopy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCopy")
            .field("dtype", &format_args!("{}", DType::of::<T>()))
            .field("shape", &self.shape)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
