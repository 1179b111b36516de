//! DLPack tensors over blocks, and the bytes of tensors on the host: the unsafe part of an exchange with other libraries.
//!
//! The `dlpark` crate has the structs and their ownership. This file handles pointers into blocks, and memory that
//! other libraries promise to keep. Element types and layouts are in the ndarray crate; here a [`TensorShape`] has
//! DLPack's numbers.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use crate::allocator::{Allocator, Block};
use crate::copy::PinError;
use crate::error::{Error, Result, TensorError};
use crate::vulkan::{page, whole_pages};
use ash::vk::Handle;
use dlpark::allocation::dynamic::Allocation;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType};
use dlpark::{DlpackFlags, OpaqueContext};

/// An owned DLPack tensor, with a version. Dropping it releases its memory; [`into_raw`](dlpark::Managed::into_raw) passes
/// it to another library.
pub type Tensor = dlpark::versioned::Dlpack;

/// The shape, strides and element type of a tensor, in DLPack's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// The number of elements on each axis.
    pub shape: Vec<i64>,
    /// The distance between elements on each axis, in elements.
    pub strides: Vec<i64>,
    /// The kind of number: `DLDataTypeCode`.
    pub code: u8,
    /// Bits of an element, a whole number of bytes.
    pub bits: u8,
    /// The position of the first element in the memory, in bytes.
    pub offset: u64,
    /// Whether the consumer may not write.
    pub read_only: bool,
}

impl TensorShape {
    /// Bytes of an element.
    pub fn itemsize(&self) -> u64 {
        u64::from(self.bits / 8)
    }

    /// The range of bytes with all elements, counted from the start of the memory.
    fn span(&self) -> Range<i128> {
        let offset = i128::from(self.offset);
        if self.shape.contains(&0) {
            return offset..offset;
        }
        let (mut low, mut high) = (0_i128, 0_i128);
        for (&len, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (i128::from(len) - 1).saturating_mul(i128::from(stride));
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        let itemsize = i128::from(self.itemsize());
        let at = |element: i128| element.saturating_mul(itemsize).saturating_add(offset);
        at(low)..at(high.saturating_add(1))
    }

    /// Checks that all elements lie in memory of `size` bytes.
    fn check(&self, size: u64) -> Result<(), TensorError> {
        let (ndim, n_strides) = (self.shape.len(), self.strides.len());
        if ndim != n_strides {
            return Err(TensorError::Rank { ndim, n_strides });
        }
        check_element(self.bits, 1)?;
        let Range { start, end } = self.span();
        if start < 0 || end > i128::from(size) || self.shape.iter().any(|&len| len < 0) {
            return Err(TensorError::OutOfBounds { start, end, size });
        }
        Ok(())
    }
}

/// Refuses elements that are not whole bytes, for which no range of bytes can be computed.
fn check_element(bits: u8, lanes: u16) -> Result<(), TensorError> {
    if lanes != 1 || bits == 0 || !bits.is_multiple_of(8) {
        return Err(TensorError::Element { bits, lanes });
    }
    Ok(())
}

impl Block {
    /// Exports elements of the block as a tensor of DLPack's Vulkan kind, whose data pointer is the `VkBuffer` handle.
    ///
    /// The tensor owns `keeper` and a handle to the block; its device number is 0. DLPack cannot express when the
    /// elements are written; see [`Block::ready_point`].
    ///
    /// # Errors
    ///
    /// [`Error::Tensor`](crate::Error::Tensor) if elements lie outside the block or are not whole bytes.
    pub fn to_vulkan_tensor<K: Send + 'static>(self: &Arc<Self>, shape: &TensorShape, keeper: K) -> Result<Tensor> {
        shape.check(self.size())?;
        let handle = usize::try_from(self.buffer().as_raw()).expect("a handle is as wide as a pointer");
        let device = DLDevice { device_type: DLDeviceType::VULKAN, device_id: 0 };
        let keeper = Box::new((keeper, Arc::clone(self)));
        // SAFETY: the buffer lives in `keeper`, and the elements lie in it, as was just checked.
        Ok(unsafe { tensor(shape, device, ptr::without_provenance_mut(handle), keeper) }?)
    }

    /// Exports elements of a block of host-visible memory as a tensor in host memory, without a copy. Blocks until no
    /// work uses the elements, or for a read-only tensor until no work writes them.
    ///
    /// The tensor owns `keeper` and a handle to the block, and opens the bytes like a guard: while it exists, work that
    /// conflicts is refused. A read-only tensor is a [`Block::read_on_host`], and any other a [`Block::write_on_host`].
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// use vkarray_allocator::{HostTensor, TensorShape};
    ///
    /// let block = allocator.allocate(4, MemoryKind::Pinned)?;
    /// block.write_on_host(0..4)?.copy_from_slice(&[1, 2, 3, 4]);
    /// // Four bytes (code 1: unsigned integers).
    /// let shape = TensorShape { shape: vec![4], strides: vec![1], code: 1, bits: 8, offset: 0, read_only: true };
    /// let tensor = block.to_host_tensor(&shape, ())?;
    /// assert!(block.write_on_host(0..1).is_err()); // The tensor is read.
    /// // SAFETY: the tensor has the bytes open, and its deleter is ours.
    /// let tensor = unsafe { HostTensor::new(tensor) }?;
    /// assert_eq!(tensor.bytes(), [1, 2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Tensor`](crate::Error::Tensor) if elements lie outside the block or are not whole bytes; and the errors
    /// of [`Block::write_on_host`].
    pub fn to_host_tensor<K: Send + 'static>(self: &Arc<Self>, shape: &TensorShape, keeper: K) -> Result<Tensor> {
        shape.check(self.size())?;
        let in_block = |at: i128| u64::try_from(at).expect("the elements lie in the block");
        let Range { start, end } = shape.span();
        let range = in_block(start)..in_block(end);
        let held: Box<dyn Send> = if shape.read_only {
            Box::new(self.read_on_host_arc(range)?.without_elements())
        } else {
            Box::new(self.write_on_host_arc(range)?.without_elements())
        };
        let base = self.mapping().ok_or(Error::NotOnHost { kind: self.kind() })?.address();
        // SAFETY: the mapping lives as long as the block, to which the guard in `keeper` has a handle. The elements lie in it.
        Ok(unsafe { tensor(shape, DLDevice::CPU, base.as_ptr().cast(), Box::new((keeper, held))) }?)
    }
}

/// Exports bytes of the host as a read-only tensor that owns them.
///
/// ```
/// use vkarray_allocator::{HostTensor, TensorShape, tensor_of_bytes};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let shape = TensorShape { shape: vec![2], strides: vec![1], code: 0, bits: 16, offset: 0, read_only: true };
/// let tensor = tensor_of_bytes(&shape, vec![1_u8, 0, 2, 0])?;
/// // SAFETY: the tensor owns its bytes.
/// let tensor = unsafe { HostTensor::new(tensor) }?;
/// assert_eq!((tensor.shape().bits, tensor.bytes().len()), (16, 4));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`TensorError::OutOfBounds`], [`TensorError::Rank`] if the shape does not fit the bytes; [`TensorError::Element`] if
/// the elements are not whole bytes.
pub fn tensor_of_bytes<K: AsRef<[u8]> + Send + 'static>(shape: &TensorShape, bytes: K) -> Result<Tensor, TensorError> {
    let keeper = Box::new(bytes);
    let bytes: &[u8] = (*keeper).as_ref();
    shape.check(bytes.len() as u64)?;
    let (data, read_only) = (bytes.as_ptr().cast_mut().cast(), TensorShape { read_only: true, ..shape.clone() });
    // SAFETY: the bytes are in `keeper`, which is boxed, and a read-only tensor must not be written.
    unsafe { tensor(&read_only, DLDevice::CPU, data, keeper) }
}

/// Makes a tensor.
///
/// # Safety
///
/// The elements that `shape` describes are at `data`, on that device, for as long as `keeper` lives.
unsafe fn tensor<K: OpaqueContext>(
    shape: &TensorShape,
    device: DLDevice,
    data: *mut c_void,
    keeper: K,
) -> Result<Tensor, TensorError> {
    let ndim = shape.shape.len();
    let no_tensor = |_| TensorError::Rank { ndim, n_strides: ndim };
    let mut allocation = Allocation::allocate(2 * ndim).map_err(no_tensor)?;
    let (lens, strides) = allocation.extra_mut().split_at_mut(ndim);
    lens.copy_from_slice(&shape.shape);
    strides.copy_from_slice(&shape.strides);
    let mut tensor = allocation.initialize(keeper, ndim).map_err(no_tensor)?;
    let numbers = tensor.extra_mut().as_mut_ptr();
    if ndim > 0 {
        tensor.tensor_mut().shape = numbers;
        tensor.tensor_mut().strides = numbers.wrapping_add(ndim);
    }
    let is_empty = shape.shape.contains(&0);
    let flags = if shape.read_only { DlpackFlags::READ_ONLY } else { DlpackFlags::empty() };
    tensor
        .set_data(if is_empty { ptr::null_mut() } else { data })
        .set_device(device)
        .set_dtype(DLDataType::scalar(DLDataTypeCode(shape.code), shape.bits))
        .set_byte_offset(if is_empty { 0 } else { shape.offset });
    tensor.set_flags(flags).map_err(|reason| TensorError::Damaged { reason })?;
    // SAFETY: the caller promises the data; lengths and strides lie in the tensor's own allocation.
    Ok(unsafe { tensor.finish() })
}

/// A tensor in host memory whose elements may be read.
pub struct HostTensor {
    shape: TensorShape,
    start: *const u8,
    len: usize,
    is_exclusive: bool,
    _tensor: Tensor, // The tensor keeps the memory.
}

// SAFETY: the caller of `new` promised that the elements may be read, and the tensor be dropped, on any thread.
unsafe impl Send for HostTensor {}
// SAFETY: shared access reads elements, which nothing writes.
unsafe impl Sync for HostTensor {}

vkarray_driver::debug_fields!(HostTensor, this => shape: this.shape, len: this.len);

impl HostTensor {
    /// Checks the descriptor of a tensor.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotOnHost`], [`TensorError::Damaged`], [`TensorError::Element`], [`TensorError::OutOfBounds`].
    ///
    /// # Safety
    ///
    /// The tensor's memory holds all elements that its descriptor names, the bytes between them are initialised, and nothing
    /// writes any of them until the result is dropped. They may be read, and the tensor be dropped, on any thread.
    pub unsafe fn new(tensor: Tensor) -> Result<Self, TensorError> {
        let view = tensor.validate().map_err(|reason| TensorError::Damaged { reason })?;
        let (device_type, dtype) = (view.device().device_type, view.dtype());
        if device_type != DLDeviceType::CPU {
            return Err(TensorError::NotOnHost { device_type: device_type.0 });
        }
        check_element(dtype.bits, dtype.lanes)?;
        let strides = view.strides_or_compact().map_err(|reason| TensorError::Damaged { reason })?.to_vec();
        // SAFETY: the descriptor is read and not written, here and by `validate`.
        let raw = unsafe { tensor.tensor() };
        let read_only = tensor.flags().contains(DlpackFlags::READ_ONLY);
        let (data, offset) = (raw.data.cast_const().cast::<u8>(), raw.byte_offset);
        let shape = view.shape().to_vec();
        let mut shape = TensorShape { shape, strides, code: dtype.code.0, bits: dtype.bits, offset, read_only };
        let Range { start, end } = shape.span();
        let unaddressable = TensorError::OutOfBounds { start, end, size: isize::MAX as u64 };
        let (Ok(first), Ok(len)) = (isize::try_from(start), usize::try_from(end - start)) else {
            return Err(unaddressable);
        };
        if isize::try_from(len).is_err() || (data.is_null() && len > 0) {
            return Err(unaddressable);
        }
        // From here on, offsets count from the lowest element.
        shape.offset = u64::try_from(i128::from(offset) - start).unwrap_or(0);
        let start = data.wrapping_offset(first);
        Ok(Self { shape, start, len, is_exclusive: false, _tensor: tensor })
    }

    /// Checks the descriptor like [`HostTensor::new`], for a tensor whose memory nothing else uses: the device may
    /// reach it in place.
    ///
    /// # Errors
    ///
    /// [`TensorError::ReadOnly`]; and the errors of [`HostTensor::new`].
    ///
    /// # Safety
    ///
    /// The obligations of [`HostTensor::new`] hold. In addition, nothing else reads the elements or the bytes between
    /// them until the result is dropped, and they are memory of the host's own, not a mapping of a device's memory.
    pub unsafe fn exclusive(tensor: Tensor) -> Result<Self, TensorError> {
        if tensor.flags().contains(DlpackFlags::READ_ONLY) {
            return Err(TensorError::ReadOnly);
        }
        // SAFETY: the caller promises more than `new` requires.
        Ok(Self { is_exclusive: true, ..unsafe { Self::new(tensor) }? })
    }

    /// The shape of the tensor, with the offset counted from the start of [`HostTensor::bytes`].
    pub fn shape(&self) -> &TensorShape {
        &self.shape
    }

    /// The range of bytes with all elements.
    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `new`'s caller promised that the elements and the bytes between them are initialised and not written while
        // this lives; `_tensor` keeps their memory.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl Allocator {
    /// Lets the device reach an [exclusive](HostTensor::exclusive) tensor in place. The block keeps the tensor alive;
    /// the first byte of the block is the first of [`HostTensor::bytes`].
    ///
    /// # Errors
    ///
    /// Each error returns the tensor. [`Error::NotWholePages`] if its bytes are not whole pages of the device,
    /// [`Error::Unsupported`] if it is not exclusive or the device imports nothing; and the errors of the driver.
    pub fn pin_tensor(self: &Arc<Self>, tensor: HostTensor) -> Result<Arc<Block>, PinError<HostTensor>> {
        let tensor = Arc::new(tensor);
        self.import_tensor(&tensor).map_err(|error| PinError::new(error, Arc::into_inner(tensor)))
    }

    fn import_tensor(self: &Arc<Self>, tensor: &Arc<HostTensor>) -> Result<Arc<Block>> {
        let (address, len) = (tensor.start.addr(), tensor.len);
        let alignment = page(self.device().info());
        let is_whole = len > 0 && whole_pages(address, len, alignment) == (0..len);
        let start = NonNull::new(tensor.start.cast_mut()).filter(|_| is_whole);
        let start = start.ok_or(Error::NotWholePages { address, size: len as u64, alignment })?;
        if !tensor.is_exclusive {
            return Err(Error::Unsupported { what: "pinning a tensor that other code may read" });
        }
        // SAFETY: the block keeps a handle to the tensor until the import has ended, and the tensor keeps its bytes. Nothing
        // else uses them, as the caller of `exclusive` promised, and `bytes` is not called for a tensor that is in a block.
        unsafe { self.import_pages(Box::new(Arc::clone(tensor)), start, len as u64, true) }
    }
}

#[cfg(test)]
mod tests;
