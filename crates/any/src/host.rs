//! Creation of arrays from bytes and numbers, and the way back to the host.

use vkarray_allocator::HostOptions;
use vkarray_kernel::DType;
use vkarray_layout::Order;
use vkarray_ndarray::{Context, Error, Result};

use super::scalar::FromScalar;
use super::{AnyArray, AnyScalar, with_any, with_type};

impl AnyArray {
    /// Creates an array without setting its elements, as [`Context::device_array`] does.
    ///
    /// # Errors
    ///
    /// [`Error::NoConversion`] for a struct of the program, and the errors of [`Context::device_array`].
    pub fn empty(ctx: &Context, dtype: DType, shape: &[usize]) -> Result<Self> {
        with_type!(dtype, T => Ok(ctx.device_array::<T>(shape)?.into()), else no_type(dtype))
    }

    /// Creates an array in host memory that kernels address, without setting its elements, as [`Context::mapped_array`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyArray::empty`] and [`Context::mapped_array`].
    pub fn mapped(ctx: &Context, dtype: DType, shape: &[usize], options: HostOptions) -> Result<Self> {
        with_type!(dtype, T => Ok(ctx.mapped_array::<T>(shape, options)?.into()), else no_type(dtype))
    }

    /// Creates an array in device memory that the host addresses, without setting its elements, as
    /// [`Context::shared_array`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyArray::empty`] and [`Context::shared_array`].
    pub fn shared(ctx: &Context, dtype: DType, shape: &[usize]) -> Result<Self> {
        with_type!(dtype, T => Ok(ctx.shared_array::<T>(shape)?.into()), else no_type(dtype))
    }

    /// Copies the array to a new one of another context, as
    /// [`DeviceNDArray::copy_to_context`](vkarray_ndarray::DeviceNDArray::copy_to_context) does.
    ///
    /// # Errors
    ///
    /// The errors of that method.
    pub fn copy_to_context(&self, context: &Context) -> Result<Self> {
        with_any!(self, array => Ok(array.copy_to_context(context)?.into()))
    }

    /// Creates an array with all elements equal to a number. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarRange`] for a number that the type does not have; and the errors of [`Context::full`].
    pub fn full(ctx: &Context, dtype: DType, shape: &[usize], value: AnyScalar) -> Result<Self> {
        with_type!(dtype, T => Ok(ctx.full::<T>(shape, value.value()?)?.into()), else no_type(dtype))
    }

    /// Creates an array of the bytes of its elements, in C order and in the byte order of the host. Returns when the bytes
    /// have been read.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] for another number of bytes than the elements have; and the errors of
    /// [`AnyArray::empty`] and of the copy.
    pub fn from_bytes(ctx: &Context, dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Self> {
        let array = Self::empty(ctx, dtype, shape)?;
        if bytes.len() as u64 != array.nbytes() {
            let given = bytes.len() / dtype.itemsize() as usize;
            return Err(Error::LengthMismatch { given, expected: array.size(), shape: shape.to_vec(), dtype });
        }
        with_any!(&array, array => array.block().copy_from_host(array.stream(), 0, bytes)?);
        Ok(array)
    }

    /// The bytes of the elements, in C order and in the byte order of the host. Blocks until the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::HostMemory`], and the errors of [`AnyArray::copy_to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let refused = || Error::HostMemory { shape: self.shape().to_vec(), dtype: self.dtype() };
        let len = usize::try_from(self.nbytes()).map_err(|_| refused())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| refused())?;
        bytes.resize(len, 0);
        self.copy_to_bytes(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies the elements to the bytes of the host, as [`AnyArray::to_bytes`]. Blocks until the copy is complete.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] for another number of bytes than the elements have; and the errors of
    /// [`DeviceNDArray::to_contiguous`](vkarray_ndarray::DeviceNDArray::to_contiguous) and of the copy.
    pub fn copy_to_bytes(&self, bytes: &mut [u8]) -> Result<()> {
        with_any!(self, array => {
            if bytes.len() as u64 != array.nbytes() {
                let (given, expected) = (bytes.len() / array.itemsize(), array.size());
                return Err(Error::LengthMismatch { given, expected, shape: array.shape().to_vec(), dtype: array.dtype() });
            }
            let array = array.to_contiguous(Order::C)?;
            let offset = (array.offset() * array.itemsize()) as u64;
            Ok(array.block().copy_to_host(array.stream(), offset, bytes)?)
        })
    }

    /// The only element. Blocks until it is on the host.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the array has another number of elements; and the errors of the copy.
    pub fn item(&self) -> Result<AnyScalar> {
        with_any!(self, array => Ok(array.item()?.to_scalar()))
    }

    /// Writes a number to all elements. Returns at once.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarRange`], and the errors of [`DeviceNDArray::fill`](vkarray_ndarray::DeviceNDArray::fill).
    pub fn fill(&self, value: AnyScalar) -> Result<()> {
        with_any!(self, array => array.fill(value.value()?))
    }

    /// Writes the elements of another array, converted to the type of this one; its shape broadcasts. Returns at once.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyArray::astype`] and [`DeviceNDArray::assign`](vkarray_ndarray::DeviceNDArray::assign).
    pub fn assign(&self, source: &Self) -> Result<()> {
        let source = if source.dtype() == self.dtype() { source.clone() } else { source.astype(self.dtype())? };
        with_any!(self, array => array.assign(source.expect_type()))
    }

    /// Evenly spaced numbers from `start` to before `stop`, as NumPy's `arange`. Returns when the numbers have been read.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarRange`], [`Error::NoConversion`], and the errors of [`Context::arange`].
    pub fn arange(ctx: &Context, dtype: DType, [start, stop, step]: [AnyScalar; 3]) -> Result<Self> {
        macro_rules! range {
            ($T:ty) => {
                ctx.arange::<$T>(start.value()?, stop.value()?, step.value()?)?.into()
            };
        }
        let range: Self = match dtype {
            DType::F64 => range!(f64),
            DType::F32 | DType::F16 | DType::BF16 | DType::Complex32 => range!(f32),
            DType::U64 => range!(u64),
            _ => range!(i64),
        };
        if range.dtype() == dtype { Ok(range) } else { range.astype(dtype) }
    }
}

fn no_type(dtype: DType) -> Result<AnyArray> {
    Err(Error::NoConversion { from: dtype, to: dtype })
}
