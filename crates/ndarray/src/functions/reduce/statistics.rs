//! [`Statistics`]: means, variances, norms, and reductions that leave NaN out.

use half::{bf16, f16};
use num_traits::FromPrimitive;

use super::axes::{IntoAxes, keepdims};
use super::launch::reduce;
use super::methods::{Reduce, narrowed};
use super::position::is_too_long;
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::Result;
use crate::expr::{Expr, Floating, Operand};
use crate::functions::operand::Reducible;
use crate::generate::Reduction;

/// Floats, with the type in which statistics of them are computed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of floats",
    label = "this function takes `f16`, `bf16`, `f32` and `f64`",
    note = "cast the array first, as in `x.cast::<f64>()`"
)]
pub trait Precise: Floating + Reducible<Sum = Self> + FromPrimitive {
    /// The type in which statistics are computed: `f32` for shorter types, otherwise the type itself.
    type Precision: Precise<Precision = Self::Precision>;

    /// The nearest number.
    #[doc(hidden)]
    fn nearest(value: f64) -> Self {
        Self::from_f64(value).expect("a float or an infinity is nearest to any number")
    }
}

macro_rules! precise {
    ($($ty:ty: $precision:ty),*) => {
        $(impl Precise for $ty {
            type Precision = $precision;
        })*
    };
}

precise! { f16: f32, bf16: f32, f32: f32, f64: f64 }

/// Statistics of floats over one axis, several, or all. Axes, streams and errors are as in [`Reduce`]. `f16` and `bf16`
/// are computed in `f32`.
///
/// ```
/// use vkarray::prelude::*;
///
/// let ctx = Context::open_default()?;
/// let x = ctx.slice_to_device(&[1.0_f32, 2.0, 3.0, f32::NAN])?;
/// assert!(x.mean(..)?.item()?.is_nan());
/// assert_eq!(x.nanmean(..)?.item()?, 2.0);
/// assert_eq!(x.slice(s![..3])?.var_with_correction(.., 1)?.item()?, 1.0);
/// # anyhow::Ok(())
/// ```
#[expect(clippy::missing_errors_doc, reason = "`Reduce` has them, since they are the same for all methods")]
pub trait Statistics: Operand
where
    Self::Item: Precise,
{
    /// The mean; NaN for no elements.
    fn mean(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        let precise = self.cast::<<Self::Item as Precise>::Precision>();
        let axes = axes.into_axes();
        let count = axes.split(precise.shape())?.count;
        let sum = precise.sum(axes)?;
        (&sum / <Self::Item as Precise>::Precision::nearest(count as f64)).cast().on_stream_of(&precise).eval()
    }

    /// The variance: the mean square of the differences from the mean. Each element is read once; means and squares of
    /// parts are combined as T. F. Chan, G. H. Golub and R. J. LeVeque describe in "Updating Formulae and a Pairwise
    /// Algorithm for Computing Sample Variances" (1979).
    fn var(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        self.var_with_correction(axes, 0)
    }

    /// The variance whose divisor is the number of elements minus `correction`: NumPy's `ddof`.
    fn var_with_correction(
        &self,
        axes: impl IntoAxes,
        correction: impl Into<f64>,
    ) -> Result<DeviceNDArray<Self::Item>> {
        variance(self, axes, correction.into(), |variance| variance)
    }

    /// The standard deviation: the square root of [`Statistics::var`].
    fn std(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        self.std_with_correction(axes, 0)
    }

    /// The square root of [`Statistics::var_with_correction`].
    fn std_with_correction(
        &self,
        axes: impl IntoAxes,
        correction: impl Into<f64>,
    ) -> Result<DeviceNDArray<Self::Item>> {
        variance(self, axes, correction.into(), |variance| variance.sqrt())
    }

    /// The Euclidean norm: the square root of the sum of squares, which may overflow.
    fn norm(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        let precise = self.cast::<<Self::Item as Precise>::Precision>();
        let sum = precise.square().sum(axes)?;
        sum.sqrt().cast().on_stream_of(&precise).eval()
    }

    /// The sum of the elements that are not NaN.
    fn nansum(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        self.isnan().select::<Self::Item>(Self::Item::nearest(0.0), self.expr()).sum(axes)
    }

    /// The product of the elements that are not NaN.
    fn nanprod(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        self.isnan().select::<Self::Item>(Self::Item::nearest(1.0), self.expr()).prod(axes)
    }

    /// The mean of the elements that are not NaN; NaN if all elements are NaN.
    fn nanmean(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        let precise = self.cast::<<Self::Item as Precise>::Precision>();
        let axes = axes.into_axes();
        let sum = precise.nansum(axes.clone())?;
        let count = precise.isnan().logical_not().cast::<<Self::Item as Precise>::Precision>().sum(axes)?;
        (&sum / &count).cast().on_stream_of(&precise).eval()
    }

    /// The least of the elements that are not NaN; NaN if all elements are NaN.
    fn nanmin(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        extreme(self, axes, f64::INFINITY, Reduction::Min)
    }

    /// The largest of the elements that are not NaN; NaN if all elements are NaN.
    fn nanmax(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<Self::Item>> {
        extreme(self, axes, f64::NEG_INFINITY, Reduction::Max)
    }
}

impl<O: Operand<Item: Precise> + ?Sized> Statistics for O {}

fn variance<O: Operand<Item: Precise> + ?Sized>(
    operand: &O,
    axes: impl IntoAxes,
    correction: f64,
    finish: impl Fn(Expr<<O::Item as Precise>::Precision>) -> Expr<<O::Item as Precise>::Precision>,
) -> Result<DeviceNDArray<O::Item>> {
    let precise = operand.cast::<<O::Item as Precise>::Precision>();
    let axes = axes.into_axes();
    let count = axes.split(precise.shape())?.count as f64;
    let divisor = <O::Item as Precise>::Precision::nearest((count - correction).max(0.0));
    let sum = match reduce(&precise, &axes, Reduction::Squares) {
        // What one launch does not take is read twice.
        Err(error) if is_too_long(&error) => (&precise - &precise.mean(keepdims(axes.clone()))?).square().sum(axes)?,
        sum => sum?,
    };
    finish(&sum / divisor).cast().on_stream_of(&precise).eval()
}

/// The least or the largest of the elements that are not NaN, which are compared with `limit` in place of NaN.
fn extreme<O: Operand<Item: Precise> + ?Sized>(
    operand: &O,
    axes: impl IntoAxes,
    limit: f64,
    reduction: Reduction,
) -> Result<DeviceNDArray<O::Item>> {
    let (axes, is_nan) = (axes.into_axes(), operand.isnan());
    let filled = is_nan.select::<O::Item>(O::Item::nearest(limit), operand.expr());
    let found = narrowed::<O::Item, <O::Item as Reducible>::Wide>(&filled, axes.clone(), reduction)?;
    is_nan.all(axes)?.select::<O::Item>(O::Item::nearest(f64::NAN), &found).on_stream_of(&operand.expr()).eval()
}
