//! The planner against tables, and against the accesses one by one.

use std::ops::Range;

use super::{MAX_EXACT, barriers, merged};
use crate::hazard::{BlockAccess, BlockId, HazardTable, Mode, Operation, Stage, Stages};

/// Ids of blocks in a table that has seen other blocks before, as a device's table hands them out.
fn blocks<const N: usize>() -> [BlockId; N] {
    let mut table = HazardTable::new();
    (0..7).for_each(|_| {
        table.add_block();
    });
    std::array::from_fn(|_| table.add_block())
}

#[test]
fn barriers_stand_where_steps_conflict_and_nowhere_else() {
    use Stage::{Compute as C, Transfer as T};
    let [a, b] = blocks();
    let read = |block, stage| BlockAccess::read(block, 0..64, stage);
    let write = |block, stage| BlockAccess::write(block, 0..64, stage);
    let upper = |stage| BlockAccess::write(a, 64..128, stage);
    // Steps, and for each the stages before and behind its barrier.
    type Case = (Vec<Vec<BlockAccess>>, &'static [Option<(Stage, Stage)>]);
    let cases: [Case; 9] = [
        (vec![], &[]),                                                       // Nothing.
        (vec![vec![]], &[None]),                                             // A step that touches nothing.
        (vec![vec![write(a, C)], vec![write(a, C)]], &[None, Some((C, C))]), // Write after write.
        (vec![vec![write(a, T)], vec![read(a, C)]], &[None, Some((T, C))]),  // Read after write.
        (vec![vec![read(a, C)], vec![write(a, T)]], &[None, Some((C, T))]),  // Write after read.
        (vec![vec![read(a, C)], vec![read(a, T)]], &[None, None]),           // Reads do not conflict.
        (vec![vec![write(a, C)], vec![write(b, C)]], &[None, None]),         // Nor do two blocks.
        (vec![vec![write(a, C)], vec![upper(C)]], &[None, None]),            // Nor two ranges.
        // Two chains side by side share their barriers.
        (
            vec![vec![write(a, C)], vec![write(b, C)], vec![write(a, C)], vec![write(b, C)]],
            &[None, None, Some((C, C)), None],
        ),
    ];
    for (steps, expected) in cases {
        let planned = barriers(steps.iter().map(Vec::as_slice));
        let stages: Vec<_> = planned.iter().map(|b| b.map(|b| (b.src_stages, b.dst_stages))).collect();
        let wanted: Vec<_> = expected.iter().map(|b| b.map(|(s, d)| (Stages::only(s), Stages::only(d)))).collect();
        assert_eq!(stages, wanted, "{steps:?}");
    }
}

#[test]
fn merging_joins_what_touches_and_drops_what_a_write_says() {
    use Stage::{Compute as C, Transfer as T};
    let [a, b] = blocks();
    let scattered = |n: usize| (0..n as u64).map(|i| BlockAccess::write(a, i * 8..i * 8 + 4, C)).collect::<Vec<_>>();
    // The accesses to merge, and the accesses that are left.
    let cases = [
        (vec![], vec![]),
        (vec![BlockAccess::read(a, 0..4, C), BlockAccess::read(a, 4..8, C)], vec![BlockAccess::read(a, 0..8, C)]), // Touching.
        (vec![BlockAccess::read(a, 4..8, C), BlockAccess::read(a, 0..6, C)], vec![BlockAccess::read(a, 0..8, C)]), // Overlapping.
        (vec![BlockAccess::write(a, 0..8, C), BlockAccess::read(a, 2..6, C)], vec![BlockAccess::write(a, 0..8, C)]), // Covered.
        (scattered(MAX_EXACT), scattered(MAX_EXACT)), // Few gaps.
        (scattered(MAX_EXACT + 1), vec![BlockAccess::write(a, 0..MAX_EXACT as u64 * 8 + 4, C)]), // Many.
    ];
    for (accesses, expected) in cases {
        assert_eq!(merged(accesses.iter()), expected, "{accesses:?}");
    }
    // Another block, stage or longer range is not covered.
    let kept = [
        BlockAccess::write(a, 0..8, C),
        BlockAccess::read(a, 0..9, C),
        BlockAccess::read(a, 0..8, T),
        BlockAccess::read(b, 0..8, C),
    ];
    let left = merged(kept.iter());
    assert_eq!(left.len(), kept.len());
    assert!(kept.iter().all(|access| left.contains(access)), "{left:?}");
}

#[test]
fn what_is_only_kept_alive_stays_alive_and_orders_nothing() {
    let [a, b] = blocks();
    let accesses =
        [BlockAccess::write(a, 0..8, Stage::Compute).unordered(), BlockAccess::read(b, 3..3, Stage::Transfer)];
    let left = merged(accesses.iter());
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|access| !access.is_hazard()));
    for block in [a, b] {
        let mut table = HazardTable::new();
        let lane = table.add_lane();
        let own = table.add_block();
        let access = left.iter().find(|access| access.block == block).expect("both are kept");
        let _order = table.order(lane, 1, Operation::Once(&[BlockAccess { block: own, ..access.clone() }]));
        assert_eq!(table.retire_block(own).len(), 1, "{block:?} could be freed under the replay");
    }
}

/// Every set of up to three accesses of a small block, against every access that could stand before or after it.
#[test]
fn merged_accesses_conflict_with_what_the_single_ones_do() {
    let [a] = blocks();
    let every: Vec<BlockAccess> = ranges(4)
        .flat_map(|range| [Mode::Read, Mode::Write].map(|mode| (range.clone(), mode)))
        .flat_map(|(range, mode)| {
            [Stage::Compute, Stage::Transfer].map(|stage| BlockAccess {
                block: a,
                range: range.clone(),
                mode,
                stage,
                ordered: true,
            })
        })
        .collect();
    for (i, first) in every.iter().enumerate() {
        for (j, second) in every.iter().enumerate().skip(i) {
            for third in &every[j..] {
                let single = [first.clone(), second.clone(), third.clone()];
                let left = merged(single.iter());
                for probe in &every {
                    assert_eq!(stages(&left, probe), stages(&single, probe), "{single:?} against {probe:?}");
                }
            }
        }
    }
}

/// The stages of `accesses` that conflict with `probe`.
fn stages(accesses: &[BlockAccess], probe: &BlockAccess) -> Stages {
    let overlaps = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
    let conflicts = |access: &&BlockAccess| {
        overlaps(&access.range, &probe.range) && (access.mode == Mode::Write || probe.mode == Mode::Write)
    };
    accesses.iter().filter(conflicts).map(|access| access.stage).collect()
}

/// All ranges that are not empty and end at most at `end`.
fn ranges(end: u64) -> impl Iterator<Item = Range<u64>> {
    (0..end).flat_map(move |start| (start + 1..=end).map(move |end| start..end))
}
