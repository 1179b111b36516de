//! Arrays joined, repeated and shifted: [`concat()`], [`stack`], [`DeviceNDArray::tile`], [`DeviceNDArray::roll`], [`DeviceNDArray::pad`].
//!
//! Every function here copies between views, or subtracts views; this folder has no kernel. Start at [`concat()`];
//! `pad.rs` has the borders.

mod pad;

use std::borrow::Borrow;

use vkarray_kernel::Element;
use vkarray_layout::{IntoAxis, Order, broadcast_shapes};

use crate::array::{DeviceNDArray, collect_values};
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::Numeric;
use crate::functions::indexing::gather_axis;
use crate::functions::operand::{axis_of, sum_of_lengths, to_u32};
pub use pad::PadMode;

/// Joins arrays along an axis that all of them have: NumPy's `concatenate`. Runs on the stream of the first array.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::concat;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let (x, y) = (ctx.arange(0, 4, 1)?.reshape([2, 2])?, ctx.full([1, 2], 9)?);
/// assert_eq!(concat(&[&x, &y], 0)?.to_vec()?, [0, 1, 2, 3, 9, 9]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::NoArrays`](crate::Error::NoArrays) if there is no array; [`Error::Shapes`](crate::Error::Shapes) if shapes
/// differ in another axis; [`Error::Layout`](crate::Error::Layout) for an axis that the arrays do not have;
/// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
/// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
#[doc(alias = "concatenate")]
#[doc(alias = "vstack")]
#[doc(alias = "hstack")]
pub fn concat<T: Element, A: Borrow<DeviceNDArray<T>>>(arrays: &[A], axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
    let Some(first) = arrays.first().map(Borrow::borrow) else {
        return Err(Error::NoArrays { operation: "concat" });
    };
    let mut shape = first.shape().to_vec();
    let axis = axis_of(axis.into_axis(), shape.len())?;
    shape[axis] = 0;
    for array in arrays.iter().map(Borrow::borrow) {
        let other = array.shape();
        let is_fitting = other.len() == shape.len() && (0..shape.len()).all(|i| i == axis || other[i] == shape[i]);
        if !is_fitting {
            return Err(Error::shapes("concat", first.shape(), other));
        }
        shape[axis] = sum_of_lengths([shape[axis], other[axis]], other)?;
    }
    let out = first.context().device_array(shape)?;
    let mut start = 0;
    for array in arrays.iter().map(Borrow::borrow) {
        let end = start + array.shape()[axis].cast_signed();
        out.slice_axis(axis.cast_signed(), start..end)?.on(first.stream()).copy_from_device(array)?;
        start = end;
    }
    Ok(out)
}

/// Joins arrays of one shape along a new axis: NumPy's `stack`. Runs on the stream of the first array.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::stack;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let (x, y) = (ctx.arange(0, 2, 1)?, ctx.arange(5, 7, 1)?);
/// assert_eq!(stack(&[&x, &y], 1)?.to_vec()?, [0, 5, 1, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::NoArrays`](crate::Error::NoArrays) if there is no array; [`Error::Shapes`](crate::Error::Shapes) if shapes
/// differ; and the errors of [`concat()`].
pub fn stack<T: Element, A: Borrow<DeviceNDArray<T>>>(arrays: &[A], axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
    let Some(first) = arrays.first().map(Borrow::borrow) else {
        return Err(Error::NoArrays { operation: "stack" });
    };
    if let Some(other) = arrays.iter().map(Borrow::borrow).find(|array| array.shape() != first.shape()) {
        return Err(Error::shapes("stack", first.shape(), other.shape()));
    }
    let axis = axis.into_axis();
    let expanded = arrays.iter().map(|array| array.borrow().expand_dims(axis)).collect::<Result<Vec<_>>>()?;
    concat(&expanded, axis)
}

/// Coordinate arrays of a grid, one for each of the one-dimensional `arrays`: NumPy's `meshgrid`. With `xy` order the
/// first two axes are exchanged, so that the second array counts rows; without it (`ij` order) the axes are in the
/// order of the arrays.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::meshgrid;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let grids = meshgrid(&[&ctx.arange(0, 3, 1)?, &ctx.arange(5, 7, 1)?], true)?;
/// assert_eq!(grids[0].shape(), [2, 3]);
/// assert_eq!(grids[1].to_vec()?, [5, 5, 5, 6, 6, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::RankMismatch`](crate::Error::RankMismatch) for an array that does not have one axis;
/// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
/// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
pub fn meshgrid<T: Element, A: Borrow<DeviceNDArray<T>>>(arrays: &[A], xy: bool) -> Result<Vec<DeviceNDArray<T>>> {
    let arrays: Vec<&DeviceNDArray<T>> = arrays.iter().map(Borrow::borrow).collect();
    if let Some(other) = arrays.iter().find(|array| array.ndim() != 1) {
        return Err(crate::Error::RankMismatch { expected: 1, shape: other.shape().to_vec() });
    }
    let shape: Vec<usize> = arrays.iter().map(|array| array.size()).collect();
    let grid_of = |(axis, array): (usize, &&DeviceNDArray<T>)| {
        let mut along = vec![1; shape.len()];
        along[axis] = shape[axis];
        let grid = array.reshape(along.as_slice())?.broadcast_to(shape.as_slice())?;
        let grid = if xy && shape.len() > 1 { grid.swap_axes(0, 1)? } else { grid };
        grid.copy()
    };
    arrays.iter().enumerate().map(grid_of).collect()
}

/// The arrays as views of their common shape: NumPy's `broadcast_arrays`. Nothing is copied.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::broadcast_arrays;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// let views = broadcast_arrays(&[&ctx.zeros::<f32>([3, 1])?, &ctx.zeros::<f32>(2)?])?;
/// assert_eq!((views[0].shape(), views[1].shape()), (&[3, 2][..], &[3, 2][..]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::Layout`](crate::Error::Layout) if the shapes do not broadcast.
pub fn broadcast_arrays<T: Element>(arrays: &[&DeviceNDArray<T>]) -> Result<Vec<DeviceNDArray<T>>> {
    let shapes: Vec<&[usize]> = arrays.iter().map(|array| array.shape()).collect();
    let shape = broadcast_shapes(&shapes)?;
    arrays.iter().map(|array| array.broadcast_to(shape.as_slice())).collect()
}

impl<T: Element> DeviceNDArray<T> {
    /// The array repeated as a tile along each axis: NumPy's `tile`. Axes that the array or `repetitions` does not have
    /// count as leading axes of length, or number, one.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 2, 1)?.tile(&[2, 2])?;
    /// assert_eq!((x.shape(), x.to_vec()?), (&[2, 4][..], vec![0, 1, 0, 1, 0, 1, 0, 1]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for a result that is too large;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn tile(&self, repetitions: &[usize]) -> Result<DeviceNDArray<T>> {
        let ndim = repetitions.len().max(self.ndim());
        let in_front = |list: &[usize]| [vec![1; ndim - list.len()], list.to_vec()].concat();
        let (repetitions, shape) = (in_front(repetitions), in_front(self.shape()));
        let tiled: Vec<usize> = repetitions.iter().zip(&shape).map(|(n, len)| n.saturating_mul(*len)).collect();
        let apart: Vec<usize> = repetitions.iter().zip(&shape).flat_map(|(&n, &len)| [n, len]).collect();
        let tile: Vec<usize> = shape.iter().flat_map(|&len| [1, len]).collect();
        let out = self.context().device_array(tiled.as_slice())?;
        let tile = self.reshape_copy(tile.as_slice(), Order::C)?;
        if out.size() > 0 {
            out.reshape(apart.as_slice())?.on(self.stream()).assign(&tile)?;
        }
        Ok(out)
    }

    /// Each element `n` times along an axis: NumPy's `repeat`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 3, 1)?.repeat(2, 0)?.to_vec()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have, or a result that is
    /// too large; [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn repeat(&self, n: usize, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        let mut shape = self.shape().to_vec();
        let axis = axis_of(axis.into_axis(), shape.len())?;
        let mut apart = shape.clone();
        apart.insert(axis + 1, n);
        shape[axis] = shape[axis].saturating_mul(n);
        let out = self.context().device_array(shape.as_slice())?;
        if out.size() > 0 {
            let each = self.expand_dims(axis.cast_signed() + 1)?;
            out.reshape(apart.as_slice())?.on(self.stream()).assign(&each)?;
        }
        Ok(out)
    }

    /// Each element along an axis as often as `counts` says: NumPy's `repeat` with an array.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 3, 1)?.repeat_each(&[2, 0, 1], 0)?.to_vec()?, [0, 0, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Shapes`](crate::Error::Shapes) if there is not one number for each element of the axis;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have; and the errors of
    /// [`DeviceNDArray::repeat`].
    pub fn repeat_each(&self, counts: &[usize], axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        let axis = axis_of(axis.into_axis(), self.ndim())?;
        if self.shape()[axis] != counts.len() {
            return Err(Error::shapes("repeat_each", self.shape(), &[counts.len()]));
        }
        let n_places = sum_of_lengths(counts.iter().copied(), self.shape())?;
        let places = (0..to_u32(counts.len())?).zip(counts).flat_map(|(place, &n)| std::iter::repeat_n(place, n));
        take_places(self, n_places, places, axis)
    }

    /// The array with its elements shifted along an axis; elements at the end move to the front: NumPy's `roll`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.arange(0, 4, 1)?.roll(1, 0)?.to_vec()?, [3, 0, 1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn roll(&self, shift: isize, axis: impl IntoAxis) -> Result<DeviceNDArray<T>> {
        let axis = axis.into_axis();
        let length = self.shape()[axis_of(axis, self.ndim())?].cast_signed();
        let out = self.context().device_array(self.shape())?;
        if length == 0 {
            return Ok(out);
        }
        let shift = shift.rem_euclid(length);
        for (to, from) in [(shift..length, 0..length - shift), (0..shift, length - shift..length)] {
            let part = self.slice_axis(axis, from)?;
            out.slice_axis(axis, to)?.on(self.stream()).copy_from_device(&part)?;
        }
        Ok(out)
    }

    /// The differences of neighbours along an axis, `n` times: NumPy's `diff`. The axis is shorter by `n`. Integers wrap
    /// around.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[1, 4, 9, 16])?;
    /// assert_eq!(x.diff(1, 0)?.to_vec()?, [3, 5, 7]);
    /// assert_eq!(x.diff(2, 0)?.to_vec()?, [2, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Expression`](crate::Error::Expression) for elements that cannot be subtracted; and the errors
    /// of [`Evaluate::eval`].
    pub fn diff(&self, n: usize, axis: impl IntoAxis) -> Result<DeviceNDArray<T>>
    where
        T: Numeric,
    {
        let axis = axis.into_axis();
        let length = self.shape()[axis_of(axis, self.ndim())?];
        let mut out = self.clone();
        for _ in 0..n.min(length) {
            let (left, right) = (out.slice_axis(axis, ..-1)?, out.slice_axis(axis, 1..)?);
            out = (right - left).on(self.stream()).eval()?;
        }
        Ok(out)
    }

    /// The arrays that an array consists of along an axis: `unstack` of the array API. They are views.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let columns = ctx.arange(0, 6, 1)?.reshape([2, 3])?.unstack(1)?;
    /// assert_eq!((columns.len(), columns[2].to_vec()?), (3, vec![2, 5]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have.
    pub fn unstack(&self, axis: impl IntoAxis) -> Result<Vec<DeviceNDArray<T>>> {
        let axis = axis.into_axis();
        match self.shape()[axis_of(axis, self.ndim())?] {
            0 => Ok(Vec::new()),
            n => self.array_split(n, axis)?.into_iter().map(|part| part.squeeze(Some(&[axis]))).collect(),
        }
    }
}

/// The elements at places of an axis; all places are in range. More places than a kernel counts are refused before they
/// are computed.
fn take_places<T: Element>(
    x: &DeviceNDArray<T>,
    n_places: usize,
    places: impl Iterator<Item = u32>,
    axis: usize,
) -> Result<DeviceNDArray<T>> {
    to_u32(n_places)?;
    let places = collect_values(n_places, places)?;
    let indices = x.context().device_array::<u32>([n_places])?;
    indices.on(x.stream()).copy_from_host(&ndarray::aview1(&places))?;
    gather_axis(x, &indices, axis)
}
