//! Ranks that disagree on their calls are told so. The ranks are threads that share a context.
#![expect(clippy::unwrap_used, reason = "all functions here are tests or helpers of tests")]

mod counted;

use std::sync::LazyLock;

use counted::{Counted, Counts};
use vkarray::prelude::*;
use vkarray_dist::{Border, Decomposition, DistArray, DistError, ThreadRank, Transport, TransportError};

static CONTEXT: LazyLock<Context> = LazyLock::new(|| Context::open_default().unwrap());

/// Waits for the device. The context is never dropped, and lavapipe crashes where a process ends while it compiles a kernel.
fn finish() {
    CONTEXT.synchronize().unwrap();
}

/// Runs calls with three ranks that compare them, and returns the error of each rank.
fn refusals(calls: impl Fn(&dyn Transport) -> Result<(), DistError> + Sync) -> Vec<TransportError> {
    let counts = Counts::default();
    let results =
        ThreadRank::run(3, |rank| calls(&Counted { rank, checks_calls: true, shares_memory: false, counts: &counts }));
    finish();
    let refused = |result: Result<(), DistError>| match result {
        Err(DistError::Transport(error)) => error,
        other => panic!("a refusal by the transport, not {other:?}"),
    };
    results.into_iter().map(refused).collect()
}

fn ring(len: usize, width: usize) -> Decomposition {
    let parts = Decomposition::over([len], 3).unwrap().ghosts([(width, width)]).unwrap();
    parts.borders([Border::Periodic]).unwrap()
}

/// All ranks have this error.
fn assert_all(errors: &[TransportError], other: usize, ours: &str, theirs: &str) {
    let error = TransportError::Calls { other, ours: ours.to_owned(), theirs: theirs.to_owned() };
    assert_eq!(errors, [error.clone(), error.clone(), error]);
}

#[test]
fn ranks_that_disagree_on_a_shape_are_told() {
    let errors = refusals(|rank| {
        let len = if rank.rank() == 2 { 9 } else { 8 };
        DistArray::full(&CONTEXT, rank, &ring(len, 1), 0_u16)?.halo()
    });
    let call =
        |len| format!("halo on u16 of shape [{len}] divided as [3] with ghost zones [(1, 1)] and borders [Periodic]");
    assert_all(&errors, 2, &call(8), &call(9));
    let text = errors[0].to_string();
    assert!(text.starts_with("rank 0 calls halo on u16") && text.contains("but rank 2 calls halo on u16"), "{text}");
}

#[test]
fn ranks_that_disagree_on_a_type_are_told() {
    let errors = refusals(|rank| match rank.rank() {
        0 => DistArray::full(&CONTEXT, rank, &ring(8, 0), 0_u32)?.gather().map(drop),
        _ => DistArray::full(&CONTEXT, rank, &ring(8, 0), 0_f32)?.gather().map(drop),
    });
    let call = |name| format!("gather on {name} of {}", ring(8, 0));
    assert_all(&errors, 1, &call("u32"), &call("f32"));
}

#[test]
fn ranks_that_disagree_on_the_order_of_calls_are_told_and_go_on() {
    let array = ring(9, 2);
    let errors = refusals(|rank| {
        let x = DistArray::full(&CONTEXT, rank, &array, 1.5_f32)?;
        x.halo()?;
        let result = if rank.rank() == 1 { x.halo() } else { x.sum().map(drop) };
        // The refused calls left no message behind.
        assert_eq!(x.sum()?, 13.5);
        result
    });
    assert_all(&errors, 1, &format!("sum along [0] on f32 of {array}"), &format!("halo on f32 of {array}"));
}

#[test]
fn ranks_that_disagree_on_the_other_decomposition_are_told() {
    let errors = refusals(|rank| {
        let others = [ring(8, 0), ring(8, 0), ring(7, 0)];
        DistArray::full(&CONTEXT, rank, &ring(8, 1), 0_u8)?.redistribute(&others[rank.rank()]).map(drop)
    });
    let call = |len| format!("redistribute to {} on u8 of {}", ring(len, 0), ring(8, 1));
    assert_all(&errors, 2, &call(8), &call(7));
}

#[test]
fn a_comparison_is_four_messages_for_each_rank_and_can_be_left_out() {
    // Rank 0 sends messages to itself too, which are not counted.
    for (checks_calls, compared) in [(false, 0), (true, 2 * 2 + 2 * 2)] {
        let counts = Counts::default();
        ThreadRank::run(3, |rank| {
            let rank = Counted { rank, checks_calls, shares_memory: false, counts: &counts };
            DistArray::full(&CONTEXT, &rank, &ring(8, 1), 0_u16).unwrap().halo().unwrap();
        });
        finish();
        // Each rank sends a message to each of its two neighbours.
        assert_eq!(counts.messages.into_inner(), 3 * 2 + compared);
        assert!(checks_calls || counts.bytes.into_inner() == 3 * 2 * 2);
    }
}
