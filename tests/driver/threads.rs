//! Many threads on one stream and on a stream each, with shared arrays.

use std::thread;

use vkarray::memory::{self, managers, usm};
use vkarray::{Groups, Stream, array};

use crate::fixture::kernels::{add, step, stepped};
use crate::fixture::{Fixture, contents};

const N_THREADS: u32 = 8;
const N_ROUNDS: u32 = 150;

/// Whether types can be used by several threads is decided when the program is compiled.
#[test]
fn public_types_are_sent_and_shared() {
    fn is<T: Send + Sync + 'static>() {}

    is::<(vkarray::Context, vkarray::DeviceNDArray<f32>, vkarray::Kernel, vkarray::Stream, vkarray::Event)>();
    is::<(vkarray::Graph, vkarray::Error, vkarray::Source, vkarray::kernel::ConstArray)>();
    is::<(usm::DeviceMemory, usm::HostMemory, usm::SharedMemory, usm::MemoryState)>();
    is::<(memory::Allocator, memory::Block, managers::MemoryPointer, managers::HostPointer)>();
    is::<(managers::PoolManager, managers::PassthroughManager, managers::ArenaManager, managers::HostOnlyMemoryManager)>(
    );
    is::<(array::HostRead<'static, f32>, array::HostWrite<'static, f32>, array::PendingCopy<f32>)>();
    is::<(array::MirroredArray<f32>, array::PinnedArray<Vec<f32>, f32>, memory::Pinned<Vec<u8>>)>();
    is::<(vkarray::interop::HostTensor, vkarray::interop::DeviceArrayInterface)>();
    is::<(vkarray::device::Device, vkarray::device::Instance, vkarray::stream::Point)>();
}

#[test]
fn eight_threads_share_one_stream() {
    let fixture = Fixture::open();
    let stream = fixture.stream().unwrap();
    work_from_threads(&fixture, |_| stream.clone());
}

#[test]
fn eight_threads_have_a_stream_each() {
    let fixture = Fixture::open();
    work_from_threads(&fixture, |_| fixture.stream().unwrap());
}

#[test]
fn eight_threads_take_turns_on_three_streams() {
    let fixture = Fixture::open();
    let streams = [(); 3].map(|()| fixture.stream().unwrap());
    work_from_threads(&fixture, |thread| streams[thread as usize % 3].clone());
}

/// Each thread works on an array of its own and adds to a shared array.
fn work_from_threads(fixture: &Fixture, stream: impl Fn(u32) -> Stream + Sync) {
    let shared = fixture.zeros::<u32>([130]).unwrap();
    thread::scope(|scope| {
        for nth in 0..N_THREADS {
            let (stream, shared) = (&stream, &shared);
            scope.spawn(move || {
                let stream = stream(nth);
                let (add, step) = (add(fixture), step(fixture));
                let own = fixture.slice_to_device(&[nth; 65]).unwrap();
                for round in 0..N_ROUNDS {
                    step.dispatch(&stream, Groups::covering([65]), (&own, round)).unwrap();
                    add.dispatch(&stream, Groups::covering([130]), (shared, nth + round)).unwrap();
                }
                let back = own.on(&stream).copy_to_host().unwrap();
                assert_eq!(back.as_slice(), Some([(0..N_ROUNDS).fold(nth, stepped); 65].as_slice()), "thread {nth}");
            });
        }
    });
    let all = (0..N_THREADS).flat_map(|nth| (0..N_ROUNDS).map(move |round| nth + round));
    assert_eq!(contents(&shared), [all.sum::<u32>(); 130]);
}

#[test]
fn threads_make_and_drop_arrays_at_once() {
    let fixture = Fixture::open();
    thread::scope(|scope| {
        for nth in 0..N_THREADS {
            let fixture = &fixture;
            scope.spawn(move || {
                let (stream, step) = (fixture.stream().unwrap(), step(fixture));
                for round in 0..60_u32 {
                    let array = fixture.slice_to_device(&vec![nth; 1 + (round as usize * 37) % 500]).unwrap();
                    step.dispatch(&stream, Groups::covering([500]), (&array, round)).unwrap();
                    // Every second array is dropped while the device still works on it.
                    if round % 2 == 0 {
                        assert_eq!(contents(&array), vec![stepped(nth, round); array.size()], "thread {nth}");
                    }
                }
            });
        }
    });
    fixture.allocator().flush().unwrap();
    assert_eq!(fixture.allocator().usage().n_pending, 0);
}
