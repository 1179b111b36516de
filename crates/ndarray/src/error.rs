//! [`Error`]: why an operation on arrays is refused or fails.

use vkarray_allocator as allocator;
use vkarray_driver as driver;
use vkarray_kernel as kernel;
use vkarray_kernel::{DType, ScalarValue, tuple_text};
use vkarray_layout::LayoutError;

use crate::array::RangeProblem;
use crate::expr::ExprError;
#[cfg(feature = "npy")]
use crate::io::FileError;
use crate::io::InterfaceError;
use crate::multi_device::MultiDeviceError;

/// The result of an operation on arrays.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on arrays is refused or fails.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let refused = ctx.zeros::<f32>([2, 3])?.copy_from_slice(&[1.0]).unwrap_err();
/// assert!(matches!(refused, Error::LengthMismatch { given: 1, expected: 6, .. }));
/// assert_eq!(refused.to_string(), "1 values of f32 do not fill shape (2, 3), which has 6");
/// # anyhow::Ok(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of the message above each variant; repeating them says nothing")]
pub enum Error {
    /// A shape, a view or an index that is not possible.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A host array of another shape than the device array.
    #[error("host array of shape {} does not match the device array's shape {}", tuple_text(host), tuple_text(device))]
    ShapeMismatch { host: Vec<usize>, device: Vec<usize> },
    /// A device array whose number of axes is not that of the host array asked for.
    #[error("an array of shape {} has {} axes, not {expected}", tuple_text(shape), shape.len())]
    RankMismatch { expected: usize, shape: Vec<usize> },
    /// More or fewer values than the shape has elements.
    #[error("{given} values of {dtype} do not fill shape {}, which has {expected}", tuple_text(shape))]
    LengthMismatch { given: usize, expected: usize, shape: Vec<usize>, dtype: DType },
    /// A host array for which the host has no memory, such as a copy of an array that repeats its elements.
    #[error("the host has no memory for {} of {dtype}: {} bytes", tuple_text(shape), bytes_of(shape, *dtype))]
    HostMemory { shape: Vec<usize>, dtype: DType },
    /// An array and a stream of devices that were opened separately.
    #[error("the array belongs to {array} and the stream to {stream}: they were opened separately")]
    ForeignDevice { array: String, stream: String },
    /// A write to an array in which several elements share memory.
    #[error(
        "cannot write to shape {} with strides {}: several of its elements share memory",
        tuple_text(shape),
        tuple_text(strides)
    )]
    SharedElements { shape: Vec<usize>, strides: Vec<isize> },
    /// A mutable host array of elements that do not share memory, but whose axes interleave.
    #[error(
        "a host array cannot be written with shape {} and strides {}: a stride is not beyond what smaller strides span",
        tuple_text(shape),
        tuple_text(strides)
    )]
    InterleavedAxes { shape: Vec<usize>, strides: Vec<isize> },
    /// A range whose length is not defined or too large.
    #[error("invalid range from {start} to {stop} by {step}: {problem}")]
    Range { start: ScalarValue, stop: ScalarValue, step: ScalarValue, problem: RangeProblem },
    /// A write to a read-only array.
    #[error("cannot write to an array of {dtype} with shape {}: it is read-only", tuple_text(shape))]
    ReadOnly { dtype: DType, shape: Vec<usize> },
    /// An operation along the first axis of an array that has none.
    #[error("{operation} needs an axis, the array has none")]
    NoAxis { operation: &'static str },
    /// A file that cannot be read or written.
    #[cfg(feature = "npy")]
    #[error(transparent)]
    File(Box<FileError>),
    /// An array of another library that cannot be used.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// An array of several contexts that cannot be made or used as asked.
    #[error(transparent)]
    MultiDevice(#[from] MultiDeviceError),
    /// An array for another process with fewer bytes than its memory, all of which the receiver would get.
    #[error(
        "the array has bytes {bytes:?} of a block of {block}, all of which the receiver gets: allow it, or share a copy"
    )]
    SharesMore { bytes: std::ops::Range<u64>, block: u64 },
    /// A range of elements that ends outside its slice.
    #[error("{len} elements from element {start} on are outside a slice of {size}")]
    OutOfSlice { start: usize, len: usize, size: usize },
    /// A conversion from or to a type that is not a number.
    #[error("elements of {from} cannot be converted to {to}")]
    NoConversion { from: DType, to: DType },
    /// An expression that has no value, by its operands or its target.
    #[error(transparent)]
    Expression(Box<ExprError>),
    /// An operation of a crate above this one was refused, for instance one that computes with arrays.
    /// [`source`](std::error::Error::source) is the error of the operation.
    #[error(transparent)]
    Operation(Box<dyn std::error::Error + Send + Sync>),
    /// An allocation or a copy was refused or failed.
    #[error(transparent)]
    Memory(#[from] allocator::Error),
    /// A kernel was refused or failed.
    #[error(transparent)]
    Kernel(kernel::Error),
    /// The driver refused a call or failed.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}

vkarray_driver::debug_as_display!(Error);

impl Error {
    /// Whether this machine has no Vulkan device at all: there is no loader, or no driver that answers.
    ///
    /// A test that may be skipped on such a machine should check this alone. A misspelt `VKARRAY_DEVICE`, or a device
    /// that cannot be used, is another error, for which this is `false`.
    ///
    /// ```
    /// use vkarray::Context;
    ///
    /// let ctx = match Context::open_default() {
    ///     Err(error) if error.is_no_device() => return Ok(()), // Nothing to test on.
    ///     other => other?,
    /// };
    /// assert_eq!(ctx.zeros::<f32>([3])?.to_vec()?, [0.0; 3]);
    /// # Ok::<(), vkarray::Error>(())
    /// ```
    pub fn is_no_device(&self) -> bool {
        match self {
            Self::Driver(error) | Self::Memory(allocator::Error::Driver(error)) => error.is_no_device(),
            _ => false,
        }
    }
}

/// Bytes of an array of this shape.
fn bytes_of(shape: &[usize], dtype: DType) -> u128 {
    shape.iter().map(|&len| len as u128).product::<u128>() * u128::from(dtype.itemsize())
}

impl From<ExprError> for Error {
    fn from(error: ExprError) -> Self {
        Self::Expression(Box::new(error))
    }
}

/// An error of memory or of the driver is the same variant, whether it came from a copy or from a kernel.
impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        match error {
            kernel::Error::Memory(error) => Self::Memory(error),
            kernel::Error::Driver(error) => Self::Driver(error),
            error => Self::Kernel(error),
        }
    }
}

/// A shader that cannot be used is refused in the same words with a device and without one.
impl From<kernel::ShaderError> for Error {
    fn from(error: kernel::ShaderError) -> Self {
        Self::Kernel(error.into())
    }
}

impl From<kernel::UnknownDType> for Error {
    fn from(error: kernel::UnknownDType) -> Self {
        kernel::ShaderError::from(error).into()
    }
}

impl From<kernel::BadScalar> for Error {
    fn from(error: kernel::BadScalar) -> Self {
        kernel::ShaderError::from(error).into()
    }
}

#[cfg(target_os = "linux")]
impl From<allocator::IpcError> for Error {
    fn from(error: allocator::IpcError) -> Self {
        Self::Memory(error.into())
    }
}

#[cfg(feature = "dlpack")]
impl From<allocator::TensorError> for Error {
    fn from(error: allocator::TensorError) -> Self {
        Self::Memory(error.into())
    }
}

#[cfg(feature = "npy")]
impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}
