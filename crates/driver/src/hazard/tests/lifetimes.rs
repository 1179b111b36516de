//! Blocks and lanes that come and go, and what is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{BlockAccess, Compute, Read, Rig, Stage, Transfer, Write, from_to};
use crate::hazard::{LanePoint, LastUses, Operation};

const ALL: std::ops::Range<u64> = 0..u64::MAX;

fn points(last_uses: &LastUses) -> Vec<LanePoint> {
    last_uses.iter().map(|last| last.point()).collect()
}

#[test]
fn last_uses_are_the_latest_of_each_lane_without_complete_ones() {
    let mut rig = Rig::new(3, 1);
    rig.waits(0, &[(0, 0..4, Read, Compute)]);
    rig.submit(0);
    rig.waits(0, &[(0, 8..12, Read, Compute)]);
    rig.waits(1, &[(0, 0..4, Read, Compute)]);
    rig.waits(2, &[(0, 0..4, Read, Transfer)]);
    rig.submit(1);
    rig.complete(1, 1);
    let last_uses = rig.table.retire_block(rig.blocks[0]);
    let wanted = [LanePoint { lane: rig.lanes[0], value: 2 }, LanePoint { lane: rig.lanes[2], value: 1 }];
    assert_eq!(points(&last_uses), wanted);
}

#[test]
fn unordered_and_empty_accesses_keep_the_block() {
    let mut rig = Rig::new(2, 1);
    let block = rig.blocks[0];
    rig.record(0, &[BlockAccess::write(block, ALL, Compute).unordered()]);
    rig.record(1, &[BlockAccess::read(block, 7..7, Compute)]);
    let wanted = [LanePoint { lane: rig.lanes[0], value: 1 }, LanePoint { lane: rig.lanes[1], value: 1 }];
    assert_eq!(points(&rig.table.retire_block(block)), wanted);
}

#[test]
fn an_untouched_block_has_no_last_uses() {
    let mut rig = Rig::new(1, 1);
    assert!(rig.table.retire_block(rig.blocks[0]).is_empty());
}

/// Retires the block and gives its memory to a new one.
fn recycle(rig: &mut Rig) {
    let last_uses = rig.table.retire_block(rig.blocks[0]);
    rig.blocks[0] = rig.table.add_block_after(&last_uses);
}

#[test]
fn reused_memory_is_ordered_after_its_former_uses() {
    // What the former block's user did, what the new block's user does, and whether the two are ordered.
    for (mode, stage, is_ordered) in [(Write, Compute, true), (Read, Transfer, true), (Write, Transfer, false)] {
        for (new_mode, is_new_ordered) in [(Write, true), (Read, true), (Write, false)] {
            let mut rig = Rig::new(2, 1);
            let mut old = rig.access(&(0, 3..5, mode, stage));
            old.ordered = is_ordered;
            rig.record(0, &[old]);
            recycle(&mut rig);
            let mut new = rig.access(&(0, 0..100, new_mode, Compute));
            new.ordered = is_new_ordered;
            let plan = rig.run(0, std::slice::from_ref(&new));
            let barrier = plan.barrier.map(|barrier| (barrier.src_stages, barrier.dst_stages));
            assert_eq!((barrier, plan.waits.len()), (from_to(&[stage], &[Compute]), 0), "the same lane: {new:?}");
            let plan = rig.table.plan(rig.lanes[1], &[new]);
            assert_eq!(plan.waits[..], [LanePoint { lane: rig.lanes[0], value: 1 }], "another lane: {plan:?}");
        }
    }
}

#[test]
fn a_write_of_the_new_owner_does_not_stand_for_former_uses() {
    let mut rig = Rig::new(3, 1);
    rig.record(0, &[BlockAccess::write(rig.blocks[0], ALL, Compute)]);
    recycle(&mut rig);
    rig.record(1, &[BlockAccess::write(rig.blocks[0], ALL, Compute)]);
    let plan = rig.table.plan(rig.lanes[2], &[BlockAccess::write(rig.blocks[0], ALL, Compute).unordered()]);
    assert_eq!(plan.waits[..], [LanePoint { lane: rig.lanes[0], value: 1 }]); // Only the former owner's.
}

#[test]
fn memory_of_several_blocks_is_ordered_after_all() {
    let mut rig = Rig::new(3, 2);
    rig.record(0, &[BlockAccess::write(rig.blocks[0], ALL, Compute)]);
    rig.record(1, &[BlockAccess::write(rig.blocks[1], ALL, Compute)]);
    let mut last_uses = rig.table.retire_block(rig.blocks[0]);
    last_uses.extend(rig.table.retire_block(rig.blocks[1]));
    rig.blocks = vec![rig.table.add_block_after(&last_uses)];
    assert_eq!(rig.waits(2, &[(0, 0..1, Write, Compute)]), [(0, 1), (1, 1)]);
}

#[test]
fn a_removed_lane_is_named_until_its_work_is_complete() {
    let mut rig = Rig::new(2, 1);
    rig.barrier(0, &[(0, ALL, Write, Compute)]);
    let old = rig.lanes[0];
    rig.table.remove_lane(old);
    let new = rig.table.add_lane();
    assert_ne!(new, old);
    let read = [BlockAccess::read(rig.blocks[0], ALL, Compute)];
    assert_eq!(rig.table.plan(rig.lanes[1], &read).waits[..], [LanePoint { lane: old, value: 1 }]);
    rig.table.completed(old, 1);
    let reused = rig.table.add_lane();
    assert_ne!(reused, old);
    for lane in [rig.lanes[1], new, reused] {
        let plan = rig.table.plan(lane, &read);
        assert!(plan.waits.is_empty() && plan.barrier.is_none(), "{plan:?}");
    }
    rig.table.completed(old, 7); // Late news of a forgotten lane.
    rig.table.completed(reused, 0);
}

#[test]
fn misuse_is_refused() {
    type Misuse = fn(&mut Rig);
    let cases: [(&str, Misuse); 9] = [
        ("batch 2 would wait for itself, up to 2", |rig| {
            rig.table.waited(rig.lanes[0], 2, LanePoint { lane: rig.lanes[0], value: 2 });
        }),
        ("is not a block of this table", |rig| {
            rig.table.retire_block(rig.blocks[0]);
            rig.barrier(0, &[(0, 0..1, Read, Compute)]);
        }),
        ("is not a block of this table", |rig| {
            rig.table.retire_block(rig.blocks[0]);
            rig.table.retire_block(rig.blocks[0]);
        }),
        ("is not a lane of this table", |rig| {
            rig.table.remove_lane(rig.lanes[0]);
            rig.barrier(0, &[]);
        }),
        ("operation recorded on a removed lane", |rig| {
            rig.barrier(0, &[]);
            rig.table.remove_lane(rig.lanes[0]);
            rig.barrier(0, &[]);
        }),
        ("batch 1 cannot wait: the lane holds work up to 1", |rig| {
            rig.barrier(0, &[(0, 0..1, Write, Compute)]);
            rig.barrier(1, &[]);
            let accesses = [BlockAccess::read(rig.blocks[0], 0..1, Compute)];
            let plan = rig.table.plan(rig.lanes[1], &accesses);
            rig.table.commit(&plan, 1, Operation::Once(&accesses));
        }),
        ("batch 1 cannot wait: the lane holds work up to 1", |rig| {
            rig.barrier(0, &[]);
            rig.table.waited(rig.lanes[0], 1, LanePoint { lane: rig.lanes[1], value: 1 });
        }),
        ("batch 1 is closed: the lane holds work up to 2, complete up to 0", |rig| {
            rig.submit(0);
            rig.barrier(0, &[]);
            rig.open[0] = 1;
            rig.barrier(0, &[]);
        }),
        ("batch 1 is closed: the lane holds work up to 1, complete up to 1", |rig| {
            rig.barrier(0, &[]);
            rig.complete(0, 1);
            rig.barrier(0, &[]);
        }),
    ];
    for (wanted, misuse) in cases {
        let mut rig = Rig::new(2, 1);
        let panic = catch_unwind(AssertUnwindSafe(|| misuse(&mut rig))).expect_err(wanted);
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let found = text.or_else(|| panic.downcast_ref::<String>().cloned()).expect("a panic with a message");
        assert!(found.contains(wanted), "{wanted:?}, but said {found:?}");
    }
}

/// Uses that no thread waits for are removed too: blocks that many lanes have touched do not grow for ever.
#[test]
fn complete_uses_of_many_lanes_are_forgotten() {
    let mut rig = Rig::new(0, 1);
    for _ in 0..1000 {
        let lane = rig.table.add_lane();
        for (stage, range) in [(Stage::Compute, 0..8), (Stage::Transfer, 32..40)] {
            let read = BlockAccess::read(rig.blocks[0], range.clone(), stage);
            for accesses in [[read.clone()], [read.unordered()]] {
                let plan = rig.table.plan(lane, &accesses);
                rig.table.commit(&plan, 1, Operation::Once(&accesses));
            }
        }
        rig.table.completed(lane, 1);
        rig.table.remove_lane(lane);
    }
    let (n_intervals, n_unordered) = rig.table.blocks[rig.blocks[0]].uses.len();
    assert!(n_intervals <= 32 && n_unordered <= 32, "{n_intervals} intervals, {n_unordered} unordered uses");
    assert!(rig.table.lanes.is_empty());
}

#[test]
fn complete_waits_are_forgotten() {
    let mut rig = Rig::new(2, 1);
    for _ in 0..5 {
        for lane in [0, 1] {
            rig.waits(lane, &[(0, ALL, Write, Compute)]);
        }
    }
    let n_known = |rig: &Rig| rig.table.lanes[rig.lanes[1]].lock().order.waited_for_at(u64::MAX).count();
    assert_eq!(n_known(&rig), 5);
    rig.complete(1, rig.open[1] - 1);
    assert_eq!(n_known(&rig), 1);
}

#[test]
fn a_lane_owns_what_it_alone_uses_twice_in_a_row() {
    let mut rig = Rig::new(2, 3);
    let is_owned = |rig: &Rig, block: usize| rig.table.blocks[rig.blocks[block]].is_owned;
    let uses = |blocks: &[usize]| blocks.iter().map(|&block| (block, ALL, Write, Compute)).collect::<Vec<_>>();
    rig.barrier(0, &uses(&[0, 1]));
    assert!(!is_owned(&rig, 0)); // Once may be all.
    rig.barrier(0, &uses(&[0, 1]));
    assert!(is_owned(&rig, 0) && is_owned(&rig, 1));
    let value = rig.open[0];
    let accesses: Vec<BlockAccess> = uses(&[1]).iter().map(|used| rig.access(used)).collect();
    assert!(rig.table.lane_table(rig.lanes[0]).order(value, &accesses).is_some());
    rig.waits(0, &uses(&[0, 2])); // One of them is new: the device's table orders it.
    assert!(!is_owned(&rig, 0) && is_owned(&rig, 1) && !is_owned(&rig, 2));
    rig.waits(1, &uses(&[1])); // Another lane.
    assert!(!is_owned(&rig, 1));
    rig.waits(1, &uses(&[1])); // The first lane's use is over by then, as its wait says, but not known to be.
    rig.barrier(0, &uses(&[2]));
    assert!(is_owned(&rig, 2));
    let _points = rig.table.uses(rig.blocks[2], 0..0, Read); // An access of the host, of no bytes too.
    assert!(!is_owned(&rig, 2));
}

#[test]
fn a_removed_lane_owns_nothing() {
    let mut rig = Rig::new(2, 1);
    for _ in 0..3 {
        rig.barrier(0, &[(0, ALL, Write, Compute)]);
    }
    rig.table.remove_lane(rig.lanes[0]);
    assert_eq!(rig.waits(1, &[(0, ALL, Read, Compute)]), [(0, rig.open[0])]);
}
