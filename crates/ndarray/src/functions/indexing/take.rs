//! Elements at indices. The device checks the indices; the host waits for the answer only where indices out of range
//! are errors.

use std::ops::Range;

use vkarray_driver::Stream;
use vkarray_kernel::{Arg, DType, Element, Kernel};
use vkarray_layout::IntoAxis;
use vkarray_shaders::functions;

use crate::array::DeviceNDArray;
use crate::error::{Error, Result};
use crate::functions::operand::{Units, Word, axis_of, flat, kernel, packed, part, parts, run, to_u32, words};
use crate::generate::word;

/// What happens with an index that is out of range: the modes of NumPy's `take`.
///
/// ```
/// use vkarray::primitives::IndexMode;
///
/// assert_eq!(IndexMode::default(), IndexMode::Raise);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexMode {
    /// An index out of range is an error. The call waits until the device has checked all indices.
    #[default]
    Raise,
    /// The index is taken modulo the length. The call does not wait.
    Wrap,
    /// The nearest place is taken, which for negative indices is 0. The call does not wait.
    Clip,
}

/// A type of indices: `i32`, `u32`, `i64` or `u64`.
pub trait IndexElement: Element + Into<i128> + Word {}

impl IndexElement for i32 {}
impl IndexElement for u32 {}
impl IndexElement for i64 {}
impl IndexElement for u64 {}

/// The text that reads indices of a type.
fn index_text<I: IndexElement>(mode: IndexMode) -> String {
    let is_signed = matches!(DType::of::<I>(), DType::I32 | DType::I64);
    let (words, mode) = (size_of::<I>() / 4, mode as u32);
    let constants = format!("const INDEX_WORDS = {words}u;\nconst IS_SIGNED = {is_signed};\nconst MODE = {mode}u;\n");
    [&constants, functions::INDICES].concat()
}

/// Checks packed indices against the length of an axis; waits for the device.
pub(crate) fn check_indices<I: IndexElement>(
    operation: &'static str,
    stream: &Stream,
    indices: &DeviceNDArray<I>,
    length: usize,
) -> Result<()> {
    let (ctx, n) = (indices.context(), indices.size());
    let (flat, count) = (flat(indices)?, to_u32(n)?);
    let first = ctx.device_array::<u32>([1])?;
    first.on(stream).fill(count)?;
    let text = [&index_text::<I>(IndexMode::Raise), functions::INDEX_CHECK];
    let check = kernel(ctx, "index_check.wgsl", &text, "index_check")?;
    for range in parts(ctx, n, size_of::<I>(), 1) {
        let own = part(&flat, &range)?;
        let args = (words(&own), words(&first), to_u32(range.start)?, to_u32(range.len())?, to_u32(length)?);
        run(&check, stream, range.len(), &args)?;
    }
    let position = first.on(stream).copy_to_host()?[0] as usize;
    if position == n {
        return Ok(());
    }
    let index = part(&flat, &(position..position + 1))?.on(stream).copy_to_host()?[0].into();
    Err(Error::IndexOutOfRange { operation, index, position, length })
}

/// The places that packed indices of one axis name on an axis of `length`. With [`IndexMode::Raise`] the indices are in range.
pub(crate) fn places_of<I: IndexElement>(
    indices: &DeviceNDArray<I>,
    stream: &Stream,
    length: usize,
    mode: IndexMode,
) -> Result<DeviceNDArray<u32>> {
    if DType::of::<I>() == DType::U32 && mode == IndexMode::Raise {
        return indices.view();
    }
    let (ctx, n) = (indices.context(), indices.size());
    let places = ctx.device_array::<u32>([n])?;
    let kernel = kernel(ctx, "index_check.wgsl", &[&index_text::<I>(mode), functions::INDEX_CHECK], "index_places")?;
    for range in parts(ctx, n, size_of::<I>(), 1) {
        let (own, named) = (part(indices, &range)?, part(&places, &range)?);
        let args = (words(&own), words(&named), to_u32(range.start)?, to_u32(range.len())?, to_u32(length)?);
        run(&kernel, stream, range.len(), &args)?;
    }
    Ok(places)
}

impl<T: Element> DeviceNDArray<T> {
    /// The elements at `indices` along an axis: NumPy's `take`. The axes of `indices` replace the axis.
    ///
    /// Negative indices count from the end. The call waits until the device has compared the indices with the length of the
    /// axis; [`DeviceNDArray::take_with_mode`] with another mode does not wait.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    /// let columns = ctx.slice_to_device(&[2, 0, -1])?;
    /// assert_eq!(x.take(&columns, 1)?.to_vec()?, [2.0, 0.0, 2.0, 5.0, 3.0, 5.0]);
    /// let refused = x.take(&ctx.slice_to_device(&[0, 3])?, 1).unwrap_err();
    /// assert_eq!(refused.to_string(), "take: index 3 at position 1 is out of range for an axis of length 3");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the axis;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have; and the errors of
    /// [`DeviceNDArray::take_with_mode`].
    pub fn take<I: IndexElement>(&self, indices: &DeviceNDArray<I>, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        self.take_with_mode(indices, axis, IndexMode::Raise)
    }

    /// The elements at `indices` along an axis, as [`DeviceNDArray::take`] gives them, with a rule for indices out of range.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray::primitives::IndexMode;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (x, indices) = (ctx.arange(0, 4, 1)?, ctx.slice_to_device(&[-1, 5])?);
    /// assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Wrap)?.to_vec()?, [3, 1]);
    /// assert_eq!(x.take_with_mode(&indices, 0, IndexMode::Clip)?.to_vec()?, [0, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::EmptyAxis`](crate::Error::EmptyAxis) for indices into an axis without elements;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn take_with_mode<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        axis: impl IntoAxis,
        mode: IndexMode,
    ) -> Result<DeviceNDArray<T>> {
        let shape = self.shape();
        let axis = axis_of(axis.into_axis(), shape.len())?;
        let out = [&shape[..axis], indices.shape(), &shape[axis + 1..]].concat();
        gather(self, indices, Gather { operation: "take", axis, mode, is_along: false }, &out)
    }

    /// Element `[o, j, k]` of the result is `x[o, indices[o, j, k], k]`: NumPy's `take_along_axis`, which applies the
    /// result of `argsort` along an axis. The shapes agree in all other axes. Like [`DeviceNDArray::take`], the call waits
    /// until the device has checked the indices.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3, 1, 2, 9, 7, 8])?.reshape([2, 3])?;
    /// let order = x.argsort(1)?;
    /// assert_eq!(x.take_along_axis(&order, 1)?.to_vec()?, [1, 2, 3, 7, 8, 9]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if the shapes differ in another axis;
    /// [`Error::IndexOutOfRange`](crate::Error::IndexOutOfRange) for an index outside the axis; and the errors of
    /// [`DeviceNDArray::take`].
    pub fn take_along_axis<I: IndexElement>(
        &self,
        indices: &DeviceNDArray<I>,
        axis: impl IntoAxis,
    ) -> Result<DeviceNDArray<T>> {
        take_along_axis(self, indices, axis.into_axis(), IndexMode::Raise)
    }
}

fn take_along_axis<T: Element, I: IndexElement>(
    x: &DeviceNDArray<T>,
    indices: &DeviceNDArray<I>,
    axis: isize,
    mode: IndexMode,
) -> Result<DeviceNDArray<T>> {
    let (operation, shape) = ("take_along_axis", x.shape());
    let axis = axis_of(axis, shape.len())?;
    let is_fitting = shape.len() == indices.ndim()
        && shape.iter().zip(indices.shape()).enumerate().all(|(i, (a, b))| i == axis || a == b);
    if !is_fitting {
        return Err(Error::shapes(operation, shape, indices.shape()));
    }
    gather(x, indices, Gather { operation, axis, mode, is_along: true }, indices.shape())
}

/// The elements at indices along an axis. All indices are known to be in range, and one row of indices serves every row
/// of the array.
pub(crate) fn gather_axis<T: Element>(
    x: &DeviceNDArray<T>,
    indices: &DeviceNDArray<u32>,
    axis: usize,
) -> Result<DeviceNDArray<T>> {
    x.take_with_mode(indices, axis.cast_signed(), IndexMode::Clip)
}

/// The elements at the places of each row. All places are known to be in range.
pub(crate) fn gather_rows<T: Element>(
    x: &DeviceNDArray<T>,
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
    x: &DeviceNDArray<T>,
    indices: &DeviceNDArray<I>,
    how: Gather,
    shape: &[usize],
) -> Result<DeviceNDArray<T>> {
    let (stream, ctx) = (x.stream(), x.context());
    let length = x.shape()[how.axis];
    if length == 0 && indices.size() > 0 {
        return Err(Error::EmptyAxis { operation: how.operation, indices: indices.size() });
    }
    let out = ctx.device_array::<T>(shape)?;
    let indices = packed(&indices.on(stream))?;
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
    to_u32(source.size().max(out.size()) * units.parts)?;
    let moves = Moves {
        stream,
        how: &how,
        sizes: [length, n_indices, inner, units.parts],
        source: flat(&source)?,
        indices: flat(&indices)?,
        out: flat(&out)?,
    };
    moves.run(&index_text::<I>(how.mode))?;
    Ok(out)
}

/// The arrays between which elements are moved, each with one axis.
struct Moves<'a, T: Element, I: Element> {
    stream: &'a Stream,
    how: &'a Gather,
    /// The length of the axis, the indices of a row, the units behind the axis, and the units of an element.
    sizes: [usize; 4],
    source: DeviceNDArray<T>,
    indices: DeviceNDArray<I>,
    out: DeviceNDArray<T>,
}

impl<T: Element, I: Element> Moves<'_, T, I> {
    /// Moves the elements. Arrays that are longer than what the device binds are moved in parts.
    fn run(&self, index_text: &str) -> Result<()> {
        let (ctx, units) = (self.out.context(), Units::of::<T>());
        let [outs, sources, indices] = [
            (self.out.size(), size_of::<T>()),
            (self.source.size(), size_of::<T>()),
            (self.indices.size(), size_of::<I>()),
        ]
        .map(|(count, itemsize)| parts(ctx, count, itemsize, 1).collect::<Vec<_>>());
        let is_whole = [&outs, &sources, &indices].iter().all(|ranges| ranges.len() == 1);
        if !is_whole {
            self.out.on(self.stream).fill(T::zeroed())?;
        }
        let constants = format!("const ALONG = {};\nconst IS_WHOLE = {is_whole};\n", self.how.is_along);
        let text = [&units.text(), &constants, index_text, functions::GATHER];
        let kernel = kernel(ctx, "gather.wgsl", &text, "gather_units")?;
        for out in &outs {
            let reach = self.reach(out);
            let of_out = |ranges: &[Range<usize>], reach: &Range<usize>| -> Vec<_> {
                ranges.iter().filter(|range| range.start < reach.end && reach.start < range.end).cloned().collect()
            };
            for source in of_out(&sources, &reach[0]) {
                for indices in of_out(&indices, &reach[1]) {
                    self.dispatch(&kernel, [out, &source, &indices])?;
                }
            }
        }
        Ok(())
    }

    /// For a range of the result, the range of the source and the range of the indices that its elements may come from.
    fn reach(&self, out: &Range<usize>) -> [Range<usize>; 2] {
        let [length, n_indices, inner, parts] = self.sizes;
        let rows = [out.start * parts / inner, (out.end * parts - 1) / inner];
        let outer = rows.map(|row| row / n_indices);
        let row_of_source = length * inner / parts;
        let source = outer[0] * row_of_source..(outer[1] + 1) * row_of_source;
        let indices = if self.how.is_along {
            out.clone()
        } else if outer[0] == outer[1] {
            rows[0] % n_indices..rows[1] % n_indices + 1
        } else {
            0..n_indices
        };
        [source, indices]
    }

    fn dispatch(&self, kernel: &Kernel, [out, source, indices]: [&Range<usize>; 3]) -> Result<()> {
        let [length, n_indices, inner, parts] = self.sizes;
        let arrays = (part(&self.source, source)?, part(&self.indices, indices)?, part(&self.out, out)?);
        let mut args = vec![words(&arrays.0), words(&arrays.1), words(&arrays.2)];
        let count = out.len() * parts;
        let own = [out.start * parts, indices.start, indices.len(), source.start * parts, source.len() * parts];
        args.extend(
            [&[count, length, n_indices, inner, parts][..], &own].concat().iter().map(|&n| Arg::Scalar(word(n as u64))),
        );
        run(kernel, self.stream, count.div_ceil(Units::of::<T>().per_word), &args)
    }
}
