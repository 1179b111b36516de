//! What stands between the brackets of `x[…]`: integers, slices, ellipsis, new axes; masks; and arrays of places.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use vkarray::DType::I64;
use vkarray::Index;
use vkarray::array::{AnyArray, AnyOperand, AnyScalar, LayoutError, default_on};

use crate::class::Array;
use crate::context::context;
use crate::convert::from_host;
use crate::error::raise;

/// An index.
pub(crate) enum Key {
    /// A view.
    View(Vec<Index>),
    /// The elements whose mask is true.
    Mask(AnyArray),
    /// The elements at places along an axis, of the view before.
    Places { view: Vec<Index>, axis: isize, places: AnyArray },
    /// The elements at places along the leading axes, one list for each. Shapes broadcast.
    Points(Vec<AnyArray>),
}

impl Key {
    /// Reads an index. Arrays of integers stand alone among slices, or are all of the index, with integers beside them.
    pub(crate) fn new(key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(parts) = key.cast::<PyTuple>() else {
            return Ok(match advanced(key)? {
                Some(mask) if mask.dtype() == vkarray::DType::Bool => Self::Mask(mask),
                Some(places) => Self::Places { view: Vec::new(), axis: 0, places },
                None => Self::View(vec![basic(key)?]),
            });
        };
        let parts: Vec<Bound<'_, PyAny>> = parts.iter().collect();
        let arrays = parts.iter().map(advanced).collect::<PyResult<Vec<_>>>()?;
        if arrays.iter().flatten().count() > 1 {
            return Self::points(&parts, arrays);
        }
        let (mut view, mut taken) = (Vec::new(), None);
        for (i, (part, array)) in parts.iter().zip(arrays).enumerate() {
            if let Some(places) = array {
                if places.dtype() == vkarray::DType::Bool {
                    return Err(PyIndexError::new_err("a mask stands alone in an index"));
                }
                // Behind an ellipsis the axis is counted from the end.
                let before = &parts[..i];
                let kept =
                    |parts: &[Bound<'_, PyAny>]| parts.iter().filter(|part| !part.is_instance_of::<PyInt>()).count();
                let axis = match before.iter().any(|part| part.is_instance_of::<PyEllipsis>()) {
                    true => -1 - kept(&parts[i + 1..]).cast_signed(),
                    false => kept(before).cast_signed(),
                };
                taken = Some((axis, places));
                view.push(Index::Range { start: None, stop: None, step: 1 });
            } else {
                view.push(basic(part)?);
            }
        }
        Ok(match taken {
            Some((axis, places)) => Self::Places { view, axis, places },
            None => Self::View(view),
        })
    }

    fn points(parts: &[Bound<'_, PyAny>], arrays: Vec<Option<AnyArray>>) -> PyResult<Self> {
        let ctx = context(parts[0].py())?;
        let place = |(part, array): (&Bound<'_, PyAny>, Option<AnyArray>)| match array {
            Some(array) if array.dtype() != vkarray::DType::Bool => Ok(array),
            None if part.is_instance_of::<PyInt>() => from_host(&ctx, part, None),
            _ => Err(PyIndexError::new_err("beside several arrays of places stand integers alone")),
        };
        parts.iter().zip(arrays).map(place).collect::<PyResult<_>>().map(Self::Points)
    }
}

/// A list or an array in an index.
fn advanced(part: &Bound<'_, PyAny>) -> PyResult<Option<AnyArray>> {
    if let Ok(array) = part.cast::<Array>() {
        let array = &array.get().0;
        let is_mask = array.dtype() == vkarray::DType::Bool;
        return Ok((is_mask || array.ndim() > 0).then(|| array.clone()));
    }
    let is_list = part.is_instance_of::<pyo3::types::PyList>();
    let is_array = part.hasattr("__array_interface__")? && part.getattr("ndim")?.extract::<usize>()? > 0;
    if !is_list && !is_array {
        return Ok(None);
    }
    // An empty list has no numbers whose type it could have.
    let dtype = (is_list && part.len()? == 0).then_some(I64);
    from_host(&context(part.py())?, part, dtype).map(Some)
}

fn basic(part: &Bound<'_, PyAny>) -> PyResult<Index> {
    if part.is_none() {
        return Ok(Index::NewAxis);
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        let end = |name: &str| -> PyResult<Option<isize>> {
            let end = slice.getattr(name)?;
            if end.is_none() { Ok(None) } else { end.call_method0("__index__")?.extract().map(Some) }
        };
        let step = end("step")?.unwrap_or(1);
        return Ok(Index::Range { start: end("start")?, stop: end("stop")?, step });
    }
    if part.is_instance_of::<PyBool>() || !part.hasattr("__index__")? {
        let text = format!("an index is an integer, a slice, `...`, None, a mask or an array of integers, not {part}");
        return Err(PyIndexError::new_err(text));
    }
    part.call_method0("__index__")?.extract().map(Index::At)
}

/// The elements that an index selects: a view, or a copy for masks and arrays of places.
pub(crate) fn get(array: &AnyArray, key: &Key) -> PyResult<AnyArray> {
    match key {
        Key::View(view) => array.slice(view).map_err(raise),
        // A mask without elements selects nothing, also where it is shorter than the array, as in NumPy.
        Key::Mask(mask)
            if mask.size() == 0
                && mask.ndim() <= array.ndim()
                && mask.shape().iter().zip(array.shape()).all(|(&own, &len)| own == len || own == 0) =>
        {
            let shape: Vec<usize> = std::iter::once(0).chain(array.shape()[mask.ndim()..].iter().copied()).collect();
            AnyArray::empty(array.context(), array.dtype(), &shape).map_err(raise)
        }
        Key::Mask(mask) => array.compact(mask).map_err(|error| match error {
            vkarray::Error::Shapes { .. } => PyIndexError::new_err(error.to_string()),
            error => raise(error),
        }),
        Key::Places { view, axis, places } => {
            array.slice(view).and_then(|view| view.take(&wide(places)?, *axis)).map_err(raise)
        }
        Key::Points(places) => points(array, places).map_err(raise),
    }
}

/// The elements at places along the leading axes.
fn points(array: &AnyArray, places: &[AnyArray]) -> vkarray::Result<AnyArray> {
    let flat = flat_places(array, places)?;
    let rest = array.shape()[places.len()..].iter().map(|len| len.cast_signed());
    let n_points = array.shape()[..places.len()].iter().product::<usize>().cast_signed();
    array.reshape(&std::iter::once(n_points).chain(rest).collect::<Vec<_>>())?.take(&flat, 0)
}

/// The places in the leading axes taken as one. Each list is looked up in the numbers of its axis, which counts negative
/// places from the end and refuses those outside.
fn flat_places(array: &AnyArray, places: &[AnyArray]) -> vkarray::Result<AnyArray> {
    let ctx = array.context();
    let Some(lens) = array.shape().get(..places.len()) else {
        return Err(LayoutError::TooManyIndices { given: places.len(), ndim: array.ndim() }.into());
    };
    let mut flat = None;
    for (&len, places) in lens.iter().zip(places) {
        let own = AnyArray::arange(ctx, default_on(ctx, I64), [0, len, 1].map(number))?.take(&wide(places)?, 0)?;
        flat = Some(match flat {
            None => own,
            Some(flat) => within(&flat, len, &own)?,
        });
    }
    flat.ok_or_else(|| LayoutError::TooManyIndices { given: 0, ndim: array.ndim() }.into())
}

/// `rows * len + columns`.
fn within(rows: &AnyArray, len: usize, columns: &AnyArray) -> vkarray::Result<AnyArray> {
    let rows = AnyArray::compute("multiply", &[AnyOperand::Array(rows), AnyOperand::Number(number(len))])?;
    AnyArray::compute("add", &[AnyOperand::Array(&rows), AnyOperand::Array(columns)])
}

fn number(n: usize) -> AnyScalar {
    AnyScalar::Int(n as i128)
}

/// Writes values to the elements at places, which broadcast to what [`get`] returns for the key.
pub(crate) fn put(array: &AnyArray, key: &Key, values: &AnyArray) -> vkarray::Result<()> {
    match key {
        Key::View(view) => array.slice(view)?.assign(values),
        // Several values broadcast to the elements of which there are as many as the mask has truths.
        Key::Mask(mask) if values.size() != 1 && mask.ndim() > 0 && array.shape().starts_with(mask.shape()) => {
            put_points(array, &mask.nonzero()?, values)
        }
        Key::Mask(mask) => array.put_mask(mask, &values.astype(array.dtype())?.reshape(&[-1])?),
        Key::Points(places) => put_points(array, places, values),
        // The axis of the places goes to the front, and so do the axes of its values.
        Key::Places { view, axis, places } => {
            let view = array.slice(view)?;
            let (ndim, n_new) = (view.ndim().cast_signed(), places.ndim().cast_signed());
            if !(-ndim..ndim).contains(axis) {
                return Err(LayoutError::TooManyIndices { given: 1, ndim: view.ndim() }.into());
            }
            let axis = axis.rem_euclid(ndim);
            let order = |moved: std::ops::Range<isize>, n: isize| -> Vec<isize> {
                moved.clone().chain((0..n).filter(|at| !moved.contains(at))).collect()
            };
            let (before, behind) = view.shape().split_at(axis.unsigned_abs());
            let shape = [before, places.shape(), &behind[1..]].concat();
            let values = values.broadcast_to(&shape)?.transpose(Some(&order(axis..axis + n_new, ndim - 1 + n_new)))?;
            put_points(&view.transpose(Some(&order(axis..axis + 1, ndim)))?, std::slice::from_ref(places), &values)
        }
    }
}

/// Writes values to the elements at places along the leading axes.
fn put_points(array: &AnyArray, places: &[AnyArray], values: &AnyArray) -> vkarray::Result<()> {
    let flat = flat_places(array, places)?;
    let rest = &array.shape()[places.len()..];
    let n_rest = rest.iter().product();
    let columns = AnyArray::arange(array.context(), flat.dtype(), [0, n_rest, 1].map(number))?;
    let values = values.broadcast_to(&[flat.shape(), rest].concat())?.astype(array.dtype())?;
    if values.size() == 0 {
        return Ok(());
    }
    array.put(&within(&flat.reshape(&[-1, 1])?, n_rest, &columns)?.reshape(&[-1])?, &values.reshape(&[-1])?)
}

/// Places in the type of integers.
pub(crate) fn places(places: &AnyArray) -> vkarray::Result<AnyArray> {
    places.astype(default_on(places.context(), I64))
}

/// Places as integers of 32 or 64 bits, which kernels take.
pub(crate) fn wide(places: &AnyArray) -> vkarray::Result<AnyArray> {
    use vkarray::DType::{I8, I16, I32, U8, U16};
    match places.dtype() {
        I8 | U8 | I16 | U16 => places.astype(I32),
        _ => Ok(places.clone()),
    }
}
