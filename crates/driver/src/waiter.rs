//! The one thread of a device that waits, so that no other has to: it sends batches nobody came back to, runs callbacks
//! and wakes futures.
//!
//! It is started when first needed and sleeps when there is nothing to do. While callbacks are pending it sleeps in
//! `vkWaitSemaphores` for the first of them; a timeline of its own, raised from the host, wakes it for anything new.
//!
//! It holds neither the device nor, once their streams are dropped, its lanes: both end on a thread of the program's,
//! which is not in the middle of something when the process exits. What callbacks hold they hold.

use std::cell::Cell;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::device::Device;
use crate::error::Result;
use crate::point::Point;
use crate::timeline::{Timeline, wait_any};
use crate::tracker::Tracker;

/// How long recorded work may stay unsent when nobody asks for it.
const FLUSH_DELAY: Duration = Duration::from_micros(200);

/// How many times in a row there is nothing to send before the thread stops looking.
const IDLE_ROUNDS: u32 = 8;

/// What to run when a point is reached.
type Callback = Box<dyn FnOnce(Result<()>) + Send>;

#[derive(Default)]
struct State {
    callbacks: Vec<(Point, Callback)>,
    /// Raised to wake the thread out of a wait for the device; there while callbacks are.
    wake: Option<Arc<Timeline>>,
    is_running: bool,
    is_stopping: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Waiter {
    /// Whether the thread looks for batches to send. Read on the path of every operation, so outside the lock.
    is_armed: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    /// Locked while the thread holds lanes.
    holding: Mutex<()>,
}

thread_local! {
    /// Whether this thread is a device's waiter.
    static IS_WAITER: Cell<bool> = const { Cell::new(false) };
}

impl Waiter {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Makes the thread look for batches to send. Costs one load while it looks already.
    pub(crate) fn arm(self: &Arc<Self>, device: &Arc<Device>) {
        if self.is_armed.load(Ordering::Acquire) || self.is_armed.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut state = self.state();
        self.ensure_running(&mut state, device);
        self.rouse(&state);
    }

    /// Runs `callback` on the waiter's thread once `point` is reached, or with the error that keeps it from being.
    pub(crate) fn add(self: &Arc<Self>, point: Point, callback: Callback) -> Result<()> {
        let device = Arc::clone(point.timeline().device());
        point.flush()?;
        let mut state = self.state();
        if state.wake.is_none() {
            state.wake = Some(Arc::new(Timeline::new(&device, 0)?));
        }
        state.callbacks.push((point, callback));
        self.ensure_running(&mut state, &device);
        self.rouse(&state);
        Ok(())
    }

    /// Ends the thread. Called when the device goes, so no callback is pending: each holds the device.
    pub(crate) fn stop(&self) {
        self.state().is_stopping = true;
        self.changed.notify_all();
    }

    fn ensure_running(self: &Arc<Self>, state: &mut State, device: &Arc<Device>) {
        if state.is_running {
            return;
        }
        let (waiter, tracker) = (Arc::clone(self), Arc::clone(device.shared_tracker()));
        let thread = thread::Builder::new().name("vkarray-waiter".to_owned());
        match thread.spawn(move || waiter.run(&tracker)) {
            Ok(_) => state.is_running = true,
            // Without the thread batches still go out when they are full or waited for.
            Err(error) => tracing::error!(%error, "cannot start the thread that sends work nobody waits for"),
        }
    }

    /// Wakes the thread, wherever it sleeps.
    fn rouse(&self, state: &State) {
        if let Some(wake) = &state.wake
            && let Err(error) = wake.raise()
        {
            tracing::warn!(%error, "cannot wake the waiting thread");
        }
        self.changed.notify_all();
    }

    /// Returns when the thread holds no lane that it was kept from before the call.
    pub(crate) fn let_go(&self) {
        if !IS_WAITER.get() {
            drop(self.holding.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn run(&self, tracker: &Mutex<Tracker>) {
        IS_WAITER.set(true);
        let mut n_idle = 0;
        while let Some(has_callbacks) = self.sleep_until_needed() {
            if self.is_armed.load(Ordering::Acquire) {
                n_idle = if self.flush_old(tracker) { 0 } else { n_idle + 1 };
                if n_idle >= IDLE_ROUNDS {
                    n_idle = 0;
                    self.disarm(tracker);
                }
            }
            if has_callbacks {
                self.wait_for_callbacks();
            } else if self.is_armed.load(Ordering::Acquire) {
                self.nap();
            }
        }
    }

    /// Blocks until there is something to do and says whether callbacks are pending; nothing when it is time to end.
    fn sleep_until_needed(&self) -> Option<bool> {
        let mut state = self.state();
        loop {
            if state.is_stopping {
                return None;
            }
            if !state.callbacks.is_empty() || self.is_armed.load(Ordering::Acquire) {
                return Some(!state.callbacks.is_empty());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn nap(&self) {
        let state = self.state();
        if !state.is_stopping && state.callbacks.is_empty() {
            drop(self.changed.wait_timeout(state, FLUSH_DELAY).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Stops looking for batches. One that was opened in the meantime is found first.
    fn disarm(&self, tracker: &Mutex<Tracker>) {
        self.is_armed.store(false, Ordering::Release);
        if self.flush_old(tracker) {
            self.is_armed.store(true, Ordering::Release);
        }
    }

    /// Sleeps until a callback is due or something new has come, and runs what is due.
    fn wait_for_callbacks(&self) {
        let (waits, timeout) = {
            // Whoever adds or arms after this lock is given back raises the timeline past `next`.
            let state = self.state();
            let Some(wake) = state.wake.clone() else { return };
            let next = wake.last_raised() + 1;
            let points = state.callbacks.iter().map(|(point, _)| (Arc::clone(point.timeline()), point.value()));
            let waits: Vec<_> = points.chain([(wake, next)]).collect();
            (waits, self.is_armed.load(Ordering::Acquire).then_some(FLUSH_DELAY))
        };
        let failed = wait_any(&waits, timeout).err().filter(|error| !matches!(error, crate::Error::Timeout { .. }));
        for (point, callback, outcome) in self.take_due(failed.as_ref()) {
            let span = point.timeline().device().trace().span("callback", None);
            // A panic in a callback is the callback's own; the others still run.
            if catch_unwind(AssertUnwindSafe(|| callback(outcome))).is_err() {
                tracing::error!("a stream's callback panicked");
            }
            drop(span);
            drop(point);
        }
    }

    /// Takes out, in the order they were added, the callbacks whose points are reached, or cannot be asked about; after
    /// a failed wait all of them.
    fn take_due(&self, failed: Option<&crate::Error>) -> Vec<(Point, Callback, Result<()>)> {
        let mut state = self.state();
        let mut due = Vec::new();
        for (point, callback) in mem::take(&mut state.callbacks) {
            match (point.is_complete(), failed) {
                (Ok(true), _) => due.push((point, callback, Ok(()))),
                (Ok(false), None) => state.callbacks.push((point, callback)),
                (Ok(false), Some(error)) => due.push((point, callback, Err(error.clone()))),
                (Err(error), _) => due.push((point, callback, Err(error))),
            }
        }
        if state.callbacks.is_empty() {
            state.wake = None; // It holds the device.
        }
        due
    }

    /// Sends the batches that have grown old. Returns whether any work is still being recorded.
    fn flush_old(&self, tracker: &Mutex<Tracker>) -> bool {
        let before = Instant::now().checked_sub(FLUSH_DELAY).unwrap_or_else(Instant::now);
        let _holding = self.holding.lock().unwrap_or_else(PoisonError::into_inner);
        let lanes = tracker.lock().unwrap_or_else(PoisonError::into_inner).watched_lanes();
        let mut is_open = false;
        for lane in lanes {
            match lane.flush_if_older(before) {
                Ok(stays_open) => is_open |= stays_open,
                // Refused for lack of memory, it is sent later; else the device remembers the error for whoever comes
                // next.
                Err(error) => {
                    is_open |= lane.device().check_lost().is_ok();
                    tracing::debug!(%error, "cannot send recorded work");
                }
            }
        }
        is_open
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Callbacks run outside the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("is_armed", &self.is_armed).finish_non_exhaustive()
    }
}
