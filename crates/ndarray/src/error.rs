//! What can go wrong with arrays.

use vkarray_allocator as allocator;
use vkarray_driver as driver;
use vkarray_kernel as kernel;
use vkarray_kernel::DType;

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
    Kernel(#[from] kernel::Error),
    /// The driver refused or failed.
    #[error(transparent)]
    Driver(#[from] driver::Error),
}
