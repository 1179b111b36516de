//! How a sum of floats is cut into sums of integers, which do not depend on the order of the additions.
//!
//! The elements, scaled by a power of two and rounded to integers, are added exactly in 64 bits. What rounding left is
//! scaled by a larger power of two and added as well, until the rest is too small to count. The powers depend on the
//! number of elements and on the largest magnitude alone.

/// The bits of an integer to which the elements add up, without its sign and with one bit in reserve.
const SUM_BITS: u32 = 62;

/// The most bits of the total of all levels but for rounding them up. It is computed in 128 bits.
const TOTAL_BITS: u32 = 120;

/// The levels of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Levels {
    /// The number of levels.
    pub(super) count: u32,
    /// Bits of an element's magnitude in each level.
    step: u32,
    /// The exponent of the largest power of two that the type of the elements has, with its inverse.
    largest: i32,
}

impl Levels {
    /// The levels for `elements` floats with `digits` bits, whose sum lies within a quarter of a unit of the largest
    /// element's last place of the exact sum.
    pub(super) fn new(elements: usize, digits: u32, largest: i32) -> Self {
        // Arrays of 2^60 elements exist on no machine, and all shifts below are in range up to there.
        let growth = elements.clamp(1, 1 << 60).next_power_of_two().ilog2();
        let bits = (digits + 2 + growth).min(TOTAL_BITS - growth);
        let count = bits.div_ceil(SUM_BITS - growth);
        Self { count, step: bits.div_ceil(count), largest }
    }

    /// The exponent of the power of two by which a level scales elements of at most this magnitude.
    pub(super) fn exponent(self, level: u32, magnitude: f64) -> i32 {
        ((level + 1) * self.step).cast_signed().saturating_sub(exponent_above(magnitude)).min(self.largest)
    }

    /// The sum with these totals of the levels.
    pub(super) fn sum(self, totals: &[i64], magnitude: f64) -> f64 {
        let exponents: Vec<i32> = (0..self.count).map(|level| self.exponent(level, magnitude)).collect();
        let last = exponents[exponents.len() - 1];
        let total: i128 = totals.iter().zip(exponents).map(|(&total, own)| i128::from(total) << (last - own)).sum();
        // Half of the exponent at a time, since the whole power may be beyond the range of `f64`.
        total as f64 * power_of_two(-last / 2) * power_of_two(-last - (-last / 2))
    }
}

/// The least exponent whose power of two is above a finite magnitude, or −1022.
fn exponent_above(magnitude: f64) -> i32 {
    let bits = (magnitude.to_bits() >> 52) & 0x7ff;
    i32::try_from(bits).map_or(0, |bits| bits - 1022)
}

/// A power of two in the range of normal numbers.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).clamp(1, 2046).cast_unsigned()) << 52)
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the numbers are integers of the range, or rounded on purpose")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The levels of a sum on the host, in `f64`.
    fn summed(values: &[f64], digits: u32, largest: i32) -> f64 {
        let levels = Levels::new(values.len(), digits, largest);
        let magnitude = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        let mut rest = values.to_vec();
        let mut totals = Vec::new();
        for level in 0..levels.count {
            let exponent = levels.exponent(level, magnitude);
            let mut total = 0_i64;
            for value in &mut rest {
                let scaled = (*value * power_of_two(exponent)).round_ties_even();
                total = total.checked_add(scaled as i64).unwrap();
                *value -= scaled * power_of_two(-exponent);
            }
            totals.push(total);
        }
        levels.sum(&totals, magnitude)
    }

    #[test]
    fn levels_are_as_many_as_the_elements_need() {
        let levels = |elements, digits| {
            let levels = Levels::new(elements, digits, 126);
            (levels.count, levels.step)
        };
        assert_eq!(levels(0, 24), (1, 26));
        assert_eq!(levels(1 << 18, 24), (1, 44));
        assert_eq!(levels((1 << 18) + 1, 24), (2, 23));
        assert_eq!(levels(1 << 32, 24), (2, 29));
        assert_eq!(levels(1000, 53), (2, 33));
        assert_eq!(levels(1 << 30, 53), (3, 29));
        for growth in 0..=60 {
            let Levels { count, step, .. } = Levels::new(1 << growth, 53, 1022);
            assert!(step + growth <= SUM_BITS && count * step + growth < 127, "{growth}: {count} of {step}");
        }
    }

    #[test]
    fn powers_of_two_are_exact() {
        for exponent in -1022..=1023 {
            assert_eq!(power_of_two(exponent), 2.0_f64.powi(exponent));
        }
        assert_eq!([0.0, 1.0, 1.5, 0.25, f64::MAX].map(exponent_above), [-1022, 1, 1, -1, 1024]);
    }

    proptest! {
        #[test]
        fn sums_of_one_exponent_are_exact_in_any_order(
            mut values in prop::collection::vec(-(1_i64 << 40)..1 << 40, 1..200), exponent in -900..900_i32,
        ) {
            let exact = values.iter().map(|&value| i128::from(value)).sum::<i128>() as f64 * power_of_two(exponent);
            for _ in 0..2 {
                let floats: Vec<f64> = values.iter().map(|&value| value as f64 * power_of_two(exponent)).collect();
                prop_assert_eq!(summed(&floats, 53, 1022).to_bits(), exact.to_bits());
                values.reverse();
            }
        }

        #[test]
        fn sums_have_the_promised_error(values in prop::collection::vec((-1.0..1.0_f64, -60..60_i32), 1..300)) {
            // Integers of 128 bits hold each of these numbers without an error.
            let floats: Vec<f64> =
                values.iter().map(|&(value, exponent)| f64::from(value as f32) * power_of_two(exponent / 4)).collect();
            let exact: i128 = floats.iter().map(|value| (value * power_of_two(80)) as i128).sum();
            let magnitude = floats.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            for digits in [24, 53] {
                let sum = summed(&floats, digits, 126);
                let unit = power_of_two(-digits.cast_signed());
                let error = ((sum * power_of_two(80)) as i128 - exact).unsigned_abs() as f64 * power_of_two(-80);
                let rounding = power_of_two(-53) * sum.abs();
                prop_assert!(error <= unit / 4.0 * magnitude + rounding, "{} of {}", error, magnitude);
            }
        }
    }
}
