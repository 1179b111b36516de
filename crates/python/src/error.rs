//! Which exception of Python an error of the library becomes. The message is the library's.

use pyo3::exceptions::{
    PyBufferError, PyIndexError, PyMemoryError, PyOverflowError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use vkarray::array::{ExprError, LayoutError};
use vkarray::device::Error as DriverError;
use vkarray::kernel::Error as KernelError;
use vkarray::memory::Error as MemoryError;

pyo3::create_exception!(vkarray, VkError, PyRuntimeError, "A failure of the device or of its driver.");
pyo3::create_exception!(vkarray, DeviceLost, VkError, "The device is lost, and all that was recorded on it.");

/// The exception of an error.
pub(crate) fn raise(error: impl Into<vkarray::Error>) -> PyErr {
    exception_of(&error.into())
}

/// The exception of an error that is kept.
pub(crate) fn exception_of(error: &vkarray::Error) -> PyErr {
    if let Some(raised) = exception(error) {
        return raised;
    }
    let text = error.to_string();
    match error {
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
        vkarray::Error::Driver(DriverError::HeldByHost { .. })
        | vkarray::Error::Memory(MemoryError::Driver(DriverError::HeldByHost { .. }))
        | vkarray::Error::Kernel(KernelError::Driver(DriverError::HeldByHost { .. })) => {
            PyBufferError::new_err(format!("{text}: a NumPy array or a memoryview shows them; delete it first"))
        }
        vkarray::Error::Driver(DriverError::DeviceLost { .. }) => DeviceLost::new_err(text),
        vkarray::Error::Memory(MemoryError::ForeignDevice { .. }) => PyValueError::new_err(text),
        vkarray::Error::Driver(_) | vkarray::Error::Memory(_) => VkError::new_err(text),
        vkarray::Error::Kernel(KernelError::Argument { .. }) => PyTypeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// The exception with which a manager refused, if one did.
fn exception(error: &vkarray::Error) -> Option<PyErr> {
    let (vkarray::Error::Memory(memory) | vkarray::Error::Kernel(KernelError::Memory(memory))) = error else {
        return None;
    };
    let MemoryError::Manager(reason) = memory else { return None };
    let raised = reason.downcast_ref::<PyErr>()?;
    Some(Python::attach(|py| raised.clone_ref(py)))
}
