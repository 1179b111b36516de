//! Functions that make arrays of numbers and of other arrays.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use vkarray::DType;
use vkarray::array::{AnyArray, AnyScalar, Category, default_on};
use vkarray::primitives::FftNorm;

use crate::class::Array;
use crate::context::context;
use crate::convert::{Operand, any_array, compute as apply, computed, dtype, from_host, numpy_dtype, scalar, shape};
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
    let dtype = dtype.map(|dtype| computed(&context(py)?, dtype)).transpose()?;
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

/// An array whose elements are not set, in a type that the device stores, or with `computes` in one that it computes.
#[pyfunction]
#[pyo3(signature = (shape, dtype, computes=false))]
fn empty(py: Python<'_>, shape: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>, computes: bool) -> PyResult<Array> {
    let ctx = context(py)?;
    let dtype = if computes { computed(&ctx, dtype)? } else { self::dtype(dtype)? };
    AnyArray::empty(&ctx, dtype, &self::shape(shape)?).map(Array).map_err(raise)
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
    let (ctx, value) = (context(py)?, expect_scalar(value)?);
    let dtype = dtype.map(|dtype| computed(&ctx, dtype)).transpose()?;
    AnyArray::full(&ctx, dtype.unwrap_or_else(|| default_on(&ctx, value.default_dtype())), &self::shape(shape)?, value)
        .map(Array)
        .map_err(raise)
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
    let ctx = context(py)?;
    AnyArray::arange(&ctx, computed(&ctx, dtype)?, ends).map(Array).map_err(raise)
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

/// The types that arrays have by default on the device: floats, complex numbers, integers.
#[pyfunction]
fn default_types(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let ctx = context(py)?;
    let kinds = [Category::Float, Category::Complex, Category::Integer];
    kinds.iter().map(|kind| numpy_dtype(py, default_on(&ctx, kind.default_dtype()))).collect()
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
    module.add_function(wrap_pyfunction!(default_types, module)?)?;
    module.add_function(wrap_pyfunction!(promote, module)?)
}
