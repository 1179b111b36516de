//! `Display` for arrays: reads the elements from the device and prints what NumPy prints.
//!
//! Of an array with more than a thousand elements only the corners are read and printed. How a float is written is in
//! `float.rs`, where brackets and line breaks go in `format.rs`. `Debug`, which does not read the device, is in
//! `array/mod.rs`.

mod float;
mod format;

use std::fmt;
use std::ops::Range;

use half::{bf16, f16};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use vkarray_kernel::{Bool, Complex32, Complex64, DType, Element, tuple_text};
use vkarray_layout::Index;

use crate::array::DeviceNDArray;
use crate::error::Error;
use float::{FloatKind, complex_scalar, complex_words, float_scalar, float_words, rounded, rounded_complex};
use format::{EDGE_ITEMS, THRESHOLD, format_array};

/// Prints the elements as NumPy's `print` does. Blocks until they are copied to the host.
///
/// Of an array with more than a thousand elements, only the first three and the last three on each axis are read and
/// printed. If the device cannot be read, the error is printed. With a precision, as in `{:.2}`, floats have exactly
/// that many digits after the point; a width, as in `{:8}`, is the least width of each element.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.shaped_to_device(&[1.0_f32, 2.5, -3.25, 10.0], [2, 2])?;
/// assert_eq!(x.to_string(), "[[ 1.    2.5 ]\n [-3.25 10.  ]]");
/// assert_eq!(format!("{x:.1}"), "[[ 1.0  2.5]\n [-3.2 10.0]]");
/// assert_eq!(format!("{:4}", ctx.arange(0, 3, 1)?), "[   0    1    2]");
/// # anyhow::Ok(())
/// ```
impl<T: Element> fmt::Display for DeviceNDArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = |ranges: &[Range<usize>]| {
            self.slice(ranges.iter().map(|range| Index::from(range.clone())).collect::<Vec<_>>())?.copy_to_host()
        };
        match corners(self.shape(), read) {
            Ok(values) => f.write_str(&text(self.shape(), &values, f.precision(), f.width().unwrap_or(0))),
            Err::<_, Error>(error) => {
                write!(f, "<{} of shape {}, cannot be read: {error}>", DType::of::<T>(), tuple_text(self.shape()))
            }
        }
    }
}

/// The text of an array of this shape, as [`DeviceNDArray`] prints it, for arrays that are not in one place. `read` is
/// called for boxes, each a range of each axis: once for a small array, and for each corner of a large one.
///
/// ```
/// use vkarray::array::array_text;
/// use vkarray::ndarray::ArrayD;
///
/// let numbers = |ranges: &[std::ops::Range<usize>]| {
///     let shape: Vec<usize> = ranges.iter().map(|range| range.len()).collect();
///     Ok::<_, ()>(ArrayD::from_shape_fn(shape, |at| (ranges[0].start + at[0]) as u32))
/// };
/// assert_eq!(array_text(&[1_000_000], numbers), Ok("[     0      1      2 ... 999997 999998 999999]".to_owned()));
/// ```
///
/// # Errors
///
/// The errors of `read`.
pub fn array_text<T: Element, E>(
    shape: &[usize],
    read: impl FnMut(&[Range<usize>]) -> Result<ArrayD<T>, E>,
) -> Result<String, E> {
    Ok(text(shape, &corners(shape, read)?, None, 0))
}

/// The elements that are printed: all elements, or of a large array the first and last three on each axis.
fn corners<T: Element, E>(
    shape: &[usize],
    mut read: impl FnMut(&[Range<usize>]) -> Result<ArrayD<T>, E>,
) -> Result<Vec<T>, E> {
    let whole: Vec<Range<usize>> = shape.iter().map(|&len| 0..len).collect();
    if shape.iter().product::<usize>() <= THRESHOLD {
        return Ok(read(&whole)?.into_iter().collect());
    }
    let lens: Vec<usize> = shape.iter().map(|&len| len.min(2 * EDGE_ITEMS)).collect();
    let mut corners = ArrayD::from_elem(IxDyn(&lens), T::zeroed());
    let long: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] > 2 * EDGE_ITEMS).collect();
    for corner in 0..1_usize << long.len() {
        let mut from = whole.clone();
        let mut to = corners.view_mut();
        for (bit, &axis) in long.iter().enumerate() {
            let (edge, target) = match corner >> bit & 1 {
                0 => (0..EDGE_ITEMS, Slice::from(..EDGE_ITEMS)),
                _ => (shape[axis] - EDGE_ITEMS..shape[axis], Slice::from(EDGE_ITEMS..)),
            };
            from[axis] = edge;
            to.slice_axis_inplace(Axis(axis), target);
        }
        to.assign(&read(&from)?);
    }
    Ok(corners.into_iter().collect())
}

/// The text of an array of this shape, given the values that are printed, with the precision and the width of a format
/// such as `{:8.2}`.
fn text<T: Element>(shape: &[usize], values: &[T], precision: Option<usize>, width: usize) -> String {
    let words = words(values, shape.is_empty(), precision);
    let width = words.iter().map(String::len).fold(width, usize::max);
    let words: Vec<String> = words.into_iter().map(|word| format!("{word:>width$}")).collect();
    format_array(shape, &words)
}

/// Each value as text. With a precision, floats have this many digits after the point.
fn words<T: Element>(values: &[T], is_scalar: bool, precision: Option<usize>) -> Vec<String> {
    let real = |values: Vec<f64>, kind| match precision {
        Some(digits) => values.into_iter().map(|value| rounded(value, digits)).collect(),
        None if is_scalar => vec![float_scalar(values[0], kind)],
        None => float_words(&values, kind, false),
    };
    let complex = |values: Vec<[f64; 2]>, kind| match precision {
        Some(digits) => values.into_iter().map(|value| rounded_complex(value, digits)).collect(),
        None if is_scalar => vec![complex_scalar(values[0], kind)],
        None => complex_words(&values, kind),
    };
    match DType::of::<T>() {
        DType::F16 => real(each(values, f16::to_f64), FloatKind::Half),
        DType::BF16 => real(each(values, bf16::to_f64), FloatKind::Brain),
        DType::F32 => real(each(values, |value: f32| f64::from(value)), FloatKind::Single),
        DType::F64 => real(each(values, |value: f64| value), FloatKind::Double),
        DType::Complex32 => {
            complex(each(values, |value: Complex32| [value.re, value.im].map(f64::from)), FloatKind::Single)
        }
        DType::Complex64 => complex(each(values, |value: Complex64| [value.re, value.im]), FloatKind::Double),
        DType::Bool => each(values, |value: Bool| {
            let text = if bool::from(value) { "True" } else { "False" };
            if is_scalar { text.to_owned() } else { format!("{text:>5}") }
        }),
        DType::I8 => each(values, |value: i8| value.to_string()),
        DType::U8 => each(values, |value: u8| value.to_string()),
        DType::I16 => each(values, |value: i16| value.to_string()),
        DType::U16 => each(values, |value: u16| value.to_string()),
        DType::I32 => each(values, |value: i32| value.to_string()),
        DType::U32 => each(values, |value: u32| value.to_string()),
        DType::I64 => each(values, |value: i64| value.to_string()),
        DType::U64 => each(values, |value: u64| value.to_string()),
        _ => values.iter().map(|value| bytes_text(bytemuck::bytes_of(value))).collect(),
    }
}

fn each<T: Element, U: Element, R>(values: &[T], convert: impl Fn(U) -> R) -> Vec<R> {
    values.iter().map(|value| convert(bytemuck::pod_read_unaligned(bytemuck::bytes_of(value)))).collect()
}

/// The bytes of a record, as NumPy prints opaque bytes.
fn bytes_text(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = "b'".to_owned();
    for byte in bytes {
        write!(text, "\\x{byte:02X}").expect("a string takes any text");
    }
    text + "'"
}

#[cfg(test)]
mod tests;
