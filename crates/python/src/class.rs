//! The class `Array`. Its methods are in `array.rs`.

use pyo3::prelude::*;
use vkarray::array::AnyArray;

/// An n-dimensional array on a device. Slices are views, as NumPy's are; operators compute at once and return new arrays.
#[pyclass(frozen, module = "vkarray", name = "Array")]
pub(crate) struct Array(pub(crate) AnyArray);
