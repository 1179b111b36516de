//! Memory of Python, such as that of a NumPy array, that copies reach without staging: `vk.pinned`.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use vkarray::Context;
use vkarray::array::AnyArray;
use vkarray::memory::{RegisteredMemory, RegisteredPath, Result};

use crate::class::Array;
use crate::context::{Stream, context, is_same, on_stream};
use crate::error::raise;

/// Registered memory, until `end` is called.
#[pyclass(frozen, module = "vkarray")]
pub(super) struct PinnedMemory {
    memory: Mutex<Option<RegisteredMemory>>,
    context: Context,
    len: usize,
    /// Keeps the memory where it is. Dropped after the registration.
    _buffer: PyBuffer<u8>,
}

#[pymethods]
impl PinnedMemory {
    /// Registers bytes without gaps that may be written.
    #[new]
    fn new(py: Python<'_>, bytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(bytes)?;
        let start =
            NonNull::new(buffer.buf_ptr().cast::<u8>()).filter(|_| buffer.is_c_contiguous() && !buffer.readonly());
        let start =
            start.ok_or_else(|| PyValueError::new_err("only memory without gaps that may be written is pinned"))?;
        let (context, len) = (context(py)?, buffer.len_bytes());
        let bytes = NonNull::slice_from_raw_parts(start, len);
        // SAFETY: the buffer keeps its bytes until it is dropped, after the registration. A copy lasts as long as a call of this
        // class: Python code that uses the bytes meanwhile, in another thread, races with it as with the `readinto` of a file.
        let memory = unsafe { context.allocator().register_by_address(bytes) }.map_err(raise)?;
        Ok(Self { memory: Mutex::new(Some(memory)), context, len, _buffer: buffer })
    }

    /// How the device reaches the memory: `imported`, `parts` or `staged`.
    #[getter]
    fn path(&self) -> Option<&'static str> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.as_ref().map(|memory| match memory.path() {
            RegisteredPath::Imported => "imported",
            RegisteredPath::Parts { .. } => "parts",
            RegisteredPath::Staged => "staged",
        })
    }

    /// Copies the memory to an array of as many bytes in C order, and waits. Returns whether there was such a copy.
    #[pyo3(signature = (array, stream=None))]
    fn copy_to(&self, py: Python<'_>, array: &Array, stream: Option<&Stream>) -> PyResult<bool> {
        let array = on_stream(&array.0, stream);
        self.copy(py, &array, array.is_writable(), |memory, offset| {
            memory.copy_to_block(array.stream(), array.block(), offset)
        })
    }

    /// Copies an array of as many bytes in C order to the memory, and waits. Returns whether there was such a copy.
    #[pyo3(signature = (array, stream=None))]
    fn copy_from(&self, py: Python<'_>, array: &Array, stream: Option<&Stream>) -> PyResult<bool> {
        let array = on_stream(&array.0, stream);
        self.copy(py, &array, true, |memory, offset| memory.copy_from_block(array.stream(), array.block(), offset))
    }

    /// Ends the registration. Waits for the device.
    fn end(&self, py: Python<'_>) {
        py.detach(|| drop(self.memory.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl PinnedMemory {
    fn copy(
        &self,
        py: Python<'_>,
        array: &AnyArray,
        is_allowed: bool,
        copy: impl Send + FnOnce(&mut RegisteredMemory, u64) -> Result<()>,
    ) -> PyResult<bool> {
        let (layout, itemsize) = (array.layout(), u64::from(array.dtype().itemsize()));
        let fits = layout.is_c_contiguous() && array.nbytes() == self.len as u64;
        if !is_allowed || !fits || !is_same(array.context(), &self.context) {
            return Ok(false);
        }
        let run = || {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(memory) = memory.as_mut() else { return Ok(false) };
            copy(memory, layout.offset() as u64 * itemsize).map(|()| true)
        };
        py.detach(run).map_err(raise)
    }
}
