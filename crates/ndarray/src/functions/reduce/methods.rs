//! [`Reduce`]: sums, products, extremes, positions and truth of elements over axes.

use vkarray_kernel::{Bool, Element};

use super::axes::IntoAxes;
use super::launch::{dot, reduce};
use super::position::position;
use crate::array::{DeviceNDArray, Number};
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::expr::{Expr, Floating, IntoExpr, Numeric, Operand};
use crate::functions::operand::Reducible;
use crate::generate::Reduction;

/// Reductions of arrays and expressions over one axis, several, or all (`..`), on the stream of the operand or the default
/// stream. Each returns at once: a result without axes is an array of one element, which
/// [`item`](DeviceNDArray::item) reads.
///
/// The values of an expression are computed by the same kernel and are not stored: `(&x - &y).square().sum(..)` reads
/// both arrays once. Axes, shapes and the treatment of NaN are NumPy's; [`keepdims`](crate::keepdims) keeps reduced
/// axes with length one. Results are the same in every run on a device.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.arange(0.0_f32, 6.0, 1.0)?.reshape([2, 3])?;
/// assert_eq!(x.sum(..)?.item()?, 15.0);
/// assert_eq!(x.sum(0)?.to_vec()?, [3.0, 5.0, 7.0]);
/// assert_eq!((&x * 2.0).max(-1)?.to_vec()?, [4.0, 10.0]);
/// assert_eq!(x.argmax(1)?.to_vec()?, [2, 2]);
/// # anyhow::Ok(())
/// ```
///
/// # Errors
///
/// All methods return the errors of [`Evaluate::eval`]; [`Error::Layout`](crate::Error::Layout) for axes that
/// the array does not have; [`Error::EmptyReduction`](crate::Error::EmptyReduction) for the least element,
/// the largest element or a position, among no elements; and [`Error::ManyElements`](crate::Error::ManyElements) for a position among more than 2³²
/// elements.
#[expect(clippy::missing_errors_doc, reason = "the trait has them, since they are the same for all methods")]
pub trait Reduce: Operand
where
    Self::Item: Reducible,
{
    /// The sum. Integers are added in 64 bits, `f16` and `bf16` in `f32`.
    ///
    /// With n elements, floats lie within (128 + log2 n) u Σ|x| of the exact sum, where u is half a unit in the last place
    /// of 1, for n up to 2²⁴, and along contiguous axes for any n.
    fn sum(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<<Self::Item as Reducible>::Sum>> {
        total(&self.expr(), axes, Reduction::Sum)
    }

    /// The product, in the types of [`Reduce::sum`].
    fn prod(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<<Self::Item as Reducible>::Sum>> {
        total(&self.expr(), axes, Reduction::Prod)
    }

    /// The least element; NaN if one element is NaN.
    fn min(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        narrowed::<Self::Item, <Self::Item as Reducible>::Wide>(&self.expr(), axes, Reduction::Min)
    }

    /// The largest element; NaN if one element is NaN.
    fn max(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        narrowed::<Self::Item, <Self::Item as Reducible>::Wide>(&self.expr(), axes, Reduction::Max)
    }

    /// The position of the least element along the axes, in C order. The first position counts if several elements are
    /// equal, and the first NaN if there is one.
    fn argmin(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<i64>> {
        position(&self.expr(), &axes.into_axes(), Reduction::Argmin)
    }

    /// The position of the largest element along the axes, by the rules of [`Reduce::argmin`].
    fn argmax(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<i64>> {
        position(&self.expr(), &axes.into_axes(), Reduction::Argmax)
    }

    /// Whether at least one element is true: not zero.
    fn any(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Bool>> {
        narrowed::<_, u32>(&self.expr(), axes, Reduction::Any)
    }

    /// Whether all elements are true: not zero.
    fn all(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Bool>> {
        narrowed::<_, u32>(&self.expr(), axes, Reduction::All)
    }

    /// The number of elements that are true: not zero.
    fn count_nonzero(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<i64>> {
        reduce(&self.logical_not().logical_not(), &axes.into_axes(), Reduction::Sum)
    }

    /// Without this method `x.count(..)` would be `Iterator::count`, and the compiler would say that an array is not an
    /// iterator.
    #[doc(hidden)]
    #[deprecated(note = "the number of elements that are not zero is `count_nonzero`")]
    fn count(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<i64>> {
        self.count_nonzero(axes)
    }

    /// The inner product along one axis, or over all axes: the sum of the products with `other`, without conjugates.
    /// Products of integers have 64 bits, as their sums have.
    fn vecdot(
        &self,
        other: impl crate::IntoExpr<Self::Item>,
        axes: impl IntoAxes,
    ) -> Result<DeviceNDArray<<Self::Item as Reducible>::Sum>>
    where
        Self::Item: Numeric,
    {
        if size_of::<<Self::Item as Reducible>::Sum>() >= 4 {
            return dot([self.expr(), other.into_expr()], &axes.into_axes());
        }
        total(&(self.expr() * other), axes, Reduction::Sum)
    }

    /// Whether all elements are close, by the rule of [`Operand::isclose`]: NumPy's `allclose`. Waits for the device.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0.0_f32, 4.0, 1.0)?;
    /// assert!(x.allclose(&x * 1.000_001, 1e-5, 1e-8)?);
    /// assert!(!x.allclose(&x + 0.1, 1e-5, 1e-8)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for operands without a common shape, or an operation
    /// that their type does not have; [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    fn allclose(&self, other: impl IntoExpr<Self::Item>, rtol: Self::Item, atol: Self::Item) -> Result<bool>
    where
        Self::Item: Floating + Numeric<Real = Self::Item> + Number,
    {
        are_all(&self.isclose(other, rtol, atol))
    }

    /// Whether shapes and all elements are equal: NumPy's `array_equal`. NaN is equal to nothing. Waits for the device if
    /// the shapes are equal.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let x = ctx.arange(0, 4, 1)?;
    /// assert!(x.array_equal(&x)? && !x.array_equal(&x + 1)? && !x.array_equal(0)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Expression`](crate::Error::Expression) for operands that cannot be evaluated;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    fn array_equal(&self, other: impl IntoExpr<Self::Item>) -> Result<bool> {
        let (a, b) = (self.expr(), other.into_expr());
        if a.shape() != b.shape() {
            return Ok(false);
        }
        are_all(&a.equal(&b))
    }
}

impl<O: Operand<Item: Reducible> + ?Sized> Reduce for O {}

/// A sum or product.
fn total<T: Reducible>(expr: &Expr<T>, axes: impl IntoAxes, reduction: Reduction) -> Result<DeviceNDArray<T::Sum>> {
    narrowed::<T::Sum, T::Wide>(expr, axes, reduction)
}

/// A reduction with results of type `U`. Results of less than 32 bits are computed as `W`, and converted in a second step.
pub(super) fn narrowed<U: Element, W: Element>(
    expr: &Expr<impl Element>,
    axes: impl IntoAxes,
    reduction: Reduction,
) -> Result<DeviceNDArray<U>> {
    if size_of::<U>() >= 4 {
        return reduce(expr, &axes.into_axes(), reduction);
    }
    reduce::<_, W>(expr, &axes.into_axes(), reduction)?.cast::<U>().on_stream_of(expr).eval()
}

/// Whether all elements are true. Waits for the device.
fn are_all(condition: &Expr<Bool>) -> Result<bool> {
    Ok(condition.all(..)?.item()?.into())
}
