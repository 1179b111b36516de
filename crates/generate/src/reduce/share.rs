//! [`Share`]: how the elements of the results are shared out among invocations, as a function of numbers alone.
//!
//! The share decides in which order elements are added, so the order depends on sizes, strides and the workgroup, never
//! on timing.

use smallvec::SmallVec;

use crate::text::{MAX_ROUNDS, Nest, Width};

/// Who computes a job: the part of one result that is accumulated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Team {
    /// This many neighbouring invocations of a workgroup, a power of two. They take units in turns, and their
    /// accumulators are combined as a tree. The jobs of one result follow each other.
    Lanes(u32),
    /// One invocation. The jobs of neighbouring results follow each other.
    Across,
}

/// Number of invocations that keep a device busy.
const BUSY: u64 = 1 << 18;
/// Number of units of an invocation whose loads overlap.
const OVERLAPPING: u64 = 4;
/// Up to this many invocations, a larger team costs less than longer loops.
const SMALL_TEAM: u32 = 32;
/// The least number of units for each invocation of a larger team.
const LARGE_TEAM_UNITS: u64 = 16;
/// Up to this many units for each invocation of a workgroup, a second pass takes longer than it saves.
const ONE_PASS_UNITS: u64 = 16;
/// Number of single-invocation jobs that keep a device busy, and the least number of units of each job.
const ACROSS_JOBS: (u64, u64) = (1 << 16, 64);
/// The most elements of a job for each of its invocations: 64 additions to each of four accumulators, so that errors of
/// sums stay small.
const MAX_ELEMENTS: u64 = 4 * 64;

/// The most rounds of loops for one element up to which an invocation takes four elements as a unit.
pub const MOST_ROUNDS: u64 = MAX_ROUNDS / 8;

/// [`MAX_ELEMENTS`] for an element whose computation takes `rounds` rounds of loops: as many elements as half of
/// [`MAX_ROUNDS`] is enough for, but at least one unit of four.
fn most_elements(rounds: u64) -> u64 {
    (MAX_ROUNDS / 2 / (rounds + 1)).next_power_of_two().clamp(4, MAX_ELEMENTS)
}

/// The most elements of one launch. Kernels count elements, and jobs, in words. The limit is lower where jobs are
/// short, because one workgroup goes through all jobs of a result.
pub fn most_of_launch(rounds: u64) -> u64 {
    (1 << 31) / MAX_ELEMENTS * most_elements(rounds)
}

/// How a reduction is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Who computes a job.
    pub team: Team,
    /// Number of jobs for each result.
    pub splits: u64,
    /// Number of units in a job.
    pub chunk: u64,
}

impl Share {
    /// The share for `results` results of `units` units each, at least 1; a unit has `width` elements. `is_across` says
    /// that neighbouring results lie closer to each other than the elements of one result; `group` is the size of a
    /// workgroup, a power of two. Computing an element takes `rounds` rounds of loops.
    pub fn new(results: u64, (units, width): (u64, u64), is_across: bool, group: u32, rounds: u64) -> Self {
        let (team, jobs, most, lanes) = if is_across {
            (Team::Across, ACROSS_JOBS.0, units.div_ceil(ACROSS_JOBS.1), 1)
        } else {
            let team = lanes(results, units, group);
            let lanes = u64::from(team);
            let is_short = units <= ONE_PASS_UNITS * lanes;
            let most = if is_short { 1 } else { units.div_ceil(OVERLAPPING * lanes) };
            (Team::Lanes(team), BUSY / lanes, most, lanes)
        };
        let splits = (jobs / results).clamp(1, most);
        let splits = splits.max(units.div_ceil(most_elements(rounds) / width * lanes));
        let chunk = units.div_ceil(splits);
        Self { team, splits: units.div_ceil(chunk), chunk }
    }
}

/// From this many partial results of one result on, neighbouring invocations combine them.
const TEAM_PARTS: u64 = 128;

/// The team that combines the `splits` partial results of each result, which teams of kind `first` wrote in the first
/// pass.
pub fn second_team(first: Team, results: u64, splits: u64, group: u32) -> Team {
    match first {
        Team::Across if splits < TEAM_PARTS => Team::Across,
        _ => Team::Lanes(lanes(results, splits, group)),
    }
}

/// The number of invocations that together compute one result of `units` units.
fn lanes(results: u64, units: u64, group: u32) -> u32 {
    let power = |n: u64| 1 << n.clamp(1, group.into()).ilog2();
    let most: u32 = power(units / OVERLAPPING);
    let usual = most.min(SMALL_TEAM.max(power(units / LARGE_TEAM_UNITS)));
    // Larger teams, where the results are too few to keep the device busy otherwise.
    usual.max(most.min(power(BUSY / results)))
}

/// Whether, for some operand, neighbouring results lie closer to each other in memory than the elements of one result.
pub fn is_across([kept, reduced]: &[Nest; 2]) -> bool {
    let stride = |nest: &Nest, operand: usize| {
        let axis = &nest.axes[0];
        if axis.len > 1 { axis.strides[operand].unsigned_abs() } else { u64::MAX }
    };
    (0..kept.operands.len()).any(|operand| {
        let [along_results, along_elements] = [stride(kept, operand), stride(reduced, operand)];
        along_results != 0 && along_elements != 0 && along_results < along_elements
    })
}

/// How each operand is read if a unit has four elements: four at once, or one element that all four repeat. `None` if a
/// unit has one element.
pub fn fours([kept, reduced]: &[Nest; 2]) -> Option<SmallVec<[Width; 6]>> {
    let is_four = |value: u64| value.is_multiple_of(4);
    let outer = || reduced.axes[1..].iter().chain(&kept.axes);
    let width = |operand: usize| match reduced.axes[0].strides[operand] {
        0 => Some(Width::One),
        1 => {
            let own = reduced.operands[operand];
            let is_aligned = is_four(own.offset) && outer().all(|axis| is_four(axis.strides[operand].unsigned_abs()));
            (is_aligned && own.itemsize <= 4).then_some(Width::Four)
        }
        _ => None,
    };
    let widths: SmallVec<[Width; 6]> = (0..reduced.operands.len()).map(width).collect::<Option<_>>()?;
    (is_four(reduced.axes[0].len) && widths.contains(&Width::Four)).then_some(widths)
}

#[cfg(test)]
mod tests {
    use vkarray_shader::DType;

    use super::*;

    #[test]
    fn work_is_shared_out_by_sizes_alone() {
        use Team::{Across, Lanes};
        type Case = (u64, (u64, u64), bool, Team, u64, u64);
        // Each case: the results, the units of each and the elements of a unit, whether across; the team, the jobs of a
        // result, the units of a job.
        let cases: [Case; 14] = [
            (1 << 22, (16, 4), false, Lanes(4), 1, 16), // Rows of 64: four loads of an invocation.
            (1 << 18, (256, 4), false, Lanes(32), 1, 256), // Rows of 1,024: a team as small as a subgroup.
            (1 << 13, (1 << 13, 4), false, Lanes(256), 1, 1 << 13), // Rows of 32,768: a workgroup each.
            (1 << 8, (1 << 18, 4), false, Lanes(256), 16, 1 << 14), // Rows of 2^20: several workgroups each.
            (1, (1 << 26, 4), false, Lanes(256), 4096, 1 << 14), // One result: as many additions in a row as for rows.
            (1, (1 << 16, 4), false, Lanes(256), 64, 1024), // A short array: four loads of an invocation.
            (1, (5, 1), false, Lanes(1), 1, 5),         // A few elements.
            (1, (1, 1), false, Lanes(1), 1, 1),
            (10, (1000, 1), false, Lanes(128), 1, 1000), // Few results: more invocations for each.
            (1 << 20, (1000, 1), false, Lanes(32), 1, 1000),
            (1 << 20, (3, 1), false, Lanes(1), 1, 3),
            (1 << 22, (64, 1), true, Across, 1, 64),         // Columns.
            (1 << 8, (1 << 20, 1), true, Across, 4096, 256), // Long columns: at most 256 elements in a row.
            (1 << 16, (1 << 12, 1), true, Across, 16, 256),
        ];
        for (results, units, across, team, splits, chunk) in cases {
            let share = Share::new(results, units, across, 256, 0);
            assert_eq!(share, Share { team, splits, chunk }, "{results} results of {units:?}");
        }
    }

    #[test]
    fn every_unit_has_one_job_and_sums_stay_exact() {
        for results in [1, 7, 1000, 1 << 20] {
            for units in (1..300).chain([1021, 4096, 100_003, 1 << 26]) {
                for (is_across, width) in [(false, 1), (false, 4), (true, 1)] {
                    let share = Share::new(results, (units, width), is_across, 128, 0);
                    let lanes = if let Team::Lanes(lanes) = share.team { u64::from(lanes) } else { 1 };
                    assert!(lanes.is_power_of_two() && lanes <= 128);
                    assert!((share.splits - 1) * share.chunk < units && share.splits * share.chunk >= units);
                    assert!(share.chunk.div_ceil(lanes) * width <= MAX_ELEMENTS, "{results} of {units}: {share:?}");
                }
            }
        }
    }

    #[test]
    fn no_invocation_goes_round_more_often_than_drivers_allow() {
        for rounds in [0, 7, 37, 187, 2 * 187, 20 * 187, 40 * 187] {
            for (results, units) in [(1, 1 << 31), (2, 1 << 30), (1000, 1 << 21), (1 << 20, 1 << 11), (1 << 29, 4)] {
                for (is_across, width) in [(false, 1), (false, 4), (true, 1)] {
                    let units = units.min(most_of_launch(rounds) / results).max(4);
                    let share = Share::new(results, (units / width, width), is_across, 128, rounds);
                    let lanes_of = |team| if let Team::Lanes(lanes) = team { u64::from(lanes) } else { 1 };
                    let elements = share.chunk.div_ceil(lanes_of(share.team)) * width;
                    let second = share.splits.div_ceil(lanes_of(second_team(share.team, results, share.splits, 128)));
                    // A round takes four units, then up to three units are taken one by one; each loop has a round in
                    // which it ends.
                    assert!(elements * (rounds + 1) + 16 <= MAX_ROUNDS, "{rounds}: {elements} of {share:?}");
                    assert!(second / 4 + 16 <= MAX_ROUNDS, "{results} results of {units}: {second} of {share:?}");
                }
            }
        }
    }

    #[test]
    fn four_elements_are_read_at_once_where_they_lie_side_by_side() {
        const F32: &[DType] = &[DType::F32, DType::F32];
        // Length and strides of the elements, strides of the results, offset, widths.
        type Case<'a> = (u64, &'a [&'a [i64]], &'a [&'a [i64]], &'a [u64], Option<&'a [Width]>);
        let cases: [Case<'_>; 7] = [
            (64, &[&[1]], &[&[64]], &[0], Some(&[Width::Four])),
            (64, &[&[1], &[0]], &[&[64], &[1]], &[0, 3], Some(&[Width::Four, Width::One])), // One number for each row.
            (63, &[&[1]], &[&[64]], &[0], None), // The last unit is not whole.
            (64, &[&[1]], &[&[63]], &[0], None), // Rows start anywhere.
            (64, &[&[1]], &[&[64]], &[2], None),
            (64, &[&[2]], &[&[128]], &[0], None),
            (64, &[&[0]], &[&[4]], &[0], None), // Nothing is read four at a time.
        ];
        for (len, reduced, kept, offsets, expected) in cases {
            let nest = |lens: &[u64], strides| Nest::for_tests(lens, strides, offsets, F32);
            let nests = [nest(&[100], kept), nest(&[len], reduced)];
            assert_eq!(fours(&nests).as_deref(), expected, "{len} {reduced:?} {kept:?}");
        }
        let nest = |strides| Nest::for_tests(&[64], strides, &[0], &[DType::F64]);
        assert_eq!(fours(&[nest(&[&[64]]), nest(&[&[1]])]), None, "no device reads 32 bytes at once");
    }
}
