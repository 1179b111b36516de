//! [`Error`]: why an operation on arrays is refused or fails.

mod interface;
mod multi_device;
mod range;

use vkarray_allocator as allocator;
use vkarray_driver as driver;
use vkarray_kernel as kernel;
use vkarray_kernel::{DType, ScalarValue, tuple_text};
use vkarray_layout::LayoutError;

pub use interface::InterfaceError;
pub use multi_device::{AccessMode, MultiDeviceError};
pub use range::RangeProblem;
pub use vkarray_generate::{ExprError, OperandShape, TextFault};

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
    File(Box<vkarray_io::FileError>),
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
    /// A number that the element type of the array beside it does not have.
    #[error("{value} is no value of {dtype}")]
    ScalarRange { value: String, dtype: DType },
    /// An expression that has no value, by its operands or its target.
    #[error(transparent)]
    Expression(Box<ExprError>),
    /// Shapes that the operation does not take.
    #[error("{operation} does not take shapes {} and {}", tuple_text(first), tuple_text(second))]
    Shapes { operation: &'static str, first: Vec<usize>, second: Vec<usize> },
    /// Shapes whose lengths along the axes that are added up differ.
    #[error(
        "{operation} does not take shapes {} and {}: axis {} of the first has length {}, and axis {} of the second {}",
        tuple_text(first), tuple_text(second), axes[0], first[axes[0]], axes[1], second[axes[1]]
    )]
    Lengths { operation: &'static str, first: Vec<usize>, second: Vec<usize>, axes: [usize; 2] },
    /// A Fourier transform of an axis whose length is not one of those that are computed.
    #[error("{operation}: an axis has length {length}, and the lengths are powers of two up to {most}{}", padding(*length, *most))]
    TransformLength { operation: &'static str, length: usize, most: usize },
    /// An index outside an axis.
    #[error("{operation}: index {index} at position {position} is out of range for an axis of length {length}")]
    IndexOutOfRange { operation: &'static str, index: i128, position: usize, length: usize },
    /// A quantile that is not between the least and the largest element.
    #[error("a quantile at {q} is asked for, which is not between 0 and {most}")]
    Quantile { q: f64, most: f64 },
    /// More or fewer values than a mask selects elements.
    #[error("put_mask: {values} values are given, and the mask selects {places} elements")]
    MaskValues { values: usize, places: usize },
    /// An operation that takes elements from an axis, or from a list of values, without elements.
    #[error("{operation}: {indices} elements are asked for, and there are none to take")]
    EmptyAxis { operation: &'static str, indices: usize },
    /// More elements of an axis than it has.
    #[error("{operation}: {asked} elements are asked for, and the axis has {length}; ask for at most {length}")]
    TooFewElements { operation: &'static str, asked: usize, length: usize },
    /// A range that has no numbers.
    #[error("{operation}: there are no numbers from {start} to before {end}")]
    EmptyRange { operation: &'static str, start: String, end: String },
    /// Edges of bins that do not ascend, or are too few.
    #[error("histogram: {count} edges; at least 2 are needed, in ascending order and without NaN")]
    Edges { count: usize },
    /// No arrays where at least one is needed.
    #[error("{operation} needs at least one array")]
    NoArrays { operation: &'static str },
    /// More elements than one operation counts.
    #[error("{count} elements are more than the 2^32 - 1 that one operation counts")]
    TooManyElements { count: usize },
    /// The least element, the largest element or a position, among no elements.
    #[error("{operation} of no elements, along axes of shape {}, has no value", tuple_text(shape))]
    EmptyReduction { operation: &'static str, shape: Vec<usize> },
    /// A text in WGSL that is not valid, or is not valid for arguments of these types.
    #[error(transparent)]
    Text(Box<TextFault>),
    /// An argument that a text does not have.
    #[error("the text has no argument `{name}`; its arguments are {}", quoted(names))]
    UnknownArgument { name: String, names: Vec<String> },
    /// An argument with two values.
    #[error("argument `{name}` is given twice")]
    RepeatedArgument { name: String },
    /// An argument without a value.
    #[error("argument `{name}` has no value; the arguments are {}", quoted(names))]
    MissingArgument { name: String, names: Vec<String> },
    /// More or fewer types of results than a text has results.
    #[error("{given} results are asked for, and the text has {}", quoted(names))]
    ResultCount { given: usize, names: Vec<String> },
    /// An array that the operation binds as a whole and that is longer than what the device binds.
    #[error(
        "{operation} uses {nbytes} bytes of one array at once, more than the {limit} that the device binds; use parts of it"
    )]
    LongOperand { operation: &'static str, nbytes: u64, limit: u64 },
    /// An `argmin` or `argmax` over more elements than one launch takes. These reductions cannot be done in parts.
    #[error("a reduction that is one launch has {given} elements, more than {limit}; reduce its parts")]
    ManyElements { given: u64, limit: u64 },
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

    /// Two shapes that do not fit each other.
    pub(crate) fn shapes(operation: &'static str, first: &[usize], second: &[usize]) -> Self {
        Self::Shapes { operation, first: first.to_vec(), second: second.to_vec() }
    }
}

/// Names in a message: `x`, `y`.
fn quoted(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// How an axis gets a length that a transform has.
fn padding(length: usize, most: usize) -> String {
    match length.checked_next_power_of_two().filter(|next| length > 0 && *next <= most) {
        Some(next) => format!("; pad it with zeros to {next}, or cut it"),
        None => String::new(),
    }
}

/// Bytes of an array of this shape.
fn bytes_of(shape: &[usize], dtype: DType) -> u128 {
    shape.iter().map(|&len| len as u128).product::<u128>() * u128::from(dtype.itemsize())
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

/// The errors that become a variant in a box, or by way of another error.
macro_rules! from {
    ($($(#[$attribute:meta])* $error:ident: $ty:ty => $value:expr;)*) => {$(
        $(#[$attribute])*
        impl From<$ty> for Error {
            fn from($error: $ty) -> Self {
                $value
            }
        }
    )*};
}

from! {
    error: ExprError => Self::Expression(Box::new(error));
    fault: TextFault => Self::Text(Box::new(fault));
    // A shader that cannot be used is refused in the same words with a device and without one.
    error: kernel::ShaderError => Self::Kernel(error.into());
    error: kernel::UnknownDType => kernel::Error::from(kernel::SpirvError::from(error)).into();
    error: kernel::BadScalar => kernel::Error::from(kernel::SpirvError::from(error)).into();
    #[cfg(target_os = "linux")]
    error: allocator::IpcError => Self::Memory(error.into());
    #[cfg(feature = "dlpack")]
    error: allocator::TensorError => Self::Memory(error.into());
    #[cfg(feature = "npy")]
    error: vkarray_io::FileError => Self::File(Box::new(error));
}
