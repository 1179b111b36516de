//! Arrays in shared memory, and [`MirroredArray`], which replaces such an array on devices without shared memory.
//!
//! Without shared memory a mirrored array is one array on each side, and all elements are copied between them. Nothing
//! is shared then, which is why a program has to ask for a mirrored array by name. Host access to shared arrays is in
//! `host.rs`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ndarray::{ArrayViewD, ArrayViewMutD};
use vkarray_allocator::MemoryKind;
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{DeferDrops, log_in_drop};
use vkarray_kernel::{Arg, AsArg, Element};
use vkarray_layout::{IntoShape, Layout, Order};

use super::{DeviceNDArray, Prototype};
use crate::context::Context;
use crate::error::Result;

/// An array for the device, and for the host through [`MirroredArray::read`] and [`MirroredArray::write`].
///
/// Where it is [a pair](MirroredArray::is_shared), reading and writing copy all elements over the bus if the device may
/// have changed them. Kernels take a mirrored array as an argument.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.mirrored_array::<f32>([2, 2])?; // On every device.
/// x.write(|mut x| x.fill(1.5))?;
/// x.array().slice(s![0])?.fill(0.5)?; // Work of the device.
/// assert_eq!(x.read(|x| x.sum())?, 4.0);
/// # anyhow::Ok(())
/// ```
pub struct MirroredArray<T: Element> {
    device: DeviceNDArray<T>,
    /// The host's side of a pair.
    host: Option<HostSide<T>>,
}

/// The pinned array of a pair. Guards of it begin and end under the lock of `copied`.
struct HostSide<T: Element> {
    array: DeviceNDArray<T>,
    /// The device side's [`write_count`](vkarray_allocator::Block::write_count) when both sides were last equal; `None`
    /// if they never were.
    copied: Mutex<Option<u64>>,
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
    /// [`NoSuchMemory`](vkarray_allocator::Error::NoSuchMemory) where the device has no such memory; and the errors of
    /// [`Context::device_array`].
    pub fn shared_array<T: Element>(&self, shape: impl IntoShape) -> Result<DeviceNDArray<T>> {
        self.shared(Layout::contiguous(shape.into_shape().as_ref(), Order::C)?)
    }

    /// Creates a shared array of the shape and element type of `like`, with its axes in the order of `like`'s strides;
    /// see [`Context::shared_array`].
    ///
    /// # Errors
    ///
    /// The errors of [`Context::shared_array`].
    pub fn shared_array_like<L: Prototype>(&self, like: &L) -> Result<DeviceNDArray<L::Item>> {
        self.shared(like.prototype()?.like())
    }

    fn shared<T: Element>(&self, layout: Layout) -> Result<DeviceNDArray<T>> {
        let block = self.allocator().allocate(layout.span_bytes(size_of::<T>())?, MemoryKind::Shared)?;
        DeviceNDArray::new(self, block, layout)
    }

    /// Creates an array in C order that host and device reach: in shared memory where the device has enough, else as a
    /// [pair](Context::mirrored_pair). Its contents are undefined.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    #[doc(alias = "managed_array")]
    pub fn mirrored_array<T: Element>(&self, shape: impl IntoShape) -> Result<MirroredArray<T>> {
        let has_shared = MemoryKind::Shared.memory_type(self.info(), u32::MAX).is_some();
        if !has_shared || MemoryKind::Shared.is_scarce(self.info()) {
            return self.mirrored_pair(shape);
        }
        Ok(MirroredArray { device: self.shared_array(shape)?, host: None })
    }

    /// Creates a mirrored array of a device array and a pinned one, also where the device has shared memory.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::device_array`].
    pub fn mirrored_pair<T: Element>(&self, shape: impl IntoShape) -> Result<MirroredArray<T>> {
        let layout = Layout::contiguous(shape.into_shape().as_ref(), Order::C)?;
        let (device, array) = (self.device_array(layout.shape())?, self.pinned_array(layout.shape())?);
        Ok(MirroredArray { device, host: Some(HostSide { array, copied: Mutex::new(Rank::Mirrored, None) }) })
    }
}

impl<T: Element> MirroredArray<T> {
    /// Whether host and device use the same memory. If not, the array is a pair, and its elements are copied.
    pub fn is_shared(&self) -> bool {
        self.host.is_none()
    }

    /// The device's array, for work of the device. If work wrote it through this handle, a view or a graph, the next
    /// read or write of a pair on the host copies it first.
    pub fn array(&self) -> &DeviceNDArray<T> {
        &self.device
    }

    /// Calls `read` with the elements. Blocks until no work writes them; of a pair that the device wrote, blocks until
    /// the elements are copied.
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::read_on_host`] and [`DeviceNDArray::copy_from_device`].
    pub fn read<R>(&self, read: impl FnOnce(ArrayViewD<'_, T>) -> R) -> Result<R> {
        let Some(host) = &self.host else { return Ok(read(self.device.read_on_host()?.view())) };
        let guard = {
            let _defer = DeferDrops::begin(); // Declared before the lock, so that it ends after the lock is released.
            let mut copied = host.copied.lock();
            self.copy_to(host, &mut copied)?;
            host.array.read_on_host()?
        };
        Ok(read(guard.view()))
    }

    /// Calls `write` with the elements, as [`MirroredArray::read`] calls `read`, and copies the elements of a pair to
    /// the device afterwards, also if `write` panics.
    ///
    /// # Errors
    ///
    /// The errors of [`DeviceNDArray::write_on_host`] and [`DeviceNDArray::copy_from_device`].
    pub fn write<R>(&self, write: impl FnOnce(ArrayViewMutD<'_, T>) -> R) -> Result<R> {
        let Some(host) = &self.host else { return Ok(write(self.device.write_on_host()?.view_mut())) };
        let mut guard = {
            let _defer = DeferDrops::begin(); // Declared before the lock, so that it ends after the lock is released.
            let mut copied = host.copied.lock();
            self.copy_to(host, &mut copied)?;
            host.array.write_on_host()?
        };
        let value = catch_unwind(AssertUnwindSafe(|| write(guard.view_mut())));
        let outcome = {
            let _defer = DeferDrops::begin(); // Declared before the lock, so that it ends after the lock is released.
            let mut copied = host.copied.lock();
            drop(guard);
            self.copy_from(host, &mut copied)
        };
        match value {
            Ok(value) => outcome.map(|()| value),
            Err(payload) => {
                if let Err(error) = outcome {
                    log_in_drop(|| {
                        log::error!("what the host wrote before a panic was not copied to the device: {error}")
                    });
                }
                resume_unwind(payload)
            }
        }
    }

    /// Copies to the host what the device wrote since both sides were equal.
    fn copy_to(&self, host: &HostSide<T>, copied: &mut Option<u64>) -> Result<()> {
        let written = self.device.block().write_count(); // Read before the copy, which may include later writes.
        if *copied != Some(written) {
            host.array.copy_from_device(&self.device)?;
            *copied = Some(written);
        }
        Ok(())
    }

    /// Copies to the device what the host wrote. If other work wrote the device's side meanwhile, the sides may differ.
    fn copy_from(&self, host: &HostSide<T>, copied: &mut Option<u64>) -> Result<()> {
        let before = self.device.block().write_count();
        *copied = None;
        self.device.copy_from_device(&host.array)?;
        let after = self.device.block().write_count();
        *copied = (after == before + 1).then_some(after);
        Ok(())
    }
}

impl<T: Element> AsArg for MirroredArray<T> {
    fn as_arg(&self) -> Arg<'_> {
        self.array().as_arg()
    }
}

vkarray_driver::debug_fields!([T: Element] MirroredArray<T>, this => array: this.device, is_shared: this.is_shared());
