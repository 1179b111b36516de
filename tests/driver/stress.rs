//! Stress test: sixteen threads use, share and drop streams, arrays, events and callbacks in random order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use vkarray::{DeviceNDArray, Groups, Kernel, Stream};

use crate::fixture::kernels::{add, step, stepped};
use crate::fixture::watchdog::watched;
use crate::fixture::{Fixture, contents, poll};

const N_THREADS: u32 = 16;
const N_ROUNDS: u32 = 120;
const N: usize = 67;

/// The objects that all threads use.
struct Common<'a> {
    fixture: &'a Fixture,
    streams: [Stream; 3],
    sum: DeviceNDArray<u32>,
    /// The expected value of each element of `sum`.
    expected: AtomicU32,
    n_called: Arc<AtomicU32>,
    n_callbacks: AtomicU32,
}

/// The objects of one thread.
struct Own<'a> {
    common: &'a Common<'a>,
    random: fastrand::Rng,
    add: Kernel,
    step: Kernel,
    stream: Stream,
    array: DeviceNDArray<u32>,
    /// The expected value of each element of `array`.
    value: u32,
}

#[test]
fn sixteen_threads_do_everything_at_once() {
    let fixture = Fixture::open();
    let streams = [fixture.stream().unwrap(), fixture.blocking_stream().unwrap(), fixture.default_stream().clone()];
    let sum = fixture.zeros::<u32>([N]).unwrap();
    let (expected, n_callbacks) = (AtomicU32::new(0), AtomicU32::new(0));
    let common = Common { fixture: &fixture, streams, sum, expected, n_called: Arc::default(), n_callbacks };
    watched("the work of sixteen threads", || {
        thread::scope(|scope| {
            for nth in 0..N_THREADS {
                let common = &common;
                scope.spawn(move || Own::new(common, nth).work());
            }
        });
    });
    assert_eq!(contents(&common.sum), [common.expected.load(Ordering::SeqCst); N]);
    poll("every callback", || common.n_called.load(Ordering::SeqCst) == common.n_callbacks.load(Ordering::SeqCst));
}

impl<'a> Own<'a> {
    fn new(common: &'a Common<'a>, nth: u32) -> Self {
        let fixture = common.fixture;
        Self {
            common,
            random: fastrand::Rng::with_seed(u64::from(nth)),
            add: add(fixture),
            step: step(fixture),
            stream: fixture.stream().unwrap(),
            array: fixture.slice_to_device(&[nth; N]).unwrap(),
            value: nth,
        }
    }

    fn work(mut self) {
        for round in 0..N_ROUNDS {
            match self.random.u32(..12) {
                0..=4 => self.step(round),
                5..=6 => self.add_to_all(round),
                7 => self.move_to_a_new_array(),
                8 => self.change_streams(),
                9 => self.order_by_an_event(),
                10 => self.call_back(),
                _ => assert_eq!(contents(&self.array), [self.value; N], "in round {round}"),
            }
        }
        assert_eq!(contents(&self.array), [self.value; N]);
    }

    /// The thread's own stream or a shared one; work on one array is ordered on any of them.
    fn any_stream(&mut self) -> Stream {
        let common = self.common;
        common.streams.get(self.random.usize(..5)).unwrap_or(&self.stream).clone()
    }

    fn step(&mut self, round: u32) {
        let stream = self.any_stream();
        self.step.dispatch(&stream, Groups::covering(N), (&self.array, round)).unwrap();
        self.value = stepped(self.value, round);
    }

    fn add_to_all(&mut self, round: u32) {
        let stream = self.any_stream();
        self.add.dispatch(&stream, Groups::covering(N), (&self.common.sum, round)).unwrap();
        self.common.expected.fetch_add(round, Ordering::SeqCst);
    }

    /// Copies the array to a new one, and drops the old one while the copy may still run.
    fn move_to_a_new_array(&mut self) {
        let (stream, new) = (self.any_stream(), self.common.fixture.device_array::<u32>([N]).unwrap());
        new.block().copy_from_block(&stream, 0, self.array.block(), 0..N as u64 * 4).unwrap();
        self.array = new;
    }

    fn change_streams(&mut self) {
        self.stream = self.common.fixture.stream().unwrap();
    }

    fn order_by_an_event(&mut self) {
        let (from, to, event) = (self.any_stream(), self.any_stream(), self.common.fixture.event());
        event.record(&from).unwrap();
        event.wait(&to).unwrap();
        if self.random.bool() {
            event.synchronize().unwrap();
        }
    }

    fn call_back(&mut self) {
        let (stream, n_called) = (self.any_stream(), Arc::clone(&self.common.n_called));
        self.common.n_callbacks.fetch_add(1, Ordering::SeqCst);
        let called = move |outcome: Result<(), vkarray::device::Error>| {
            outcome.unwrap();
            n_called.fetch_add(1, Ordering::SeqCst);
        };
        stream.add_callback(called).unwrap();
    }
}
