//! `Display` for arrays: reads the device, and prints what NumPy prints.
//!
//! Of an array past a thousand elements only the corners are read and printed. How one number is written is
//! `display/float.rs`, how many share a page is `display/page.rs`. `Debug`, which does not read the device, is in
//! `array.rs`.

mod float;
mod page;

use std::fmt;

use half::{bf16, f16};
use ndarray::{ArrayD, Axis, IxDyn, Slice};
use vkarray_kernel::{Bool, Complex32, Complex64, DType, Element};

use crate::array::DeviceNDArray;
use crate::error::Result;
use crate::layout::{Index, tuple};
use float::{Precision, complex_text, complex_words, float_text, float_words};
use page::{EDGE, THRESHOLD, page};

/// Prints the elements as NumPy's `print` does: blocks until they are there.
///
/// Past a thousand elements it prints, and reads, the first three and the last three on each axis. Where the device
/// cannot be read it prints why.
impl<T: Element> fmt::Display for DeviceNDArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.corners() {
            Ok(corners) => {
                let values: Vec<T> = corners.iter().copied().collect();
                f.write_str(&text(self.shape(), &values))
            }
            Err(error) => write!(f, "<{} of shape {}, cannot be read: {error}>", DType::of::<T>(), tuple(self.shape())),
        }
    }
}

impl<T: Element> DeviceNDArray<T> {
    /// What is printed: all, or of a large array the ends of each axis that is longer than both.
    fn corners(&self) -> Result<ArrayD<T>> {
        if self.size() <= THRESHOLD {
            return self.copy_to_host();
        }
        let lens: Vec<usize> = self.shape().iter().map(|&len| len.min(2 * EDGE)).collect();
        let mut corners = ArrayD::from_elem(IxDyn(&lens), T::zeroed());
        let long: Vec<usize> = (0..self.ndim()).filter(|&axis| self.shape()[axis] > 2 * EDGE).collect();
        for corner in 0..1_usize << long.len() {
            let mut from = vec![Index::from(..); self.ndim()];
            let mut to = corners.view_mut();
            for (bit, &axis) in long.iter().enumerate() {
                let (edge, place) = match corner >> bit & 1 {
                    0 => (Index::from(..EDGE), Slice::from(..EDGE)),
                    _ => (Index::from(self.shape()[axis] - EDGE..), Slice::from(EDGE..)),
                };
                from[axis] = edge;
                to.slice_axis_inplace(Axis(axis), place);
            }
            to.assign(&self.slice(&from)?.copy_to_host()?);
        }
        Ok(corners)
    }
}

/// The text of an array of this shape, of which these are the values to print.
fn text<T: Element>(shape: &[usize], values: &[T]) -> String {
    let words = words::<T>(values, shape.is_empty());
    page(shape, &words)
}

/// Each value as a word; all of one width, but for the only one of an array without axes.
fn words<T: Element>(values: &[T], is_scalar: bool) -> Vec<String> {
    match DType::of::<T>() {
        DType::Bool => each(values, |value: Bool| {
            let text = if bool::from(value) { "True" } else { "False" };
            if is_scalar { text.to_owned() } else { format!("{text:>5}") }
        }),
        DType::I8 => aligned(each(values, |value: i8| value.to_string())),
        DType::U8 => aligned(each(values, |value: u8| value.to_string())),
        DType::I16 => aligned(each(values, |value: i16| value.to_string())),
        DType::U16 => aligned(each(values, |value: u16| value.to_string())),
        DType::I32 => aligned(each(values, |value: i32| value.to_string())),
        DType::U32 => aligned(each(values, |value: u32| value.to_string())),
        DType::I64 => aligned(each(values, |value: i64| value.to_string())),
        DType::U64 => aligned(each(values, |value: u64| value.to_string())),
        DType::F16 => floats(&each(values, f16::to_f64), Precision::Half, is_scalar),
        DType::BF16 => floats(&each(values, bf16::to_f64), Precision::Brain, is_scalar),
        DType::F32 => floats(&each(values, |value: f32| f64::from(value)), Precision::Single, is_scalar),
        DType::F64 => floats(&each(values, |value: f64| value), Precision::Double, is_scalar),
        DType::Complex32 => {
            let pairs = each(values, |value: Complex32| [value.re, value.im].map(f64::from));
            complexes(&pairs, Precision::Single, is_scalar)
        }
        DType::Complex64 => {
            let pairs = each(values, |value: Complex64| [value.re, value.im]);
            complexes(&pairs, Precision::Double, is_scalar)
        }
        _ => values.iter().map(|value| bytes_text(bytemuck::bytes_of(value))).collect(),
    }
}

fn each<T: Element, U: Element, R>(values: &[T], convert: impl Fn(U) -> R) -> Vec<R> {
    values.iter().map(|value| convert(bytemuck::pod_read_unaligned(bytemuck::bytes_of(value)))).collect()
}

fn floats(values: &[f64], precision: Precision, is_scalar: bool) -> Vec<String> {
    match (values, is_scalar) {
        (&[value], true) => vec![float_text(value, precision)],
        _ => float_words(values, precision, false),
    }
}

fn complexes(values: &[[f64; 2]], precision: Precision, is_scalar: bool) -> Vec<String> {
    match (values, is_scalar) {
        (&[value], true) => vec![complex_text(value, precision)],
        _ => complex_words(values, precision),
    }
}

fn aligned(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

/// A record's bytes, as NumPy prints opaque ones.
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
