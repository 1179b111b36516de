//! Size classes: how ranges of memory are sorted by size. Pure.
//!
//! Sizes are counted in granules. There are eight classes to each doubling, so a size rounded up to its class grows by
//! less than an eighth; up to sixteen granules every size is a class of its own. Cached ranges (`thread_cache.rs`) and free
//! ranges of chunks (`free_list.rs`) are kept by class.

/// Bytes of a granule. Every range starts at a multiple, which any device can bind.
pub(super) const GRANULE: u64 = 256;

/// The largest size that has a class, in granules: 1 TiB.
pub(super) const LARGEST: u64 = 1 << 32;

/// The logarithm of the number of classes to a doubling.
const MANTISSA_BITS: u32 = 3;

/// A class of sizes, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class(u16);

impl Class {
    /// The number of classes.
    pub(super) const COUNT: usize = 241;

    /// The class of the largest size that is not more than `granules`, which are at least one and at most [`LARGEST`].
    pub(super) fn at_most(granules: u64) -> Self {
        debug_assert!((1..=LARGEST).contains(&granules), "{granules} granules");
        let highest = granules.ilog2();
        // A floating-point number with few mantissa bits and an implied leading one; small sizes are denormal, hence exact.
        let (exponent, shift) = match highest.checked_sub(MANTISSA_BITS) {
            Some(shift) => (shift + 1, shift),
            None => (0, 0),
        };
        let mantissa = (granules >> shift) & ((1 << MANTISSA_BITS) - 1);
        #[expect(clippy::cast_possible_truncation, reason = "less than `COUNT`, as the tests show for both ends")]
        let class = ((u64::from(exponent) << MANTISSA_BITS) | mantissa) as u16;
        Self(class)
    }

    /// The size of the smallest class that is not less than `granules`.
    pub(super) fn round_up(granules: u64) -> u64 {
        // Adding the bits below the mantissa carries into it, also into the next doubling.
        let mask = (1 << granules.ilog2().saturating_sub(MANTISSA_BITS)) - 1;
        (granules + mask) & !mask
    }

    /// The size of the class.
    pub(super) fn granules(self) -> u64 {
        let (exponent, mantissa) = (self.0 >> MANTISSA_BITS, u64::from(self.0 & ((1 << MANTISSA_BITS) - 1)));
        match exponent.checked_sub(1) {
            Some(shift) => (mantissa | 1 << MANTISSA_BITS) << shift,
            None => mantissa,
        }
    }

    /// The index of the class, for tables by class.
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
impl Class {
    /// The class of the smallest size that is not less than `granules`.
    pub(super) fn at_least(granules: u64) -> Self {
        let below = Self::at_most(granules);
        if below.granules() < granules { below.next() } else { below }
    }

    /// The next larger class.
    fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every small size, and the sizes around every larger class.
    fn sizes() -> impl Iterator<Item = u64> {
        let large = (8..=32).flat_map(|bit| (0..8_u64).map(move |eighths| (1 << bit) + (eighths << (bit - 3))));
        let around = large.flat_map(|size| [size - 1, size, size + 1]);
        (1..600).chain(around).filter(|&size| size <= LARGEST)
    }

    #[test]
    fn a_size_lies_between_its_two_classes() {
        for size in sizes() {
            let (below, above) = (Class::at_most(size), Class::at_least(size));
            assert_eq!(Class::round_up(size), above.granules(), "{size}");
            assert!(below.granules() <= size && size <= above.granules(), "{size}: {below:?} to {above:?}");
            assert!(above <= below.next(), "{size}: {below:?} to {above:?}");
            assert!(above.granules() - size <= size / 8, "{size} wastes more than an eighth of itself");
            assert!(above.index() < Class::COUNT, "{size}");
        }
        assert_eq!(Class::at_most(LARGEST).index(), Class::COUNT - 1);
    }

    #[test]
    fn sizes_of_classes_ascend_and_are_their_own() {
        let classes: Vec<_> = (1..Class::COUNT).map(|index| Class(u16::try_from(index).unwrap())).collect();
        for (class, next) in classes.iter().zip(&classes[1..]) {
            assert!(class.granules() < next.granules(), "{class:?}");
            assert_eq!(Class::at_most(class.granules()), *class);
            assert_eq!(Class::at_least(class.granules()), *class);
            assert_eq!(class.next(), *next);
        }
        assert!((1..=16).all(|size| Class::at_least(size).granules() == size));
    }
}
