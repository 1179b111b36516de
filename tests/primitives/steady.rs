//! The heap allocations of evaluating a known expression: its nodes, and none for the kernel, its arguments or the
//! choice of both. As in `kernel/steady.rs`, one round of several counts, since batches are allocated now and then.

use vkarray::prelude::*;

use crate::fixture::Fixture;

/// Calls of a round: several full batches.
const CALLS: u64 = 300;
const ROUNDS: usize = 50;

/// Checks the allocations of each call, in the first round that has no more than expected.
fn check(ctx: &Fixture, name: &str, expected: u64, call: impl Fn()) {
    let round = || {
        (0..CALLS).for_each(|_| call());
        ctx.default_stream().synchronize().unwrap();
    };
    round();
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        least = least.min(allocation_counter::measure(round).count_total);
        if least <= expected * CALLS {
            return;
        }
    }
    panic!("{name}: {least} allocations in {CALLS} calls, not {expected} in each");
}

#[test]
fn evaluating_a_known_expression_allocates_its_nodes_alone() {
    let ctx = Fixture::open();
    let (x, y) = (ctx.full([64, 64], 1.0_f32).unwrap(), ctx.full([64, 64], 2.0_f32).unwrap());
    let row = ctx.full(64, 3.0_f32).unwrap();
    let built = (&x * 0.5 + &y - &row).sqrt();
    check(&ctx, "an expression that is kept", 0, || built.assign_to(&y).unwrap());
    check(&ctx, "the nodes of two arrays, a number and two operations", 5, || {
        (&x * 0.5 + &y).assign_to(&y).unwrap();
    });
    let none = ctx.device_array::<f32>([64, 64]).unwrap();
    check(&ctx, "an array", ARRAY, || drop(ctx.device_array::<f32>(none.shape()).unwrap()));
    check(&ctx, "an array for the result", ARRAY, || drop(built.eval().unwrap()));
    check(&ctx, "an array for the result, and the node of an array", ARRAY + 1, || drop(x.sum(1).unwrap()));
}

/// The allocations of an array whose memory comes from the pool.
const ARRAY: u64 = 1;
