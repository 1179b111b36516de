//! [`Number`]: the length and the values of a range, for each type of number.
//!
//! The rules are the rules of NumPy's `arange` and `linspace`, with the same order of operations, because the order
//! decides the last bit. A [`DeviceRange`] is a range for which a device computes the same bits.

use half::{bf16, f16};
use num_traits::{AsPrimitive, One};
use vkarray_kernel::{Element, ScalarValue};

use crate::error::RangeProblem;

type Result<T> = std::result::Result<T, RangeProblem>;

/// A type of real numbers for the elements of ranges: the integers, and floats of 16 to 64 bits.
///
/// It cannot be implemented outside this crate, and its methods are not public.
///
/// ```
/// use vkarray::array::Number;
/// use vkarray::prelude::*;
///
/// /// The numbers from 0 to 1.
/// fn unit<T: Number + From<u8>>(ctx: &Context, n: usize) -> vkarray::Result<DeviceNDArray<T>> {
///     ctx.linspace(T::from(0), T::from(1), n, true)
/// }
///
/// let ctx = Context::open_default()?;
/// assert_eq!(unit::<f32>(&ctx, 3)?.to_vec()?, [0.0, 0.5, 1.0]);
/// # anyhow::Ok(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of real numbers",
    label = "this operation takes integers and floats",
    note = "cast the array first, as in `x.cast::<f32>()`; of complex numbers take `real()` or `abs()`"
)]
pub trait Number: Element + Into<ScalarValue> + One + sealed::Sealed {
    /// The length of the range from `start` up to but without `stop`.
    #[doc(hidden)]
    fn range_len(start: Self, stop: Self, step: Self) -> Result<usize>;

    /// The first `len` numbers from `start`.
    #[doc(hidden)]
    fn range(start: Self, step: Self, len: usize) -> impl Iterator<Item = Self>;

    /// `num` numbers from `start` to `stop`.
    #[doc(hidden)]
    fn evenly(start: Self, stop: Self, num: usize, endpoint: bool) -> impl Iterator<Item = Self>;

    /// The range for the device, if it computes the same bits.
    #[doc(hidden)]
    fn on_device(start: Self, step: Self, len: usize) -> Option<DeviceRange>;
}

mod sealed {
    pub trait Sealed {}
}

/// `start + i * step`, as one of the kernels of `ramp.wgsl` computes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DeviceRange {
    /// Integers of 32 bits, of either sign.
    Words { start: u32, step: u32 },
    /// Integers of 64 bits, of either sign.
    Pairs { start: u64, step: u64 },
    /// Floats for which each sum and product is exact.
    Floats { start: f32, step: f32 },
}

impl DeviceRange {
    /// The kernel's entry point.
    pub(super) fn entry(self) -> &'static str {
        match self {
            Self::Words { .. } => "ramp_words",
            Self::Pairs { .. } => "ramp_pairs",
            Self::Floats { .. } => "ramp_floats",
        }
    }

    /// The range from element `at` on.
    pub(super) fn advanced(self, at: usize) -> Self {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "32-bit integers count modulo 2^32")]
            Self::Words { start, step } => {
                Self::Words { start: start.wrapping_add(step.wrapping_mul(at as u32)), step }
            }
            Self::Pairs { start, step } => {
                Self::Pairs { start: start.wrapping_add(step.wrapping_mul(at as u64)), step }
            }
            Self::Floats { start, step } => Self::Floats { start: start + step * at as f32, step },
        }
    }
}

/// Ranges of integers, computed exactly in 128 bits. Ranges of 8 and 16 bits are short, so they need no kernel.
macro_rules! integers {
    ($($ty:ident $on_device:expr),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}

        impl Number for $ty {
            fn range_len(start: Self, stop: Self, step: Self) -> Result<usize> {
                integer_len(start.into(), stop.into(), step.into())
            }

            fn range(start: Self, step: Self, len: usize) -> impl Iterator<Item = Self> {
                // The value after the last element may overflow; no element overflows.
                let next = move |at: &Self| Some(at.wrapping_add(step));
                std::iter::successors(Some(start), next).take(len)
            }

            fn evenly(start: Self, stop: Self, num: usize, endpoint: bool) -> impl Iterator<Item = Self> {
                let values = f64::evenly(start as f64, stop as f64, num, endpoint);
                // The last number is exactly `stop`, also where `f64` cannot represent `stop`.
                let is_stop = move |i: usize| endpoint && num > 1 && i == num - 1;
                values.enumerate().map(move |(i, value)| if is_stop(i) { stop } else { value.floor().as_() })
            }

            fn on_device(start: Self, step: Self, _: usize) -> Option<DeviceRange> {
                let range: fn(Self, Self) -> Option<DeviceRange> = $on_device;
                range(start, step)
            }
        }
    )*};
}

integers! {
    i8 |_, _| None,
    u8 |_, _| None,
    i16 |_, _| None,
    u16 |_, _| None,
    i32 |start, step| Some(DeviceRange::Words { start: start.cast_unsigned(), step: step.cast_unsigned() }),
    u32 |start, step| Some(DeviceRange::Words { start, step }),
    i64 |start, step| Some(DeviceRange::Pairs { start: start.cast_unsigned(), step: step.cast_unsigned() }),
    u64 |start, step| Some(DeviceRange::Pairs { start, step }),
}

fn integer_len(start: i128, stop: i128, step: i128) -> Result<usize> {
    if step == 0 {
        return Err(RangeProblem::ZeroStep);
    }
    let (distance, step) = if step < 0 { (start - stop, -step) } else { (stop - start, step) };
    // The quotient is rounded up; it is zero if the step leads away from `stop`.
    let len = if distance <= 0 { 0 } else { (distance - 1) / step + 1 };
    usize::try_from(len).map_err(|_| RangeProblem::TooLong)
}

/// Ranges of floats. `$wide` is the type in which NumPy computes the elements.
macro_rules! floats {
    ($($ty:ident $wide:ident $narrow:expr, $on_device:expr);* $(;)?) => {$(
        impl sealed::Sealed for $ty {}

        impl Number for $ty {
            fn range_len(start: Self, stop: Self, step: Self) -> Result<usize> {
                let distance = stop - start;
                float_len(f64::from(distance), f64::from(step), f64::from(distance / step))
            }

            fn range(start: Self, step: Self, len: usize) -> impl Iterator<Item = Self> {
                let second = start + step;
                let from = $wide::from(start);
                let step = $wide::from(second) - from;
                let element = move |i: usize| match i {
                    0 => start,
                    1 => second,
                    _ => $narrow(from + i as $wide * step),
                };
                (0..len).map(element)
            }

            fn evenly(start: Self, stop: Self, num: usize, endpoint: bool) -> impl Iterator<Item = Self> {
                let (zero, div) = ($narrow(0.0), if endpoint { num.saturating_sub(1) } else { num });
                let delta = stop - start;
                let div = $narrow(div as $wide);
                let step = delta / div;
                let element = move |i: usize| {
                    if endpoint && num > 1 && i == num - 1 {
                        return stop;
                    }
                    let at = $narrow(i as $wide);
                    let distance = if div == zero { at * delta } else if step == zero { at / div * delta } else { at * step };
                    distance + start
                };
                (0..num).map(element)
            }

            fn on_device(start: Self, step: Self, len: usize) -> Option<DeviceRange> {
                let range: fn(Self, Self, usize) -> Option<DeviceRange> = $on_device;
                range(start, step, len)
            }
        }
    )*};
}

floats! {
    f16 f32 f16::from_f32, |_, _, _| None;
    bf16 f32 bf16::from_f32, |_, _, _| None;
    f32 f32 std::convert::identity, exact_on_device;
    f64 f64 std::convert::identity, |_, _, _| None;
}

fn float_len(distance: f64, step: f64, quotient: f64) -> Result<usize> {
    if step == 0.0 {
        return Err(RangeProblem::ZeroStep);
    }
    if quotient.is_nan() || distance.is_nan() {
        return Err(RangeProblem::NotANumber);
    }
    // The quotient underflows to zero, although the distance is not zero.
    if quotient == 0.0 && distance != 0.0 {
        return Ok(usize::from(quotient.is_sign_positive()));
    }
    // As in NumPy, an infinite length is refused also where the step leads away from `stop`.
    if quotient.abs() >= isize::MAX as f64 {
        return Err(RangeProblem::TooLong);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `isize::MAX`")]
    Ok(quotient.ceil().max(0.0) as usize)
}

/// The range for the device, if no value and no product is rounded or subnormal. A device that fuses multiplication and
/// addition, or flushes subnormals to zero, computes the same bits of such a range.
fn exact_on_device(start: f32, step: f32, len: usize) -> Option<DeviceRange> {
    const LARGEST: f64 = (1_u32 << f32::MANTISSA_DIGITS) as f64; // In units: every integer up to it is a float.
    let step = (start + step) - start;
    let is_plain = |value: f32| value == 0.0 && value.is_sign_positive() || value.is_normal();
    if !is_plain(start) || !is_plain(step) {
        return None;
    }
    let unit = lowest_bit(start).min(lowest_bit(step));
    let last = len.saturating_sub(1) as f64;
    let reach = (f64::from(start).abs() + f64::from(step).abs() * last) / unit;
    let fits = unit >= f64::from(f32::MIN_POSITIVE) && reach <= LARGEST && last <= LARGEST;
    fits.then_some(DeviceRange::Floats { start, step })
}

/// The largest power of two that divides a number; infinity for zero.
fn lowest_bit(value: f32) -> f64 {
    if value == 0.0 {
        return f64::INFINITY;
    }
    let mantissa = value.to_bits() & ((1 << (f32::MANTISSA_DIGITS - 1)) - 1) | 1 << (f32::MANTISSA_DIGITS - 1);
    let ulp = f64::from(f32::from_bits(value.to_bits() & 0x7f80_0000)) / f64::from(1_u32 << (f32::MANTISSA_DIGITS - 1));
    ulp * f64::from(1_u32 << mantissa.trailing_zeros())
}

#[cfg(test)]
mod tests;
