//! Operators with an array on either side, and those that change their array.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyNotImplemented;
use vkarray::array::{AnyArray, Category};

use crate::class::Array;
use crate::convert::{Operand, compute};
use crate::error::raise;

/// An operator with an array on its left or right.
pub(crate) fn operate(
    array: &Bound<'_, Array>,
    name: &str,
    other: &Bound<'_, PyAny>,
    reflected: bool,
) -> PyResult<Py<PyAny>> {
    let py = array.py();
    let own = Operand::Array(array.get().0.clone());
    let Some(other) = Operand::new(other, false)? else {
        return Ok(PyNotImplemented::get(py).to_owned().into_any().unbind());
    };
    let operands = if reflected { [other, own] } else { [own, other] };
    Ok(Py::new(py, compute(py, name, &operands)?)?.into_any())
}

/// An operator that changes its array.
pub(crate) fn operate_in_place(array: &Bound<'_, Array>, name: &str, other: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let own = &array.get().0;
    let Some(other) = Operand::new(other, true)? else { unreachable!("everything is an operand here") };
    let result = compute(py, name, &[Operand::Array(own.clone()), other])?.0;
    assign_result(py, own, name, &result)
}

/// Writes the result of an operator to its array, which has to hold such numbers and so many.
pub(crate) fn assign_result(py: Python<'_>, own: &AnyArray, name: &str, result: &AnyArray) -> PyResult<()> {
    if Category::of(result.dtype()) > Category::of(own.dtype()) {
        let text = format!("{name} gives {}, which an array of {} does not hold", result.dtype(), own.dtype());
        return Err(PyTypeError::new_err(text));
    }
    if result.shape() != own.shape() {
        let text =
            format!("a result of shape {:?} does not fit in an array of shape {:?}", result.shape(), own.shape());
        return Err(PyValueError::new_err(text));
    }
    py.detach(|| own.assign(result)).map_err(raise)
}
