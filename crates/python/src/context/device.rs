//! The classes `Device` and `Context`: what `vk.gpus` lists and `with` statements take.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use vkarray::device::DeviceInfo;
use vkarray::memory::DeferCleanup;

use super::{ENTERED, Opened, current, open, visible};
use crate::error::raise;

/// A device of the machine. `with vk.gpus[1]:` has the calls of the thread use it.
#[pyclass(frozen, eq, hash, module = "vkarray")]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Device {
    /// The place among the devices that `VKARRAY_VISIBLE_DEVICES` lets through.
    #[pyo3(get)]
    id: usize,
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    uuid: String,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    #[pyo3(get)]
    kind: String,
}

#[pymethods]
impl Device {
    fn __repr__(&self) -> String {
        format!("<vkarray device {}: {}>", self.id, self.name)
    }

    fn __enter__<'py>(device: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        enter(open(device.py(), device.get().id)?);
        Ok(device.clone())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) {
        leave(py);
    }

    /// The context of the device, which is opened by need.
    fn get_primary_context(&self, py: Python<'_>) -> PyResult<Context> {
        open(py, self.id).map(Context)
    }
}

/// A device that is opened for work. `with context:` has the calls of the thread use it.
#[pyclass(frozen, module = "vkarray")]
struct Context(Opened);

/// Free and all bytes of a device's memory.
#[pyclass(frozen, get_all, eq, module = "vkarray", name = "MemoryInfo")]
#[derive(PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) free: u64,
    pub(crate) total: u64,
}

#[pymethods]
impl Figures {
    #[new]
    fn new(free: u64, total: u64) -> Self {
        Self { free, total }
    }

    fn __repr__(&self) -> String {
        format!("MemoryInfo(free={}, total={})", self.free, self.total)
    }

    /// The two numbers in order, so that `free, total = …` works as with numba's.
    fn __getitem__(&self, at: usize) -> PyResult<u64> {
        let number = [self.free, self.total].get(at).copied();
        number.ok_or_else(|| PyIndexError::new_err("there are two numbers: free and total"))
    }
}

#[pymethods]
impl Context {
    fn __repr__(&self) -> String {
        format!("<vkarray context of {}>", self.0.context.info().name)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }

    fn __hash__(&self) -> u64 {
        self.0.number
    }

    #[getter]
    fn device(&self) -> Device {
        self.0.device()
    }

    fn __enter__<'py>(context: &Bound<'py, Self>) -> Bound<'py, Self> {
        enter(context.get().0.clone());
        context.clone()
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) {
        leave(py);
    }

    /// Free and all bytes of the device's memory.
    fn get_memory_info(&self, py: Python<'_>) -> PyResult<Figures> {
        let info = py.detach(|| self.0.context.memory_info()).map_err(raise)?;
        Ok(Figures { free: info.free, total: info.total })
    }

    /// Waits until everything that was recorded on the streams of the context is complete.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.context.device().synchronize()).map_err(raise)
    }

    /// Ends all arrays of the context, and frees their memory. Later arrays are valid.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.context.reset()).map_err(raise)
    }

    /// Holds back the freeing of memory, in all threads, while a `with` statement runs.
    fn defer_cleanup(&self) -> Deferred {
        let context = self.0.context.clone();
        Deferred::new(move || context.defer_cleanup())
    }
}

/// Holds back the freeing of memory between its `__enter__` and its `__exit__`.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Deferred {
    begin: Box<dyn Fn() -> DeferCleanup + Send + Sync>,
    guards: Mutex<Vec<DeferCleanup>>,
}

impl Deferred {
    pub(crate) fn new(begin: impl Fn() -> DeferCleanup + Send + Sync + 'static) -> Self {
        Self { begin: Box::new(begin), guards: Mutex::default() }
    }
}

#[pymethods]
impl Deferred {
    fn __enter__(&self, py: Python<'_>) {
        // A manager of the program may be asked, without the lock.
        let guard = py.detach(|| (self.begin)());
        self.guards.lock().unwrap_or_else(PoisonError::into_inner).push(guard);
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) {
        let guard = self.guards.lock().unwrap_or_else(PoisonError::into_inner).pop();
        py.detach(|| drop(guard));
    }
}

impl Opened {
    fn device(&self) -> Device {
        Device::new(self.place, self.context.info())
    }
}

impl Device {
    fn new(id: usize, info: &DeviceInfo) -> Self {
        Self { id, name: info.name.clone(), uuid: info.uuid.clone(), kind: info.device_type.to_string() }
    }
}

fn enter(opened: Opened) {
    ENTERED.with_borrow_mut(|entered| entered.push(opened));
}

fn leave(py: Python<'_>) {
    let left = ENTERED.with_borrow_mut(Vec::pop);
    py.detach(|| drop(left));
}

/// The context of the calls of this thread.
#[pyfunction]
fn current_context(py: Python<'_>) -> PyResult<Context> {
    current(py).map(Context)
}

/// The devices of the machine, without opening one.
#[pyfunction]
fn devices(py: Python<'_>) -> PyResult<Vec<Device>> {
    let devices = py.detach(visible).map_err(raise)?;
    Ok(devices.iter().enumerate().map(|(id, device)| Device::new(id, device.info())).collect())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Device>()?;
    module.add_class::<Context>()?;
    module.add_class::<Figures>()?;
    module.add_function(wrap_pyfunction!(current_context, module)?)?;
    module.add_function(wrap_pyfunction!(devices, module)?)
}
