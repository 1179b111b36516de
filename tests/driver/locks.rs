//! Locks: the library holds no lock while it runs code of the program, and a recording that panics leaves no lock
//! locked and no work unsubmitted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use vkarray::device::Error as DriverError;
use vkarray::memory::{Block, MemoryKind};
use vkarray::{Context, Stream};
use vkarray_driver::Recorder;
use vkarray_driver::hazard::{Mode, Stage};

use crate::fixture::Fixture;
use crate::fixture::kernels::{keep_busy, spin};
use crate::fixture::watchdog::watched;

/// An object that, when it is dropped, uses its stream, its device and its memory, and drops another stream.
struct UsesAll {
    stream: Stream,
    other: Option<Stream>,
    block: Arc<Block>,
    dropped: Sender<Result<(), String>>,
}

impl UsesAll {
    fn use_all(&mut self) -> Result<(), String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        self.block.fill(&self.stream, 7).map_err(|error| text(&error))?;
        self.stream.query().map_err(|error| text(&error))?;
        drop(Stream::new(self.stream.device()).map_err(|error| text(&error))?);
        drop(self.block.allocator().allocate(4099, MemoryKind::Device).map_err(|error| text(&error))?);
        drop(self.other.take());
        Ok(())
    }
}

impl Drop for UsesAll {
    fn drop(&mut self) {
        let outcome = self.use_all();
        self.dropped.send(outcome).ok();
    }
}

/// Records an operation without commands that keeps `kept` alive until its batch is done.
fn keep(stream: &Stream, kept: UsesAll) {
    let kept = Arc::new(Mutex::new(kept));
    let commands = |recorder: &mut Recorder<'_>| -> Result<(), DriverError> {
        recorder.keep(kept);
        Ok(())
    };
    // SAFETY: nothing is recorded.
    unsafe { stream.record(&[], commands) }.unwrap();
}

/// Fills the block until that many kept objects have been dropped, which happens when later batches begin.
fn fill_until_dropped(stream: &Stream, block: &Arc<Block>, outcomes: &Receiver<Result<(), String>>, n: usize) {
    let mut n_dropped = 0;
    while n_dropped < n {
        block.fill(stream, 9).unwrap();
        stream.synchronize().unwrap();
        n_dropped += outcomes.try_iter().map(Result::unwrap).count();
    }
}

#[test]
fn an_object_kept_by_a_batch_may_use_the_stream_and_the_device_in_its_drop() {
    const ROUNDS: usize = 67;
    let fixture = Fixture::open();
    watched("dropping what batches kept", || {
        let stream = fixture.stream().unwrap();
        let block = fixture.allocator().allocate(260, MemoryKind::Device).unwrap();
        let (dropped, outcomes) = mpsc::channel();
        for _ in 0..ROUNDS {
            let other = fixture.stream().unwrap();
            let dropped = dropped.clone();
            keep(&stream, UsesAll { stream: stream.clone(), other: Some(other), block: Arc::clone(&block), dropped });
            stream.synchronize().unwrap();
        }
        drop(dropped);
        fill_until_dropped(&stream, &block, &outcomes, ROUNDS);
        let mut bytes = vec![0; 260];
        block.copy_to_host(&stream, 0, &mut bytes).unwrap();
        let words: Vec<_> = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert!(words.iter().all(|&word| word == 7 || word == 9), "{words:?}");
    });
}

#[test]
fn kept_objects_are_dropped_while_other_threads_submit_and_wait() {
    const ROUNDS: usize = 41;
    let fixture = Fixture::open();
    let use_a_stream = || {
        let stream = fixture.stream().unwrap();
        let block = fixture.allocator().allocate(260, MemoryKind::Device).unwrap();
        let (dropped, outcomes) = mpsc::channel();
        for round in 0..ROUNDS {
            let (other, dropped) = (Some(fixture.stream().unwrap()), dropped.clone());
            keep(&stream, UsesAll { stream: stream.clone(), other, block: Arc::clone(&block), dropped });
            // In every third round the device's waiting thread submits the batch.
            if round % 3 != 0 {
                stream.synchronize().unwrap();
            }
        }
        fill_until_dropped(&stream, &block, &outcomes, ROUNDS);
    };
    watched("dropping what batches of several threads kept", || {
        thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(use_a_stream))));
    });
}

/// A stream with work on the device, so that the next batch is not submitted at once.
fn busy(ctx: &Context) -> Stream {
    let (spin, stream) = (spin(ctx), ctx.stream().unwrap());
    let array = ctx.slice_to_device(&[1_u32]).unwrap();
    keep_busy(&stream, &spin, &array);
    stream.flush().unwrap();
    stream
}

#[test]
fn a_batch_is_submitted_although_its_recording_panicked() {
    let fixture = Fixture::open();
    for is_followed in [false, true] {
        watched("memory that a recording was to use that panicked", || {
            let stream = busy(&fixture);
            let block = fixture.allocator().allocate(68, MemoryKind::Device).unwrap();
            let next = fixture.allocator().allocate(68, MemoryKind::Device).unwrap();
            let panics =
                |_: &mut Recorder<'_>| -> Result<(), DriverError> { panic!("a recording that fails the test") };
            let accesses = [block.write(0..68, Stage::Transfer)];
            // SAFETY: nothing is recorded.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { stream.record(&accesses, panics) }));
            outcome.unwrap_err();
            if is_followed {
                next.fill(&stream, 5).unwrap();
            }
            // The points are reached although no thread waits, flushes or records.
            let uses = fixture.device().block_uses(block.id(), 0..68, Mode::Write);
            assert!(!uses.is_empty(), "the operation is not among the uses of its block");
            while !uses.iter().all(|point| point.is_complete().unwrap()) {
                thread::yield_now();
            }
            if is_followed {
                let mut bytes = [0; 68];
                next.copy_to_host(&stream, 0, &mut bytes).unwrap();
                assert!(bytes.chunks(4).all(|word| word == [5, 0, 0, 0]), "{bytes:?}");
            }
        });
    }
}
