//! Products of matrices: [`DeviceNDArray::matmul`], [`DeviceNDArray::tensordot`]; and [`eye`].
//!
//! A tensor product is a matrix product of arrays whose axes are permuted and joined. `matmul.rs` has the calls of the
//! kernels, `tile.rs` decides how a product is shared out among workgroups, and `text.rs` writes its kernel. `matrices.rs` has the
//! kernel for `f16`, `bf16` and `i8` on devices with cooperative matrices.

mod matmul;
mod matrices;
mod text;
mod tile;

use vkarray_layout::{IntoReshape, LayoutError, Order};

use crate::array::{DeviceNDArray, Number};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::functions::operand::{Widen, axis_of};

impl<T: Widen> DeviceNDArray<T> {
    /// The inner product of two arrays of one axis, and the product of two matrices. With more axes, products are added
    /// up over the last axis of this array and the last but one of the other: NumPy's `dot`. An array without axes is a
    /// factor.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 3.0, 1.0)?;
    /// assert_eq!(x.dot(&x)?.item()?, 5.0);
    /// assert_eq!(x.dot(&ctx.full([], 2.0)?)?.to_vec()?, [0.0, 2.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Lengths`](crate::Error::Lengths) if the lengths that are added up differ;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
    /// [`DeviceNDArray::tensordot`].
    pub fn dot(&self, other: &DeviceNDArray<T>) -> Result<DeviceNDArray<T>> {
        match (self.ndim(), other.ndim()) {
            (0, _) | (_, 0) => self.tensordot(other, (), ()),
            (_, 1) => self.tensordot(other, -1, 0),
            _ => self.tensordot(other, -1, -2),
        }
    }

    /// Products added up over pairs of axes, `axes[k]` of this array and `other_axes[k]` of the other: NumPy's
    /// `tensordot` with two lists. The result has the other axes of this array, then the other axes of the other array.
    /// Without axes, `()`, the result is the outer product.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
    /// assert_eq!(x.tensordot(&x, [0, 1], [0, 1])?.to_vec()?, [55.0]);
    /// assert_eq!(x.tensordot(&x, 1, -1)?.shape(), [2, 2]);
    /// assert_eq!(x.tensordot(&x, (), ())?.shape(), [2, 3, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Lengths`](crate::Error::Lengths) if the lengths of a pair differ;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that is out of range or named twice, and for lists
    /// of different lengths; and the errors of [`DeviceNDArray::matmul`].
    pub fn tensordot(
        &self,
        other: &DeviceNDArray<T>,
        axes: impl IntoReshape,
        other_axes: impl IntoReshape,
    ) -> Result<DeviceNDArray<T>> {
        let (a, b, stream) = (self, other, self.stream());
        let (axes, other_axes) = (axes.into_reshape(), other_axes.into_reshape());
        if axes.len() != other_axes.len() {
            return Err(LayoutError::AxisCount { given: other_axes.len(), expected: axes.len() }.into());
        }
        let mut summed = (Vec::new(), Vec::new());
        for (&first, &second) in axes.iter().zip(&other_axes) {
            let (first, second) = (axis_of(first, a.ndim())?, axis_of(second, b.ndim())?);
            if a.shape()[first] != b.shape()[second] {
                let (axes, first, second) = ([first, second], a.shape().to_vec(), b.shape().to_vec());
                return Err(Error::Lengths { operation: "tensordot", first, second, axes });
            }
            summed.0.push(first);
            summed.1.push(second);
        }
        let free = |array: &DeviceNDArray<T>, summed: &[usize]| {
            (0..array.ndim()).filter(|axis| !summed.contains(axis)).collect::<Vec<_>>()
        };
        let (free_a, free_b) = (free(a, &summed.0), free(b, &summed.1));
        let lengths = |array: &DeviceNDArray<T>, axes: &[usize]| {
            axes.iter().map(|&axis| array.shape()[axis]).collect::<Vec<usize>>()
        };
        let matrix = |array: &DeviceNDArray<T>, rows: &[usize], columns: &[usize]| {
            let order: Vec<isize> = rows.iter().chain(columns).map(|axis| axis.cast_signed()).collect();
            let shape = [rows, columns].map(|axes| lengths(array, axes).iter().product::<usize>());
            array.transpose(Some(&order))?.on(stream).reshape_copy(shape, Order::C)
        };
        let (left, right) = (matrix(a, &free_a, &summed.0)?, matrix(b, &summed.1, &free_b)?);
        let shape = [lengths(a, &free_a), lengths(b, &free_b)].concat();
        left.on(stream).matmul(&right)?.reshape(shape.as_slice())
    }

    /// The lower triangle of matrices: elements above the `k`-th diagonal are zero. NumPy's `tril`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.ones::<i32>([2, 2])?.tril(0)?.to_vec()?, [1, 0, 1, 1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DiagonalRank`](crate::LayoutError::DiagonalRank) for an array of fewer than two axes;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn tril(&self, k: isize) -> Result<DeviceNDArray<T>> {
        matmul::triangle(self, k, true)
    }

    /// The upper triangle of matrices: elements below the `k`-th diagonal are zero. NumPy's `triu`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// assert_eq!(ctx.ones::<i32>([2, 2])?.triu(1)?.to_vec()?, [0, 1, 0, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DiagonalRank`](crate::LayoutError::DiagonalRank) for an array of fewer than two axes;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn triu(&self, k: isize) -> Result<DeviceNDArray<T>> {
        matmul::triangle(self, k, false)
    }
}

/// A matrix of zeros with ones on the `k`-th diagonal, on the default stream: NumPy's `eye`. `k` is positive above the main
/// diagonal.
///
/// ```
/// use vkarray::prelude::*;
/// use vkarray::primitives::eye;
///
/// # fn main() -> anyhow::Result<()> {
/// let ctx = Context::open_default()?;
/// assert_eq!(eye::<f32>(&ctx, [2, 3], 1)?.to_vec()?, [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`Error::Layout`](crate::Error::Layout) for a shape that is too large;
/// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated; and the errors of
/// [`Context::zeros`].
pub fn eye<T: Number>(ctx: &Context, shape: [usize; 2], k: isize) -> Result<DeviceNDArray<T>> {
    let matrix = ctx.zeros::<T>(shape)?;
    let diagonal = matrix.diagonal(k, 0, 1)?;
    diagonal.assign(&ctx.ones::<T>([])?)?;
    Ok(matrix)
}
