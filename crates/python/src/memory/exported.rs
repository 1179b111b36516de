//! Memory that other APIs import: what `python/vkarray/_cuda.py` shares with CUDA.

use std::sync::Arc;

use pyo3::prelude::*;
use vkarray::DeviceNDArray;
use vkarray::array::{AnyArray, Layout, Order};

use crate::class::Array;
use crate::context::context;
use crate::error::raise;

/// Bytes in memory that other APIs can import, in an allocation of their own, on the device of an array if one is given. They
/// are not set.
#[pyfunction]
#[pyo3(signature = (nbytes, beside=None))]
pub(super) fn exportable_bytes(py: Python<'_>, nbytes: usize, beside: Option<&Array>) -> PyResult<Array> {
    let context = beside.map_or_else(|| context(py), |array| Ok(array.0.context().clone()))?;
    py.detach(|| context.exportable_array::<u8>(nbytes)).map(AnyArray::from).map(Array).map_err(raise)
}

#[pymethods]
impl Array {
    /// Whether other APIs can import the memory of the array.
    #[getter(_is_exportable)]
    fn is_exportable(&self) -> bool {
        self.0.block().is_exportable()
    }

    /// All bytes of the memory of the array, as an array; a number that other memory has only when this memory is freed; and
    /// the bytes before the first element.
    #[getter(_memory)]
    fn memory(&self) -> PyResult<(Self, usize, usize)> {
        let block = self.0.block();
        let size =
            usize::try_from(block.size()).map_err(|_| pyo3::exceptions::PyOverflowError::new_err("too large"))?;
        let layout = Layout::contiguous(&[size], Order::C).map_err(raise)?;
        let bytes = DeviceNDArray::<u8>::from_block(self.0.context(), block, layout).map_err(raise)?;
        let offset = self.0.layout().offset() * self.0.dtype().itemsize() as usize;
        Ok((Self(bytes.into()), Arc::as_ptr(block).addr(), offset))
    }

    /// The UUID of the device, which CUDA has for the same device.
    #[getter(_device_uuid)]
    fn device_uuid(&self) -> String {
        self.0.context().info().uuid.clone()
    }

    /// Waits until no recorded work uses the memory of the array.
    #[pyo3(name = "_wait")]
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let wait = || -> vkarray::Result<()> {
            let ready = self.0.block().ready_point(self.0.stream())?;
            Ok(ready.map_or(Ok(()), |point| point.wait(None))?)
        };
        py.detach(wait).map_err(raise)
    }

    /// A file descriptor of the memory, which the caller closes or gives away, and the size of the allocation in bytes.
    #[cfg(unix)]
    #[pyo3(name = "_export")]
    fn export(&self) -> PyResult<(i32, u64)> {
        use std::os::fd::IntoRawFd as _;

        let memory = self.0.block().export().map_err(raise)?;
        let fd = memory.fd().map_err(raise)?;
        Ok((fd.into_raw_fd(), memory.description().allocation_size))
    }
}
