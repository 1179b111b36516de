//! Resets during other calls: each call succeeds with the right bytes or is refused with `DeadMemory`.
//!
//! Each test has one kind of call and a reset at a chosen time. `reset_stress.rs` runs all kinds of calls at the same time
//! as a thread that resets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use ndarray::Array1;
use vkarray::interop::{AsDeviceArray, HostTensor, TensorShape};
use vkarray::kernel::Error as KernelError;
use vkarray::memory::Error as MemoryError;
use vkarray::memory::usm::{DeviceMemory, HostMemory};
use vkarray::{Context, DeviceNDArray, Error, Graph, Groups};

use super::registered::both;
use super::{contexts, pattern};
use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::kernels::{step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents, poll};

const N: usize = 1003;

pub(super) fn values(first: u32) -> Array1<u32> {
    (0..).map(|i: u32| first.wrapping_add(i * 13)).take(N).collect()
}

/// Errors of every crate that a call above the driver may return.
pub(super) trait Refusal: std::fmt::Debug {
    fn is_dead(&self) -> bool;
}

impl Refusal for MemoryError {
    fn is_dead(&self) -> bool {
        matches!(self, Self::DeadMemory { .. })
    }
}

impl Refusal for KernelError {
    fn is_dead(&self) -> bool {
        matches!(self, Self::Memory(error) if error.is_dead())
    }
}

impl Refusal for Error {
    fn is_dead(&self) -> bool {
        match self {
            Self::Memory(error) => error.is_dead(),
            Self::Kernel(error) => error.is_dead(),
            _ => false,
        }
    }
}

fn assert_dead<T: std::fmt::Debug>(what: &str, outcome: Result<T, impl Refusal>) {
    assert!(matches!(&outcome, Err(error) if error.is_dead()), "{what}: {outcome:?}");
}

#[test]
fn a_reset_while_memory_is_registered_loses_nothing() {
    let fixture = Fixture::open();
    for (name, ctx) in both(&fixture) {
        // Whole pages, and bytes before and after them that are staged.
        let mut lent = vec![0xAB_u8; 3 * 4096 + 517];
        let source = ctx.slice_to_device(&pattern(4, lent.len())).unwrap();
        ctx.register(&mut lent, |mut registered| {
            registered.copy_from(0, &source).unwrap();
            ctx.reset().unwrap();
            assert_dead("from an array that has ended", registered.copy_from(0, &source));
            assert_dead("to an array that has ended", registered.copy_to(0, &source));
            assert_eq!(registered.read().unwrap(), pattern(4, 3 * 4096 + 517), "{name}");
            registered.write().unwrap()[0] = 99;
            // The pages were imported before the reset; staged copies still work.
            let fresh = ctx.zeros::<u8>([200]).unwrap();
            match registered.copy_to(0, &fresh) {
                Ok(()) => assert_eq!(contents(&fresh)[..2], [99, 5], "{name}"),
                refused => assert_dead("from pages that were imported before", refused),
            }
        })
        .unwrap();
        let mut expected = pattern(4, lent.len());
        expected[0] = 99;
        assert_eq!(lent, expected, "{name}");
        // In the next rounds, only the end of the call copies staged bytes back; in the last one the call panics.
        for panics in [false, true] {
            let (source, mut lent) = (ctx.slice_to_device(&pattern(8, 77)).unwrap(), [0_u8; 77]);
            let ended = catch_unwind(AssertUnwindSafe(|| {
                ctx.register(&mut lent, |mut registered| {
                    registered.copy_from(0, &source).unwrap();
                    ctx.reset().unwrap();
                    assert!(!panics, "on purpose");
                })
                .unwrap();
            }));
            assert_eq!((ended.is_err(), lent.as_slice()), (panics, pattern(8, 77).as_slice()), "{name}");
        }
    }
}

/// Runs `wait` on a thread, on an array that work behind a semaphore writes, and resets while it waits.
fn reset_meanwhile<R: Send>(
    ctx: &Context,
    array: &DeviceNDArray<u32>,
    wait: impl FnOnce(&DeviceNDArray<u32>) -> R + Send,
) -> R {
    let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
    ctx.synchronize().unwrap();
    stream.wait_for(&semaphore.point(1)).unwrap();
    array.on(&stream).fill(6).unwrap();
    stream.flush().unwrap();
    let before = ctx.device().host_waits();
    watched("a call across a reset", || {
        thread::scope(|scope| {
            let waiter = scope.spawn(|| wait(array));
            poll("the call", || waiter.is_finished() || ctx.device().host_waits() > before);
            ctx.reset().unwrap();
            semaphore.signal(1);
            waiter.join().unwrap()
        })
    })
}

#[test]
fn calls_that_wait_while_memory_is_reset_succeed() {
    let fixture = Fixture::open();
    let [(_, ctx), (_, unmapped)] = contexts(&fixture);
    let all = vec![6; N];
    let pinned: fn(&Context) -> DeviceNDArray<u32> = |ctx| ctx.pinned_array([N]).unwrap();
    let device: fn(&Context) -> DeviceNDArray<u32> = |ctx| ctx.to_device(&values(1)).unwrap();
    for (ctx, make) in [(&ctx, pinned), (&ctx, device), (&unmapped, device)] {
        let array = make(ctx);
        let seen = reset_meanwhile(ctx, &array, |array| array.copy_to_host().unwrap());
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
        assert_dead("the next download", array.copy_to_host());
    }

    let array = ctx.pinned_array::<u32>([N]).unwrap();
    let seen = reset_meanwhile(&ctx, &array, |array| array.read_on_host().unwrap().as_slice().unwrap().to_vec());
    assert_eq!(seen, all);
    assert_dead("the next guard", array.read_on_host());

    let array = ctx.pinned_array::<u32>([N]).unwrap();
    reset_meanwhile(&ctx, &array, |array| {
        let mut guard = array.write_on_host().unwrap();
        assert!(guard.view().iter().all(|&value| value == 6));
        guard.view_mut().fill(1);
    });
    assert_dead("the next guard", array.write_on_host());

    let array = ctx.to_device(&values(1)).unwrap();
    let mut lent = [0_u32; N];
    let lent = reset_meanwhile(&ctx, &array, |array| {
        ctx.register(&mut lent, |mut registered| {
            registered.copy_from(0, array).unwrap();
            registered.read().unwrap().to_vec()
        })
        .unwrap()
    });
    assert_eq!(lent, all);
}

#[test]
fn guards_and_tensors_stay_valid_after_a_reset() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let [written, read, shown] = [(); 3].map(|()| {
            let array = ctx.pinned_array::<u32>([N]).unwrap();
            array.copy_from_host(&values(3)).unwrap();
            array
        });
        let (mut writer, reader) = (written.write_on_host().unwrap(), read.read_on_host().unwrap());
        let n_bytes = i64::try_from(4 * N).unwrap();
        let shape =
            TensorShape { shape: vec![n_bytes], strides: vec![1], code: 1, bits: 8, offset: 0, read_only: true };
        let tensor = shown.block().to_host_tensor(&shape, ()).unwrap();
        drop(shown);
        ctx.reset().unwrap();
        // Other blocks are made and dropped; none of them gets memory that is still held.
        let others: Vec<_> = (0..10).map(|i| ctx.pinned_array::<u32>([N]).unwrap().fill(i).map(|()| i)).collect();
        assert!(others.iter().all(Result::is_ok));
        ctx.synchronize().unwrap();
        assert_eq!(writer.view(), values(3).into_dyn(), "{name}");
        assert_eq!(reader.as_slice().unwrap(), values(3).as_slice().unwrap(), "{name}");
        writer.view_mut().fill(4);
        assert!(writer.view().iter().all(|&value| value == 4));
        drop((writer, reader));
        // SAFETY: the tensor opens its bytes, and its deleter is the library's.
        let seen = unsafe { HostTensor::new(tensor) }.unwrap();
        assert_eq!(bytemuck::cast_slice::<u8, u32>(seen.bytes()), values(3).as_slice().unwrap(), "{name}");
        drop(seen);
        assert_dead("a guard", written.write_on_host());
        assert_dead("a guard", read.read_on_host());
        drop((written, read));
        ctx.reset().unwrap();
        let usage = ctx.allocator().usage();
        assert_eq!(usage.in_use, 0, "{name}");
    }
}

#[test]
fn memory_objects_and_exchanged_arrays_end_with_a_reset() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (device, host) = (DeviceMemory::new(&ctx, 100).unwrap(), HostMemory::new(&ctx, 100).unwrap());
        device.memset(1).unwrap();
        let array = ctx.to_device(&values(1)).unwrap();
        let taken = ctx.as_device_array::<u32, _>(array.clone()).unwrap();
        ctx.reset().unwrap();
        assert_dead("to_bytes", device.to_bytes());
        assert_dead("copy_to_host_into", host.copy_to_host_into(&mut [0; 100]));
        assert_dead("copy_from_host", device.copy_from_host([1]));
        assert_dead("copy_from_device", device.copy_from_device(&host));
        assert_dead("memset", host.memset(3));
        assert_dead("fill", device.fill(&[1, 2, 3, 4]));
        assert_dead("a view", device.view(1..5).unwrap().memset(0));
        assert_dead("read", host.read_on_host::<u8>());
        assert_dead("write", host.write_on_host::<u8>());
        assert_dead("state", device.state());
        assert_dead("copy_of", DeviceMemory::copy_of(&ctx, &host));
        device.free().unwrap();
        drop(host);
        assert_dead("a foreign array", taken.copy_to_host());
        let taken_again = array.device_array_interface().and_then(|_| ctx.as_device_array::<u32, _>(array));
        assert_dead("taken again", taken_again.and_then(|again| again.fill(1)));
        drop(taken);
        ctx.reset().unwrap();
        assert_eq!(ctx.allocator().usage().in_use, 0, "{name}");
    }
}

#[test]
fn graph_nodes_refuse_memory_that_a_reset_ended() {
    let fixture = Fixture::open();
    let step = step(&fixture);
    let [recorded, other] = [1, 2].map(|first| fixture.to_device(&values(first)).unwrap());
    let groups = Groups::covering(N);
    let (mut graph, node) =
        Graph::record(fixture.default_stream(), |graph| step.record(graph, groups, (&recorded, 3_u32))).unwrap();
    fixture.reset().unwrap();
    assert_dead("another array", node.set(&mut graph, "x", &other));
    assert_dead("the same array", node.set(&mut graph, "x", &recorded));
    let fresh = fixture.to_device(&values(5)).unwrap();
    graph.replay(fixture.default_stream()).unwrap(); // The graph holds the memory.
    node.set(&mut graph, "x", &fresh).unwrap();
    graph.replay(fixture.default_stream()).unwrap();
    assert_eq!(contents(&fresh), values(5).mapv(|x| stepped(x, 3)).to_vec());
    let again = Graph::record(fixture.default_stream(), |graph| step.record(graph, groups, (&recorded, 3_u32)));
    assert!(matches!(&again, Err(error) if error.is_dead()));
}

#[test]
fn copies_in_flight_complete_despite_a_reset() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
        let array = ctx.to_device(&values(1)).unwrap();
        ctx.synchronize().unwrap();
        stream.wait_for(&semaphore.point(1)).unwrap();
        // The bytes are in staging memory, which the reset gives back while the device is still to read it.
        array.on(&stream).copy_from_host(&values(2)).unwrap();
        let (graph, _) = Graph::record(&stream, |graph| array.block().record_fill(graph, 7)).unwrap();
        stream.flush().unwrap();
        let later = watched("a reset behind a semaphore", || {
            thread::scope(|scope| {
                let reset = scope.spawn(|| ctx.reset().unwrap()); // Waits for the dropped memory.
                poll("the end of the blocks", || !array.block().is_alive());
                let later = ctx.to_device(&values(9)).unwrap(); // Must not use the same memory yet.
                semaphore.signal(1);
                reset.join().unwrap();
                later
            })
        });
        stream.synchronize().unwrap();
        assert_eq!(contents(&later), values(9).to_vec(), "{name}");
        graph.replay(&stream).unwrap();
        stream.synchronize().unwrap();
        drop((graph, array, later));
        ctx.reset().unwrap();
        assert_eq!((ctx.allocator().usage().in_use, ctx.allocator().staging_bytes()), (0, 0), "{name}");
    }
}
