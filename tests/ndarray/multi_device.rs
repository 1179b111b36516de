//! [`MultiDeviceArray`]: migration, states, conflicts and failures, random programs. Its state machine has tests without a device.

use std::sync::{Arc, Mutex};
use std::thread;

use ash::vk;
use vkarray::array::{AccessMode, MultiDeviceArray, MultiDeviceError, ReplicaState};
use vkarray::device::Device;
use vkarray::memory::Allocator;
use vkarray::memory::managers::{Limiting, PoolManager};
use vkarray::{Context, Error, Groups, Stream};

use super::contexts::{Random, contexts, n_programs};
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
        drop(access); // Dropped before the kernel is complete.
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
    x.write(&again).unwrap().fill(1).unwrap(); // A second context of a device of the array.
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
    // The limit admits one replica and the staging memory of its copy.
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

/// Programs of the Unified Runtime's tests of buffers on several devices, which are skipped in that suite with one
/// device.
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
        assert_eq!(read(&fixture), [43; N]); // Used on the other device and back.
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

#[test]
fn a_device_that_fails_leaves_the_others_working_with_what_they_have() {
    let fixture = Fixture::open();
    let n_others = fixture.other_devices().len();
    for at in 0..n_others {
        let own = Device::open(fixture.device().physical()).unwrap(); // Devices opened for this test, since they fail.
        let devices: Vec<Arc<Device>> = [own].into_iter().chain(fixture.other_devices()).collect();
        let contexts: Vec<Context> = devices.iter().map(|device| Context::on(device).unwrap()).collect();
        let members: Vec<&Context> = contexts.iter().collect();
        let (failing, working) = (&contexts[1 + at], &contexts[0]);
        let [kept, lost, held] = [(); 3].map(|()| MultiDeviceArray::<u32>::new(&members, N).unwrap());
        kept.write(failing).unwrap().fill(5).unwrap();
        drop(kept.read(working).unwrap());
        held.write(working).unwrap().fill(3).unwrap();
        lost.write(failing).unwrap().fill(7).unwrap();
        let reason = failing.device().failed("vkQueueSubmit2")(vk::Result::ERROR_DEVICE_LOST).to_string();
        for ctx in members.iter().filter(|ctx| !Arc::ptr_eq(ctx.device(), failing.device())) {
            assert_eq!(kept.read(ctx).unwrap().to_vec().unwrap(), [5; N]);
            step(ctx).launch(Groups::covering(N), (&held.read_write(ctx).unwrap(), 2_u32)).unwrap();
            let refused = lost.read(ctx).unwrap_err().to_string();
            assert!(refused.contains(&reason), "{refused}");
        }
        let expected = (1..devices.len()).fold(3, |x, _| stepped(x, 2));
        assert_eq!((held.to_vec().unwrap(), kept.to_vec().unwrap()), (vec![expected; N], vec![5; N]));
        let refused = kept.read_write(failing).unwrap_err().to_string();
        assert!(refused.contains(&reason), "{refused}");
        assert_eq!(kept.to_vec().unwrap(), [5; N], "a refused access changed the elements");
        lost.write(working).unwrap().fill(8).unwrap();
        assert_eq!(lost.to_vec().unwrap(), [8; N]);
    }
}

#[test]
fn random_programs_over_arrays_that_migrate_between_all_devices_end_as_in_order() {
    let fixture = Fixture::for_round_trips();
    let others = fixture.other_devices();
    let devices: Vec<_> = [fixture.device()].into_iter().chain(&others).collect();
    for seed in 1..=n_programs(8) {
        let mut random = Random(seed * 0xD129_0B26_3547);
        // Lengths that fit a staging slot of each size, and a length that does not.
        let n = [1, 70, 20_011, 300_007][random.below(4)];
        let members: Vec<Context> =
            devices.iter().map(|device| contexts(device).into_iter().nth(random.below(2)).unwrap()).collect();
        let of_all: Vec<&Context> = members.iter().collect();
        let streams: Vec<[Stream; 2]> = members.iter().map(|ctx| [(); 2].map(|()| ctx.stream().unwrap())).collect();
        let kernels: Vec<_> = members.iter().map(|ctx| (step(ctx), mix(ctx))).collect();
        let mut arrays = [(); 3].map(|()| MultiDeviceArray::<u32>::new(&of_all, n).unwrap());
        let mut model: [Vec<u32>; 3] = [1, 2, 3].map(|first| (first..).take(n).collect());
        for (array, values) in arrays.iter().zip(&model) {
            array.write(of_all[random.below(devices.len())]).unwrap().copy_from_slice(values).unwrap();
        }
        for round in 0..30_u32 {
            let (at, to, of) = (random.below(devices.len()), random.below(devices.len()), random.below(3));
            let (stream, other) = (&streams[at][random.below(2)], &streams[at][random.below(2)]);
            match random.below(6) {
                0 | 1 => {
                    let x = arrays[of].access(stream, AccessMode::ReadWrite).unwrap();
                    kernels[at].0.dispatch(other, Groups::covering(n), (&x, round)).unwrap();
                    model[of].iter_mut().for_each(|value| *value = stepped(*value, round));
                }
                2 => {
                    let source = arrays[of].access(stream, AccessMode::Read).unwrap();
                    let sum = arrays[(of + 1) % 3].access(other, AccessMode::ReadWrite).unwrap();
                    kernels[at].1.dispatch(stream, Groups::covering(n), (&source, &sum, round)).unwrap();
                    let source = model[of].clone();
                    let sums = model[(of + 1) % 3].iter_mut().zip(source);
                    sums.for_each(|(sum, source)| *sum = mixed(source, *sum, round));
                }
                3 => {
                    arrays[of].access(stream, AccessMode::Write).unwrap().on(other).fill(round).unwrap();
                    model[of].fill(round);
                }
                4 => streams[to][random.below(2)].wait_for(&stream.point().unwrap()).unwrap(),
                _ => {
                    arrays[of].release(&members[to]).unwrap();
                }
            }
        }
        for (array, expected) in arrays.iter().zip(&model) {
            assert!(
                array.read(of_all[random.below(devices.len())]).unwrap().to_vec().unwrap() == *expected,
                "seed {seed}"
            );
            assert!(array.to_vec().unwrap() == *expected, "seed {seed}");
        }
        drop((arrays, kernels, streams));
        drop(members);
        fixture.assert_no_messages("the program");
    }
}
