//! Memory that host and device address, and managers of memory.
//!
//! | file | what it has |
//! |---|---|
//! | `exported.rs` | memory that other APIs import |
//! | `pinned.rs` | memory of NumPy arrays that is registered for copies |
//! | `manager.rs` | memory managers that are classes of Python |

mod exported;
mod manager;
mod pinned;

use pyo3::prelude::*;
use vkarray::array::AnyArray;
use vkarray::memory::{HostOptions, MemoryKind};

use crate::class::Array;
use crate::context::{Stream, context, is_same, on_stream};
use crate::convert::{dtype, shape, to_host};
use crate::error::raise;

/// An array in host memory that kernels address, whose elements are not set.
#[pyfunction]
fn host_array(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    portable: bool,
    wc: bool,
) -> PyResult<Array> {
    let options = HostOptions::default().portable(portable).wc(wc);
    let (context, dtype, shape) = (context(py)?, self::dtype(dtype)?, self::shape(shape)?);
    py.detach(|| AnyArray::mapped(&context, dtype, &shape, options)).map(Array).map_err(raise)
}

/// An array in device memory that the host addresses, whose elements are not set.
#[pyfunction]
fn shared_array(py: Python<'_>, shape: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<Array> {
    let (context, dtype, shape) = (context(py)?, self::dtype(dtype)?, self::shape(shape)?);
    py.detach(|| AnyArray::shared(&context, dtype, &shape)).map(Array).map_err(raise)
}

#[pymethods]
impl Array {
    /// Where the memory of the array is: `device`, `host` or `shared`, as dpctl names them.
    #[getter]
    fn usm_type(&self) -> &'static str {
        match self.0.block().kind() {
            MemoryKind::Device => "device",
            MemoryKind::Shared => "shared",
            MemoryKind::Pinned | MemoryKind::WriteCombined => "host",
        }
    }

    /// A NumPy array with a copy of the elements, made on a stream. Waits for it.
    #[pyo3(name = "_to_numpy", signature = (stream=None))]
    fn to_numpy<'py>(&self, py: Python<'py>, stream: Option<&Stream>) -> PyResult<Bound<'py, PyAny>> {
        to_host(py, &on_stream(&self.0, stream))
    }

    /// A copy in the context of the calls of this thread, or the array itself if it is there.
    #[pyo3(name = "_to_context")]
    fn to_context(&self, py: Python<'_>) -> PyResult<Self> {
        let context = context(py)?;
        if is_same(self.0.context(), &context) {
            return Ok(Self(self.0.clone()));
        }
        py.detach(|| self.0.copy_to_context(&context)).map(Self).map_err(raise)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(host_array, module)?)?;
    module.add_function(wrap_pyfunction!(shared_array, module)?)?;
    module.add_function(wrap_pyfunction!(exported::exportable_bytes, module)?)?;
    module.add_class::<pinned::PinnedMemory>()?;
    manager::register(module)
}
