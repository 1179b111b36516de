//! Medians, quantiles and percentiles, taken from sorted elements.

use vkarray_layout::{Index, Order};

use super::axes::{Axes, IntoAxes};
use super::statistics::Precise;
use crate::array::DeviceNDArray;
use crate::elementwise::Evaluate;
use crate::error::{Error, Result};
use crate::expr::{Expr, Operand};
use crate::functions::operand::{Widen, converted};

impl<T: Precise<Precision: Widen> + Widen> DeviceNDArray<T> {
    /// The middle one of the sorted elements, or the mean of the two middle ones if their number is even: NumPy's
    /// `median`.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyReduction`](crate::Error::EmptyReduction) for no elements;
    /// [`Error::Layout`](crate::Error::Layout) for an axis that the array does not have;
    /// [`Error::Memory`](crate::Error::Memory) if memory cannot be allocated;
    /// [`Error::Kernel`](crate::Error::Kernel) if the device cannot run the kernel.
    pub fn median(&self, axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        let sorted = SortedRows::of(self, axes.into_axes(), "median")?;
        let (low, high) = ((sorted.count - 1) / 2, sorted.count / 2);
        let half = <T as Precise>::Precision::nearest(0.5);
        sorted.between(low, high, |a, b| (a + b) * half)
    }

    /// The quantile at `q`, which is between 0 and 1: NumPy's `quantile` with the method `linear`. Does not wait.
    ///
    /// A quantile between two elements lies on the line through them. If one of the elements is NaN, the quantile is
    /// NaN. The place of a quantile is computed in `f64`, its value in the element type, or in `f32` for `f16` and
    /// `bf16`.
    ///
    /// ```
    /// use vkarray::prelude::*;
    ///
    /// let ctx = Context::open_default()?;
    /// let x = ctx.slice_to_device(&[3.0_f32, 1.0, 2.0, 10.0])?;
    /// assert_eq!(x.median(..)?.item()?, 2.5);
    /// assert_eq!(x.quantile(0.25, ..)?.item()?, 1.75);
    /// assert_eq!(x.percentiles(&[0.0, 100.0], ..)?.to_vec()?, [1.0, 10.0]);
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Quantile`](crate::Error::Quantile) for a `q` that is not between 0 and 1;
    /// [`Error::EmptyReduction`](crate::Error::EmptyReduction) for no elements; and the errors of
    /// [`DeviceNDArray::median`].
    pub fn quantile(&self, q: f64, axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        check(&[q], 1.0)?;
        SortedRows::of(self, axes.into_axes(), "quantile")?.quantile(q)
    }

    /// The quantiles at several places, along a new first axis: NumPy's `quantile` with a list. The elements are sorted once.
    ///
    /// # Errors
    ///
    /// [`Error::Quantile`](crate::Error::Quantile) for a place that is not between 0 and 1;
    /// [`Error::EmptyReduction`](crate::Error::EmptyReduction) for no elements; and the errors of
    /// [`DeviceNDArray::quantile`].
    pub fn quantiles(&self, q: &[f64], axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        check(q, 1.0)?;
        SortedRows::of(self, axes.into_axes(), "quantiles")?.quantiles(q.iter().copied(), q.len())
    }

    /// The quantile at `q` hundredths: NumPy's `percentile`.
    ///
    /// # Errors
    ///
    /// [`Error::Quantile`](crate::Error::Quantile) for a `q` that is not between 0 and 100;
    /// [`Error::EmptyReduction`](crate::Error::EmptyReduction) for no elements; and the errors of
    /// [`DeviceNDArray::quantile`].
    pub fn percentile(&self, q: f64, axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        check(&[q], 100.0)?;
        SortedRows::of(self, axes.into_axes(), "percentile")?.quantile(q / 100.0)
    }

    /// The quantiles at several hundredths, along a new first axis: NumPy's `percentile` with a list.
    ///
    /// # Errors
    ///
    /// [`Error::Quantile`](crate::Error::Quantile) for a place that is not between 0 and 100;
    /// [`Error::EmptyReduction`](crate::Error::EmptyReduction) for no elements; and the errors of
    /// [`DeviceNDArray::percentile`].
    pub fn percentiles(&self, q: &[f64], axes: impl IntoAxes) -> Result<DeviceNDArray<T>> {
        check(q, 100.0)?;
        let sorted = SortedRows::of(self, axes.into_axes(), "percentiles")?;
        sorted.quantiles(q.iter().map(|q| q / 100.0), q.len())
    }
}

/// Checks places among sorted elements.
fn check(q: &[f64], most: f64) -> Result<()> {
    match q.iter().find(|q| !(0.0..=most).contains(*q)) {
        Some(&q) => Err(Error::Quantile { q, most }),
        None => Ok(()),
    }
}

/// The elements of each result, sorted along the last axis. The axis has at least one element.
struct SortedRows<'a, T: Precise> {
    of: &'a DeviceNDArray<T>,
    elements: DeviceNDArray<T::Precision>,
    count: usize,
    shape: Vec<usize>,
}

impl<'a, T: Precise<Precision: Widen> + Widen> SortedRows<'a, T> {
    fn of(x: &'a DeviceNDArray<T>, axes: Axes, operation: &'static str) -> Result<Self> {
        let split = axes.split(x.shape())?;
        if split.count == 0 {
            let shape = split.reduced.iter().map(|&axis| x.shape()[axis]).collect();
            return Err(Error::EmptyReduction { operation, shape });
        }
        let order: Vec<isize> = split.kept.iter().chain(&split.reduced).map(|axis| axis.cast_signed()).collect();
        let rows: Vec<usize> = split.kept.iter().map(|&axis| x.shape()[axis]).chain([split.count]).collect();
        let turned = x.transpose(Some(&order))?;
        let rows = turned.reshape_copy(rows.as_slice(), Order::C)?;
        let precise = converted::<T, T::Precision>(&rows, x.stream())?;
        let elements = precise.on(x.stream()).sort(-1)?;
        Ok(Self { of: x, elements, count: split.count, shape: split.shape.to_vec() })
    }

    /// The element at one place of each row.
    fn at(&self, place: usize) -> Result<DeviceNDArray<T::Precision>> {
        let place = place.cast_signed();
        self.elements.slice_axis(-1, place..place + 1)?.reshape_copy(self.shape.as_slice(), Order::C)
    }

    /// The result of `join` for the elements at two places; NaN where the last element is NaN. NaN is sorted last.
    fn between(
        &self,
        low: usize,
        high: usize,
        join: impl Fn(Expr<T::Precision>, Expr<T::Precision>) -> Expr<T::Precision>,
    ) -> Result<DeviceNDArray<T>> {
        let (low, high, last) = (self.at(low)?, self.at(high)?, self.at(self.count - 1)?);
        let joined = join(low.expr(), high.expr());
        last.isnan().select::<T::Precision>(&last, joined).cast::<T>().on(self.of.stream()).eval()
    }

    /// The quantile at `q`, computed from the nearer of its two neighbours, as NumPy does.
    fn quantile(&self, q: f64) -> Result<DeviceNDArray<T>> {
        let (low, part) = place(q, self.count);
        if part == 0.0 {
            return self.between(low, low, |a, _| a); // Also an infinite element.
        }
        let high = (low + 1).min(self.count - 1);
        let [near, far] = [part, 1.0 - part].map(<T::Precision as Precise>::nearest);
        self.between(low, high, |a, b| if part < 0.5 { &a + (&b - &a) * near } else { &b - (&b - &a) * far })
    }

    fn quantiles(&self, q: impl Iterator<Item = f64>, n: usize) -> Result<DeviceNDArray<T>> {
        let shape = [&[n], self.shape.as_slice()].concat();
        let out = self.of.context().device_array::<T>(shape)?;
        for (at, q) in (0..).zip(q) {
            out.slice_axis(0, Index::At(at))?.on(self.of.stream()).copy_from_device(&self.quantile(q)?)?;
        }
        Ok(out)
    }
}

/// The place of the element before the quantile, and the fraction of the way from it to the next element.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the number of elements")]
fn place(q: f64, count: usize) -> (usize, f64) {
    let at = q * (count - 1) as f64;
    (at.floor() as usize, at - at.floor())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_elements() {
        // The quantile, the number of elements, the element before the quantile, and the fraction of the way to the
        // next one.
        let cases = [
            (0.0, 1, (0, 0.0)),
            (1.0, 1, (0, 0.0)),
            (0.5, 2, (0, 0.5)),
            (0.5, 3, (1, 0.0)),
            (0.25, 4, (0, 0.75)),
            (1.0, 7, (6, 0.0)),
        ];
        for (q, count, expected) in cases {
            assert_eq!(place(q, count), expected, "{q} of {count}");
        }
        assert!(
            check(&[0.0, 1.0], 1.0).is_ok() && check(&[0.5, 1.5], 1.0).is_err() && check(&[f64::NAN], 1.0).is_err()
        );
    }
}
