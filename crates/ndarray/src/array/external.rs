//! Arrays that other contexts, processes and APIs share, and how arrays of one context reach another one.

#[cfg(unix)]
use vkarray_allocator::ExportedMemory;
use vkarray_allocator::{BlockLabel, ConnectionTraits, MemoryConnection, MemoryKind, Request};
use vkarray_kernel::{DType, Element};

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;
use crate::layout::{IntoShape, Layout, Order};

impl Context {
    /// Creates an array in C order whose memory can be exported to other devices, processes and APIs. Its contents are
    /// undefined. Returns when the driver has made the memory.
    ///
    /// It is an allocation of its own, which nothing else shares. The host never addresses it, so copies go through staging
    /// memory. [`Block::export`](vkarray_allocator::Block::export) makes descriptors of it.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// if ctx.device().external().memory_fd.exportable {
    ///     let x = ctx.exportable_array::<f32>([2, 3])?;
    ///     assert!(x.block().is_exportable());
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) where the driver exports no memory; those of [`Context::device_array`].
    pub fn exportable_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let layout = Layout::contiguous(shape.into_shape().as_ref(), Order::C)?;
        let nbytes = layout.bytes(layout.size(), size_of::<T>())?;
        let label = BlockLabel::array(DType::of::<T>().short_name(), layout.shape());
        let request = Request::new(nbytes, MemoryKind::Device).with_label(label).exportable(true);
        DeviceNDArray::new(self, self.allocator().allocate_for(&request)?, layout)
    }

    /// Makes an array in C order of memory that another device or process exported. It shares the bytes; nothing is copied.
    ///
    /// The library does not order the exporter's work and this context's; see
    /// [`ConnectionSync`](vkarray_allocator::ConnectionSync).
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (ctx, other) = (Context::open_default()?, Context::open_default()?); // The same hardware, opened twice.
    /// if ctx.device().external().memory_fd.exportable && other.device().external().memory_fd.importable {
    ///     let x = ctx.exportable_array::<i32>(3)?;
    ///     let y = other.import_array::<i32>(&x.block().export()?, 3)?;
    ///     x.fill(5)?;
    ///     ctx.synchronize()?;
    ///     assert_eq!(y.to_vec()?, [5, 5, 5]);
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if the memory is smaller than the shape, or for the reasons of
    /// [`Allocator::import`](vkarray_allocator::Allocator::import).
    #[cfg(unix)]
    pub fn import_array<T: Element>(&self, memory: &ExportedMemory, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        let layout = Layout::contiguous(shape.into_shape().as_ref(), Order::C)?;
        DeviceNDArray::new(self, self.allocator().import(memory)?, layout)
    }

    /// How ordinary device memory of this context reaches another one, to be read and written. Tries nothing, and never blocks.
    ///
    /// ```
    /// use vkarray::memory::{MemoryConnection, UnifiedBy};
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let beside = Context::on(ctx.device())?; // The same device: each uses the other's arrays.
    /// assert!(matches!(ctx.connection_to(&beside)?, MemoryConnection::Unified { how: UnifiedBy::Identity, .. }));
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](crate::Error::Memory) if `VKARRAY_MEMORY_CONNECTION` has an unknown value.
    pub fn connection_to(&self, target: &Self) -> Result<MemoryConnection> {
        Ok(self.allocator().connection_to(target.device(), &ConnectionTraits::default())?)
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// How the memory of this array reaches another context. A read-only array is only read there.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let (ctx, other) = (Context::open_default()?, Context::open_default()?);
    /// println!("{}", ctx.zeros::<f32>(3)?.connection_to(&other)?); // Such as "migratable (exported memory, host waits)".
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Context::connection_to`]; [`Error::Memory`](crate::Error::Memory) if the context was reset.
    pub fn connection_to(&self, target: &Context) -> Result<MemoryConnection> {
        self.block().check_alive()?;
        let traits = self.block().connection_traits().writes(self.is_writable());
        Ok(self.context().allocator().connection_to(target.device(), &traits)?)
    }
}
