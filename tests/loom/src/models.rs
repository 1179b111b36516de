//! Models of the waiting thread, of the host's holds, and of a stream's waits.

use std::convert::Infallible;
use std::sync::atomic::Ordering;

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread;

use crate::gate::Gate;
use crate::late::Late;
use crate::lock::{Condvar, Mutex, Rank};
use crate::signal::Signal;

/// Runs every interleaving with at most three preemptions.
fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

/// The work of the waiting thread.
#[derive(Default)]
struct Tasks {
    n_callbacks: u32,
    is_stopping: bool,
}

/// The part of a lane that the waiting thread uses.
#[derive(Default)]
struct Lane {
    has_open_batch: bool,
    /// A batch is submitted when the waiting thread checks it a second time; the first time it is too new.
    is_old: bool,
}

struct Shared {
    signal: Signal<Tasks>,
    lane: Mutex<Lane>,
    done: Condvar,
    n_called: Mutex<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        let signal = Signal::new(Mutex::new(Rank::Waiter, Tasks::default()));
        let (lane, n_called) = (Mutex::new(Rank::Waiter, Lane::default()), Mutex::new(Rank::Waiter, 0));
        Arc::new(Self { signal, lane, done: Condvar::default(), n_called })
    }

    /// Opens a batch and leaves it to the waiting thread, like `Lane::keep_watched`.
    fn record(&self) {
        *self.lane.lock() = Lane { has_open_batch: true, is_old: false };
        self.signal.arm(|_| ());
    }

    /// Sends an old batch; returns whether a batch stays open. Models `Waiter::flush_old`.
    fn flush_old(&self) -> bool {
        let mut lane = self.lane.lock();
        if lane.has_open_batch && lane.is_old {
            lane.has_open_batch = false;
            self.done.notify_all();
        }
        lane.is_old = true;
        lane.has_open_batch
    }

    /// The waiting thread, like `Waiter::run`, with one idle round.
    fn run(&self) {
        while let Some(n_callbacks) = self.signal.sleep_until(|tasks, is_armed| match tasks {
            Tasks { is_stopping: true, .. } => Some(None),
            Tasks { n_callbacks, .. } if is_armed || *n_callbacks > 0 => Some(Some(*n_callbacks)),
            _ => None,
        }) {
            if self.signal.is_armed() && !self.flush_old() {
                self.signal.disarm(|| self.flush_old());
            }
            if n_callbacks > 0 {
                self.signal.change(|tasks| tasks.n_callbacks -= n_callbacks);
                *self.n_called.lock() += n_callbacks;
            }
        }
    }

    /// Blocks until the open batch is submitted.
    fn wait_until_sent(&self) {
        let mut lane = self.lane.lock();
        while lane.has_open_batch {
            lane = self.done.wait(lane);
        }
    }
}

#[test]
fn a_batch_is_sent_whenever_it_is_opened() {
    model(|| {
        let shared = Shared::new();
        let theirs = Arc::clone(&shared);
        let waiter = thread::spawn(move || theirs.run());
        // The second batch may be opened while the waiting thread is about to sleep.
        for _ in 0..2 {
            shared.record();
            shared.wait_until_sent();
        }
        shared.signal.change(|tasks| tasks.is_stopping = true);
        waiter.join().unwrap();
    });
}

#[test]
fn a_callback_and_a_batch_of_two_threads_are_both_seen_to() {
    model(|| {
        let shared = Shared::new();
        let (waiters, others) = (Arc::clone(&shared), Arc::clone(&shared));
        let waiter = thread::spawn(move || waiters.run());
        let other = thread::spawn(move || others.signal.change(|tasks| tasks.n_callbacks += 1));
        shared.record();
        shared.wait_until_sent();
        other.join().unwrap();
        // The waiting thread ends after the callback has run, since a stopped thread leaves no callback behind.
        while *shared.n_called.lock() == 0 {
            thread::yield_now();
        }
        shared.signal.change(|tasks| tasks.is_stopping = true);
        waiter.join().unwrap();
    });
}

/// Bytes that the host may hold, of a device whose tracker is `held`.
struct Bytes {
    gate: Gate,
    held: Mutex<bool>,
    is_written: AtomicBool,
}

impl Bytes {
    fn new() -> Arc<Self> {
        let (gate, held, is_written) = (Gate::default(), Mutex::new(Rank::Waiter, false), AtomicBool::new(false));
        Arc::new(Self { gate, held, is_written })
    }

    /// A hold like `Device::hold`, a write to the bytes, and the end of the hold.
    fn hold_and_write(&self) {
        let Ok(mut held) = self.gate.pass(&self.held, |held| Ok::<_, Infallible>(*held));
        *held = true;
        drop(held);
        assert!(!self.is_written.swap(true, Ordering::Relaxed), "two holds at a time");
        self.is_written.store(false, Ordering::Relaxed);
        self.gate.end(&self.held, |held| *held = false);
    }

    /// Records an operation: it is recorded under the tracker's lock, or waits for the hold to end.
    fn record(&self) {
        loop {
            let held = self.held.lock();
            if !*held {
                assert!(!self.is_written.load(Ordering::Relaxed), "recorded while the host holds the bytes");
                return;
            }
            drop(held);
            let Ok(passed) = self.gate.pass(&self.held, |held| Ok::<_, Infallible>(*held));
            drop(passed);
        }
    }
}

#[test]
fn an_operation_waits_for_holds_and_goes_on() {
    model(|| {
        let bytes = Bytes::new();
        let (host, lane) = (Arc::clone(&bytes), Arc::clone(&bytes));
        let host = thread::spawn(move || host.hold_and_write());
        let lane = thread::spawn(move || lane.record());
        bytes.hold_and_write();
        host.join().unwrap();
        lane.join().unwrap();
    });
}

#[test]
fn one_of_three_holds_begins_when_another_ends() {
    model(|| {
        let bytes = Bytes::new();
        let hosts = [(); 2].map(|()| {
            let bytes = Arc::clone(&bytes);
            thread::spawn(move || bytes.hold_and_write())
        });
        bytes.hold_and_write();
        hosts.into_iter().for_each(|host| host.join().unwrap());
    });
}

/// A stream, whose lanes are the numbers of waits that they have.
struct Lanes {
    work: Mutex<u32>,
    beside: Late<Mutex<u32>>,
    changes: Mutex<()>,
}

impl Lanes {
    /// A wait like `Stream::start_after`.
    fn wait(&self) {
        let _changes = self.changes.lock();
        if let Some(beside) = self.beside.get() {
            *beside.lock() += 1;
        }
        *self.work.lock() += 1;
    }

    /// Gives a copy its lane, like `TransferLane::lane`. Returns the waits before the copy.
    fn copy(&self) -> u32 {
        let make = || {
            let (waits, lane) = (*self.work.lock(), Mutex::new(Rank::Waiter, 0));
            *lane.lock() = waits;
            Ok::<_, Infallible>(lane)
        };
        let Ok(beside) = self.beside.get_or_make(&self.changes, make);
        *beside.lock()
    }
}

#[test]
fn a_lane_that_another_thread_makes_misses_no_wait() {
    model(|| {
        let (work, changes) = (Mutex::new(Rank::Waiter, 0), Mutex::new(Rank::Waiter, ()));
        let lanes = Arc::new(Lanes { work, beside: Late::new(), changes });
        let others = Arc::clone(&lanes);
        let other = thread::spawn(move || others.copy());
        lanes.wait();
        assert_eq!(lanes.copy(), 1, "a copy that comes after a wait started before it");
        assert!(other.join().unwrap() <= 1);
    });
}
