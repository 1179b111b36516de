//! Inside one lane: when there is a barrier, on which stages, and when there is none.

use super::{BlockAccess, Compute, Constant, Read, Rig, Stage, Stagewise, Transfer, Write, from_to, small_ranges};

const X: usize = 0;
const Y: usize = 1;
const ALL: std::ops::Range<u64> = 0..u64::MAX;

#[test]
fn two_operations_need_a_barrier_where_bytes_overlap_and_one_writes() {
    for (first, second) in small_ranges().flat_map(|a| small_ranges().map(move |b| (a.clone(), b))) {
        for (first_mode, second_mode) in [(Read, Read), (Read, Write), (Write, Read), (Write, Write)] {
            let mut rig = Rig::new(1, 1);
            rig.barrier(0, &[(X, first.clone(), first_mode, Transfer)]);
            let found = rig.barrier(0, &[(X, second.clone(), second_mode, Compute)]);
            let shares_a_byte = (0..4).any(|byte| first.contains(&byte) && second.contains(&byte));
            let is_conflict = shares_a_byte && (first_mode, second_mode) != (Read, Read);
            let wanted = if is_conflict { from_to(&[Transfer], &[Compute]) } else { None };
            assert_eq!(found, wanted, "{first_mode:?} {first:?}, {second_mode:?} {second:?}");
        }
    }
}

#[test]
fn whole_blocks_end_at_the_largest_offset() {
    let cases = [
        (0..u64::MAX, 0..1, true),
        (0..u64::MAX, u64::MAX - 1..u64::MAX, true),
        (5..u64::MAX, 0..5, false),               // They touch only.
        (u64::MAX..u64::MAX, 0..u64::MAX, false), // Empty, at the end.
    ];
    for (first, second, is_conflict) in cases {
        let mut rig = Rig::new(1, 1);
        rig.barrier(0, &[(X, first.clone(), Write, Compute)]);
        let found = rig.barrier(0, &[(X, second.clone(), Write, Compute)]);
        assert_eq!(found.is_some(), is_conflict, "{first:?} {second:?}");
    }
}

#[test]
fn a_barrier_covers_its_pair_of_stages_and_no_other() {
    // The stages of the first and the second use, then the stage of another use of the same bytes, and that use's
    // barrier.
    let cases: [(Stage, Stage, Stage, Stagewise); 6] = [
        (Compute, Compute, Compute, None),
        (Compute, Compute, Transfer, from_to(&[Compute], &[Transfer])),
        (Compute, Transfer, Transfer, None),
        (Compute, Transfer, Compute, from_to(&[Compute], &[Compute])),
        (Transfer, Compute, Compute, None),
        (Transfer, Constant, Compute, from_to(&[Transfer], &[Compute])),
    ];
    for (src, dst, second, wanted) in cases {
        let mut rig = Rig::new(1, 1);
        rig.barrier(0, &[(X, 0..8, Write, src)]);
        assert_eq!(rig.barrier(0, &[(X, 0..8, Read, dst)]), from_to(&[src], &[dst]));
        assert_eq!(rig.barrier(0, &[(X, 0..8, Read, second)]), wanted, "{src:?} {dst:?} {second:?}");
    }
}

#[test]
fn a_barrier_covers_what_an_earlier_one_made_clean_for_its_source() {
    let mut rig = Rig::new(1, 2);
    rig.barrier(0, &[(X, ALL, Write, Compute)]);
    assert_eq!(
        rig.barrier(0, &[(X, ALL, Read, Transfer), (Y, ALL, Write, Transfer)]),
        from_to(&[Compute], &[Transfer])
    );
    assert_eq!(rig.barrier(0, &[(Y, ALL, Read, Compute)]), from_to(&[Transfer], &[Compute]));
    assert_eq!(rig.barrier(0, &[(X, ALL, Read, Compute)]), None); // Through the copy.
}

#[test]
fn conflicts_of_one_operation_share_a_barrier() {
    let mut rig = Rig::new(1, 2);
    rig.barrier(0, &[(X, ALL, Write, Compute)]);
    rig.barrier(0, &[(Y, ALL, Read, Transfer)]);
    let both = [(X, ALL, Read, Transfer), (Y, ALL, Write, Compute)];
    assert_eq!(rig.barrier(0, &both), from_to(&[Compute, Transfer], &[Compute, Transfer]));
}

#[test]
fn accesses_of_one_operation_do_not_conflict_and_all_count() {
    let mut rig = Rig::new(1, 1);
    assert_eq!(rig.barrier(0, &[(X, ALL, Read, Compute), (X, ALL, Write, Compute)]), None);
    for order in [[0, 1], [1, 0]] {
        // The write does not stand for the read: they are on different stages and run in any order.
        let mut rig = Rig::new(1, 1);
        let uses = [(X, ALL, Read, Transfer), (X, ALL, Write, Compute)];
        rig.barrier(0, &order.map(|at: usize| uses[at].clone()));
        assert_eq!(rig.barrier(0, &[(X, ALL, Write, Compute)]), from_to(&[Compute, Transfer], &[Compute]));
    }
}

#[test]
fn reads_of_the_same_bytes_stay_apart_by_stage() {
    let mut rig = Rig::new(1, 1);
    for stage in [Compute, Transfer, Compute] {
        assert_eq!(rig.barrier(0, &[(X, 0..8, Read, stage)]), None);
    }
    assert_eq!(rig.barrier(0, &[(X, 0..8, Write, Compute)]), from_to(&[Compute, Transfer], &[Compute]));
}

#[test]
fn a_write_over_the_middle_leaves_both_ends() {
    let cases = [
        (0..2, None), // Behind the barrier that the middle needed.
        (2..6, from_to(&[Transfer], &[Compute])),
        (6..8, None),
        (8..9, None), // Never touched.
    ];
    for (range, wanted) in cases {
        let mut rig = Rig::new(1, 1);
        rig.barrier(0, &[(X, 0..8, Write, Compute)]);
        rig.barrier(0, &[(X, 2..6, Write, Transfer)]);
        rig.barrier(0, &[(X, 20..21, Write, Compute)]);
        rig.barrier(0, &[(X, 20..21, Write, Compute)]);
        assert_eq!(rig.barrier(0, &[(X, range.clone(), Write, Compute)]), wanted, "{range:?}");
    }
}

#[test]
fn independent_work_has_no_barrier() {
    let mut rig = Rig::new(1, 2);
    for at in 0..200 {
        let part = [(X, ALL, Read, Compute), (Y, at * 8..at * 8 + 8, Write, Compute)];
        assert_eq!(rig.barrier(0, &part), None, "part {at}");
    }
    assert_eq!(rig.barrier(0, &[(Y, 1600..1608, Write, Compute)]), None); // Next to all of them.
    assert_eq!(rig.barrier(0, &[(Y, 0..8, Read, Compute)]), from_to(&[Compute], &[Compute]));
}

#[test]
fn a_chain_has_one_barrier_fewer_than_operations() {
    let mut rig = Rig::new(1, 1);
    let barriers = (0..100).filter(|_| rig.barrier(0, &[(X, ALL, Write, Compute)]).is_some());
    assert_eq!(barriers.count(), 99);
}

#[test]
fn chains_recorded_in_turn_share_barriers() {
    let mut rig = Rig::new(1, 4);
    let chains = (0..400).filter(|at| rig.barrier(0, &[(at % 4, ALL, Write, Compute)]).is_some());
    assert_eq!(chains.count(), 99);
}

#[test]
fn nothing_before_a_barrier_needs_another() {
    let mut rig = Rig::new(1, 10);
    for block in 0..10 {
        rig.barrier(0, &[(block, ALL, Write, Compute)]);
    }
    assert!(rig.barrier(0, &[(0, ALL, Read, Compute)]).is_some());
    for block in 1..10 {
        assert_eq!(rig.barrier(0, &[(block, ALL, Write, Compute)]), None, "block {block}");
    }
}

#[test]
fn barriers_carry_over_batches_and_complete_ones_need_none() {
    let mut rig = Rig::new(1, 1);
    rig.barrier(0, &[(X, ALL, Write, Compute)]);
    let first = rig.submit(0);
    assert!(rig.barrier(0, &[(X, ALL, Write, Compute)]).is_some()); // Batches of a queue overlap.
    let second = rig.submit(0);
    rig.complete(0, first);
    assert!(rig.barrier(0, &[(X, ALL, Write, Compute)]).is_some());
    rig.submit(0);
    rig.complete(0, second + 1);
    assert_eq!(rig.barrier(0, &[(X, ALL, Write, Compute)]), None);
}

#[test]
fn unordered_accesses_order_nothing() {
    for (is_first, is_second) in [(true, false), (false, true), (true, true)] {
        let mut rig = Rig::new(2, 1);
        let write = rig.access(&(X, ALL, Write, Compute));
        let either = |is_unordered| if is_unordered { write.clone().unordered() } else { write.clone() };
        rig.record(0, &[either(is_first)]);
        for lane in [0, 1] {
            let plan = rig.run(lane, &[either(is_second)]);
            let is_expected = plan.barrier.is_none() && (lane == 0 || plan.waits.is_empty() || !is_second);
            assert!(is_expected, "{is_first} {is_second}, lane {lane}: {plan:?}");
        }
    }
}

/// Eight parts with a writer and a reader each are kept apart. A ninth part costs exactness, and never order.
#[test]
fn eight_scattered_intervals_are_exact() {
    let part = |at: u64| at * 64..at * 64 + 8;
    let mut rig = Rig::new(1, 2);
    for at in 0..8 {
        rig.barrier(0, &[(X, part(at), Write, Compute)]);
    }
    rig.barrier(0, &[(X, part(0), Read, Compute)]);
    for at in 0..8 {
        assert_eq!(rig.barrier(0, &[(X, part(at), Read, Compute)]), None, "part {at}");
    }
    for gap in 0..8 {
        assert_eq!(rig.barrier(0, &[(Y, part(gap), Write, Compute)]), None);
        let is_write =
            rig.table.plan(rig.lanes[0], &[BlockAccess::write(rig.blocks[X], gap * 64 + 8..gap * 64 + 64, Compute)]);
        assert_eq!(is_write.barrier, None, "gap {gap}");
    }
    for at in 8..40 {
        rig.barrier(0, &[(X, part(at * 3), Write, Compute)]);
    }
    for at in 8..40 {
        let last = [BlockAccess::read(rig.blocks[X], part(at * 3), Compute)];
        assert!(rig.table.plan(rig.lanes[0], &last).barrier.is_some(), "part {at}");
    }
}

#[test]
fn one_interval_too_many_joins_the_nearest() {
    for near in 0..16 {
        for new in [near * 1000 + 50, near * 1000 + 950] {
            let mut rig = Rig::new(1, 1);
            for at in 0..17 {
                rig.barrier(0, &[(X, at * 1000 + 500..at * 1000 + 501, Read, Compute)]);
            }
            rig.barrier(0, &[(X, new..new + 1, Read, Compute)]);
            let needs_barrier = |byte| {
                let write = [BlockAccess::write(rig.blocks[X], byte..byte + 1, Compute)];
                rig.table.plan(rig.lanes[0], &write).barrier.is_some()
            };
            assert!(needs_barrier(new));
            let nearest = near * 1000 + 500;
            let joined = new.min(nearest)..=new.max(nearest);
            let gaps = (0..150).map(|at: u64| at * 100 + 25).filter(|byte| !joined.contains(byte));
            assert_eq!(gaps.clone().find(|&byte| needs_barrier(byte)), None, "{new} joined more than {joined:?}");
        }
    }
}
