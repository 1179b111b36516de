//! Where the sorted parts of the ranks are cut, so that each rank gets the elements between two splitters.

/// For a splitter, how many elements of each rank are below it, and how many are below or equal to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) below: usize,
    pub(super) upto: usize,
}

/// Where each rank cuts its sorted part for one splitter, so that `ideal` elements of all ranks are before the cuts, or
/// as close to it as the splitter allows. Elements that equal the splitter are before the cuts of the first ranks and
/// after those of the last ones.
pub(super) fn cuts(counts: &[Count], ideal: usize) -> Vec<usize> {
    let mut wanted = ideal.saturating_sub(counts.iter().map(|count| count.below).sum());
    let cut = |count: &Count| {
        let taken = wanted.min(count.upto - count.below);
        wanted -= taken;
        count.below + taken
    };
    counts.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cuts_divide_sorted_parts_at_the_ideal_place(
            mut parts in prop::collection::vec(prop::collection::vec(0..6_u8, 0..9), 1..5),
            splitter in 0..7_u8,
            ideal in 0..40_usize,
        ) {
            parts.iter_mut().for_each(|part| part.sort_unstable());
            let counts: Vec<Count> = parts.iter().map(|part| Count {
                below: part.iter().filter(|&&value| value < splitter).count(),
                upto: part.iter().filter(|&&value| value <= splitter).count(),
            }).collect();
            let cuts = cuts(&counts, ideal);
            for (part, &cut) in parts.iter().zip(&cuts) {
                prop_assert!(part[..cut].iter().all(|&value| value <= splitter));
                prop_assert!(part[cut..].iter().all(|&value| value >= splitter));
            }
            let (below, upto) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.below, sum.1 + count.upto));
            prop_assert_eq!(cuts.iter().sum::<usize>(), ideal.clamp(below, upto));
        }
    }
}
