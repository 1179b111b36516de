//! Views of an array's memory by other code of the process: the buffer protocol, through which NumPy and `memoryview` read
//! and write elements in place.
//!
//! **Why this is safe.** While a view exists, its block is open to the host like under a guard of Rust: the first view waits
//! until no work uses the block, and work that would use it meanwhile is refused with an error. Python code may have several
//! views of one block at once, as of one array of NumPy, so they share the guard, and the last view ends it. A view keeps the
//! memory: its guard has a handle to the block. No Rust reference to the elements exists meanwhile.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_long, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use vkarray::DType;
use vkarray::array::AnyArray;
use vkarray::memory::{Block, HostWrite};

use super::Array;
use crate::error::raise;

/// The blocks that are open to views, by their addresses, each with the number of its views.
static VIEWED: Mutex<BTreeMap<usize, (HostWrite<'static>, usize)>> = Mutex::new(BTreeMap::new());

fn viewed() -> MutexGuard<'static, BTreeMap<usize, (HostWrite<'static>, usize)>> {
    VIEWED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(block: &Arc<Block>) -> usize {
    Arc::as_ptr(block).addr()
}

/// Whether a view of the array's memory exists.
pub(crate) fn is_viewed(py: Python<'_>, array: &AnyArray) -> bool {
    let block = array.block();
    let is_on_host = block.kind().is_host_visible() && !block.device().is_forked();
    is_on_host && py.detach(|| viewed().contains_key(&key(block)))
}

/// A share of the guard of a block. The handle to the block is dropped after the guard, and without the lock.
struct Viewed(Arc<Block>);

impl Viewed {
    /// Waits until no work uses the block, and opens it.
    fn open(array: &AnyArray) -> vkarray::Result<Self> {
        let block = array.block();
        block.device().check_process()?;
        if let Some(point) = block.ready_point(array.stream())? {
            point.wait(None)?; // The long wait, without the lock.
        }
        let mut viewed = viewed();
        if let Some((_, n_views)) = viewed.get_mut(&key(block)) {
            *n_views += 1;
        } else {
            let guard = block.write_on_host_arc(0..block.size())?.without_elements();
            viewed.insert(key(block), (guard, 1));
        }
        Ok(Self(Arc::clone(block)))
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        if self.0.device().is_forked() {
            return; // The lock may stay locked for ever, and the guard belongs to the parent process.
        }
        let mut viewed = viewed();
        let Some((_, n_views)) = viewed.get_mut(&key(&self.0)) else { return };
        *n_views -= 1;
        if *n_views == 0 {
            viewed.remove(&key(&self.0)); // Ends the guard under the lock, so that the next view begins a new one.
        }
    }
}

/// What a buffer of Python points to, kept until it is released.
struct Exported {
    shape: Vec<ffi::Py_ssize_t>,
    strides: Vec<ffi::Py_ssize_t>,
    format: &'static CStr,
    #[expect(dead_code, reason = "kept for its drop")]
    viewed: Viewed,
}

/// The code of an element type in the module `struct`, with NumPy's codes for complex numbers.
fn format(dtype: DType) -> Option<&'static CStr> {
    let is_long = size_of::<c_long>() == 8; // NumPy names 64-bit integers by the type that the platform has for them.
    Some(match dtype {
        DType::Bool => c"?",
        DType::I8 => c"b",
        DType::U8 => c"B",
        DType::I16 => c"h",
        DType::U16 => c"H",
        DType::I32 => c"i",
        DType::U32 => c"I",
        DType::I64 if is_long => c"l",
        DType::U64 if is_long => c"L",
        DType::I64 => c"q",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::Complex32 => c"Zf",
        DType::Complex64 => c"Zd",
        _ => return None,
    })
}

/// Why a request for a buffer is refused; `flags` are those of Python's buffer protocol.
fn refusal(array: &AnyArray, is_readonly: bool, flags: c_int) -> Option<String> {
    let asks = |flag: c_int| flags & flag == flag;
    let layout = array.layout();
    let is_ordered = layout.is_c_contiguous() || (asks(ffi::PyBUF_STRIDES) && !asks(ffi::PyBUF_C_CONTIGUOUS));
    let is_f_ordered = !asks(ffi::PyBUF_F_CONTIGUOUS) || layout.is_f_contiguous();
    let is_contiguous = !asks(ffi::PyBUF_ANY_CONTIGUOUS) || layout.is_c_contiguous() || layout.is_f_contiguous();
    if !array.block().kind().is_host_visible() {
        Some(
            "the elements are in device memory: `copy_to_host` copies them, and `vk.mapped_array` has them on the host"
                .into(),
        )
    } else if is_readonly && asks(ffi::PyBUF_WRITABLE) {
        Some("the array is read-only, or its elements share memory".into())
    } else if !(is_ordered && is_f_ordered && is_contiguous) {
        Some(format!("an array with strides {:?} is not in the order that was asked for: copy it", layout.strides()))
    } else if format(array.dtype()).is_none() {
        Some(format!("Python has no format for {}", array.dtype()))
    } else {
        None
    }
}

#[pymethods]
impl Array {
    /// Whether other libraries may not write the elements.
    #[getter(_is_readonly)]
    fn is_readonly(&self) -> bool {
        !self.0.is_writable() || self.0.layout().has_internal_overlap()
    }

    /// Opens the memory to the host. Waits until no work uses it; work that would use it is refused until the last view of the
    /// memory is gone.
    ///
    /// # Safety
    ///
    /// The interpreter calls this, with a buffer that it owns and that is not in use.
    unsafe fn __getbuffer__(array: Bound<'_, Self>, buffer: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the interpreter passes a buffer of its own, or null.
        let buffer = unsafe { buffer.as_mut() }.ok_or_else(|| PyBufferError::new_err("no buffer is given"))?;
        buffer.obj = ptr::null_mut(); // Says that nothing was exported, if this fails.
        let own = array.get().0.clone();
        let layout = own.layout();
        let is_readonly = array.get().is_readonly();
        if let Some(reason) = refusal(&own, is_readonly, flags) {
            return Err(PyBufferError::new_err(reason));
        }
        let viewed = array.py().detach(|| Viewed::open(&own)).map_err(raise)?;
        let itemsize = own.dtype().itemsize() as isize;
        let shape = layout.shape().iter().map(|len| len.cast_signed()).collect();
        let strides = layout.strides().iter().map(|stride| stride * itemsize).collect();
        let format = format(own.dtype()).unwrap_or(c"B");
        let mut exported = Box::new(Exported { shape, strides, format, viewed });
        let asks = |flag: c_int| flags & flag == flag;
        let start = own.block().mapped().map_or(ptr::null_mut(), std::ptr::NonNull::as_ptr);
        // The block was checked to hold all elements, so that the address is inside it.
        buffer.buf = start.wrapping_add(layout.offset() * itemsize.cast_unsigned()).cast();
        buffer.len = (own.size() as isize) * itemsize;
        buffer.itemsize = itemsize;
        buffer.readonly = is_readonly.into();
        buffer.ndim = if asks(ffi::PyBUF_ND) { c_int::try_from(own.ndim())? } else { 1 };
        buffer.format = if asks(ffi::PyBUF_FORMAT) { exported.format.as_ptr().cast_mut() } else { ptr::null_mut() };
        buffer.shape = if asks(ffi::PyBUF_ND) { exported.shape.as_mut_ptr() } else { ptr::null_mut() };
        buffer.strides = if asks(ffi::PyBUF_STRIDES) { exported.strides.as_mut_ptr() } else { ptr::null_mut() };
        buffer.suboffsets = ptr::null_mut();
        buffer.internal = Box::into_raw(exported).cast::<c_void>();
        buffer.obj = array.into_any().into_ptr();
        Ok(())
    }

    /// Ends a view.
    ///
    /// # Safety
    ///
    /// The interpreter calls this once for each buffer that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, py: Python<'_>, buffer: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter passes a buffer that `__getbuffer__` filled.
        let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
        let exported = std::mem::replace(&mut buffer.internal, ptr::null_mut()).cast::<Exported>();
        if !exported.is_null() {
            // SAFETY: `__getbuffer__` made the pointer of a box, and it is taken out of the buffer, so that it is freed once.
            let exported = unsafe { Box::from_raw(exported) };
            py.detach(|| drop(exported));
        }
    }
}
