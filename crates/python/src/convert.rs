//! Element types, numbers, operands and bytes, from Python and back.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyComplex, PyFloat, PyInt, PyTuple};
use vkarray::array::{AnyArray, AnyOperand, AnyScalar, computes, default_on};
use vkarray::{Context, DType};

use crate::class::{Array, is_viewed};
use crate::context::context;
use crate::error::raise;

/// An attribute of the module `numpy`.
pub(crate) fn numpy<'py>(py: Python<'py>, name: &'static str) -> PyResult<Bound<'py, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    NUMPY.get_or_try_init(py, || PyModule::import(py, "numpy").map(Bound::unbind))?.bind(py).getattr(name)
}

/// The element type that NumPy's `dtype` function understands: a type, a name, a `numpy.dtype`.
pub(crate) fn dtype(like: &Bound<'_, PyAny>) -> PyResult<DType> {
    let dtype = numpy(like.py(), "dtype")?.call1((like,))?;
    let name: String = dtype.getattr("name")?.extract()?;
    let own = name.parse::<DType>().ok().filter(|own| DType::ALL.contains(own) && own.numpy_name() == name);
    if !dtype.getattr("isnative")?.extract::<bool>()? {
        return Err(PyTypeError::new_err(format!("{name} of the other byte order; convert it with `astype` first")));
    }
    own.ok_or_else(|| PyTypeError::new_err(format!("vkarray has no arrays of {name}")))
}

/// An element type that a call asks for, which the device has to compute.
pub(crate) fn computed(ctx: &Context, like: &Bound<'_, PyAny>) -> PyResult<DType> {
    let dtype = dtype(like)?;
    if computes(ctx, dtype) {
        return Ok(dtype);
    }
    let text = format!("{} does not compute {}: use a type of 32 bits", ctx.info().name, dtype.numpy_name());
    Err(PyTypeError::new_err(text))
}

/// The `numpy.dtype` of an element type.
pub(crate) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
    numpy(py, "dtype")?.call1((dtype.numpy_name(),))
}

/// A Python number. NumPy's numbers that are not also Python's are arrays without axes.
pub(crate) fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Option<AnyScalar>> {
    Ok(Some(if value.is_instance_of::<PyBool>() {
        AnyScalar::Bool(value.extract()?)
    } else if value.is_instance_of::<PyInt>() {
        AnyScalar::Int(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        AnyScalar::Float(value.extract()?)
    } else if let Ok(complex) = value.cast::<PyComplex>() {
        AnyScalar::Complex(complex.real(), complex.imag())
    } else {
        return Ok(None);
    }))
}

/// The Python number.
pub(crate) fn number(py: Python<'_>, value: AnyScalar) -> PyResult<Py<PyAny>> {
    Ok(match value {
        AnyScalar::Bool(value) => PyBool::new(py, value).to_owned().into_any().unbind(),
        AnyScalar::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        AnyScalar::Float(value) => PyFloat::new(py, value).into_any().unbind(),
        AnyScalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any().unbind(),
    })
}

/// An operand that is held for the time of a call.
pub(crate) enum Operand {
    Array(AnyArray),
    Number(AnyScalar),
}

impl Operand {
    /// An array, a Python number, or what NumPy makes an array of. Without `all`, lists and tuples are no operands.
    pub(crate) fn new(value: &Bound<'_, PyAny>, all: bool) -> PyResult<Option<Self>> {
        if let Ok(array) = value.cast::<Array>() {
            return Ok(Some(Self::Array(array.get().0.clone())));
        }
        if let Some(scalar) = scalar(value)? {
            return Ok(Some(Self::Number(scalar)));
        }
        if !all && !value.hasattr("__array_interface__")? {
            return Ok(None);
        }
        from_host(&context(value.py())?, value, None).map(Self::Array).map(Some)
    }

    pub(crate) fn as_any(&self) -> AnyOperand<'_> {
        match self {
            Self::Array(array) => AnyOperand::Array(array),
            Self::Number(number) => AnyOperand::Number(*number),
        }
    }
}

/// An elementwise function of operands.
pub(crate) fn compute(py: Python<'_>, name: &str, operands: &[Operand]) -> PyResult<Array> {
    let operands: Vec<_> = operands.iter().map(Operand::as_any).collect();
    py.detach(|| AnyArray::compute(name, &operands)).map(Array).map_err(raise)
}

/// The array itself, or a new one with what NumPy makes of the value.
pub(crate) fn any_array(value: &Bound<'_, PyAny>) -> PyResult<AnyArray> {
    match value.cast::<Array>() {
        Ok(array) => Ok(array.get().0.clone()),
        Err(_) => from_host(&context(value.py())?, value, None),
    }
}

/// A new array with the elements of what NumPy makes an array of. Lists of Python numbers get the default types.
pub(crate) fn from_host(ctx: &Context, value: &Bound<'_, PyAny>, wanted: Option<DType>) -> PyResult<AnyArray> {
    let py = value.py();
    let is_typed = value.hasattr("dtype")?;
    let array = numpy(py, "asarray")?.call1((value,))?;
    let own: String = array.getattr("dtype")?.getattr("name")?.extract()?;
    let wanted = match (wanted, is_typed, own.as_str()) {
        (Some(dtype), ..) => Some(dtype),
        (None, false, "float64") => Some(DType::F32),
        (None, false, "complex128") => Some(DType::Complex32),
        (None, false, "int64") => Some(default_on(ctx, DType::I64)),
        _ => None,
    };
    let array = match wanted {
        Some(DType::I32) if !is_typed && own == "int64" => {
            // A Python integer that does not fit raises `OverflowError`.
            numpy(py, "asarray")?.call1((value, numpy_dtype(py, DType::I32)?))?
        }
        Some(dtype) => array.call_method1("astype", (numpy_dtype(py, dtype)?,))?,
        None => array,
    };
    let dtype = dtype(&array.getattr("dtype")?)?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let flat = numpy(py, "ascontiguousarray")?.call1((&array,))?.call_method1("reshape", (-1,))?;
    let bytes = PyBuffer::<u8>::get(&flat.call_method1("view", ("uint8",))?)?.to_vec(py)?;
    py.detach(|| AnyArray::from_bytes(ctx, dtype, &shape, &bytes)).map_err(raise)
}

/// A NumPy array with a copy of the elements. What other views have open is copied by a view.
pub(crate) fn to_host<'py>(py: Python<'py>, array: &AnyArray) -> PyResult<Bound<'py, PyAny>> {
    if is_viewed(py, array) {
        return numpy(py, "array")?.call1((Array(array.clone()),));
    }
    let bytes = py.detach(|| array.to_bytes()).map_err(raise)?;
    let memory = PyByteArray::new(py, &bytes);
    let flat = numpy(py, "frombuffer")?.call1((memory, numpy_dtype(py, array.dtype())?))?;
    flat.call_method1("reshape", (PyTuple::new(py, array.shape())?,))
}

/// A length, or a sequence of lengths.
pub(crate) fn shape(value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let lengths = axes(value)?;
    lengths
        .iter()
        .map(|&len| usize::try_from(len).map_err(|_| PyValueError::new_err(format!("a length is not negative: {len}"))))
        .collect()
}

/// An integer, or a sequence of integers.
pub(crate) fn axes(value: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    match value.extract::<isize>() {
        Ok(one) => Ok(vec![one]),
        Err(_) => value.extract(),
    }
}
