//! [`Compare`]: whether two arrays are equal or close, as expressions and as answers for the host.

use vkarray_kernel::Bool;

use super::Reduce;
use crate::error::Result;
use crate::expr::{Expr, Floating, IntoExpr, Logic, Numeric, Operand};

/// Comparisons of whole arrays. Implemented for arrays and expressions.
pub trait Compare: Operand {
    /// Whether elements are close: `|a - b| <= atol + rtol * |b|`, NumPy's `isclose`. Equal infinities are close; NaN is
    /// close to nothing.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let ctx = Context::open_default()?;
    /// let (x, y) = (ctx.full(2, 1.0_f32)?, ctx.slice_to_device(&[1.000_001_f32, 1.1])?);
    /// let close = x.isclose(&y, 1e-5, 1e-8).eval()?.to_vec()?;
    /// assert_eq!(close.into_iter().map(bool::from).collect::<Vec<_>>(), [true, false]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    fn isclose(&self, other: impl IntoExpr<Self::Item>, rtol: Self::Item, atol: Self::Item) -> Expr<Bool>
    where
        Self::Item: Floating + Numeric<Real = Self::Item> + crate::Number,
    {
        let (a, b) = (self.expr(), other.into_expr());
        let bound = b.abs() * rtol + atol;
        ((&a - &b).abs().less_equal(bound) & b.isfinite()) | a.equal(&b)
    }

    /// Whether all elements are close, by the rule of [`Compare::isclose`]: NumPy's `allclose`. Waits for the device.
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
        Self::Item: Floating + Numeric<Real = Self::Item> + crate::Number,
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

impl<O: Operand + ?Sized> Compare for O {}

/// Whether all elements are true. Waits for the device.
fn are_all(condition: &Expr<Bool>) -> Result<bool> {
    Ok(condition.all(..)?.item()?.into())
}
