//! Arrays that other contexts, processes and APIs share, and how arrays of one context reach another one.

#[cfg(unix)]
use vkarray_allocator::ExportedMemory;
use vkarray_allocator::{BlockLabel, ConnectionTraits, MemoryConnection, MemoryKind, Request};
use vkarray_kernel::{DType, Element};
use vkarray_layout::{IntoShape, Layout, Order};

use super::DeviceNDArray;
use crate::context::Context;
use crate::error::Result;

impl Context {
    /// Creates an array in C order whose memory can be exported to other devices, processes and APIs. Its contents are
    /// undefined. Returns when the driver has made the memory.
    ///
    /// The memory is an allocation that nothing else shares. The host never addresses it, so copies go through staging
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
    /// [`Error::Memory`](crate::Error::Memory) where the driver exports no memory; and the errors of
    /// [`Context::device_array`].
    pub fn exportable_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.allocate_exportable(Layout::contiguous(shape.into_shape().as_ref(), Order::C)?)
    }

    fn allocate_exportable<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let nbytes = layout.bytes(layout.size(), size_of::<T>())?;
        let label = BlockLabel::array(DType::of::<T>().short_name(), layout.shape());
        let request = Request::new(nbytes, MemoryKind::Device).with_label(label).exportable(true);
        DeviceNDArray::new(self, self.allocator().allocate_for(&request)?, layout)
    }

    /// Makes an array in C order of memory that another device or process exported. The array shares the bytes; nothing
    /// is copied.
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

    /// How ordinary device memory of this context reaches another one, to be read and written. Nothing is tried, and
    /// the call never blocks.
    ///
    /// ```
    /// use vkarray::interop::{MemoryConnection, UnifiedBy};
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
    /// An array of the same values in memory that other devices, processes and APIs can share: this array if it has all bytes
    /// of an [exportable](Context::exportable_array) block, else a copy with the same order of axes, on the default stream.
    ///
    /// Drivers export whole allocations, so memory beside other blocks cannot be shared alone. The copy has memory of
    /// its own: what is written to this array later is not seen in the copy. Returns when the driver has made the
    /// memory.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// if ctx.device().external().memory_fd.exportable {
    ///     let x = ctx.arange(0, 6, 1)?.reshape([2, 3])?;
    ///     let shared = x.t().to_exportable()?;
    ///     assert_eq!(shared.to_vec()?, [0, 3, 1, 4, 2, 5]);
    ///     assert!(shared.block().is_exportable());
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Context::exportable_array`] and [`DeviceNDArray::copy_from_device`].
    pub fn to_exportable(&self) -> Result<Self> {
        let bytes = self.layout().byte_extent(size_of::<T>());
        if self.block().is_exportable() && bytes.end - bytes.start == self.block().size() {
            self.block().check_alive()?;
            return Ok(self.clone());
        }
        let copy = self.context().allocate_exportable(self.layout().like())?;
        copy.copy_from_device(self)?;
        Ok(copy)
    }

    /// How the memory of this array reaches another context. There a read-only array is only read.
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
    /// [`Error::Memory`](crate::Error::Memory) if the context was reset; and the errors of [`Context::connection_to`].
    pub fn connection_to(&self, target: &Context) -> Result<MemoryConnection> {
        self.block().check_alive()?;
        let traits = self.block().connection_traits().writes(self.is_writable());
        Ok(self.context().allocator().connection_to(target.device(), &traits)?)
    }
}
