//! Host copies on every kind of memory happen in the order of their stream, after everything that the stream waits for.
//!
//! Streams here wait for a semaphore that the test signals. Until then no later copy may have changed the mapped bytes,
//! which the test reads directly. The single queue of a CPU driver is blocked until then, so before it signals, no test
//! waits for other work of the device.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use ndarray::Array1;
use vkarray::device::Device;
use vkarray::memory::usm::{DeviceMemory, HostMemory};
use vkarray::{Context, DeviceNDArray, Event, Index, Stream};
use vkarray_driver::hazard::Mode;

use super::{contexts, host_arrays};
use crate::fixture::host_semaphore::HostSemaphore;
use crate::fixture::peek::Peek;
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents, poll};

const N: usize = 71;

fn values(first: u32) -> Array1<u32> {
    (0..).map(|i: u32| first.wrapping_add(i * 11)).take(N).collect()
}

fn old() -> Array1<u32> {
    values(1000)
}

fn new() -> Array1<u32> {
    values(50_000)
}

/// An array of each kind of memory that the device has, with the old values.
fn arrays(ctx: &Context) -> Vec<(&'static str, DeviceNDArray<u32>)> {
    let mut arrays = host_arrays(ctx, N);
    arrays.push(("device", ctx.device_array([N]).unwrap()));
    arrays.iter().for_each(|(_, array)| array.copy_from_host(&old()).unwrap());
    ctx.synchronize().unwrap();
    arrays
}

/// Whether pending work writes the array.
fn is_written_later<T: vkarray::Element>(array: &DeviceNDArray<T>) -> bool {
    let uses = array.block().device().block_uses(array.block().id(), 0..array.block().size(), Mode::Read);
    uses.iter().any(|point| !point.is_complete().unwrap())
}

/// A way to write an array on a stream, which returns the expected elements.
type Write = (&'static str, fn(&DeviceNDArray<u32>, &Stream) -> Array1<u32>);

fn with_bytes(at: usize, bytes: &[u8]) -> Array1<u32> {
    let mut expected = old().to_vec();
    bytemuck::cast_slice_mut::<u32, u8>(&mut expected)[at..at + bytes.len()].copy_from_slice(bytes);
    expected.into()
}

const WRITES: [Write; 7] = [
    ("upload", |array, stream| {
        array.on(stream).copy_from_host(&new()).unwrap();
        new()
    }),
    ("upload of three bytes", |array, stream| {
        array.block().copy_from_host(stream, 5, &[7, 8, 9]).unwrap();
        with_bytes(5, &[7, 8, 9])
    }),
    ("fill", |array, stream| {
        array.on(stream).fill(9).unwrap();
        Array1::from_elem(N, 9)
    }),
    ("fill of a view", |array, stream| {
        array.slice([Index::stepped(1.., 2)]).unwrap().on(stream).fill(9).unwrap();
        old().into_iter().enumerate().map(|(at, value)| if at % 2 == 1 { 9 } else { value }).collect()
    }),
    ("fill of odd bytes", |array, stream| {
        array.block().fill_range(stream, 3..14, &[6]).unwrap();
        with_bytes(3, &[6; 11])
    }),
    ("fill with three bytes", |array, stream| {
        array.block().fill_range(stream, 2..11, &[1, 2, 3]).unwrap();
        with_bytes(2, &[1, 2, 3, 1, 2, 3, 1, 2, 3])
    }),
    ("assign", |array, stream| {
        array.on(stream).assign(&array.slice([Index::stepped(.., -1)]).unwrap()).unwrap();
        old().to_vec().into_iter().rev().collect()
    }),
];

#[test]
fn writes_of_a_stream_come_after_its_waits() {
    let fixture = Fixture::open();
    for (ctx_name, ctx) in contexts(&fixture) {
        for (kind, array) in arrays(&ctx) {
            let peek = Peek::at(array.block());
            assert!(kind != "mapped" || peek.is_some() || !array.block().is_coherent());
            for (what, write) in WRITES {
                array.copy_from_host(&old()).unwrap();
                ctx.synchronize().unwrap();
                let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
                stream.wait_for(&semaphore.point(1)).unwrap();
                let expected = write(&array, &stream);
                stream.flush().unwrap();
                let name = format!("{what}, {kind} memory, {ctx_name}");
                if let Some(peek) = &peek {
                    assert_eq!(peek.words(), old().to_vec(), "{name}: before the semaphore is raised");
                }
                assert!(is_written_later(&array), "{name}");
                semaphore.signal(1);
                stream.synchronize().unwrap();
                assert_eq!(contents(&array), expected.to_vec(), "{name}");
            }
        }
    }
}

#[test]
fn an_array_created_on_a_stream_is_written_after_the_waits_of_the_stream() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
        ctx.synchronize().unwrap();
        Event::of(ctx.device(), semaphore.point(3)).unwrap().wait(&stream).unwrap();
        let long: Array1<u32> = (0..30_001).collect(); // More than a small staging slot holds.
        let made = [ctx.to_device_on(&stream, &new()).unwrap(), ctx.to_device_on(&stream, &long).unwrap()];
        let converted = made[0].on(&stream).astype::<f64>().unwrap();
        assert!(made.iter().all(is_written_later) && is_written_later(&converted), "{name}");
        // The default stream waits too; single elements are copied there.
        ctx.default_stream().wait_for(&semaphore.point(3)).unwrap();
        let full = ctx.full([N], 5_u32).unwrap();
        full.set([3], 8).unwrap();
        assert!(is_written_later(&full), "{name}");
        semaphore.signal(3);
        assert_eq!(contents(&made[0]), new().to_vec(), "{name}");
        assert_eq!(contents(&made[1]), long.to_vec(), "{name}");
        assert_eq!(contents(&converted), new().mapv(f64::from).to_vec(), "{name}");
        assert_eq!((full.get([3]).unwrap(), full.get([2]).unwrap()), (8, 5), "{name}");
    }
}

/// A way to read an array on a stream.
type Read = (&'static str, fn(&DeviceNDArray<u32>, &Stream) -> Vec<u32>);

const READS: [Read; 3] = [
    ("download", |array, stream| array.on(stream).copy_to_host().unwrap().into_iter().collect()),
    ("download into an array", |array, stream| {
        let mut host = Array1::zeros(N);
        array.on(stream).copy_to_host_into(&mut host).unwrap();
        host.to_vec()
    }),
    ("download of bytes", |array, stream| {
        let mut host = vec![0; N];
        array.block().copy_to_host(stream, 0, bytemuck::cast_slice_mut(&mut host)).unwrap();
        host
    }),
];

/// Reads an array in a thread, on a stream that waits for `semaphore`; writes it from the host once that thread waits, and
/// signals the semaphore. Returns what was read, which must be what was written.
fn read_late(
    stream: &Stream,
    semaphore: &HostSemaphore,
    read: impl FnOnce() -> Vec<u32> + Send,
    write: impl FnOnce(),
) -> Vec<u32> {
    let waiting = stream.point().unwrap();
    thread::scope(|scope| {
        let (starts, started) = mpsc::channel();
        let reader = scope.spawn(move || {
            starts.send(()).unwrap();
            read()
        });
        started.recv().unwrap();
        // A wait for the stream's work submits that work first.
        poll("the reader", || reader.is_finished() || waiting.timeline().submitted() >= waiting.value());
        write();
        semaphore.signal(1);
        reader.join().unwrap()
    })
}

/// Few cases, since with a waiting thread the layer 1.3.239 sometimes takes ten seconds to see a signalled semaphore.
#[test]
fn reads_of_a_stream_come_after_its_waits() {
    let fixture = Fixture::open();
    let mapped: Vec<_> = arrays(&fixture).into_iter().filter(|(_, array)| array.block().is_mapped()).collect();
    assert!(mapped.len() >= READS.len(), "pinned, mapped and write-combined memory is mapped everywhere");
    for ((kind, array), (what, read)) in mapped.iter().zip(READS.into_iter().cycle()) {
        let (stream, semaphore) = (fixture.stream().unwrap(), HostSemaphore::new(fixture.device()));
        stream.wait_for(&semaphore.point(1)).unwrap();
        let write = || array.copy_from_host(&new()).unwrap();
        let seen = watched("a late read", || read_late(&stream, &semaphore, || read(array, &stream), write));
        assert_eq!(seen, new().to_vec(), "{what}, {kind} memory");
    }
}

#[test]
fn two_streams_are_ordered_by_an_event() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let [first, second] = [ctx.stream().unwrap(), ctx.stream().unwrap()];
        let [a, b] = [(); 2].map(|()| ctx.pinned_array::<u32>([N]).unwrap());
        for (from, to) in [(&first, &second), (&second, &first)] {
            [&a, &b].iter().for_each(|array| array.copy_from_host(&old()).unwrap());
            let (semaphore, event) = (HostSemaphore::new(ctx.device()), ctx.event());
            from.wait_for(&semaphore.point(1)).unwrap();
            a.on(from).copy_from_host(&new()).unwrap();
            event.record(from).unwrap();
            event.wait(to).unwrap();
            b.on(to).copy_from_host(&new()).unwrap();
            assert!(is_written_later(&a) && is_written_later(&b), "{name}");
            assert!(!to.query().unwrap());
            semaphore.signal(1);
            assert_eq!(a.on(to).copy_to_host().unwrap(), new().into_dyn(), "{name}");
            assert_eq!(b.on(from).copy_to_host().unwrap(), new().into_dyn(), "{name}");
            [from, to].iter().for_each(|stream| stream.synchronize().unwrap());
        }
    }
}

#[test]
fn the_legacy_stream_and_blocking_streams_wait_for_each_other() {
    let fixture = Fixture::open();
    let ctx = &*fixture;
    let [legacy, blocking, own] =
        [ctx.legacy_default_stream(), ctx.blocking_stream(), ctx.per_thread_default_stream()].map(Result::unwrap);
    let (array, busy) = (ctx.pinned_array::<u32>([N]).unwrap(), ctx.pinned_array::<u32>([N]).unwrap());
    for (name, first, later) in [
        ("the legacy stream after a blocking one", &blocking, &legacy),
        ("the legacy stream after a thread's", &own, &legacy),
        ("a blocking stream after the legacy one", &legacy, &blocking),
        ("a thread's stream after the legacy one", &legacy, &own),
    ] {
        for has_work in [false, true] {
            let semaphore = HostSemaphore::new(ctx.device());
            array.copy_from_host(&old()).unwrap();
            first.wait_for(&semaphore.point(1)).unwrap();
            if has_work {
                busy.on(first).fill(1).unwrap();
            }
            array.on(later).copy_from_host(&new()).unwrap();
            assert!(is_written_later(&array), "{name}, with work: {has_work}");
            semaphore.signal(1);
            assert_eq!(array.on(later).copy_to_host().unwrap(), new().into_dyn(), "{name}, with work: {has_work}");
            [first, later].iter().for_each(|stream| stream.synchronize().unwrap());
        }
    }
    for (name, first, later) in [("a legacy download", &own, &legacy), ("a blocking download", &legacy, &blocking)] {
        let semaphore = HostSemaphore::new(ctx.device());
        first.wait_for(&semaphore.point(1)).unwrap();
        let read = || array.on(later).copy_to_host().unwrap().into_iter().collect();
        let write = || array.copy_from_host(&values(7)).unwrap();
        let seen = watched("a late read", || read_late(later, &semaphore, read, write));
        assert_eq!(seen, values(7).to_vec(), "{name}");
        first.synchronize().unwrap();
        array.copy_from_host(&old()).unwrap();
    }
}

#[test]
fn copies_are_made_in_place_while_the_stream_waits_for_nothing() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (array, other) = (ctx.pinned_array::<u32>([N]).unwrap(), ctx.pinned_array::<u32>([N]).unwrap());
        let [stream, blocked] = [ctx.stream().unwrap(), ctx.stream().unwrap()];
        let semaphore = HostSemaphore::new(ctx.device());
        let goes_in_place = |first: u32, when: &str| {
            array.on(&stream).copy_from_host(&values(first)).unwrap();
            assert_eq!(array.on(&stream).copy_to_host().unwrap(), values(first).into_dyn(), "{name}: {when}");
            assert_eq!(ctx.allocator().staging_bytes(), 0, "{name}: {when}");
        };
        goes_in_place(1, "at first");
        // The stream waits because its work conflicts with that of the blocked stream; a copy of another array does not.
        blocked.wait_for(&semaphore.point(1)).unwrap();
        other.on(&blocked).fill(1).unwrap();
        other.on(&stream).fill(2).unwrap();
        assert!(!stream.query().unwrap());
        goes_in_place(2, "beside work on another array");
        semaphore.signal(1);
        stream.wait_for(&semaphore.point(1)).unwrap();
        goes_in_place(3, "after a wait that was over already");
        stream.wait_for(&semaphore.point(2)).unwrap();
        semaphore.signal(2);
        stream.synchronize().unwrap();
        goes_in_place(4, "after a wait that is over");
        assert_eq!(contents(&other), [2; N]);
    }
}

#[test]
fn a_pending_copy_does_not_wait_for_later_waits_of_its_stream() {
    let fixture = Fixture::open();
    let (stream, semaphore) = (fixture.stream().unwrap(), HostSemaphore::new(fixture.device()));
    let array = fixture.to_device(&old()).unwrap();
    let [waited, awaited] = [(); 2].map(|()| array.on(&stream).copy_to_host_async().unwrap());
    stream.synchronize().unwrap();
    stream.wait_for(&semaphore.point(1)).unwrap();
    watched("a copy that has arrived", || {
        assert_eq!(waited.wait().unwrap(), old().into_dyn());
        assert_eq!(pollster::block_on(awaited).unwrap(), old().into_dyn());
    });
    semaphore.signal(1);
    stream.synchronize().unwrap();
}

#[test]
fn memory_objects_follow_the_order_of_their_stream() {
    let fixture = Fixture::open();
    for (name, ctx) in contexts(&fixture) {
        let (stream, semaphore) = (ctx.stream().unwrap(), HostSemaphore::new(ctx.device()));
        let place = (Arc::clone(ctx.allocator()), stream.clone());
        let (device, host) = (DeviceMemory::new(&place, 43).unwrap(), HostMemory::new(&place, 43).unwrap());
        device.copy_from_host([1; 43]).unwrap();
        host.copy_from_host([1; 43]).unwrap();
        stream.synchronize().unwrap();
        let peeks = [device.block().unwrap().0, host.block().unwrap().0].map(|block| Peek::at(&block));
        assert!(peeks[1].is_some() || !host.block().unwrap().0.is_coherent());
        stream.wait_for(&semaphore.point(1)).unwrap();
        device.view(1..6).unwrap().memset(2).unwrap();
        device.view(7..42).unwrap().copy_from_host([3; 35]).unwrap();
        host.view(1..6).unwrap().fill(&[4; 5]).unwrap();
        host.view(7..16).unwrap().fill(&[5, 6, 7]).unwrap();
        host.view(20..43).unwrap().copy_from_device(&device.view(20..43).unwrap()).unwrap();
        stream.flush().unwrap();
        for peek in peeks.iter().flatten() {
            assert_eq!(peek.words(), [0x0101_0101; 10], "{name}: before the semaphore is raised");
        }
        semaphore.signal(1);
        let mut on_device = vec![1; 43];
        on_device[1..6].fill(2);
        on_device[7..42].fill(3);
        let mut on_host = vec![1; 43];
        on_host[1..6].fill(4);
        on_host[7..16].copy_from_slice(&[5, 6, 7].repeat(3));
        on_host[20..43].copy_from_slice(&on_device[20..43]);
        assert_eq!((device.to_bytes().unwrap(), host.to_bytes().unwrap()), (on_device, on_host), "{name}");
    }
}

/// As on one device, the copy waits for the stream of the target.
#[test]
fn memory_of_another_device_is_read_after_the_waits_of_the_stream() {
    let fixture = Fixture::open();
    let other = Device::open(fixture.device().physical()).unwrap();
    let other = Context::on(&other).unwrap();
    let (stream, semaphore) = (fixture.stream().unwrap(), HostSemaphore::new(fixture.device()));
    let target = HostMemory::new(&(Arc::clone(fixture.allocator()), stream.clone()), 4 * N as u64).unwrap();
    let source = HostMemory::new(&other, 4 * N as u64).unwrap();
    source.copy_from_host(bytemuck::cast_slice(old().as_slice().unwrap())).unwrap();
    stream.wait_for(&semaphore.point(1)).unwrap();
    let read = || {
        target.copy_from_device(&source).unwrap();
        target.to_bytes().unwrap().chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    let write = || source.copy_from_host(bytemuck::cast_slice(new().as_slice().unwrap())).unwrap();
    let seen = watched("a copy between devices", || read_late(&stream, &semaphore, read, write));
    assert_eq!(seen, new().to_vec());
}
