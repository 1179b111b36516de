//! Streams and events.

use pyo3::prelude::*;
use vkarray::array::AnyArray;

use super::{Call, context};
use crate::error::{VkError, raise};

/// An ordered queue of work. Work of different streams may overlap; the library orders what touches one array.
#[pyclass(frozen, module = "vkarray")]
pub(crate) struct Stream(pub(crate) vkarray::Stream);

/// The array with its work on a stream, if one is given.
pub(crate) fn on_stream(array: &AnyArray, stream: Option<&Stream>) -> AnyArray {
    stream.map_or_else(|| array.clone(), |stream| array.on(&stream.0))
}

#[pymethods]
impl Stream {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        Ok(Self(context(py)?.stream().map_err(raise)?))
    }

    fn __repr__(&self) -> String {
        format!("<vkarray stream on {}>", self.0.device().info().name)
    }

    /// Waits until everything that was recorded on the stream is complete.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raise)
    }

    /// Whether everything that was recorded on the stream is complete. Does not wait.
    fn query(&self) -> PyResult<bool> {
        self.0.query().map_err(raise)
    }

    /// `with stream.auto_synchronize() as stream:` waits for the stream at its end, also after an exception.
    fn auto_synchronize(stream: &Bound<'_, Self>) -> Synchronized {
        Synchronized(stream.clone().unbind())
    }

    /// Calls `callback(stream, status, arg)` on a thread of the library when what was recorded so far is complete. `status`
    /// is `None`, or the exception that ended the work. An exception of the callback goes to `sys.unraisablehook`.
    #[pyo3(signature = (callback, arg=None))]
    fn add_callback(stream: &Bound<'_, Self>, callback: Py<PyAny>, arg: Option<Py<PyAny>>) -> PyResult<()> {
        let py = stream.py();
        let own = stream.clone().unbind();
        let begun =
            Call::begin().ok_or_else(|| VkError::new_err("the interpreter ends, and calls nothing any more"))?;
        let call = move |outcome: Result<(), vkarray::device::Error>| {
            begun.run(|py| {
                let status = outcome.err().map(|error| raise(error).into_value(py));
                if let Err(error) = callback.call1(py, (own, status, arg)) {
                    error.write_unraisable(py, Some(callback.bind(py)));
                }
            });
        };
        let stream = stream.get();
        py.detach(|| stream.0.add_callback(call)).map_err(raise)
    }
}

/// What waits for a stream at the end of a `with` statement.
#[pyclass(frozen, module = "vkarray")]
struct Synchronized(Py<Stream>);

#[pymethods]
impl Synchronized {
    fn __enter__(&self, py: Python<'_>) -> Py<Stream> {
        self.0.clone_ref(py)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.get().synchronize(py)
    }
}

/// The stream of calls that name none.
#[pyfunction]
fn default_stream(py: Python<'_>) -> PyResult<Stream> {
    Ok(Stream(context(py)?.default_stream().clone()))
}

/// The stream that is ordered with all streams that are made as blocking; those of `vk.stream()` are not.
#[pyfunction]
fn legacy_default_stream(py: Python<'_>) -> PyResult<Stream> {
    context(py)?.legacy_default_stream().map(Stream).map_err(raise)
}

/// The stream of the calling thread.
#[pyfunction]
fn per_thread_default_stream(py: Python<'_>) -> PyResult<Stream> {
    context(py)?.per_thread_default_stream().map(Stream).map_err(raise)
}

/// A moment in the work of a stream, which can be waited for and, with timing, compared with another.
#[pyclass(frozen, module = "vkarray")]
struct Event(vkarray::Event);

#[pymethods]
impl Event {
    /// An event, with the device's time unless `timing` is false.
    #[new]
    #[pyo3(signature = (timing=true))]
    fn new(py: Python<'_>, timing: bool) -> PyResult<Self> {
        let context = context(py)?;
        let event = if timing { context.timed_event() } else { Ok(context.event()) };
        event.map(Self).map_err(raise)
    }

    /// Captures what the stream, or the default stream, holds so far. Returns at once.
    #[pyo3(signature = (stream=None))]
    fn record(&self, py: Python<'_>, stream: Option<&Stream>) -> PyResult<()> {
        self.with(py, stream, |stream| self.0.record(stream))
    }

    /// Has later work of the stream, or of the default stream, start after the captured work. Returns at once.
    #[pyo3(signature = (stream=None))]
    fn wait(&self, py: Python<'_>, stream: Option<&Stream>) -> PyResult<()> {
        self.with(py, stream, |stream| self.0.wait(stream))
    }

    /// Whether the captured work is complete; true before the first `record`. Does not wait.
    fn query(&self) -> PyResult<bool> {
        self.0.query().map_err(raise)
    }

    /// Waits until the captured work is complete.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.synchronize()).map_err(raise)
    }

    /// Milliseconds on the device from this event to a later one. Both are complete.
    fn elapsed_time(&self, end: &Self) -> PyResult<f64> {
        self.0.elapsed(&end.0).map(|time| time.as_secs_f64() * 1e3).map_err(raise)
    }
}

impl Event {
    fn with(
        &self,
        py: Python<'_>,
        stream: Option<&Stream>,
        call: impl Send + FnOnce(&vkarray::Stream) -> Result<(), vkarray::device::Error>,
    ) -> PyResult<()> {
        let stream = match stream {
            Some(stream) => stream.0.clone(),
            None => context(py)?.default_stream().clone(),
        };
        py.detach(|| call(&stream)).map_err(raise)
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stream>()?;
    module.add_class::<Event>()?;
    module.add_function(wrap_pyfunction!(default_stream, module)?)?;
    module.add_function(wrap_pyfunction!(legacy_default_stream, module)?)?;
    module.add_function(wrap_pyfunction!(per_thread_default_stream, module)?)
}
