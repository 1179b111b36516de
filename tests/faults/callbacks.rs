//! Waits of the device's waiting thread that fail: a callback gets the error of its own work, and of no other work.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;
use vkarray::device::Error as DriverError;
use vkarray::{Context, Stream};

use crate::raised::RaisedByHand;
use crate::refused::{on_device, refuse};
use crate::table::Fault;

/// What a callback is given.
type Outcome = Result<(), DriverError>;

/// Fails so many waits from here on.
fn fail_waits(times: u32) -> Fault {
    Fault { call: "vkWaitSemaphores", nth: 1, times, code: vk::Result::ERROR_UNKNOWN }
}

/// A stream whose work waits for `hand`, and what its callback will be given.
fn held_up(ctx: &Context, hand: &RaisedByHand) -> (Stream, Receiver<Outcome>) {
    let stream = ctx.stream().unwrap();
    stream.wait_for(&hand.point(1)).unwrap();
    (stream.clone(), outcome_of(&stream))
}

fn outcome_of(stream: &Stream) -> Receiver<Outcome> {
    let (told, outcome) = mpsc::channel();
    stream.add_callback(move |outcome| told.send(outcome).unwrap()).unwrap();
    outcome
}

/// Two streams are held up, `fault` comes, and the waiting thread is woken by a third stream, which has nothing to do.
/// Returns what the callbacks of the two are given.
fn outcomes(fault: Fault) -> [Outcome; 2] {
    let (given, outcome) = mpsc::channel();
    on_device("callbacks of a device that fails waits", move |table, ctx| {
        let hand = RaisedByHand::new(ctx.device());
        let streams = [held_up(&ctx, &hand), held_up(&ctx, &hand)];
        let idle = ctx.stream().unwrap();
        table.arm(fault);
        outcome_of(&idle).recv().unwrap().unwrap();
        let begun = Instant::now();
        while table.n_failed() < fault.times && begun.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        hand.raise(1);
        let outcomes = streams.each_ref().map(|(_, outcome)| outcome.recv().unwrap());
        assert_eq!(table.disarm(), fault.times);
        streams.iter().for_each(|(stream, _)| stream.synchronize().unwrap());
        given.send(outcomes).unwrap();
        drop(hand);
    });
    outcome.recv().unwrap()
}

#[test]
fn a_wait_that_is_refused_for_lack_of_memory_is_tried_again() {
    for times in [1, 2, 7] {
        let outcomes = outcomes(refuse("vkWaitSemaphores", times));
        assert!(matches!(outcomes, [Ok(()), Ok(())]), "refused {times} times: {outcomes:?}");
    }
}

#[test]
fn a_failed_wait_for_all_fails_no_callback_whose_own_wait_succeeds() {
    let outcomes = outcomes(fail_waits(1));
    assert!(matches!(outcomes, [Ok(()), Ok(())]), "{outcomes:?}");
}

#[test]
fn a_failed_wait_is_reported_to_its_own_callback_alone() {
    // The wait for all, and that for the first alone.
    let [first, second] = outcomes(fail_waits(2));
    assert_eq!(first.unwrap_err().to_string(), "vkWaitSemaphores returned ERROR_UNKNOWN");
    assert!(second.is_ok(), "{second:?}");
}

#[test]
fn a_counter_that_cannot_be_read_for_lack_of_memory_is_read_again() {
    on_device("a callback whose point cannot be asked about", |table, ctx| {
        let hand = RaisedByHand::new(ctx.device());
        let (stream, outcome) = held_up(&ctx, &hand);
        let device = Arc::clone(ctx.device());
        table.arm(refuse("vkGetSemaphoreCounterValue", 3));
        outcome_of(&ctx.stream().unwrap()).recv().unwrap().unwrap();
        hand.raise(1);
        outcome.recv().unwrap().unwrap();
        table.disarm();
        stream.synchronize().unwrap();
        drop((hand, device));
    });
}
