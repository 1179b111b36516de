//! [`MultiDeviceArray`]: migration, states, conflicts and failures. Its state machine has tests without a device.

use std::sync::Mutex;
use std::thread;

use vkarray::array::{AccessMode, MultiDeviceArray, MultiDeviceError, ReplicaState};
use vkarray::memory::{Allocator, Limiting, PoolManager};
use vkarray::{Context, Error, Groups};

use crate::fixture::Fixture;
use crate::fixture::kernels::{add, mix, mixed, step, stepped};

use ReplicaState::{Invalid, Modified, Valid};

const N: usize = 300;

fn problem<T>(outcome: Result<T, Error>) -> MultiDeviceError {
    match outcome {
        Err(Error::MultiDevice(problem)) => problem,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

#[test]
fn devices_take_turns_and_each_has_what_was_written_last() {
    let fixture = Fixture::open();
    let others = fixture.other_devices();
    let others: Vec<Context> = others.iter().map(|device| Context::on(device).unwrap()).collect();
    let contexts: Vec<&Context> = [&*fixture].into_iter().chain(&others).collect();
    let x = MultiDeviceArray::<u32>::new(&contexts, N).unwrap();
    let steps: Vec<_> = contexts.iter().map(|ctx| step(ctx)).collect();
    x.write(contexts[0]).unwrap().fill(3).unwrap();
    let mut expected = 3;
    for round in 0..12_u32 {
        let turn = round as usize % contexts.len();
        let access = x.read_write(contexts[turn]).unwrap();
        steps[turn].launch(Groups::covering(N), (&access, round)).unwrap();
        drop(access); // Before the kernel is complete.
        expected = stepped(expected, round);
        for (at, ctx) in contexts.iter().enumerate() {
            assert_eq!(x.state(ctx).unwrap(), if at == turn { Modified } else { Invalid });
        }
    }
    for ctx in &contexts {
        assert_eq!(x.read(ctx).unwrap().to_vec().unwrap(), [expected; N]);
    }
    assert!(contexts.iter().all(|ctx| x.state(ctx).unwrap() == Valid));
    assert_eq!(x.to_vec().unwrap(), [expected; N]);
}

#[test]
fn two_devices_read_together_in_kernels_of_their_own() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let x = MultiDeviceArray::<u32>::new(&[&fixture, &there], N).unwrap();
        x.write(&there).unwrap().fill(11).unwrap();
        let (here_x, there_x) = (x.read(&fixture).unwrap(), x.read(&there).unwrap());
        let (sum, sum_there) = (fixture.full(N, 1_u32).unwrap(), there.full(N, 2_u32).unwrap());
        mix(&fixture).launch(Groups::covering(N), (&here_x, &sum, 4_u32)).unwrap();
        mix(&there).launch(Groups::covering(N), (&there_x, &sum_there, 5_u32)).unwrap();
        assert_eq!(sum.to_vec().unwrap(), [mixed(11, 1, 4); N]);
        assert_eq!(sum_there.to_vec().unwrap(), [mixed(11, 2, 5); N]);
        assert!(here_x.fill(0).is_err() && !here_x.is_writable(), "an array that is read can be written");
        assert_eq!(here_x.mode(), AccessMode::Read);
    }
}

#[test]
fn conflicting_accesses_are_refused_and_end_with_their_guards() {
    let fixture = Fixture::open();
    let other = fixture.other_devices().pop().unwrap();
    let there = Context::on(&other).unwrap();
    let x = MultiDeviceArray::<u32>::new(&[&fixture, &there], [2, 3]).unwrap();
    assert_eq!(problem(x.read(&fixture)), MultiDeviceError::NeverWritten { shape: vec![2, 3] });
    assert_eq!(problem(x.read_write(&there)), MultiDeviceError::NeverWritten { shape: vec![2, 3] });
    let written = x.write(&fixture).unwrap();
    written.fill(4).unwrap();
    let refused = problem(x.write(&there));
    assert!(matches!(refused, MultiDeviceError::Conflict { wanted: AccessMode::Write, held: AccessMode::Write, .. }));
    let name = &fixture.info().name;
    let text = format!("cannot read on {0} while an access to write on {name} is in progress", there.info().name);
    assert!(problem(x.read(&there)).to_string().starts_with(&text));
    drop(written);
    let read = x.read(&there).unwrap();
    assert!(matches!(problem(x.read_write(&fixture)), MultiDeviceError::Conflict { held: AccessMode::Read, .. }));
    assert_eq!(x.read(&fixture).unwrap().to_vec().unwrap(), [4; 6]);
    drop(read);
    x.read_write(&fixture).unwrap().fill(5).unwrap();
    assert_eq!((x.state(&fixture).unwrap(), x.state(&there).unwrap()), (Modified, Invalid));
    assert_eq!(x.read(&there).unwrap().to_vec().unwrap(), [5; 6]);
}

#[test]
fn arrays_are_made_of_different_devices_and_refuse_others() {
    let fixture = Fixture::open();
    let other = fixture.other_devices().pop().unwrap();
    let there = Context::on(&other).unwrap();
    let again = Context::on(fixture.device()).unwrap();
    assert_eq!(problem(MultiDeviceArray::<u32>::new(&[], N)), MultiDeviceError::NoContext);
    let refused = problem(MultiDeviceArray::<u32>::new(&[&fixture, &there, &again], N));
    assert_eq!(refused, MultiDeviceError::SameDevice { device: fixture.info().name.clone() });
    let x = MultiDeviceArray::<u32>::new(&[&fixture], N).unwrap();
    x.write(&again).unwrap().fill(1).unwrap(); // Another context of a device of the array.
    assert!(matches!(problem(x.read(&there)), MultiDeviceError::NotAMember { .. }));
    assert!(matches!(problem(x.state(&there)), MultiDeviceError::NotAMember { .. }));
    assert_eq!(x.to_vec().unwrap(), [1; N]);
    let empty = MultiDeviceArray::<u32>::new(&[&fixture, &there], [0, 4]).unwrap();
    drop(empty.write(&fixture).unwrap());
    assert_eq!((empty.read(&there).unwrap().shape(), empty.size()), (&[0, 4][..], 0));
}

#[test]
fn a_failed_migration_leaves_the_source_valid_and_can_be_tried_again() {
    let fixture = Fixture::open();
    let other = fixture.other_devices().pop().unwrap();
    // Room for one replica and the staging memory of its copy.
    let limit = Limiting::new(PoolManager::new(), 4 << 20);
    let there = Context::with_allocator(&Allocator::with_manager(&other, Box::new(limit)).unwrap()).unwrap();
    let n = 1 << 19;
    let mut x = MultiDeviceArray::<u32>::new(&[&fixture, &there], n).unwrap();
    x.write(&fixture).unwrap().fill(6).unwrap();
    let ballast = there.zeros::<u8>(3 << 20).unwrap();
    for mode in [AccessMode::Read, AccessMode::ReadWrite, AccessMode::Write] {
        let refused = x.access(there.default_stream(), mode).unwrap_err();
        assert!(refused.to_string().starts_with("out of memory"), "{refused}");
        assert_eq!((x.state(&fixture).unwrap(), x.state(&there).unwrap()), (Modified, Invalid), "{mode}");
        assert_eq!(x.read(&fixture).unwrap().get([77]).unwrap(), 6);
    }
    drop(ballast);
    assert_eq!(x.read(&there).unwrap().get([n as isize - 1]).unwrap(), 6);
    assert!(x.release(&fixture).unwrap() && !x.release(&there).unwrap(), "the last elements are kept");
    assert_eq!((x.state(&fixture).unwrap(), x.state(&there).unwrap()), (Invalid, Valid));
    assert_eq!(x.read(&fixture).unwrap().get([0]).unwrap(), 6);
}

#[test]
fn threads_that_read_at_once_all_get_the_elements() {
    let fixture = Fixture::open();
    let other = fixture.other_devices().pop().unwrap();
    let there = Context::on(&other).unwrap();
    let x = MultiDeviceArray::<u32>::new(&[&fixture, &there], N).unwrap();
    x.write(&fixture).unwrap().fill(8).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(x.read(&there).unwrap().to_vec().unwrap(), [8; N]));
        }
    });
}

/// The programs of the Unified Runtime's tests of buffers on several devices, which are skipped there with one device.
#[test]
fn programs_that_alternate_between_two_devices_end_as_on_one() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let x = MultiDeviceArray::<u32>::new(&[&fixture, &there], N).unwrap();
        let (add, add_there) = (add(&fixture), add(&there));
        let increment = |by: u32| add.launch(Groups::covering(N), (&x.read_write(&fixture).unwrap(), by)).unwrap();
        let increment_there =
            |by: u32| add_there.launch(Groups::covering(N), (&x.read_write(&there).unwrap(), by)).unwrap();
        let read = |ctx: &Context| x.read(ctx).unwrap().to_vec().unwrap();

        x.write(&fixture).unwrap().copy_from_slice(&[42; N]).unwrap();
        assert_eq!(read(&there), [42; N]); // Written on one, read on the other.
        x.write(&fixture).unwrap().fill(7).unwrap();
        assert_eq!(read(&there), [7; N]); // Filled on one, read on the other.
        x.write(&fixture).unwrap().fill(42).unwrap();
        increment_there(1);
        assert_eq!(read(&fixture), [43; N]); // There and back.
        increment(1);
        assert_eq!(read(&there), [44; N]);
        for round in 0..20 {
            if round % 2 == 0 { increment(1) } else { increment_there(1) }
        }
        assert_eq!(x.to_vec().unwrap(), [64; N]); // In turns.
        increment_there(1);
        let edited: Vec<u32> = read(&fixture).iter().map(|value| value + 10).collect();
        x.read_write(&fixture).unwrap().copy_from_slice(&edited).unwrap();
        increment_there(1);
        assert_eq!(read(&fixture), [76; N]); // Edited on the host in between.
    }
}

#[test]
fn eight_threads_that_alternate_between_two_devices_lose_no_increment() {
    let fixture = Fixture::open();
    for other in fixture.other_devices() {
        let there = Context::on(&other).unwrap();
        let contexts = [&*fixture, &there];
        let x = Mutex::new(MultiDeviceArray::<u32>::new(&contexts, N).unwrap());
        x.lock().unwrap().write(&there).unwrap().fill(5).unwrap();
        let kernels = contexts.map(add);
        thread::scope(|scope| {
            for first in 0..8 {
                let (x, kernels) = (&x, &kernels);
                scope.spawn(move || {
                    let streams = contexts.map(|ctx| ctx.stream().unwrap());
                    for round in 0..10 {
                        let at = (first + round) % 2;
                        let x = x.lock().unwrap();
                        let access = x.access(&streams[at], AccessMode::ReadWrite).unwrap();
                        kernels[at].dispatch(&streams[at], Groups::covering(N), (&access, 1_u32)).unwrap();
                    }
                });
            }
        });
        assert_eq!(x.lock().unwrap().to_vec().unwrap(), [85; N]);
    }
}
