//! Plans copies inside one block, where source and target may share elements.
//!
//! The result is always NumPy's: as if the whole source were read before any element is written.

use vkarray_allocator::Region;
use vkarray_layout::{Layout, LayoutError};

use super::limits::CopyLimits;
use super::plan::{CopyStep, plan, ranges_overlap};
use super::strided::StridedCopy;

/// The most parts in which contiguous bytes are moved to a range that overlaps them. More parts cost more than a
/// temporary copy of the source.
const MAX_PARTS: u64 = 4;

/// Plans the copy from one layout of a block to another of the same shape, as steps in this order; there are none if every
/// element is already in its place. `None` if the copy has to go through a temporary copy of the source.
pub(crate) fn plan_within_block(
    source: &Layout,
    target: &Layout,
    itemsize: usize,
    limits: &CopyLimits,
) -> Result<Option<Vec<CopyStep>>, LayoutError> {
    let Some(copy) = StridedCopy::new(source, target, itemsize)? else { return Ok(Some(Vec::new())) };
    if copy.source == copy.target && copy.axes.iter().all(|axis| axis.source == axis.target) {
        return Ok(Some(Vec::new()));
    }
    if source.overlaps(target) {
        return Ok(shifted(&copy));
    }
    // The range that is bound for one parameter of a kernel may not overlap a range that another parameter writes, so
    // contiguous bytes are copied as a region.
    let steps = plan(copy, &CopyLimits { kernel_bytes: u64::MAX, ..*limits });
    let is_disjoint = |step: &CopyStep| match step {
        CopyStep::Regions(_) => true,
        CopyStep::Dispatch(dispatch) => !ranges_overlap(&dispatch.source, &dispatch.target),
    };
    Ok(Some(steps).filter(|steps| steps.iter().all(is_disjoint)))
}

/// The parts of contiguous bytes that are moved to a range that overlaps them, in an order in which no part overwrites
/// bytes that a later part reads.
fn shifted(copy: &StridedCopy) -> Option<Vec<CopyStep>> {
    let size = copy.run_bytes();
    let shift = copy.source.abs_diff(copy.target);
    if copy.size() != size || shift == 0 || size.div_ceil(shift) > MAX_PARTS {
        return None;
    }
    let starts = (0..size).step_by(usize::try_from(shift).ok()?);
    let part = |start: u64| {
        let size = shift.min(size - start);
        CopyStep::Regions(vec![Region { source: copy.source + start, target: copy.target + start, size }])
    };
    let mut parts: Vec<_> = starts.map(part).collect();
    if copy.target > copy.source {
        parts.reverse(); // To higher addresses: start with the last part.
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GPU, TINY, index};
    use super::*;

    fn regions(step: &CopyStep) -> Vec<Region> {
        let CopyStep::Regions(regions) = step else { panic!("regions are expected: {step:?}") };
        regions.clone()
    }

    #[test]
    fn the_plan_is_the_cheapest_correct_one() {
        type Part<'a> = (&'a [isize], usize);
        // Shape, source strides and offset, target strides and offset, expected plan.
        let cases: &[(&[usize], Part<'_>, Part<'_>, &str)] = &[
            (&[9], (&[1], 3), (&[1], 3), "nothing"),            // The same elements.
            (&[9], (&[-1], 11), (&[-1], 11), "nothing"),        // The elements in the same order, both reversed.
            (&[0], (&[1], 3), (&[1], 4), "nothing"),            // Nothing to copy.
            (&[9], (&[1], 0), (&[1], 9), "regions 0"),          // Adjacent.
            (&[9], (&[1], 0), (&[1], 5), "regions 1, 0"),       // To higher addresses, in two parts.
            (&[9], (&[1], 5), (&[1], 0), "regions 0, 1"),       // To lower addresses.
            (&[9], (&[1], 0), (&[1], 1), "temporary"),          // Nine parts are too many.
            (&[9], (&[1], 0), (&[-1], 8), "temporary"),         // Reversed in place.
            (&[3, 3], (&[3, 1], 0), (&[1, 3], 0), "temporary"), // Transposed in place.
            (&[5], (&[2], 0), (&[2], 1), "temporary"),          // Interleaved: the bound ranges overlap.
            (&[3], (&[2], 0), (&[2], 400), "regions 0 1 1"),    // Far apart.
        ];
        for &(shape, source, target, expected) in cases {
            let layout = |(strides, offset)| Layout::with_strides(shape, strides, offset).unwrap();
            let chosen = match plan_within_block(&layout(source), &layout(target), 4, &GPU).unwrap() {
                Some(steps) if steps.is_empty() => "nothing".to_owned(),
                Some(steps) => {
                    let steps: Vec<_> = steps.iter().map(regions).collect();
                    let first = steps.iter().flatten().map(|part| part.source).min().unwrap();
                    let place = |part: &Region| (part.source - first).div_ceil(20).to_string();
                    let order = steps.iter().map(|parts| parts.iter().map(place).collect::<Vec<_>>().join(" "));
                    format!("regions {}", order.collect::<Vec<_>>().join(", "))
                }
                None => "temporary".to_owned(),
            };
            assert_eq!(chosen, expected, "{shape:?} {source:?} {target:?}");
        }
    }

    #[test]
    fn ordered_parts_read_nothing_that_an_earlier_part_wrote() {
        for (n, shift) in (1..20).flat_map(|n| (1..20).map(move |shift| (n, shift))) {
            for (from, to) in [(0, shift), (shift, 0)] {
                let layout = |offset| Layout::with_strides(&[n], &[1], offset).unwrap();
                let mut bytes: Vec<usize> = (0..40).collect();
                let mut expected = bytes.clone();
                expected.copy_within(from..from + n, to);
                if layout(from).overlaps(&layout(to))
                    && let Some(steps) = plan_within_block(&layout(from), &layout(to), 1, &TINY).unwrap()
                {
                    for part in steps.iter().flat_map(regions) {
                        let [source, target, size] = [part.source, part.target, part.size].map(index);
                        assert!(size <= source.abs_diff(target), "a part overlaps itself");
                        bytes.copy_within(source..source + size, target);
                    }
                    assert_eq!(bytes, expected, "{n} by {shift}");
                }
            }
        }
    }
}
