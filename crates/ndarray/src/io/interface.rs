//! [`DeviceArrayInterface`]: a description of an array on a device in plain data, and arrays made from such descriptions.
//!
//! It means what version 3 of the CUDA Array Interface means, with its known problems avoided. Strides are left out
//! only where the elements are contiguous in C order, the read-only flag is kept, and the consumer keeps the owner
//! alive. No one waits on the host, because the description names the point of a timeline at which the elements are
//! written. [`DeviceArrayInterface::layout`] decides whether a description fits its memory. DLPack is in `dlpack.rs`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vkarray_allocator::Block;
use vkarray_driver::Point;
use vkarray_kernel::{ByteOrder, DType, Element};
use vkarray_layout::{Layout, Order};

use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{InterfaceError, Result};

/// The version of the description that is written and accepted.
pub(super) const VERSION: u32 = 3;

/// An array on a device, in plain data.
///
/// ```
/// use vkarray::interop::AsDeviceArray;
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.zeros::<f32>([2, 3])?.t();
/// let described = x.device_array_interface()?;
/// assert_eq!((described.shape.as_slice(), described.typestr.as_str()), (&[3, 2][..], "<f4"));
/// assert_eq!(described.strides, Some(vec![4, 12])); // In bytes.
/// assert!(!described.read_only);
/// # anyhow::Ok(())
/// ```
#[doc(alias = "__cuda_array_interface__")]
#[doc(alias = "__sycl_usm_array_interface__")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceArrayInterface {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The element type as a NumPy type string, such as `<f4`.
    pub typestr: String,
    /// The stride of each axis in bytes; `None` where the elements are contiguous in C order.
    pub strides: Option<Vec<isize>>,
    /// Offset of the first element in the memory, in bytes.
    pub offset: u64,
    /// The memory that holds the elements.
    pub memory: MemoryHandle,
    /// Whether the consumer may not write the elements.
    pub read_only: bool,
    /// The version of this description: 3.
    pub version: u32,
    /// The point at which the elements are written; `None` where they are already written.
    pub ready: Option<ReadyPoint>,
}

/// Memory on a device, as numbers that are valid only in the process that made them and while the memory exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryHandle {
    /// The device's UUID.
    pub device: String,
    /// The `VkBuffer`; 0 for an array without elements.
    pub buffer: u64,
    /// The size of the buffer in bytes.
    pub nbytes: u64,
}

impl MemoryHandle {
    pub(super) fn of(block: &Block) -> Self {
        Self { device: block.device().info().uuid.clone(), buffer: block.handle(), nbytes: block.size() }
    }
}

/// A point of a timeline semaphore, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyPoint {
    /// The `VkSemaphore`, a timeline semaphore.
    pub semaphore: u64,
    /// The value of the semaphore at this point.
    pub value: u64,
}

impl From<&Point> for ReadyPoint {
    fn from(point: &Point) -> Self {
        Self { semaphore: point.timeline().handle(), value: point.value() }
    }
}

impl DeviceArrayInterface {
    /// The layout that the description names, in elements of `wanted`, checked against memory of `size` bytes.
    ///
    /// ```
    /// use vkarray::interop::AsDeviceArray;
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.zeros::<f32>([2, 3])?.t();
    /// let layout = x.device_array_interface()?.layout(DType::F32, x.memory()?.size())?;
    /// assert_eq!(&layout, x.layout());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InterfaceError::Version`], [`InterfaceError::DType`], [`InterfaceError::Misaligned`],
    /// [`InterfaceError::OutOfBounds`] and [`InterfaceError::Layout`], for a description that does not fit.
    pub fn layout(&self, wanted: DType, size: u64) -> std::result::Result<Layout, InterfaceError> {
        if self.version != VERSION {
            return Err(InterfaceError::Version { given: self.version, supported: VERSION });
        }
        let is_native = |(dtype, order): (DType, ByteOrder)| dtype.reads_as(wanted) && order == ByteOrder::NATIVE;
        if !DType::from_typestr(&self.typestr).is_some_and(is_native) {
            return Err(InterfaceError::DType { typestr: self.typestr.clone(), wanted });
        }
        let itemsize = wanted.itemsize();
        let offset = elements(i128::from(self.offset), itemsize)?;
        let strides: Vec<isize> = match &self.strides {
            None => Layout::contiguous(&self.shape, Order::C)?.strides().to_vec(),
            Some(bytes) => {
                let strides = bytes.iter().map(|&bytes| elements(bytes as i128, itemsize));
                strides.collect::<std::result::Result<_, _>>()?
            }
        };
        let layout = Layout::with_strides(&self.shape, &strides, offset.cast_unsigned())?;
        let end = (layout.extent().end as u64).saturating_mul(u64::from(itemsize));
        if end > size {
            return Err(InterfaceError::OutOfBounds { end, size });
        }
        Ok(layout)
    }
}

/// Converts a number of bytes to a number of elements.
pub(super) fn elements(bytes: i128, itemsize: u32) -> std::result::Result<isize, InterfaceError> {
    let misaligned = InterfaceError::Misaligned { bytes, itemsize };
    if bytes % i128::from(itemsize) != 0 {
        return Err(misaligned);
    }
    isize::try_from(bytes / i128::from(itemsize)).map_err(|_| misaligned)
}

/// An object with an array on a device: arrays of this library, and arrays of other libraries in memory of this
/// library.
///
/// A wrong implementation cannot cause undefined behaviour: [`Context::as_device_array`] calls each method once, and
/// compares the description with the memory.
///
/// ```
/// use vkarray::interop::AsDeviceArray;
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.zeros::<f32>([2, 3])?;
/// assert_eq!(x.device_array_interface()?.shape, [2, 3]);
/// assert_eq!(x.memory()?.size(), 24);
/// # anyhow::Ok(())
/// ```
pub trait AsDeviceArray {
    /// Describes the array.
    ///
    /// # Errors
    ///
    /// An error of submitting the work that writes the array.
    fn device_array_interface(&self) -> Result<DeviceArrayInterface>;

    /// The memory of the array.
    ///
    /// # Errors
    ///
    /// An error if the memory was freed.
    fn memory(&self) -> Result<Arc<Block>>;

    /// The point at which the elements are written, if work outside this library writes them. Work of this library is
    /// tracked already.
    fn ready(&self) -> Option<Point> {
        None
    }
}

impl<A: AsDeviceArray + ?Sized> AsDeviceArray for Arc<A> {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        (**self).device_array_interface()
    }

    fn memory(&self) -> Result<Arc<Block>> {
        (**self).memory()
    }

    fn ready(&self) -> Option<Point> {
        (**self).ready()
    }
}

/// The point in the description covers all work on the array's memory that was recorded before, on all streams.
impl<T: Element> AsDeviceArray for DeviceNDArray<T> {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        let itemsize = isize::try_from(size_of::<T>()).expect("an element is small");
        let is_dense = self.is_c_contiguous();
        // The product overflows only for an axis of at most one element, whose stride has no meaning.
        let bytes = |stride: &isize| stride.checked_mul(itemsize).unwrap_or(0);
        let ready = self.block().ready_point(self.context().default_stream())?;
        Ok(DeviceArrayInterface {
            shape: self.shape().to_vec(),
            typestr: DType::of::<T>().typestr(ByteOrder::NATIVE),
            strides: (!is_dense).then(|| self.strides().iter().map(bytes).collect()),
            offset: self.offset() as u64 * size_of::<T>() as u64,
            memory: MemoryHandle {
                buffer: if self.size() == 0 { 0 } else { self.block().handle() },
                ..MemoryHandle::of(self.block())
            },
            read_only: !self.is_writable(),
            version: VERSION,
            ready: ready.as_ref().map(Into::into),
        })
    }

    fn memory(&self) -> Result<Arc<Block>> {
        Ok(Arc::clone(self.block()))
    }
}

impl Context {
    /// Whether [`Context::as_device_array`] would take the object as an array of its own element type.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// assert!(ctx.is_device_array(&ctx.zeros::<f32>(3)?));
    /// # anyhow::Ok(())
    /// ```
    #[doc(alias = "is_cuda_array")]
    pub fn is_device_array(&self, object: &impl AsDeviceArray) -> bool {
        let Ok(interface) = object.device_array_interface() else { return false };
        let (Some((dtype, _)), Ok(memory)) = (DType::from_typestr(&interface.typestr), object.memory()) else {
            return false;
        };
        self.check_interface(&memory, &interface, dtype).is_ok()
    }

    /// Makes an array of the memory that `object` describes, without a copy. Returns at once.
    ///
    /// The array and its views keep `object` alive. They are read-only if the description is. Later work on the memory
    /// waits, on the device, until the elements are written.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use vkarray::interop::{AsDeviceArray, DeviceArrayInterface};
    /// use vkarray::memory::Block;
    /// use vkarray::prelude::*;
    ///
    /// /// An image of another library, in memory of this one.
    /// struct Image(DeviceNDArray<f32>);
    ///
    /// impl AsDeviceArray for Image {
    ///     fn device_array_interface(&self) -> vkarray::Result<DeviceArrayInterface> {
    ///         self.0.device_array_interface()
    ///     }
    ///
    ///     fn memory(&self) -> vkarray::Result<Arc<Block>> {
    ///         Ok(Arc::clone(self.0.block()))
    ///     }
    /// }
    ///
    /// let ctx = Context::open_default()?;
    /// let pixels = ctx.full([2, 2], 0.5_f32)?;
    /// let x = ctx.as_device_array::<f32, _>(Image(pixels.clone()))?;
    /// x.fill(1.0)?;
    /// assert_eq!(pixels.to_vec()?, [1.0; 4]); // The same memory.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Interface`](crate::Error::Interface) if the description does not describe an array of `T` in that
    /// memory on this context's device; [`Error::Driver`](crate::Error::Driver) if the wait cannot be recorded; and the
    /// errors of [`AsDeviceArray::device_array_interface`].
    #[doc(alias = "as_cuda_array")]
    pub fn as_device_array<T, A>(&self, object: A) -> Result<DeviceNDArray<T>>
    where
        T: Element,
        A: AsDeviceArray + Send + Sync + 'static,
    {
        let interface = object.device_array_interface()?;
        // `memory` is called once, because a second call may return another block.
        let memory = object.memory()?;
        let layout = self.check_interface(&memory, &interface, DType::of::<T>())?;
        if let Some(point) = object.ready() {
            memory.order_after(self.default_stream(), &point)?;
        }
        let array = DeviceNDArray::new(self, memory, layout)?.with_owner(Arc::new(object));
        Ok(if interface.read_only { array.read_only() } else { array })
    }

    pub(super) fn check_interface(
        &self,
        memory: &Block,
        interface: &DeviceArrayInterface,
        wanted: DType,
    ) -> std::result::Result<Layout, InterfaceError> {
        if !Arc::ptr_eq(memory.device(), self.device()) {
            let (array, context) = (memory.device().info().name.clone(), self.info().name.clone());
            return Err(InterfaceError::ForeignDevice { array, context });
        }
        let named = &interface.memory;
        let is_empty = interface.shape.contains(&0);
        if named.device != self.info().uuid || (named.buffer != memory.handle() && !is_empty) {
            return Err(InterfaceError::OtherMemory { named: named.buffer, device: named.device.clone() });
        }
        interface.layout(wanted, memory.size())
    }
}

#[cfg(test)]
mod tests;
