//! Elements at indices. An index is checked on the device; only where it must be in range does the host wait for the answer.

use vkarray_driver::Stream;
use vkarray_kernel::Element;
use vkarray_ndarray::{DeviceNDArray, OnStream, Result};
use vkarray_shaders::functions;

use crate::error::Error;
use crate::operand::{Units, Word, axis_of, kernel, packed, run, to_u32, words};

/// What happens with an index that is out of range: the modes of NumPy's `take`.
///
/// ```
/// use vkarray::primitives::IndexMode;
///
/// assert_eq!(IndexMode::default(), IndexMode::Raise);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexMode {
    /// It is an error. The call waits until the device has checked all indices.
    #[default]
    Raise,
    /// It is taken modulo the length. The call does not wait.
    Wrap,
    /// The nearest place is taken, so that negative indices are 0. The call does not wait.
    Clip,
}

/// A type of indices: `i32`, `u32`, `i64` or `u64`.
pub trait IndexElement: Element + Into<i128> + Word {
    #[doc(hidden)]
    const IS_SIGNED: bool;
}

macro_rules! index_elements {
    ($($ty:ty: $is_signed:expr),*) => {
        $(impl IndexElement for $ty {
            const IS_SIGNED: bool = $is_signed;
        })*
    };
}

index_elements! { i32: true, u32: false, i64: true, u64: false }

/// The text that reads indices of a type.
pub(super) fn index_text<I: IndexElement>(mode: IndexMode) -> String {
    let (words, is_signed, mode) = (size_of::<I>() / 4, I::IS_SIGNED, mode as u32);
    let constants = format!("const INDEX_WORDS = {words}u;\nconst IS_SIGNED = {is_signed};\nconst MODE = {mode}u;\n");
    [&constants, functions::INDICES].concat()
}

/// Checks packed indices against the length of an axis; waits for the device.
pub(super) fn check_indices<I: IndexElement>(
    operation: &'static str,
    stream: &Stream,
    indices: &DeviceNDArray<I>,
    length: usize,
) -> Result<()> {
    let ctx = indices.context();
    let count = to_u32(indices.size())?;
    let first = ctx.device_array::<u32>([1])?;
    first.on(stream).fill(count)?;
    let check =
        kernel(ctx, "index_check.wgsl", &[&index_text::<I>(IndexMode::Raise), functions::INDEX_CHECK], "index_check")?;
    let args = (words(indices), words(&first), count, to_u32(length)?);
    check.dispatch(stream, vkarray_kernel::Groups::covering(indices.size()), args)?;
    let position = first.on(stream).copy_to_host()?[0] as usize;
    if position == indices.size() {
        return Ok(());
    }
    let index = indices.reshape(indices.size())?.slice_axis(0, position.cast_signed()..position.cast_signed() + 1)?;
    let index = index.on(stream).copy_to_host()?[0].into();
    Err(Error::IndexOutOfRange { operation, index, position, length }.into())
}

pub(super) fn take<T: Element, I: IndexElement>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<I>,
    axis: isize,
    mode: IndexMode,
) -> Result<DeviceNDArray<T>> {
    let shape = x.array().shape();
    let axis = axis_of(axis, shape.len())?;
    let out = [&shape[..axis], indices.shape(), &shape[axis + 1..]].concat();
    gather(x, indices, Gather { operation: "take", axis, mode, is_along: false }, &out)
}

pub(super) fn take_along_axis<T: Element, I: IndexElement>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<I>,
    axis: isize,
    mode: IndexMode,
) -> Result<DeviceNDArray<T>> {
    let (operation, shape) = ("take_along_axis", x.array().shape());
    let axis = axis_of(axis, shape.len())?;
    let is_fitting = shape.len() == indices.ndim()
        && shape.iter().zip(indices.shape()).enumerate().all(|(i, (a, b))| i == axis || a == b);
    if !is_fitting {
        return Err(Error::Shapes { operation, first: shape.to_vec(), second: indices.shape().to_vec() }.into());
    }
    gather(x, indices, Gather { operation, axis, mode, is_along: true }, indices.shape())
}

/// The elements at indices along an axis that are known to be in range; one row of indices for all.
pub(crate) fn gather_axis<T: Element>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<u32>,
    axis: usize,
) -> Result<DeviceNDArray<T>> {
    take(x, indices, axis.cast_signed(), IndexMode::Clip)
}

/// The elements at the places of each row that are known to be in range.
pub(crate) fn gather_rows<T: Element>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<u32>,
    axis: usize,
) -> Result<DeviceNDArray<T>> {
    take_along_axis(x, indices, axis.cast_signed(), IndexMode::Clip)
}

struct Gather {
    operation: &'static str,
    axis: usize,
    mode: IndexMode,
    is_along: bool,
}

fn gather<T: Element, I: IndexElement>(
    x: OnStream<'_, T>,
    indices: &DeviceNDArray<I>,
    how: Gather,
    shape: &[usize],
) -> Result<DeviceNDArray<T>> {
    let (stream, ctx) = (x.stream(), x.array().context());
    let length = x.array().shape()[how.axis];
    if length == 0 && indices.size() > 0 {
        return Err(Error::EmptyAxis { operation: how.operation, indices: indices.size() }.into());
    }
    let out = ctx.device_array::<T>(shape)?;
    let indices = packed(indices.on(stream))?;
    if how.mode == IndexMode::Raise && indices.size() > 0 {
        check_indices(how.operation, stream, &indices, length)?;
    }
    if out.size() == 0 {
        return Ok(out);
    }
    let source = packed(x)?;
    let units = Units::of::<T>();
    let inner = source.shape()[how.axis + 1..].iter().product::<usize>() * units.parts;
    let n_indices = if how.is_along { indices.shape()[how.axis] } else { indices.size() };
    let along = format!("const ALONG = {};\n", how.is_along);
    let text = [&units.text(), &along, &index_text::<I>(how.mode), functions::GATHER];
    let kernel = kernel(ctx, "gather.wgsl", &text, "gather_units")?;
    let n_units = out.size() * units.parts;
    let numbers = [n_units, length, n_indices, inner, units.parts].map(to_u32);
    let [count, length, n_indices, inner, parts] = numbers;
    let args = (words(&source), words(&indices), words(&out), count?, length?, n_indices?, inner?, parts?);
    run(&kernel, stream, n_units.div_ceil(units.per_word), &args)?;
    Ok(out)
}
