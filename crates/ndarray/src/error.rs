//! What can go wrong with arrays.

use vkarray_allocator as allocator;
use vkarray_driver as driver;
use vkarray_kernel as kernel;
use vkarray_kernel::{DType, ScalarValue};

use crate::array::RangeProblem;
use crate::io::FileError;
use crate::io::InterfaceError;
use crate::layout::{LayoutError, tuple};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything an array operation refuses or suffers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A shape, a view or an index that cannot be.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A host array whose shape is not the device array's.
    #[error("host array of shape {} does not match the device array's shape {}", tuple(host), tuple(device))]
    ShapeMismatch {
        /// The host array's shape.
        host: Vec<usize>,
        /// The device array's shape.
        device: Vec<usize>,
    },
    /// A number of values that does not fill the shape.
    #[error("{given} values of {dtype} do not fill shape {}, which holds {expected}", tuple(shape))]
    LengthMismatch {
        /// Values given.
        given: usize,
        /// Values the shape holds.
        expected: usize,
        /// The shape.
        shape: Vec<usize>,
        /// Their type.
        dtype: DType,
    },
    /// Two objects that were made from different contexts.
    #[error("the array belongs to {array} and the stream to {stream}: they were opened separately")]
    ForeignDevice {
        /// The array's device.
        array: String,
        /// The stream's device.
        stream: String,
    },
    /// A write to an array of which several elements share memory.
    #[error(
        "cannot write to shape {} with strides {}: several of its elements share memory",
        tuple(shape),
        tuple(strides)
    )]
    SharedElements {
        /// The target's shape.
        shape: Vec<usize>,
        /// The target's strides, in elements.
        strides: Vec<isize>,
    },
    /// A range without a length.
    #[error("a range from {start} to {stop} by {step} cannot be: {problem}")]
    Range {
        /// Its first number.
        start: ScalarValue,
        /// Where it ends.
        stop: ScalarValue,
        /// How far apart its numbers are.
        step: ScalarValue,
        /// Why not.
        problem: RangeProblem,
    },
    /// A write to a read-only array.
    #[error("cannot write to an array of {dtype} with shape {}: it is read-only", tuple(shape))]
    ReadOnly {
        /// The target's element type.
        dtype: DType,
        /// The target's shape.
        shape: Vec<usize>,
    },
    /// An operation along the first axis of an array that has none.
    #[error("{operation} needs an axis, the array has none")]
    NoAxis {
        /// The operation, by its method name.
        operation: &'static str,
    },
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(Box<FileError>),
    /// Somebody's array that cannot be taken.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Elements that do not lie in their slice.
    #[error("{len} elements from element {start} on do not lie in a slice of {size}")]
    OutOfSlice {
        /// The first of them.
        start: usize,
        /// How many.
        len: usize,
        /// Elements of the slice.
        size: usize,
    },
    /// A conversion from or to a type that is no number.
    #[error("elements of {from} cannot be converted to {to}")]
    NoConversion {
        /// What the elements are.
        from: DType,
        /// What they should become.
        to: DType,
    },
    /// Memory was refused, or a copy failed.
    #[error(transparent)]
    Memory(#[from] allocator::Error),
    /// A kernel was refused.
    #[error(transparent)]
    Kernel(kernel::Error),
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}

impl Error {
    /// Whether this machine has no Vulkan device at all: no loader, or no driver that answers.
    ///
    /// A test that may be skipped on such a machine skips on this alone. A misspelt `VKARRAY_DEVICE`, or a device that is
    /// there and cannot be used, is another error.
    ///
    /// ```
    /// # use vkarray_ndarray as vkarray;
    /// let ctx = match vkarray::Context::open_default() {
    ///     Err(error) if error.is_no_device() => return Ok(()), // Nothing to test on.
    ///     other => other?,
    /// };
    /// assert_eq!(ctx.zeros::<f32>([3])?.to_vec()?, [0.0; 3]);
    /// # Ok::<(), vkarray::Error>(())
    /// ```
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        match self {
            Self::Driver(error) | Self::Memory(allocator::Error::Driver(error)) => error.is_no_device(),
            _ => false,
        }
    }
}

/// A failure of memory or of the driver is the same, whether a copy or a kernel met it.
impl From<kernel::Error> for Error {
    fn from(error: kernel::Error) -> Self {
        match error {
            kernel::Error::Memory(error) => Self::Memory(error),
            kernel::Error::Driver(error) => Self::Driver(error),
            error => Self::Kernel(error),
        }
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}
