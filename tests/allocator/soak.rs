//! A long run of all operations that take memory: arrays, views of arrays, frees and dispatches, by eight threads on
//! four streams. In the end no memory is in use, and no round keeps more than the first did.
//!
//! `VKARRAY_TEST_SOAK_STEPS` sets the number of steps. If it is set, the test also checks the memory of the process,
//! which has to run nothing else then: `VKARRAY_TEST_SOAK_STEPS=1000000 cargo test -p vkarray-tests soak` takes
//! minutes.
//!
//! The memory in use by the process must not grow; the resident memory may grow for a while. Each round's threads are
//! new, and glibc's `malloc` gives each thread an arena, keeps freed memory in it, and reuses little of that for the
//! next thread. Of a million steps on lavapipe under the validation layer, the last quarter left 2,256 bytes more in
//! use by the program, 540 by the driver and 2,504 by the layer, and 12,450,000 more free in the arenas, of which
//! 7,300,000 were resident.

use std::env;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use fastrand::Rng;
use vkarray::memory::MemoryKind;
use vkarray::{Context, DeviceNDArray, Groups, Index, Kernel, Stream};

use crate::fixture::Fixture;
use crate::fixture::kernels::{step, stepped};

const VARIABLE: &str = "VKARRAY_TEST_SOAK_STEPS";
const DEFAULT_STEPS: usize = 24_000;
const N_THREADS: usize = 8;
const N_STREAMS: usize = 4;

/// The number of rounds. After each round all objects are dropped, and the memory that is left is checked.
const N_ROUNDS: usize = 4;

/// Arrays of a thread at a time, and elements of each.
const MAX_HELD: usize = 24;
const MAX_LEN: usize = 1 << 16;

/// Views that start at multiples of this number of elements, 256 bytes, can be arguments on every device.
const GRANULE: usize = 64;

/// More bytes than all threads can use at a time, including rounding and the smallest chunk of each kind.
const MAX_RESERVED: u64 = 256 << 20;

/// The most that resident memory may grow in the second half of a long run.
const MAX_GROWTH: u64 = 64 << 20;

/// The most that memory in use may grow, since tables may grow; a leak of a byte per step would be more.
const MAX_IN_USE_GROWTH: usize = 1 << 20;

/// An array, views of it, and its expected elements.
struct Held {
    array: DeviceNDArray<u32>,
    views: Vec<(DeviceNDArray<u32>, Range<usize>)>,
    expected: Vec<u32>,
}

impl Held {
    fn new(ctx: &Context, stream: &Stream, random: &mut Rng) -> Self {
        let most = MAX_LEN >> random.u32(0..16); // Each order of magnitude as often.
        let len = random.usize(1..=most);
        let (array, word) = (ctx.device_array::<u32>([len]).unwrap(), random.u32(..));
        array.block().fill(stream, word).unwrap();
        Self { array, views: Vec::new(), expected: vec![word; len] }
    }

    fn view(&mut self, random: &mut Rng) {
        let start = random.usize(0..self.expected.len()) / GRANULE * GRANULE;
        let end = random.usize(start + 1..=self.expected.len());
        self.views.push((self.array.slice([Index::from(start..end)]).unwrap(), start..end));
    }

    /// Runs a kernel on the array or on one of its views.
    fn dispatch(&mut self, kernel: &Kernel, stream: &Stream, random: &mut Rng) {
        let whole = (&self.array, 0..self.expected.len());
        let views = self.views.iter().map(|(view, range)| (view, range.clone()));
        let (array, range) = views.chain([whole]).nth(random.usize(0..=self.views.len())).unwrap();
        let add = random.u32(..);
        kernel.dispatch(stream, Groups::covering(range.len()), (array, add)).unwrap();
        self.expected[range].iter_mut().for_each(|x| *x = stepped(*x, add));
    }

    /// Drops the array and keeps its last view.
    fn keep_view(&mut self) {
        if let Some((view, range)) = self.views.pop() {
            self.views.clear();
            self.array = view;
            self.expected = self.expected[range].to_vec();
        }
    }

    fn check(&self, stream: &Stream) {
        let found = self.array.on(stream).copy_to_host().unwrap();
        assert!(found.iter().eq(&self.expected), "an array of {} elements has wrong elements", found.len());
        if let Some((view, range)) = self.views.last() {
            let back: Vec<_> = self.expected[range.clone()].iter().rev().step_by(3).collect();
            let found = view.slice([Index::stepped(.., -3)]).unwrap().on(stream).copy_to_host().unwrap();
            assert!(found.iter().eq(back), "a view of {range:?} has wrong elements");
        }
    }
}

/// The objects of all threads.
struct Soak<'a> {
    ctx: &'a Context,
    kernel: Kernel,
    streams: Vec<Stream>,
    /// Arrays that one thread passes to another.
    passed: Mutex<Vec<Held>>,
}

impl Soak<'_> {
    fn work(&self, seed: u64, n_steps: usize) {
        let (mut random, mut held) = (Rng::with_seed(seed), Vec::<Held>::new());
        for _ in 0..n_steps {
            let stream = &self.streams[random.usize(0..N_STREAMS)];
            let what = random.u8(0..100);
            if held.is_empty() || (what < 38 && held.len() < MAX_HELD) {
                held.push(Held::new(self.ctx, stream, &mut random));
                continue;
            }
            let nth = random.usize(0..held.len());
            match what {
                0..62 => self.drop_or_pass(held.swap_remove(nth), &mut held, &mut random),
                62..70 => held[nth].view(&mut random),
                70..72 => held[nth].keep_view(),
                72..76 => self.host_memory(stream, &mut random),
                76..98 => held[nth].dispatch(&self.kernel, stream, &mut random),
                _ => held[nth].check(stream),
            }
        }
        held.iter().for_each(|held| held.check(&self.streams[0]));
    }

    /// Drops the array, or in one of eight cases passes it to another thread in exchange for an array of that thread.
    fn drop_or_pass(&self, gone: Held, held: &mut Vec<Held>, random: &mut Rng) {
        if random.u8(0..8) > 0 {
            return;
        }
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.push(gone);
        if passed.len() > N_THREADS {
            held.push(passed.swap_remove(0));
        }
    }

    /// Memory of another kind, dropped while the device writes it.
    fn host_memory(&self, stream: &Stream, random: &mut Rng) {
        let kind = MemoryKind::ALL[random.usize(0..MemoryKind::ALL.len())];
        let block = self.ctx.allocator().allocate(random.u64(1..5000) * 4, kind).unwrap();
        block.fill(stream, 7).unwrap();
    }

    /// Runs a round and drops everything. Returns the bytes that the allocator still reserves, before and after a trim.
    fn round(&self, nth: usize, n_steps: usize) -> (u64, u64) {
        thread::scope(|scope| {
            for thread in 0..N_THREADS {
                scope.spawn(move || self.work((nth * N_THREADS + thread) as u64, n_steps));
            }
        });
        self.passed.lock().unwrap().clear();
        self.streams.iter().for_each(|stream| stream.synchronize().unwrap());
        let allocator = self.ctx.allocator();
        allocator.flush().unwrap();
        let before = allocator.usage().reserved;
        allocator.trim(0).unwrap();
        let counters = allocator.counters();
        assert_eq!((counters.n_in_use, counters.n_pending), (0, 0), "{counters:?}");
        let usage = allocator.usage();
        assert_eq!((usage.in_use, usage.pending, usage.n_pending), (0, 0, 0), "{usage:?}");
        (before, usage.reserved)
    }
}

#[test]
fn a_long_random_run_leaks_nothing() {
    let asked = env::var(VARIABLE).ok().map(|text| text.parse::<usize>().expect("a number of steps"));
    let n_steps = asked.unwrap_or(DEFAULT_STEPS) / (N_THREADS * N_ROUNDS);
    let fixture = Fixture::open();
    let streams = (0..N_STREAMS).map(|_| fixture.stream().unwrap()).collect();
    let soak = Soak { ctx: &fixture, kernel: step(&fixture), streams, passed: Mutex::default() };
    let (begun, mut sizes, mut in_use) = (Instant::now(), Vec::new(), Vec::new());
    for nth in 0..N_ROUNDS {
        let (before, after) = soak.round(nth, n_steps);
        assert!(before <= MAX_RESERVED, "round {nth}: {before} bytes are reserved");
        assert_eq!(after, 0, "round {nth}: memory is reserved after a trim");
        sizes.extend(resident_bytes());
        in_use.extend(malloc_bytes());
        let (resident, held) = (sizes.last(), in_use.last());
        eprintln!(
            "soak: round {nth}, {before} bytes reserved, {resident:?} resident, {held:?} in use, {:?}",
            begun.elapsed()
        );
    }
    // Without the variable, other tests run in the same process, and its memory says nothing.
    if let (Some(_), [.., half, _, whole]) = (asked, &*sizes) {
        assert!(whole.saturating_sub(*half) <= MAX_GROWTH, "the process grew from {half} to {whole} bytes");
    }
    if let (Some(_), [.., half, _, whole]) = (asked, &*in_use) {
        assert!(whole.saturating_sub(*half) <= MAX_IN_USE_GROWTH, "{half} bytes were in use, and now {whole}");
    }
}

/// The process's resident memory, if the system reports it.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let n_pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(n_pages * 4096)
}

/// The bytes that program, driver and layers have allocated with `malloc` and not freed, if the C library reports it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn malloc_bytes() -> Option<usize> {
    // SAFETY: the function takes nothing and returns numbers.
    let of = unsafe { libc::mallinfo2() };
    Some(of.uordblks + of.hblkhd)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn malloc_bytes() -> Option<usize> {
    None
}
