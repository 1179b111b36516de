//! Sums of floats whose bits depend neither on the number of ranks nor on the decomposition nor on timing.

use vkarray::array::Number;
use vkarray::ndarray::{ArrayD, Zip};
use vkarray::prelude::*;
use vkarray::primitives::Precise;

use super::levels::{Levels, power_of_two};
use crate::array::DistArray;
use crate::error::DistError;

/// Floats that have sums without an order: `f32` and `f64`.
pub trait Reproducible: Precise + Number + Into<f64> {
    /// Bits of a number without its exponent.
    #[doc(hidden)]
    const DIGITS: u32;
    /// The exponent of the largest power of two whose inverse is a normal number.
    #[doc(hidden)]
    const LARGEST: i32;
}

impl Reproducible for f32 {
    const DIGITS: u32 = Self::MANTISSA_DIGITS;
    const LARGEST: i32 = 126;
}

impl Reproducible for f64 {
    const DIGITS: u32 = Self::MANTISSA_DIGITS;
    const LARGEST: i32 = 1022;
}

impl<T: Reproducible> DistArray<'_, T> {
    /// The sum of all elements: the same bits on each rank, with each number of ranks, each decomposition and in each
    /// run. Cut into sums of integers, it does not depend on the order of the additions.
    ///
    /// The sum lies within u |sum| + u/4 max|x| of the exact sum of up to 2³² elements, where u is half a unit in the
    /// last place of 1: for more than a few elements it is more exact than [`sum`](Self::sum). An infinite element
    /// makes it infinite, NaN or infinite elements of both signs make it NaN. Numbers below the normal ones may count
    /// as zero, as on the device.
    ///
    /// **Cost:** each element is read twice for its extremes and once for each sum of integers, which are one for up to
    /// 2¹⁸ elements of `f32`, two for up to 2³² of `f32` and 2²³ of `f64`, and three for more. The ranks exchange as
    /// many numbers one after the other. A call so takes three to five times as long as [`sum`](Self::sum). The device
    /// needs integers of 64 bits.
    ///
    /// ```
    /// use vkarray::prelude::*;
    /// use vkarray_dist::{Decomposition, DistArray, DistError, ThreadRank};
    ///
    /// let ctx = Context::open_default()?;
    /// let sum = |size| {
    ///     let sums = ThreadRank::run(size, |rank| {
    ///         let parts = Decomposition::over([1000], size)?;
    ///         DistArray::from_fn(&ctx, rank, &parts, |at| 1.0 / (1 + at[0]) as f32)?.reproducible_sum()
    ///     });
    ///     sums.into_iter().next().unwrap()
    /// };
    /// let alone = sum(1)?;
    /// assert_eq!(alone, 7.485_471); // The nearest `f32`.
    /// assert_eq!(sum(3)?.to_bits(), alone.to_bits());
    /// # anyhow::Ok(())
    /// ```
    ///
    /// # Errors
    /// The device has no integers of 64 bits; and the errors of [`sum`](Self::sum).
    pub fn reproducible_sum(&self) -> Result<T, DistError> {
        self.reproducible_sum_along(&self.all_axes())?.only()
    }

    /// The sums along axes by the rules of [`reproducible_sum`](Self::reproducible_sum), in the decomposition that
    /// [`sum_along`](Self::sum_along) has. What is said of all elements there holds for those of each sum. The results
    /// pass through the host.
    ///
    /// # Errors
    /// The errors of [`reproducible_sum`](Self::reproducible_sum) and [`sum_along`](Self::sum_along).
    pub fn reproducible_sum_along(&self, axes: &[usize]) -> Result<Self, DistError> {
        let elements = self.count_along(axes)?;
        if elements == 0 {
            return self.sum_along(axes);
        }
        let (least, largest) = (self.min_along(axes)?, self.max_along(axes)?);
        let beside = |extreme: &Self| Ok::<_, DistError>(extreme.beside(self.decomposition())?.copy_to_host()?);
        let magnitudes = magnitudes(&beside(&least)?, &beside(&largest)?);
        let levels = Levels::new(elements, T::DIGITS, T::LARGEST);
        let (mut rest, mut totals) = (self.interior().expr(), Vec::new());
        for level in 0..levels.count {
            let power = |sign: i32| {
                let power = |&most: &f64| T::nearest(power_of_two(sign * levels.exponent(level, most)));
                self.local().context().to_device(&magnitudes.map(power))
            };
            let scaled = (&rest * &power(1)?).round();
            rest = &rest - &scaled * &power(-1)?;
            let total = self.reduce(
                "reproducible_sum",
                axes,
                |_, axes| scaled.cast::<i64>().sum(axes),
                |totals| totals.sum(0),
            )?;
            totals.push(total.interior().to_vec()?);
        }
        least.interior().copy_from_host(&sums(levels, &totals, &least, &largest)?)?;
        Ok(least)
    }
}

/// The results of this rank from the totals of all levels.
fn sums<T: Reproducible>(
    levels: Levels,
    totals: &[Vec<i64>],
    least: &DistArray<'_, T>,
    largest: &DistArray<'_, T>,
) -> Result<ArrayD<T>, DistError> {
    let (least, largest) = (least.interior().copy_to_host()?, largest.interior().copy_to_host()?);
    let mut places = 0..;
    let sum = |&low: &T, &high: &T, &magnitude: &f64| {
        let place = places.next().unwrap_or(0);
        let (low, high): (f64, f64) = (low.into(), high.into());
        let own: Vec<i64> = totals.iter().map(|level| level[place]).collect();
        let is_finite = low.is_finite() && high.is_finite();
        T::nearest(if is_finite { levels.sum(&own, magnitude) } else { low + high })
    };
    Ok(Zip::from(&least).and(&largest).and(&magnitudes(&least, &largest)).map_collect(sum))
}

/// The largest magnitudes between least and largest elements, 0 where they are not finite.
fn magnitudes<T: Reproducible>(least: &ArrayD<T>, largest: &ArrayD<T>) -> ArrayD<f64> {
    Zip::from(least).and(largest).map_collect(|&low, &high| {
        let (low, high): (f64, f64) = (low.into(), high.into());
        if low.is_finite() && high.is_finite() { low.abs().max(high.abs()) } else { 0.0 }
    })
}
