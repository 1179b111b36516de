//! The context of the process, which is opened by the first call that needs a device, and streams.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use vkarray::Context;

use crate::error::{VkError, raise};

/// The context of the process. When the interpreter ends, [`shutdown`] takes it away, so that the device is closed while
/// its driver is still loaded.
enum Current {
    /// No call has needed a device yet.
    Unopened,
    Open(Context),
    /// The interpreter ends. A thread that goes on must not open a device again.
    Ended,
}

static CURRENT: Mutex<Current> = Mutex::new(Current::Unopened);

/// Puts another state into [`CURRENT`] and drops the one before, which may close a device.
fn replace(py: Python<'_>, state: Current) {
    let before = std::mem::replace(&mut *CURRENT.lock().unwrap_or_else(PoisonError::into_inner), state);
    py.detach(|| drop(before));
}

/// The context of the process. The environment variable `VKARRAY_DEVICE` chooses its device.
pub(crate) fn context(py: Python<'_>) -> PyResult<Context> {
    let opened = py.detach(|| {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Current::Unopened = *current {
            *current = Current::Open(Context::open_default()?);
        }
        Ok(if let Current::Open(context) = &*current { Some(context.clone()) } else { None })
    });
    let opened = opened.map_err(|error: vkarray::Error| raise(error))?;
    opened.ok_or_else(|| VkError::new_err("the interpreter ends, and its device is closed"))
}

/// Opens the context of the process on a device, given as in `VKARRAY_DEVICE`. Arrays that exist keep theirs.
#[pyfunction]
fn select_device(py: Python<'_>, selector: &str) -> PyResult<()> {
    let opened = py.detach(|| Context::builder().device(selector).open()).map_err(raise)?;
    replace(py, Current::Open(opened));
    Ok(())
}

/// Waits for all work, and closes the device if no array is left.
#[pyfunction]
fn shutdown(py: Python<'_>) {
    replace(py, Current::Ended);
}

/// Waits until everything that was recorded is complete.
#[pyfunction]
fn synchronize(py: Python<'_>) -> PyResult<()> {
    let context = context(py)?;
    py.detach(|| context.synchronize()).map_err(raise)
}

/// The name of the device and of its driver.
#[pyfunction]
fn device_name(py: Python<'_>) -> PyResult<(String, String)> {
    let context = context(py)?;
    let info = context.info();
    Ok((info.name.clone(), format!("{} {}", info.driver.name, info.driver.info).trim().to_owned()))
}

/// Whether the device computes 64-bit floats and 64-bit integers.
#[pyfunction]
fn device_has_doubles_and_longs(py: Python<'_>) -> PyResult<(bool, bool)> {
    let context = context(py)?;
    let features = context.info().features;
    Ok((features.shader_float64, features.shader_int64))
}

/// Bytes of device memory that are free, and bytes of all of it.
#[pyfunction]
fn memory_info(py: Python<'_>) -> PyResult<(u64, u64)> {
    let info = context(py)?.memory_info().map_err(raise)?;
    Ok((info.free, info.total))
}

/// An ordered queue of work. Work of different streams may overlap; the library orders what touches one array.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Stream(pub(crate) vkarray::Stream);

#[pymethods]
impl Stream {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self(context(py)?.stream().map_err(raise)?))
    }

    /// Waits until everything that was recorded on the stream is complete.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raise)
    }

    /// Whether everything that was recorded on the stream is complete. Does not wait.
    fn query(&self) -> PyResult<bool> {
        self.0.query().map_err(raise)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(select_device, module)?)?;
    module.add_function(wrap_pyfunction!(shutdown, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(device_name, module)?)?;
    module.add_function(wrap_pyfunction!(device_has_doubles_and_longs, module)?)?;
    module.add_function(wrap_pyfunction!(memory_info, module)?)
}
