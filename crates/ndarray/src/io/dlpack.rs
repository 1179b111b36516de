//! DLPack: arrays to and from libraries of other languages.
//!
//! This file translates element types and layouts; the allocator crate's `dlpack.rs` handles pointers and ownership.
//! Only tensors in host memory are accepted, because DLPack does not define what the pointer of a Vulkan tensor is, nor
//! when its elements are written. Within a process [`AsDeviceArray`](super::AsDeviceArray) defines both.

use vkarray_allocator::{HostTensor, Tensor, TensorShape, tensor_of_bytes};
use vkarray_kernel::{DType, Element};
use vkarray_layout::Layout;

use super::interface::elements;
use crate::array::{DeviceNDArray, host_values};
use crate::context::Context;
use crate::error::{InterfaceError, Result};

/// DLPack's type codes, each with the element types that it and a number of bits stand for.
const TYPE_CODES: [(u8, &[DType]); 6] = [
    (0, &[DType::I8, DType::I16, DType::I32, DType::I64]),
    (1, &[DType::U8, DType::U16, DType::U32, DType::U64]),
    (2, &[DType::F16, DType::F32, DType::F64]),
    (4, &[DType::BF16]),
    (5, &[DType::Complex32, DType::Complex64]),
    (6, &[DType::Bool]),
];

/// Each element type with its type code and number of bits.
fn type_codes() -> impl Iterator<Item = (DType, u8, u32)> {
    TYPE_CODES
        .into_iter()
        .flat_map(|(code, dtypes)| dtypes.iter().map(move |&dtype| (dtype, code, 8 * dtype.itemsize())))
}

impl<T: Element> DeviceNDArray<T> {
    /// Makes a DLPack tensor of device type Vulkan that shares the array's memory. Returns at once.
    ///
    /// The tensor's data pointer is the `VkBuffer`, its offset is the array's offset, and it keeps the array alive.
    /// [`device_array_interface`](super::AsDeviceArray::device_array_interface) says when the elements are written.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let tensor = ctx.zeros::<f32>(3)?.to_dlpack_vulkan()?;
    /// drop(tensor); // Or hand it to another library.
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InterfaceError::NoTensor`] for records, which DLPack cannot describe.
    pub fn to_dlpack_vulkan(&self) -> Result<Tensor> {
        Ok(self.block().to_vulkan_tensor(&self.tensor_shape()?, self.clone())?)
    }

    /// Makes a DLPack tensor in host memory. Blocks until the elements are written.
    ///
    /// The tensor of a pinned, mapped or shared array shares its memory and keeps it alive. While the tensor exists, its
    /// elements are open to the host: work that writes them, and for an array that is not
    /// [read-only](DeviceNDArray::read_only) all work on them, is refused. The tensor of an array in device memory is a
    /// read-only copy.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.pinned_array::<f32>(3)?;
    /// let tensor = x.to_dlpack_host()?; // Without a copy.
    /// assert!(x.fill(1.0).is_err()); // The tensor's user may be reading.
    /// drop(tensor); // Or hand it to another library, which drops it.
    /// x.fill(1.0)?;
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InterfaceError::NoTensor`] for records; and the errors of [`DeviceNDArray::write_on_host`] and
    /// [`DeviceNDArray::copy_to_host`].
    pub fn to_dlpack_host(&self) -> Result<Tensor>
    where
        T: Send,
    {
        let shape = self.tensor_shape()?;
        if self.block().kind().is_host_visible() {
            return Ok(self.block().to_host_tensor(&shape, self.clone())?);
        }
        let host = self.copy_to_host()?;
        let strides = host.strides().iter().map(|&stride| stride as i64).collect();
        let bytes = Elements(host.into_raw_vec_and_offset().0);
        Ok(tensor_of_bytes(&TensorShape { strides, offset: 0, ..shape }, bytes)?)
    }

    fn tensor_shape(&self) -> Result<TensorShape> {
        let kind = type_codes().find(|row| row.0 == DType::of::<T>());
        let (_, code, bits) = kind.ok_or(InterfaceError::NoTensor { dtype: DType::of::<T>() })?;
        Ok(TensorShape {
            shape: self.shape().iter().map(|&len| len as i64).collect(),
            strides: self.strides().iter().map(|&stride| stride as i64).collect(),
            code,
            bits: u8::try_from(bits).expect("at most 128"),
            offset: self.offset() as u64 * size_of::<T>() as u64,
            read_only: !self.is_writable(),
        })
    }
}

/// Elements on the host that a tensor borrows as bytes.
struct Elements<T>(Vec<T>);

impl<T: Element> AsRef<[u8]> for Elements<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

impl Context {
    /// Copies a DLPack tensor in host memory to a new array in C order, on the default stream. Returns when the tensor has
    /// been read.
    ///
    /// # Errors
    ///
    /// [`Error::Interface`](crate::Error::Interface) if the tensor's elements are not of type `T` or its layout is
    /// invalid; and the errors of [`Context::to_device`].
    pub fn dlpack_to_device<T: Element>(&self, tensor: &HostTensor) -> Result<DeviceNDArray<T>> {
        let described = tensor.shape();
        let layout = tensor_layout(described, DType::of::<T>())?;
        let bytes = tensor.bytes();
        let element = |offset: usize| bytemuck::pod_read_unaligned(&bytes[offset * size_of::<T>()..][..size_of::<T>()]);
        let mut values = host_values(layout.shape())?;
        values.iter_mut().zip(layout.offsets()).for_each(|(value, offset)| *value = element(offset));
        let host = ndarray::ArrayD::from_shape_vec(layout.shape(), values).expect("one value for each element");
        self.to_device(&host)
    }

    /// Makes an array of a DLPack tensor in host memory. If the tensor is [exclusive](HostTensor::exclusive) and its
    /// memory is whole pages that the device imports, the array uses that memory and keeps it alive; otherwise the
    /// elements are copied in C order, on the default stream.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::dlpack_to_device`].
    pub fn from_dlpack<T: Element>(&self, tensor: HostTensor) -> Result<DeviceNDArray<T>> {
        let layout = tensor_layout(tensor.shape(), DType::of::<T>())?;
        let tensor = match self.allocator().pin_tensor(tensor) {
            Ok(block) => return DeviceNDArray::from_block(self, &block, layout),
            Err(refused) => {
                let (error, tensor) = refused.into_parts();
                tensor.ok_or(error)?
            }
        };
        self.dlpack_to_device(&tensor)
    }
}

/// The layout of a tensor, in elements of `wanted`.
fn tensor_layout(described: &TensorShape, wanted: DType) -> std::result::Result<Layout, InterfaceError> {
    let found = type_codes().find(|&(_, code, bits)| (code, bits) == (described.code, described.bits.into()));
    if found.map(|row| row.0) != Some(wanted) {
        let typestr = found.map_or_else(
            || format!("DLPack's type code {} of {} bits", described.code, described.bits),
            |(dtype, ..)| dtype.to_string(),
        );
        return Err(InterfaceError::DType { typestr, wanted });
    }
    let offset = elements(i128::from(described.offset), wanted.itemsize())?;
    let too_large = |value: &i64| InterfaceError::Misaligned { bytes: i128::from(*value), itemsize: 1 };
    let lens = described.shape.iter().map(|len| usize::try_from(*len).map_err(|_| too_large(len)));
    let strides = described.strides.iter().map(|stride| isize::try_from(*stride).map_err(|_| too_large(stride)));
    let (lens, strides): (Vec<usize>, Vec<isize>) =
        (lens.collect::<std::result::Result<_, _>>()?, strides.collect::<std::result::Result<_, _>>()?);
    Ok(Layout::with_strides(&lens, &strides, offset.cast_unsigned())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_number_has_one_type_code() {
        let codes: Vec<_> = type_codes().collect();
        assert_eq!(codes.len(), DType::ALL.len());
        for (at, &(dtype, code, bits)) in codes.iter().enumerate() {
            assert!(codes[..at].iter().all(|row| row.0 != dtype && (row.1, row.2) != (code, bits)), "{dtype}");
        }
    }

    #[test]
    fn tensors_are_layouts_of_their_own_elements() {
        let described =
            TensorShape { shape: vec![4, 3], strides: vec![-1, 4], code: 2, bits: 32, offset: 12, read_only: false };
        let layout = tensor_layout(&described, DType::F32).unwrap();
        assert_eq!((layout.shape(), layout.strides(), layout.offset()), (&[4, 3][..], &[-1, 4][..], 3));
        let error = tensor_layout(&described, DType::I32).unwrap_err();
        assert_eq!(error.to_string(), "the array's elements are `f32`, not i32");
        let float8 = TensorShape { code: 10, bits: 8, ..described.clone() };
        let error = tensor_layout(&float8, DType::U8).unwrap_err();
        assert_eq!(error.to_string(), "the array's elements are `DLPack's type code 10 of 8 bits`, not u8");
        let before = TensorShape { offset: 8, ..described.clone() };
        assert!(matches!(tensor_layout(&before, DType::F32), Err(InterfaceError::Layout(_))));
        let misaligned = TensorShape { offset: 13, ..described };
        assert!(matches!(tensor_layout(&misaligned, DType::F32), Err(InterfaceError::Misaligned { .. })));
    }
}
