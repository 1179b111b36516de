//! Memory objects as arrays and arrays as memory objects, without a copy.
//!
//! [`AsDeviceArray`] makes a memory object an array of bytes for every function that takes the interface, like dpctl's
//! memory objects; [`ArrayMemory`] makes memory objects from arrays.

use std::ops::Range;
use std::sync::Arc;

use vkarray_allocator::{Block, MemoryContext, UsmKind, UsmMemory};
use vkarray_kernel::{ByteOrder, DType, Element};
use vkarray_layout::{Layout, Order};

use super::interface::{AsDeviceArray, DeviceArrayInterface, MemoryHandle, VERSION, elements};
use crate::array::DeviceNDArray;
use crate::context::Context;
use crate::error::{Error, InterfaceError, Result};

/// A memory object is an array of bytes, `|u1`.
impl<K: UsmKind> AsDeviceArray for UsmMemory<K> {
    fn device_array_interface(&self) -> Result<DeviceArrayInterface> {
        let (block, range) = self.block()?;
        let ready = block.ready_point(self.stream())?;
        let too_large = |_| InterfaceError::OutOfBounds { end: range.end, size: block.size() };
        Ok(DeviceArrayInterface {
            shape: vec![usize::try_from(self.nbytes()).map_err(too_large)?],
            typestr: DType::U8.typestr(ByteOrder::NATIVE),
            strides: None,
            offset: range.start,
            memory: MemoryHandle::of(&block),
            read_only: false,
            version: VERSION,
            ready: ready.as_ref().map(Into::into),
        })
    }

    fn memory(&self) -> Result<Arc<Block>> {
        Ok(self.block()?.0)
    }
}

/// Memory objects from arrays, and arrays from memory objects. Implemented by the three kinds of [`UsmMemory`].
///
/// ```
/// use vkarray::interop::ArrayMemory;
/// use vkarray::memory::usm::{DeviceMemory, HostMemory};
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.arange(0_u32, 4, 1)?;
/// let memory = DeviceMemory::from_array(&x)?; // The same memory.
/// memory.view(4..8)?.memset(0xff)?;
/// assert_eq!(x.to_vec()?, [0, u32::MAX, 2, 3]);
///
/// let host = HostMemory::copy_of_interface(&ctx, &x)?; // Another kind, so a copy.
/// let y = host.into_array::<u16>(&ctx)?;
/// assert_eq!((y.shape(), y.get([2])?), (&[8][..], u16::MAX));
///
/// memory.copy_from_interface(&ctx, &ctx.full([2], 5_u32)?)?; // The first eight bytes.
/// assert_eq!(x.to_vec()?, [5, 5, 2, 3]);
/// # anyhow::Ok(())
/// ```
pub trait ArrayMemory: Sized {
    /// Shares the memory of the elements of an object with the array interface, and keeps the object alive. The
    /// elements are dense, and the kind of their memory is the kind of `Self`. Later work on the memory waits, on the
    /// device, until the elements are written.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Layout`] if there are gaps between the elements;
    /// [`OtherKind`](vkarray_allocator::Error::OtherKind) for another kind of memory, which only [a
    /// copy](ArrayMemory::copy_of_interface) changes; and the errors of [`Context::as_device_array`].
    fn from_interface<A>(context: &Context, object: A) -> Result<Self>
    where
        A: AsDeviceArray + Send + Sync + 'static;

    /// Allocates memory and copies the elements of an object with the array interface, which are dense, on the default
    /// stream.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] or [`Error::Driver`] if allocating or copying fails; and the errors of
    /// [`ArrayMemory::from_interface`], without [`OtherKind`](vkarray_allocator::Error::OtherKind).
    fn copy_of_interface(context: &Context, object: &impl AsDeviceArray) -> Result<Self>;

    /// Copies the elements of an object with the array interface, which are dense, to the beginning.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](vkarray_allocator::Error::SizeMismatch) if the elements have more bytes than the memory; and
    /// the errors of [`ArrayMemory::copy_of_interface`].
    fn copy_from_interface(&self, context: &Context, object: &impl AsDeviceArray) -> Result<()>;

    /// Shares the memory of an array, whose elements are dense.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayMemory::from_interface`].
    fn from_array<T: Element>(array: &DeviceNDArray<T>) -> Result<Self> {
        Self::from_interface(array.context(), array.clone())
    }

    /// Makes a one-dimensional array of the memory, without a copy. Other handles of the memory share it, and if one
    /// frees the memory, the array keeps the allocation.
    ///
    /// # Errors
    ///
    /// [`Error::Interface`] if the memory's size is not a multiple of the size of `T`; and the errors of
    /// [`DeviceNDArray::from_block`] and [`UsmMemory::block`].
    fn into_array<T: Element>(self, context: &Context) -> Result<DeviceNDArray<T>>;
}

impl<K: UsmKind> ArrayMemory for UsmMemory<K> {
    fn from_interface<A>(context: &Context, object: A) -> Result<Self>
    where
        A: AsDeviceArray + Send + Sync + 'static,
    {
        let (block, range) = dense_bytes(context, &object, true)?;
        Ok(Self::from_block(context, &block, range, Arc::new(object))?)
    }

    fn copy_of_interface(context: &Context, object: &impl AsDeviceArray) -> Result<Self> {
        let (block, range) = dense_bytes(context, object, false)?;
        let copy = Self::new(context, range.end - range.start)?;
        copy.copy_from_block(&block, range)?;
        Ok(copy)
    }

    fn copy_from_interface(&self, context: &Context, object: &impl AsDeviceArray) -> Result<()> {
        let (block, range) = dense_bytes(context, object, false)?;
        Ok(self.copy_from_block(&block, range)?)
    }

    fn into_array<T: Element>(self, context: &Context) -> Result<DeviceNDArray<T>> {
        let (block, range) = self.block()?;
        let in_elements =
            |bytes: u64| elements(i128::from(bytes), DType::of::<T>().itemsize()).map(isize::cast_unsigned);
        let (offset, len) = (in_elements(range.start)?, in_elements(self.nbytes())?);
        let array = DeviceNDArray::from_block(context, &block, Layout::with_strides(&[len], &[1], offset)?)?;
        Ok(match self.reference() {
            Some(owner) => array.with_owner(Arc::clone(owner)),
            None => array,
        })
    }
}

/// The memory and the range of an object's elements, which are dense, after the work that writes them.
fn dense_bytes(context: &Context, object: &impl AsDeviceArray, to_write: bool) -> Result<(Arc<Block>, Range<u64>)> {
    let interface = object.device_array_interface()?;
    // `memory` is called once, because a second call may return another block.
    let block = object.memory()?;
    let unknown = || InterfaceError::DType { typestr: interface.typestr.clone(), wanted: DType::U8 };
    let (dtype, _) = DType::from_typestr(&interface.typestr).ok_or_else(unknown)?;
    let layout = context.check_interface(&block, &interface, dtype)?;
    if to_write && interface.read_only {
        return Err(Error::ReadOnly { dtype, shape: interface.shape });
    }
    layout.ravel(Order::K)?;
    if let Some(point) = object.ready() {
        block.order_after(MemoryContext::stream(context), &point)?;
    }
    Ok((block, layout.byte_extent(dtype.itemsize() as usize)))
}
