//! Functions that make arrays of numbers and of other arrays.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vkarray::DType;
use vkarray::array::{AnyArray, AnyScalar};
use vkarray::primitives::FftNorm;

use crate::class::Array;
use crate::context::context;
use crate::convert::{Operand, any_array, compute as apply, dtype, from_host, numpy_dtype, scalar, shape};
use crate::error::raise;

/// An elementwise function by its name in the array API standard.
#[pyfunction]
#[pyo3(signature = (name, *operands))]
fn compute(py: Python<'_>, name: &str, operands: &Bound<'_, PyTuple>) -> PyResult<Array> {
    let mut taken = Vec::with_capacity(operands.len());
    for operand in operands {
        taken.extend(Operand::new(&operand, true)?);
    }
    apply(py, name, &taken)
}

/// An array of what NumPy makes an array of, or the array itself.
#[pyfunction]
#[pyo3(signature = (value, dtype=None, copy=None))]
fn asarray(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Array> {
    let dtype = dtype.map(self::dtype).transpose()?;
    let Ok(array) = value.cast::<Array>() else {
        if copy == Some(false) {
            return Err(PyValueError::new_err("elements of the host are copied to the device"));
        }
        return from_host(&context(py)?, value, dtype).map(Array);
    };
    let array = &array.get().0;
    match dtype.filter(|&dtype| dtype != array.dtype()) {
        Some(_) if copy == Some(false) => Err(PyValueError::new_err("elements of another type are a copy")),
        Some(dtype) => py.detach(|| array.astype(dtype)).map(Array).map_err(raise),
        None if copy == Some(true) => py.detach(|| array.copy()).map(Array).map_err(raise),
        None => Ok(Array(array.clone())),
    }
}

/// An array whose elements are not set.
#[pyfunction]
fn empty(py: Python<'_>, shape: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> PyResult<Array> {
    AnyArray::empty(&context(py)?, self::dtype(dtype)?, &self::shape(shape)?).map(Array).map_err(raise)
}

fn expect_scalar(value: &Bound<'_, PyAny>) -> PyResult<AnyScalar> {
    scalar(value)?.ok_or_else(|| PyTypeError::new_err(format!("{value} is no number")))
}

/// An array of one number. Without a type, that of the number decides.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype=None))]
fn full(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Array> {
    let value = expect_scalar(value)?;
    let dtype = dtype.map(self::dtype).transpose()?.unwrap_or_else(|| value.default_dtype());
    AnyArray::full(&context(py)?, dtype, &self::shape(shape)?, value).map(Array).map_err(raise)
}

/// Evenly spaced numbers from `start` to before `stop`.
#[pyfunction]
fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    step: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let ends = [expect_scalar(start)?, expect_scalar(stop)?, expect_scalar(step)?];
    AnyArray::arange(&context(py)?, self::dtype(dtype)?, ends).map(Array).map_err(raise)
}

/// The arrays one behind the other along an axis, or with `stack` along a new axis. All have one type.
#[pyfunction]
fn join(py: Python<'_>, arrays: Vec<Bound<'_, PyAny>>, axis: isize, stack: bool) -> PyResult<Array> {
    let arrays = arrays.iter().map(any_array).collect::<PyResult<Vec<_>>>()?;
    let arrays: Vec<&AnyArray> = arrays.iter().collect();
    py.detach(|| AnyArray::join(&arrays, axis, stack)).map(Array).map_err(raise)
}

/// The complex numbers of real and imaginary parts of one shape and type.
#[pyfunction]
#[pyo3(name = "complex")]
fn complex_of(py: Python<'_>, re: &Array, im: &Array) -> PyResult<Array> {
    py.detach(|| AnyArray::complex(&re.0, &im.0)).map(Array).map_err(raise)
}

/// The discrete Fourier transform along an axis, or its inverse. `norm` is NumPy's.
#[pyfunction]
fn fft(py: Python<'_>, x: &Array, inverse: bool, axis: isize, norm: &str) -> PyResult<Array> {
    let norm = match norm {
        "backward" => FftNorm::Backward,
        "ortho" => FftNorm::Ortho,
        "forward" => FftNorm::Forward,
        _ => {
            let text = format!("norm is 'backward', 'ortho' or 'forward', not {norm:?}");
            return Err(PyValueError::new_err(text));
        }
    };
    py.detach(|| x.0.fft(inverse, axis, norm)).map(Array).map_err(raise)
}

/// The common type of two types, or `None`.
#[pyfunction]
fn promote<'py>(py: Python<'py>, a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let common: Option<DType> = vkarray::array::promote(dtype(a)?, dtype(b)?);
    common.map(|common| numpy_dtype(py, common)).transpose()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compute, module)?)?;
    module.add_function(wrap_pyfunction!(asarray, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(full, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(join, module)?)?;
    module.add_function(wrap_pyfunction!(complex_of, module)?)?;
    module.add_function(wrap_pyfunction!(fft, module)?)?;
    module.add_function(wrap_pyfunction!(promote, module)?)
}
