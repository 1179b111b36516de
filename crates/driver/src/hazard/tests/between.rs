//! Between lanes: what an operation waits for, and what a wait spares later ones.

use super::{Compute, Constant, Read, Rig, Transfer, Write, from_to};
use crate::hazard::LanePoint;

const ALL: std::ops::Range<u64> = 0..u64::MAX;

#[test]
fn a_conflict_waits_for_the_batch_of_the_other_lane_once() {
    let mut rig = Rig::new(2, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.submit(0);
    rig.barrier(0, &[(1, ALL, Write, Compute)]);
    assert_eq!(rig.waits(1, &[(0, ALL, Read, Compute)]), [(0, 1)]);
    assert_eq!(rig.waits(1, &[(0, ALL, Read, Transfer)]), []); // A wait is for all stages.
    assert_eq!(rig.waits(1, &[(1, ALL, Read, Compute)]), [(0, 2)]); // The later batch is another matter.
    assert_eq!(rig.waits(1, &[(1, ALL, Read, Compute), (0, ALL, Read, Constant)]), []);
}

#[test]
fn a_later_point_covers_earlier_ones() {
    let mut rig = Rig::new(2, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.submit(0);
    rig.barrier(0, &[(1, ALL, Write, Compute)]);
    assert_eq!(rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Read, Compute)]), [(0, 2)]);
}

#[test]
fn reads_and_disjoint_bytes_of_two_lanes_do_not_wait() {
    let mut rig = Rig::new(2, 1);
    rig.barrier(0, &[(0, 0..8, Write, Compute)]);
    rig.barrier(0, &[(0, 8..16, Read, Compute)]);
    assert_eq!(rig.waits(1, &[(0, 8..16, Read, Compute)]), []);
    assert_eq!(rig.waits(1, &[(0, 16..24, Write, Compute)]), []);
    assert_eq!(rig.waits(1, &[(0, 15..24, Write, Compute)]), [(0, 1)]);
}

#[test]
fn a_write_waits_for_the_readers_of_every_lane() {
    let mut rig = Rig::new(4, 1);
    for lane in 0..3 {
        assert_eq!(rig.waits(lane, &[(0, ALL, Read, Compute)]), []);
    }
    assert_eq!(rig.waits(3, &[(0, ALL, Write, Compute)]), [(0, 1), (1, 1), (2, 1)]);
}

#[test]
fn complete_work_is_not_waited_for() {
    let mut rig = Rig::new(2, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    let value = rig.submit(0);
    rig.barrier(0, &[(1, ALL, Write, Compute)]);
    rig.complete(0, value);
    assert_eq!(rig.waits(1, &[(0, ALL, Write, Compute)]), []);
    rig.complete(0, value - 1); // Old news.
    assert_eq!(rig.waits(1, &[(1, ALL, Write, Compute)]), [(0, value + 1)]);
}

#[test]
fn a_wait_brings_what_the_other_lane_had_waited_for() {
    let mut rig = Rig::new(3, 3);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.barrier(1, &[(2, ALL, Write, Compute)]);
    let before = rig.submit(1);
    assert_eq!(rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Write, Compute)]), [(0, 1)]);
    // The batch before the wait says nothing about the first lane. The batch after the wait does.
    assert_eq!(rig.waits(2, &[(2, ALL, Read, Compute)]), [(1, before)]);
    let known_before = rig.table.plan(rig.lanes[2], &[rig.access(&(0, ALL, Read, Compute))]);
    assert_eq!(known_before.waits.len(), 1);
    let behind = rig.open[1];
    assert_eq!(rig.waits(2, &[(1, ALL, Read, Compute)]), [(1, behind)]);
    assert_eq!(rig.waits(2, &[(0, ALL, Read, Compute)]), []);
}

#[test]
fn a_point_that_another_implies_is_not_waited_for() {
    let mut rig = Rig::new(3, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Write, Compute)]);
    // The write of the first lane and the read of the second, which ran after it.
    assert_eq!(rig.waits(2, &[(0, ALL, Write, Compute)]), [(1, 2)]);
}

#[test]
fn a_wait_for_one_that_waited_for_us_needs_no_barrier() {
    let mut rig = Rig::new(2, 3);
    rig.barrier(0, &[(0, ALL, Write, Compute), (1, ALL, Write, Compute)]);
    rig.submit(0);
    rig.barrier(0, &[(2, ALL, Write, Compute)]);
    assert_eq!(rig.waits(1, &[(0, ALL, Write, Compute)]), [(0, 1)]);
    let plan = rig.plan(0, &[(0, ALL, Read, Compute), (1, ALL, Read, Compute)]);
    assert_eq!((plan.barrier, plan.waits.len()), (None, 1));
    assert_eq!(rig.barrier(0, &[(1, ALL, Read, Transfer)]), None);
    assert_eq!(rig.barrier(0, &[(2, ALL, Read, Compute)]), from_to(&[Compute], &[Compute])); // Not waited for.
}

#[test]
fn completion_brings_completion_of_what_was_waited_for() {
    let mut rig = Rig::new(3, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Write, Compute)]);
    let value = rig.submit(1);
    rig.complete(1, value);
    assert_eq!(rig.waits(2, &[(0, ALL, Write, Compute)]), []);
}

#[test]
fn completion_names_what_is_complete_with_it() {
    let mut rig = Rig::new(4, 3);
    // Lane 1 waits for lane 0, lane 2 for lane 1, lane 3 for none.
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Write, Compute)]);
    rig.waits(2, &[(1, ALL, Read, Compute)]);
    rig.barrier(3, &[(2, ALL, Write, Compute)]);
    let done: Vec<u64> = (0..4).map(|lane| rig.submit(lane)).collect();
    let point = |rig: &Rig, lane: usize| LanePoint { lane: rig.lanes[lane], value: done[lane] };
    let mut implied = rig.table.completed(rig.lanes[2], done[2]);
    implied.sort_by_key(|point| point.lane);
    // The batch of lane 1 is the second: its wait opened it.
    assert_eq!(implied.to_vec(), [point(&rig, 0), point(&rig, 1)]);
    for (lane, &value) in done.iter().enumerate() {
        assert_eq!(rig.table.completed(rig.lanes[lane], value).to_vec(), [], "lane {lane}, which is no news to others");
    }
}

#[test]
fn a_wait_of_the_callers_own_counts() {
    let mut rig = Rig::new(3, 2);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    rig.waits(1, &[(0, ALL, Read, Compute), (1, ALL, Write, Compute)]);
    rig.table.waited(rig.lanes[2], 1, LanePoint { lane: rig.lanes[1], value: rig.open[1] });
    assert_eq!(rig.waits(2, &[(1, ALL, Read, Compute)]), []);
    assert_eq!(rig.waits(2, &[(0, ALL, Write, Compute)]), []);
}

/// There are far more waits than are remembered. Some are asked for again, none is left out, and time stays bounded.
#[test]
fn forgotten_waits_are_asked_for_again() {
    let n = 100;
    let mut rig = Rig::new(n + 1, n);
    for lane in 0..n {
        rig.barrier(lane, &[(lane, ALL, Write, Compute)]);
    }
    for lane in 0..n {
        assert_eq!(rig.waits(n, &[(lane, ALL, Read, Compute)]), [(lane, 1)]);
    }
    assert_eq!(rig.waits(n, &[(n - 1, ALL, Read, Compute)]), []);
    assert_eq!(rig.waits(n, &[(0, ALL, Read, Compute)]), [(0, 1)]);
}

#[test]
fn the_host_waits_for_what_it_conflicts_with() {
    let mut rig = Rig::new(2, 1);
    rig.barrier(0, &[(0, 0..8, Write, Compute)]);
    rig.barrier(1, &[(0, 8..16, Read, Compute)]);
    let points = |rig: &mut Rig, range, mode| {
        rig.table.uses(rig.blocks[0], range, mode).iter().map(|point| (point.lane, point.value)).collect::<Vec<_>>()
    };
    let [first, second] = [(rig.lanes[0], 1), (rig.lanes[1], 1)];
    let cases = [
        (0..16, Read, vec![first]),
        (8..16, Read, vec![]),
        (8..16, Write, vec![second]),
        (0..u64::MAX, Write, vec![first, second]),
        (16..u64::MAX, Write, vec![]),
        (4..4, Write, vec![]), // No bytes.
    ];
    for (range, mode, wanted) in cases {
        assert_eq!(points(&mut rig, range.clone(), mode), wanted, "{mode:?} {range:?}");
    }
    rig.complete(0, 1);
    assert_eq!(points(&mut rig, 0..16, Write), [second]);
}
