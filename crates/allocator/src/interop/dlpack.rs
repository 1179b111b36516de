//! DLPack tensors over blocks, and the bytes of tensors on the host: the raw part of an exchange with other libraries.
//!
//! The structs and their ownership are the `dlpark` crate's. What lives here is what needs `unsafe`: pointers into
//! blocks, and memory that others promise to be there. Element types and layouts are the array crate's; a tensor here
//! is a [`TensorShape`], in DLPack's own numbers.

use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::Arc;

use ash::vk::Handle;
use dlpark::allocation::dynamic::Allocation;
use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType};
use dlpark::{DlpackFlags, OpaqueContext};
use vkarray_driver::hazard::Mode;

use crate::allocator::Block;
use crate::error::Result;

/// An owned DLPack tensor, of the versioned kind. Dropping it releases what it holds;
/// [`into_raw`](dlpark::Managed::into_raw) hands it to another library.
pub type Tensor = dlpark::versioned::Dlpack;

/// What a tensor says of itself, in DLPack's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    /// Elements on each axis.
    pub shape: Vec<i64>,
    /// From an element to the next on each axis, in elements.
    pub strides: Vec<i64>,
    /// `DLDataTypeCode`: the kind of number.
    pub code: u8,
    /// Bits of an element, a whole number of bytes.
    pub bits: u8,
    /// Where the first element lies in the memory, in bytes.
    pub offset: u64,
    /// Whether the consumer may not write.
    pub read_only: bool,
}

/// Why a tensor cannot be made or taken.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum TensorError {
    /// Memory that the host cannot address.
    #[error("the tensor lies on a device of DLPack's type {device_type}, and not in the host's memory")]
    NotOnHost { device_type: u32 },
    /// A block that the host cannot address.
    #[error("the host cannot address this block of {size} bytes")]
    NotMapped { size: u64 },
    /// A block in memory where host and device see each other's writes only if told, which no user of a tensor does.
    #[error("the block of {size} bytes lies in memory that is not coherent: copy it")]
    NotCoherent { size: u64 },
    /// A tensor that contradicts itself.
    #[error("the tensor is damaged: {reason}")]
    Damaged { reason: dlpark::tensor::Error },
    /// Elements of several numbers, or of no whole number of bytes.
    #[error("elements of {lanes} times {bits} bits are no element type")]
    Element { bits: u8, lanes: u16 },
    /// Elements outside the memory, or none that can be addressed.
    #[error("elements at bytes {start} to {end} do not lie in memory of {size} bytes")]
    OutOfBounds { start: i128, end: i128, size: u64 },
    /// More axes than a tensor can have.
    #[error("{ndim} axes with {n_strides} strides make no tensor")]
    Rank { ndim: usize, n_strides: usize },
}

impl fmt::Debug for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TensorShape {
    /// Bytes of an element.
    #[must_use]
    pub fn itemsize(&self) -> u64 {
        u64::from(self.bits / 8)
    }

    /// From the first to past the last byte of any element, counted from the start of the memory.
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
        let Range { start, end } = self.span();
        if start < 0 || end > i128::from(size) || self.shape.iter().any(|&len| len < 0) {
            return Err(TensorError::OutOfBounds { start, end, size });
        }
        Ok(())
    }
}

impl Block {
    /// Shows elements of the block as a tensor of DLPack's Vulkan kind: its data is the number of the `VkBuffer`.
    ///
    /// The tensor keeps `keeper` and the block; its device number is 0. DLPack says nothing of when the elements are there; see
    /// [`Block::ready_point`].
    ///
    /// # Errors
    ///
    /// [`Error::Tensor`](crate::Error::Tensor) if elements lie outside the block.
    pub fn to_vulkan_tensor<K: Send + 'static>(self: &Arc<Self>, shape: &TensorShape, keeper: K) -> Result<Tensor> {
        shape.check(self.size())?;
        let handle = usize::try_from(self.buffer().as_raw()).expect("a handle is as wide as a pointer");
        let device = DLDevice { device_type: DLDeviceType::VULKAN, device_id: 0 };
        let keeper = Box::new((keeper, Arc::clone(self)));
        // SAFETY: the buffer lives in `keeper`, and the elements lie in it, as was just checked.
        Ok(unsafe { tensor(shape, device, ptr::without_provenance_mut(handle), keeper) }?)
    }

    /// Shows elements of a block that the host addresses as a tensor in the host's memory, without a copy. Blocks until
    /// the device is done with the block.
    ///
    /// The tensor keeps `keeper` and the block. While it is read, the device must not write the block; that is for the
    /// reader to promise, as with any tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Tensor`](crate::Error::Tensor) if the host cannot address the block or elements lie outside it; those
    /// of waiting.
    pub fn to_host_tensor<K: Send + 'static>(self: &Arc<Self>, shape: &TensorShape, keeper: K) -> Result<Tensor> {
        shape.check(self.size())?;
        let base = self.mapping().ok_or(TensorError::NotMapped { size: self.size() })?;
        if !base.is_coherent() {
            return Err(TensorError::NotCoherent { size: self.size() }.into());
        }
        let base = base.address();
        self.wait_for_uses(&(0..self.size()), Mode::Write)?;
        let keeper = Box::new((keeper, Arc::clone(self)));
        // SAFETY: the mapping lives as long as the block in `keeper`, and the elements lie in it.
        Ok(unsafe { tensor(shape, DLDevice::CPU, base.as_ptr().cast(), keeper) }?)
    }
}

/// Makes a tensor in the host's memory of elements that nobody else has.
///
/// # Errors
///
/// [`TensorError::OutOfBounds`], [`TensorError::Rank`] if the shape is not of these bytes.
pub fn tensor_of_bytes<K: AsRef<[u8]> + Send + 'static>(shape: &TensorShape, bytes: K) -> Result<Tensor, TensorError> {
    let keeper = Box::new(bytes);
    let bytes: &[u8] = (*keeper).as_ref();
    shape.check(bytes.len() as u64)?;
    let (data, read_only) = (bytes.as_ptr().cast_mut().cast(), TensorShape { read_only: true, ..shape.clone() });
    // SAFETY: the bytes are in `keeper`, which is boxed, and nobody may write through a read-only tensor.
    unsafe { tensor(&read_only, DLDevice::CPU, data, keeper) }
}

/// Makes a tensor.
///
/// # Safety
///
/// The elements that `shape` says lie at `data`, on that device, for as long as `keeper` lives.
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
    // SAFETY: the caller vouches for the data; lengths and strides lie in the tensor's own allocation.
    Ok(unsafe { tensor.finish() })
}

/// A tensor in the host's memory whose elements may be read.
#[derive(Debug)]
pub struct HostTensor {
    shape: TensorShape,
    start: *const u8,
    len: usize,
    _tensor: TensorOwner, // Holds the memory.
}

struct TensorOwner(#[expect(dead_code, reason = "held for its drop")] Tensor);

impl std::fmt::Debug for TensorOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tensor")
    }
}

impl HostTensor {
    /// Checks what the tensor says of itself.
    ///
    /// # Errors
    ///
    /// [`TensorError::NotOnHost`], [`TensorError::Damaged`], [`TensorError::Element`], [`TensorError::OutOfBounds`].
    ///
    /// # Safety
    ///
    /// The tensor's memory holds all the elements it says, with what lies between them initialised, and nobody writes
    /// it until the result is dropped.
    pub unsafe fn new(tensor: Tensor) -> Result<Self, TensorError> {
        let says = tensor.validate().map_err(|reason| TensorError::Damaged { reason })?;
        let (device_type, dtype) = (says.device().device_type, says.dtype());
        if device_type != DLDeviceType::CPU {
            return Err(TensorError::NotOnHost { device_type: device_type.0 });
        }
        if dtype.lanes != 1 || dtype.bits % 8 != 0 {
            return Err(TensorError::Element { bits: dtype.bits, lanes: dtype.lanes });
        }
        let strides = says.strides_or_compact().map_err(|reason| TensorError::Damaged { reason })?.to_vec();
        // SAFETY: the descriptor is read and not written, here and by `validate`.
        let raw = unsafe { tensor.tensor() };
        let read_only = tensor.flags().contains(DlpackFlags::READ_ONLY);
        let (data, offset) = (raw.data.cast_const().cast::<u8>(), raw.byte_offset);
        let shape = says.shape().to_vec();
        let mut shape = TensorShape { shape, strides, code: dtype.code.0, bits: dtype.bits, offset, read_only };
        let Range { start, end } = shape.span();
        let unaddressable = TensorError::OutOfBounds { start, end, size: isize::MAX as u64 };
        let (Ok(first), Ok(len)) = (isize::try_from(start), usize::try_from(end - start)) else {
            return Err(unaddressable);
        };
        if isize::try_from(len).is_err() || (data.is_null() && len > 0) {
            return Err(unaddressable);
        }
        // From here on offsets count from the lowest element.
        shape.offset = u64::try_from(i128::from(offset) - start).unwrap_or(0);
        Ok(Self { shape, start: data.wrapping_offset(first), len, _tensor: TensorOwner(tensor) })
    }

    /// What the tensor says of itself, offsets counted from the start of [`HostTensor::bytes`].
    #[must_use]
    pub fn shape(&self) -> &TensorShape {
        &self.shape
    }

    /// The memory from the first to past the last byte of any element.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `new`'s caller promised that the elements and what lies between are there, initialised, and not
        // written while this lives; `_tensor` holds their memory.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

#[cfg(test)]
mod tests;
