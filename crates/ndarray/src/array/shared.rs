//! Arrays in shared memory, and [`MirroredArray`], which stands for one on devices without such memory.
//!
//! Without shared memory a mirrored array is one array on each side, and copies of all elements between them: nothing is
//! shared then, which is why a program has to ask for it by name. Host access to shared arrays is `host.rs`.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayViewD, ArrayViewMutD};
use vkarray_allocator::MemoryKind;
use vkarray_kernel::{Arg, AsArg, Element};

use super::{DeviceNDArray, Prototype};
use crate::context::Context;
use crate::error::Result;
use crate::layout::{IntoShape, Layout, Order};

/// An array for the device, and for the host through [`MirroredArray::read`] and [`MirroredArray::write`].
///
/// Where it is [a pair](MirroredArray::is_shared), these two copy all elements over the bus if the device may have changed
/// them. Kernels take it as an argument.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.mirrored_array::<f32>([2, 2])?; // On every device.
/// x.write(|mut x| x.fill(1.5))?;
/// x.array().slice(&s![0])?.fill(0.5)?; // Work of the device.
/// assert_eq!(x.read(|x| x.sum())?, 4.0);
/// # anyhow::Ok(())
/// ```
pub struct MirroredArray<T: Element> {
    device: DeviceNDArray<T>,
    /// The host's side of a pair.
    host: Option<DeviceNDArray<T>>,
    /// Whether the device's side of a pair may differ from the host's.
    may_differ: AtomicBool,
}

impl Context {
    /// Creates an array in C order in device memory that the host addresses. Its contents are undefined.
    ///
    /// The memory does not migrate: it is the device's own, and the host reads it slowly over the bus.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// // Not every device has such memory.
    /// if let Ok(x) = ctx.shared_array::<u32>(2) {
    ///     x.write_on_host()?.view_mut().fill(7);
    ///     assert_eq!(x.to_vec()?, [7, 7]);
    /// }
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Context::device_array`]; [`NoSuchMemory`](vkarray_allocator::Error::NoSuchMemory) where the device has no
    /// such memory.
    pub fn shared_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.shared_array_with_order(shape, Order::C)
    }

    /// As [`Context::shared_array`], in the given order, C or F.
    ///
    /// # Errors
    ///
    /// Those of [`Context::shared_array`].
    pub fn shared_array_with_order<T: Element>(&self, shape: impl IntoShape, order: Order) -> Result<DeviceNDArray<T>> {
        self.shared(Layout::contiguous(shape.into_shape().as_ref(), order)?)
    }

    /// As [`Context::shared_array`], of the same shape as `like` and with its axes in the order of `like`'s strides.
    ///
    /// # Errors
    ///
    /// Those of [`Context::shared_array`].
    pub fn shared_array_like<T: Element, L: Prototype>(&self, like: &L) -> Result<DeviceNDArray<T>> {
        self.shared(like.prototype()?.like())
    }

    fn shared<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let block = self.allocator().allocate(layout.span_bytes(size_of::<T>())?, MemoryKind::Shared)?;
        DeviceNDArray::new(self, block, layout)
    }

    /// Creates an array in C order that host and device reach: in shared memory where the device has enough of it, else as a
    /// [pair](Context::mirrored_pair). Its contents are undefined.
    ///
    /// # Errors
    ///
    /// Those of [`Context::device_array`].
    #[doc(alias = "managed_array")]
    pub fn mirrored_array<T: Element>(&self, shape: impl IntoShape) -> Result<MirroredArray<T>> {
        let has_shared = MemoryKind::Shared.memory_type(self.info(), u32::MAX).is_some();
        if !has_shared || MemoryKind::Shared.is_scarce(self.info()) {
            return self.mirrored_pair(shape);
        }
        Ok(MirroredArray { device: self.shared_array(shape)?, host: None, may_differ: AtomicBool::new(false) })
    }

    /// Creates a mirrored array of a device array and a pinned one, also where the device has shared memory.
    ///
    /// # Errors
    ///
    /// Those of [`Context::device_array`].
    pub fn mirrored_pair<T: Element>(&self, shape: impl IntoShape) -> Result<MirroredArray<T>> {
        let layout = Layout::contiguous(shape.into_shape().as_ref(), Order::C)?;
        let (device, host) = (self.device_array(layout.shape())?, self.pinned_array(layout.shape())?);
        Ok(MirroredArray { device, host: Some(host), may_differ: AtomicBool::new(true) })
    }
}

impl<T: Element> MirroredArray<T> {
    /// Whether host and device use the same memory. Otherwise it is a pair, and its elements are copied.
    pub fn is_shared(&self) -> bool {
        self.host.is_none()
    }

    /// The device's array, for work of the device. The next read or write of a pair on the host copies it first.
    ///
    /// Call this again before each use: later work on a kept handle is not noticed.
    pub fn array(&self) -> &DeviceNDArray<T> {
        self.may_differ.store(true, Ordering::Release);
        &self.device
    }

    /// Calls `read` with the elements. Blocks until no work writes them, and of a pair until they are copied if the device may
    /// have changed them.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceNDArray::read_on_host`] and [`DeviceNDArray::copy_from_device`].
    pub fn read<R>(&self, read: impl FnOnce(ArrayViewD<'_, T>) -> R) -> Result<R> {
        Ok(read(self.on_host()?.read_on_host()?.view()))
    }

    /// Calls `write` with the elements, as [`MirroredArray::read`] does, and copies those of a pair to the device afterwards.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceNDArray::write_on_host`] and [`DeviceNDArray::copy_from_device`].
    pub fn write<R>(&self, write: impl FnOnce(ArrayViewMutD<'_, T>) -> R) -> Result<R> {
        let value = write(self.on_host()?.write_on_host()?.view_mut());
        if let Some(host) = &self.host {
            self.device.copy_from_device(host)?;
        }
        Ok(value)
    }

    /// The host's side, with what the device wrote.
    fn on_host(&self) -> Result<&DeviceNDArray<T>> {
        let Some(host) = &self.host else { return Ok(&self.device) };
        if self.may_differ.swap(false, Ordering::AcqRel) {
            let copied = host.copy_from_device(&self.device);
            self.may_differ.fetch_or(copied.is_err(), Ordering::AcqRel);
            copied?;
        }
        Ok(host)
    }
}

impl<T: Element> AsArg for MirroredArray<T> {
    fn as_arg(&self) -> Arg<'_> {
        self.array().as_arg()
    }
}

impl<T: Element> fmt::Debug for MirroredArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MirroredArray").field("array", &self.device).field("is_shared", &self.is_shared()).finish()
    }
}
