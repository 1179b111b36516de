//! Failing waits of the device's waiting thread: a callback gets an error only for its own work.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;
use vkarray::device::Error as DriverError;
use vkarray::{Context, Stream};

use crate::host_semaphore::HostSemaphore;
use crate::refused::{on_device, refuse};
use crate::table::Fault;

/// The argument of a callback.
type Outcome = Result<(), DriverError>;

/// A fault that makes the next `times` waits fail.
fn fail_waits(times: u32) -> Fault {
    Fault { call: "vkWaitSemaphores", nth: 1, times, code: vk::Result::ERROR_UNKNOWN }
}

/// A stream whose work waits for `semaphore`, and the receiver of its callback's argument.
fn held_up(ctx: &Context, semaphore: &HostSemaphore) -> (Stream, Receiver<Outcome>) {
    let stream = ctx.stream().unwrap();
    stream.wait_for(&semaphore.point(1)).unwrap();
    (stream.clone(), outcome_of(&stream))
}

fn outcome_of(stream: &Stream) -> Receiver<Outcome> {
    let (sender, outcome) = mpsc::channel();
    stream.add_callback(move |outcome| sender.send(outcome).unwrap()).unwrap();
    outcome
}

/// Holds up two streams, arms `fault`, and wakes the waiting thread with a callback of a third, idle stream.
/// Returns the arguments of the two streams' callbacks.
fn outcomes(fault: Fault) -> [Outcome; 2] {
    let (sender, receiver) = mpsc::channel();
    on_device("callbacks of a device that fails waits", move |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let streams = [held_up(&ctx, &semaphore), held_up(&ctx, &semaphore)];
        let idle = ctx.stream().unwrap();
        table.arm(fault);
        outcome_of(&idle).recv().unwrap().unwrap();
        let begun = Instant::now();
        while table.n_failed() < fault.times && begun.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        semaphore.signal(1);
        let outcomes = streams.each_ref().map(|(_, outcome)| outcome.recv().unwrap());
        assert_eq!(table.disarm(), fault.times);
        streams.iter().for_each(|(stream, _)| stream.synchronize().unwrap());
        sender.send(outcomes).unwrap();
        drop(semaphore);
    });
    receiver.recv().unwrap()
}

#[test]
fn a_wait_that_fails_for_lack_of_memory_is_repeated() {
    for times in [1, 2, 7] {
        let outcomes = outcomes(refuse("vkWaitSemaphores", times));
        assert!(matches!(outcomes, [Ok(()), Ok(())]), "refused {times} times: {outcomes:?}");
    }
}

#[test]
fn a_failed_joint_wait_fails_no_callback_whose_own_wait_succeeds() {
    let outcomes = outcomes(fail_waits(1));
    assert!(matches!(outcomes, [Ok(()), Ok(())]), "{outcomes:?}");
}

#[test]
fn a_failed_wait_is_reported_only_to_its_own_callback() {
    // The joint wait fails, and then the wait for the first callback alone.
    let [first, second] = outcomes(fail_waits(2));
    assert_eq!(first.unwrap_err().to_string(), "vkWaitSemaphores returned ERROR_UNKNOWN");
    assert!(second.is_ok(), "{second:?}");
}

#[test]
fn a_semaphore_value_that_cannot_be_read_for_lack_of_memory_is_read_again() {
    on_device("a callback whose semaphore value cannot be read", |table, ctx| {
        let semaphore = HostSemaphore::new(ctx.device());
        let (stream, outcome) = held_up(&ctx, &semaphore);
        let device = Arc::clone(ctx.device());
        table.arm(refuse("vkGetSemaphoreCounterValue", 3));
        outcome_of(&ctx.stream().unwrap()).recv().unwrap().unwrap();
        semaphore.signal(1);
        outcome.recv().unwrap().unwrap();
        table.disarm();
        stream.synchronize().unwrap();
        drop((semaphore, device));
    });
}
