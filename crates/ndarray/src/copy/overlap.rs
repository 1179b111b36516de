//! Copies inside one block: what may go straight, what goes in a safe order, and what needs a copy of the source first.
//!
//! The result is always NumPy's: as if the whole source were read before anything is written. Pure.

use vkarray_allocator::Region;

use super::machine::Machine;
use super::plan::{Step, meet, plan};
use super::walk::Walk;
use crate::layout::{Layout, LayoutError};

/// A run that moves by less than its length goes in at most so many parts; more cost more than a copy of the source.
const MAX_PARTS: u64 = 4;

/// How a copy inside one block is carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// Every element already is where it goes.
    Nothing,
    /// Straight, in any order.
    Straight(Vec<Step>),
    /// Straight, one region after the other.
    InOrder(Vec<Region>),
    /// Through a copy of the source.
    Twice,
}

/// Chooses the route from one layout of a block to another of the same shape.
pub(crate) fn route(
    source: &Layout,
    target: &Layout,
    itemsize: usize,
    machine: &Machine,
) -> Result<Route, LayoutError> {
    let Some(walk) = Walk::new(source, target, itemsize)? else { return Ok(Route::Nothing) };
    if walk.source == walk.target && walk.axes.iter().all(|axis| axis.source == axis.target) {
        return Ok(Route::Nothing);
    }
    if source.overlaps(target) {
        return Ok(match shifted(&walk) {
            Some(parts) => Route::InOrder(parts),
            None => Route::Twice,
        });
    }
    // The binding of one parameter may not share bytes with what another writes, so a packed run stays a region.
    let steps = plan(walk, &Machine { kernel_bytes: u64::MAX, ..*machine });
    let is_apart = |step: &Step| match step {
        Step::Regions(_) => true,
        Step::Launch(launch) => !meet(&launch.source, &launch.target),
    };
    Ok(if steps.iter().all(is_apart) { Route::Straight(steps) } else { Route::Twice })
}

/// The parts of a run that overlaps where it goes, in an order in which none overwrites what a later one reads.
fn shifted(walk: &Walk) -> Option<Vec<Region>> {
    let size = walk.run_bytes();
    let shift = walk.source.abs_diff(walk.target);
    if walk.size() != size || shift == 0 || size.div_ceil(shift) > MAX_PARTS {
        return None;
    }
    let starts = (0..size).step_by(usize::try_from(shift).ok()?);
    let part = |start: u64| {
        let size = shift.min(size - start);
        Region { source: walk.source + start, target: walk.target + start, size }
    };
    let mut parts: Vec<Region> = starts.map(part).collect();
    if walk.target > walk.source {
        parts.reverse(); // Upwards, from the far end.
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GPU, TINY, index};
    use super::*;

    #[test]
    fn the_route_is_the_cheapest_that_is_right() {
        type Part<'a> = (&'a [isize], usize);
        // Shape, source strides and offset, target strides and offset, what is chosen.
        let cases: &[(&[usize], Part<'_>, Part<'_>, &str)] = &[
            (&[9], (&[1], 3), (&[1], 3), "nothing"),        // Onto itself.
            (&[9], (&[-1], 11), (&[-1], 11), "nothing"),    // Backwards onto itself.
            (&[0], (&[1], 3), (&[1], 4), "nothing"),        // Nothing to copy.
            (&[9], (&[1], 0), (&[1], 9), "straight"),       // Side by side.
            (&[9], (&[1], 0), (&[1], 5), "in order 1 0"),   // Upwards, in two parts.
            (&[9], (&[1], 5), (&[1], 0), "in order 0 1"),   // Downwards.
            (&[9], (&[1], 0), (&[1], 1), "twice"),          // Nine parts are too many.
            (&[9], (&[1], 0), (&[-1], 8), "twice"),         // Reversed in place.
            (&[3, 3], (&[3, 1], 0), (&[1, 3], 0), "twice"), // Transposed in place.
            (&[5], (&[2], 0), (&[2], 1), "twice"),          // Between each other: bindings share bytes.
            (&[3], (&[2], 0), (&[2], 400), "straight"),     // Far apart.
        ];
        for &(shape, source, target, expected) in cases {
            let layout = |(strides, offset)| Layout::with_strides(shape, strides, offset).unwrap();
            let chosen = match route(&layout(source), &layout(target), 4, &GPU).unwrap() {
                Route::Nothing => "nothing".to_owned(),
                Route::Straight(_) => "straight".to_owned(),
                Route::InOrder(parts) => {
                    let first = parts.iter().map(|part| part.source).min().unwrap();
                    let order: Vec<_> =
                        parts.iter().map(|part| (part.source - first).div_ceil(20).to_string()).collect();
                    format!("in order {}", order.join(" "))
                }
                Route::Twice => "twice".to_owned(),
            };
            assert_eq!(chosen, expected, "{shape:?} {source:?} {target:?}");
        }
    }

    #[test]
    fn parts_in_order_read_nothing_that_was_written() {
        for (n, shift) in (1..20).flat_map(|n| (1..20).map(move |shift| (n, shift))) {
            for (from, to) in [(0, shift), (shift, 0)] {
                let layout = |offset| Layout::with_strides(&[n], &[1], offset).unwrap();
                let mut bytes: Vec<usize> = (0..40).collect();
                let mut expected = bytes.clone();
                expected.copy_within(from..from + n, to);
                if let Route::InOrder(parts) = route(&layout(from), &layout(to), 1, &TINY).unwrap() {
                    for part in parts {
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
