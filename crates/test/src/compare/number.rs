//! [`Number`]: element types with a distance, as a difference and in units in the last place. Pure.

use std::fmt::Display;

use vkarray::Element;
use vkarray::array::Bool;
use vkarray::half::f16;

/// An element type that can be compared with a tolerance.
pub trait Number: Element + Display + PartialEq {
    /// The value, rounded to double precision.
    fn to_f64(self) -> f64;

    /// How far apart two numbers are.
    fn difference(self, other: Self) -> f64 {
        (self.to_f64() - other.to_f64()).abs()
    }

    /// How many representable numbers apart two numbers are (units in the last place); for integers, their difference.
    /// The result has no meaning if one number is NaN.
    fn ulps(self, other: Self) -> u64;
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn difference(self, other: Self) -> f64 {
                self.abs_diff(other) as f64
            }

            fn ulps(self, other: Self) -> u64 {
                self.abs_diff(other).into()
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

/// False is 0, and true is 1.
impl Number for Bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(bool::from(self)))
    }

    fn ulps(self, other: Self) -> u64 {
        u64::from(self != other)
    }
}

macro_rules! floats {
    ($($number:ty: $bits:ty, $to_f64:expr;)*) => {$(
        impl Number for $number {
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }

            fn ulps(self, other: Self) -> u64 {
                // The bits of numbers of one sign are in the order of the numbers. Both zeros are number 0 of the
                // order.
                let place = |bits: $bits| if bits < 0 { -i64::from(bits & <$bits>::MAX) } else { i64::from(bits) };
                place(self.to_bits().cast_signed()).abs_diff(place(other.to_bits().cast_signed()))
            }
        }
    )*};
}

floats! {
    f16: i16, f16::to_f64;
    f32: i32, f64::from;
    f64: i64, std::convert::identity;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_count_the_representable_numbers_between() {
        let next = 1.0_f32.next_up();
        // Two numbers, and their distance.
        for (a, b, ulps) in [
            (1.0, 1.0, 0),
            (1.0, next, 1),
            (1.0, next.next_up(), 2),
            (0.0, -0.0, 0), // Equal, though their bits differ.
            (0.0, f32::from_bits(1), 1),
            (-f32::from_bits(1), f32::from_bits(1), 2), // The distance passes through zero.
            (1.0, 2.0, 1 << 23),
            (f32::MAX, f32::INFINITY, 1),
        ] {
            assert_eq!((a.ulps(b), b.ulps(a)), (ulps, ulps), "{a} and {b}");
            assert_eq!((-a).ulps(-b), ulps, "-{a} and -{b}");
        }
        assert_eq!(f16::ONE.ulps(f16::from_f32(1.001)), 1);
        assert_eq!(1.0_f64.ulps(1.0_f64.next_down()), 1);
        assert_eq!(f64::MAX.ulps(-f64::MAX), 2 * f64::MAX.to_bits());
        assert_eq!(i64::MIN.ulps(i64::MAX), u64::MAX);
        assert_eq!(3_u8.ulps(250), 247);
    }
}
