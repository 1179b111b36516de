//! [`Spacing`]: whether the bins of a histogram are so even that an element's bin can be computed. Pure.

use std::ops::RangeInclusive;

use vkarray_kernel::DType;

use crate::array::collect_values;
use crate::error::{Error, Result};
use crate::functions::operand::{Widen, to_u32};

/// Edges of bins of equal width, as NumPy's `linspace` has them. A range of one number is widened by a half on each
/// side.
#[expect(clippy::cast_precision_loss, reason = "there is no memory for 2^53 bins")]
pub(super) fn even_edges(bins: usize, range: &RangeInclusive<f64>) -> Result<Vec<f64>> {
    let (&low, &high) = (range.start(), range.end());
    if bins == 0 || low > high || !(high - low).is_finite() {
        return Err(Error::Edges { count: bins.saturating_add(1) });
    }
    to_u32(bins)?;
    let half = if low == high { 0.5 } else { 0.0 };
    let (low, high) = (low - half, high + half);
    let step = (high - low) / bins as f64;
    collect_values(bins + 1, (0..bins).map(|i| i as f64 * step + low).chain([high]))
}

/// Edges among integers of at most 32 bits that have the same elements between them as some ascending floats: the next
/// integers above, and below the last one. `None` for other types, and if an integer is out of the range of the type.
pub(super) fn whole_edges<T: Widen>(edges: &[f64]) -> Option<Vec<T>> {
    let (least, most) = range_of::<T>()?;
    let (last, others) = edges.split_last()?;
    let whole: Vec<f64> = others.iter().map(|edge| edge.ceil().max(least)).chain([last.floor().min(most)]).collect();
    if whole.is_sorted() { whole.into_iter().map(T::from_f64).collect() } else { None }
}

/// The least and the greatest integer of a type of at most 32 bits.
fn range_of<T: Widen>() -> Option<(f64, f64)> {
    let is_short = DType::of::<T>().is_integer() && size_of::<T>() <= 4;
    T::min_value().to_f64().zip(T::max_value().to_f64()).filter(|_| is_short)
}

/// How the position of an element is computed, in parts of a bin: its distance from the first edge times `scale`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spacing {
    /// The parts of a bin, a power of two. All bins have at most 2^23.
    pub(super) parts: u32,
    /// The first edge.
    pub(super) origin: f32,
    pub(super) scale: f32,
    /// The position of the end of the last bin, if that is as wide as the others.
    pub(super) limit: f32,
    /// A position whose next whole number is this many parts away from an edge, or more, is on the right side of the edge.
    /// At most half of a bin.
    pub(super) wrong: u32,
}

impl Spacing {
    /// The spacing of ascending edges, at least two. `None` if a computed position may be wrong by half a bin, for
    /// numbers of 64 bits, and for floats of 16 bits.
    ///
    /// A device computes a position with two operations on `f32`, each of which may round either way, and may take
    /// numbers below 2^-126 for zero. An integer is a half above its distance, so that it is never on an edge; the bins
    /// end one above the last edge, which is in the last bin.
    #[expect(clippy::cast_precision_loss, reason = "at most 8,192 bins")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded; parts of at most half a bin")]
    pub(super) fn new<T: Widen>(edges: &[T]) -> Option<Self> {
        let dtype = DType::of::<T>();
        let mut edges = values(edges)?;
        let (n_bins, origin) = (edges.len() - 1, edges[0]);
        *edges.last_mut()? += f64::from(u8::from(!dtype.is_float()));
        let inner = n_bins.saturating_sub(1).max(1);
        let width = (edges[inner] - origin) / inner as f64;
        if !(1e-30..1e30).contains(&width) || edges[n_bins] - origin > 1e30 {
            return None;
        }
        // The distance of an integer below the first edge is 2^32 higher, so that it has to be behind the bins.
        let below = range_of::<T>().map_or(0.0, |(least, _)| origin - least);
        if below > 0.0 && below + n_bins as f64 * width > f64::from(u32::MAX) * (1.0 - 2.0_f64.powi(-20)) {
            return None;
        }
        let parts = (1 << 23) / u32::try_from(n_bins.next_power_of_two()).ok().filter(|&bins| bins <= 1 << 13)?;
        let in_parts = f64::from(parts);
        let scale = (in_parts / width) as f32;
        let position = |edge: f64| (edge - origin) * f64::from(scale) / in_parts;
        let rounding = n_bins as f64 * 2.0_f64.powi(-20);
        let inner = (0..n_bins).map(|i| (position(edges[i]) - i as f64).abs());
        let wrong = inner.fold((n_bins as f64 - position(edges[n_bins])).max(0.0), f64::max) + rounding;
        let wrong = (wrong * in_parts) as u32 + 2;
        let limit = (n_bins as f64 * in_parts) as f32;
        (2 * wrong <= parts).then_some(Self { parts, origin: origin as f32, scale, limit, wrong })
    }
}

/// The values of integers of at most 32 bits, and of `f32`.
fn values<T: Widen>(numbers: &[T]) -> Option<Vec<f64>> {
    let has_values = DType::of::<T>() == DType::F32 || range_of::<T>().is_some();
    if has_values { numbers.iter().map(T::to_f64).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_counted_between_the_next_integers() {
        assert_eq!(whole_edges::<u8>(&[0.0, 2.25, 4.5, 9.0]), Some(vec![0, 3, 5, 9]));
        assert_eq!(whole_edges::<i8>(&[-2.5, -0.5, 0.5]), Some(vec![-2, 0, 0]));
        assert_eq!(whole_edges::<u8>(&[-3.0, 128.0, 300.0]), Some(vec![0, 128, 255]));
        assert_eq!(whole_edges::<i32>(&[-3e9, 0.0, 3e9]), Some(vec![i32::MIN, 0, i32::MAX]));
        assert_eq!(whole_edges::<u8>(&[0.0, 256.0, 300.0]), None); // No element is in the last bin.
        assert_eq!(whole_edges::<i32>(&[4.2, 4.8]), None);
        assert_eq!(whole_edges::<u8>(&[-9.0, -5.0]), None);
        assert_eq!(whole_edges::<f32>(&[0.0, 1.0]), None);
        assert_eq!(whole_edges::<i64>(&[0.0, 1.0]), None);
    }

    #[test]
    fn bins_are_even_if_positions_are_wrong_by_less_than_half_a_bin() {
        let wrong = |edges: &[f32]| Spacing::new(edges).map(|spacing| spacing.wrong);
        assert_eq!(wrong(&[0.0, 0.25, 0.5, 0.75, 1.0]), Some(10));
        let quarter = 1 << 19; // Four bins have 2^21 parts each.
        assert!((quarter..quarter + 20).contains(&wrong(&[0.0, 1.0, 2.25, 3.0, 4.0]).unwrap()));
        assert!(wrong(&[0.0, 1.0, 2.0, 3.0, 9.0]).is_some()); // The last bin may be longer,
        assert_eq!(wrong(&[0.0, 1.0, 2.0, 3.0, 3.1]), None); // but not shorter.
        let uneven: [&[f32]; 6] = [
            &[1.0, 1.0],
            &[1e6, 1e6 + 0.03, 1e6 + 0.06],
            &[0.0, 1.0, 10.0, 11.0],
            &[0.0, 1e-40],
            &[f32::MIN, f32::MAX],
            &[f32::NEG_INFINITY, 0.0, f32::INFINITY],
        ];
        for edges in uneven {
            assert_eq!(wrong(edges), None, "{edges:?}");
        }
        // The value 256 counts in the last bin, whose edge it is.
        let bytes: Vec<u32> = (0..=256).collect();
        let spacing = Spacing::new(&bytes).unwrap();
        assert!(spacing.scale == 32_768.0 && spacing.wrong < 16, "{spacing:?}");
        // Integers below the first edge would be between the edges: 2^32 - 2^30 above it.
        assert_eq!(Spacing::new(&[-1 << 30, 1 << 30, i32::MAX]), None);
        assert!(Spacing::new(&[i32::MIN, 0, i32::MAX]).is_some() && Spacing::new(&[0, u32::MAX]).is_some());
        assert_eq!(Spacing::new(&[0_i64, 1]), None);
        assert_eq!(Spacing::new(&[0.0_f64, 1.0]), None);
    }
}
