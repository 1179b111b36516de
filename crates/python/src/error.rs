//! Which exception of Python an error of the library becomes. The message is the library's.

use pyo3::exceptions::{PyIndexError, PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use vkarray::array::{ExprError, LayoutError};
use vkarray::device::Error as DriverError;
use vkarray::kernel::Error as KernelError;
use vkarray::memory::Error as MemoryError;

pyo3::create_exception!(vkarray, VkError, PyRuntimeError, "A failure of the device or of its driver.");
pyo3::create_exception!(vkarray, DeviceLost, VkError, "The device is lost, and all that was recorded on it.");

/// The exception of an error.
pub(crate) fn raise(error: impl Into<vkarray::Error>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    match &error {
        vkarray::Error::Layout(
            LayoutError::IndexOutOfRange { .. }
            | LayoutError::TooManyIndices { .. }
            | LayoutError::AxisOutOfRange { .. },
        ) => PyIndexError::new_err(text),
        vkarray::Error::IndexOutOfRange { .. } => PyIndexError::new_err(text),
        vkarray::Error::ScalarRange { .. } => PyOverflowError::new_err(text),
        vkarray::Error::NoConversion { .. } => PyTypeError::new_err(text),
        vkarray::Error::Expression(reason) => match **reason {
            ExprError::NotDefined { .. } | ExprError::NoCommonType { .. } | ExprError::NoFunction { .. } => {
                PyTypeError::new_err(text)
            }
            _ => PyValueError::new_err(text),
        },
        vkarray::Error::HostMemory { .. } => PyMemoryError::new_err(text),
        vkarray::Error::Memory(
            MemoryError::OutOfMemory(_) | MemoryError::NoHostMemory { .. } | MemoryError::TooLarge { .. },
        ) => PyMemoryError::new_err(text),
        vkarray::Error::Driver(DriverError::DeviceLost { .. }) => DeviceLost::new_err(text),
        vkarray::Error::Driver(_) | vkarray::Error::Memory(_) => VkError::new_err(text),
        vkarray::Error::Kernel(KernelError::Argument { .. }) => PyTypeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
