//! The class `Array`, and views of its memory (`view.rs`). Its other methods are in `array.rs`.

mod view;

use pyo3::prelude::*;
use vkarray::array::AnyArray;

pub(crate) use view::is_viewed;

/// An n-dimensional array on a device. Slices are views, as NumPy's are; operators compute at once and return new arrays.
#[pyclass(frozen, module = "vkarray", name = "Array")]
pub(crate) struct Array(pub(crate) AnyArray);
