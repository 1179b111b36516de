//! The device's waiting thread: it submits batches that have grown old, runs callbacks and wakes futures.
//!
//! The thread is started when first needed and sleeps when there is nothing to do. While callbacks are pending it
//! sleeps in `vkWaitSemaphores` for the first of their points; a timeline that the host signals wakes it for new tasks.
//!
//! The thread keeps neither the device alive nor lanes whose streams are dropped, and drops a callback's point before
//! it runs the callback. So a thread of the program destroys the device and the lanes, after it has joined this thread:
//! a thread that used the driver while the process exits could use it after its end. Callbacks keep their captures
//! alive until they run. `signal.rs` wakes the thread, and stops it from polling without missing a batch.

use std::convert::Infallible;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::signal::Signal;
use super::{Point, Tracker};
use crate::error::{Error, Result};
use crate::lock::{Mutex, Rank, assert_none_held};
use crate::sync::{DeferDrops, catch_panic, contain_panic, log_in_drop, mark_background_thread};
use crate::trace::TraceRecording;
use crate::vulkan::{Timeline, wait_any};

/// The longest time that recorded work stays unsubmitted while no thread waits for it.
const FLUSH_DELAY: Duration = Duration::from_micros(200);

/// The number of polls without an open batch after which the thread stops polling.
const IDLE_ROUNDS: u32 = 8;

/// The pause after a failed wait.
const PAUSE: Duration = Duration::from_millis(1);

/// The code to run when a point is reached.
type Callback = Box<dyn FnOnce(Result<()>) + Send>;

#[derive(Default)]
struct WaiterState {
    callbacks: Vec<(Point, Callback)>,
    /// The timeline that wakes the thread from a wait for the device. It exists while callbacks are pending.
    wake: Option<Arc<Timeline>>,
    thread: Option<WaitingThread>,
    is_stopping: bool,
}

struct WaitingThread {
    handle: JoinHandle<()>,
    /// This channel is disconnected when the thread has nothing more to do.
    ended: Receiver<Infallible>,
}

/// A callback that is due. It comes without its point, which would hold the logical device.
struct DueCallback {
    callback: Callback,
    outcome: Result<()>,
    recording: Option<Arc<TraceRecording>>,
}

/// The waiting thread of a device, and its tasks.
pub(crate) struct Waiter {
    signal: Signal<WaiterState>,
    /// The lock that the thread holds while it uses lanes.
    holding: Mutex<()>,
    tracker: Arc<Tracker>,
}

impl Waiter {
    /// Makes the waiter of the device whose work `tracker` tracks. The thread is started when first needed.
    pub(crate) fn new(tracker: Arc<Tracker>) -> Arc<Self> {
        let signal = Signal::new(Mutex::new(Rank::Waiter, WaiterState::default()));
        Arc::new(Self { signal, holding: Mutex::new(Rank::WaiterLanes, ()), tracker })
    }

    /// Makes the thread poll for old batches. The call costs one load if the thread is polling already.
    pub(crate) fn arm(self: &Arc<Self>) {
        self.signal.arm(|state| self.wake(state));
    }

    /// Runs `callback` on the waiter's thread once `point` is reached, or with the error that keeps the point from
    /// being reached.
    pub(crate) fn add(self: &Arc<Self>, point: Point, callback: Callback) -> Result<()> {
        let device = Arc::clone(point.timeline().device());
        point.flush()?;
        let mut added = Some((point, callback)); // A callback that is not added is dropped without the lock.
        self.signal.change(|state| {
            if state.wake.is_none() {
                state.wake = Some(Arc::new(Timeline::new(&device, 0)?));
            }
            state.callbacks.extend(added.take());
            self.wake(state);
            Ok(())
        })
    }

    /// Ends the thread when its callbacks have run, and waits for that end, for `limit` at most. Called when the device
    /// is dropped, so all work that callbacks are pending for is complete or lost. The thread cannot wait for itself:
    /// if a callback held the device, the thread ends after that callback.
    pub(crate) fn end(&self, limit: Duration) {
        let thread = self.signal.change(|state| {
            state.is_stopping = true;
            state.thread.take()
        });
        let is_other = |thread: &WaitingThread| thread.handle.thread().id() != thread::current().id();
        let Some(WaitingThread { handle, ended }) = thread.filter(is_other) else { return };
        match ended.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => {
                log_in_drop(|| log::error!("callbacks of a device still run {limit:?} after it was to be closed"));
            }
            Err(RecvTimeoutError::Disconnected) => drop(catch_panic(|| handle.join())),
        }
    }

    fn ensure_running(self: &Arc<Self>, state: &mut WaiterState) {
        if state.thread.is_some() {
            return;
        }
        let waiter = Arc::clone(self);
        let (ends, ended) = mpsc::channel();
        let thread = thread::Builder::new().name("vkarray-waiter".to_owned());
        match thread.spawn(move || waiter.run(&ends)) {
            Ok(handle) => state.thread = Some(WaitingThread { handle, ended }),
            // Without the thread, batches are still submitted when they are full or waited for.
            Err(error) => log::error!("cannot start the thread that submits work no thread waits for: {error}"),
        }
    }

    /// Starts the thread, or wakes it from a wait for the device. The signal wakes the thread from its other sleep.
    fn wake(self: &Arc<Self>, state: &mut WaiterState) {
        self.ensure_running(state);
        if let Some(wake) = &state.wake
            && let Err(error) = wake.raise()
        {
            log::warn!("cannot wake the waiting thread: {error}");
        }
    }

    /// Blocks until the thread uses no lane that was unwatched before the call.
    pub(crate) fn wait_until_lanes_released(&self) {
        drop(self.holding.lock());
    }

    /// The thread's work, until it is ended or finds itself in a forked process, where its locks may be held for ever.
    ///
    /// Of the program's code, callbacks and destructors end their panics themselves. One of its logger begins the work again.
    fn run(&self, _ends: &mpsc::Sender<Infallible>) {
        mark_background_thread();
        while let Err(message) = catch_panic(|| self.serve()) {
            log_in_drop(|| log::error!("the waiting thread panicked and goes on: {message}"));
            thread::sleep(PAUSE); // The cause may last.
        }
        if self.tracker.process.is_forked() {
            self.tracker.process.end_fork(); // A callback forked and returned here, on the only thread of the child.
        }
    }

    fn serve(&self) {
        let mut n_idle = 0;
        while !self.tracker.process.is_forked()
            && let Some(has_callbacks) = self.sleep_until_needed()
        {
            if self.signal.is_armed() {
                n_idle = if self.flush_old() { 0 } else { n_idle + 1 };
                if n_idle >= IDLE_ROUNDS {
                    n_idle = 0;
                    self.signal.disarm(|| self.flush_old());
                }
            }
            if has_callbacks {
                self.wait_for_callbacks();
            } else if self.signal.is_armed() {
                self.signal.sleep_for(FLUSH_DELAY, |state| !state.is_stopping && state.callbacks.is_empty());
            }
        }
    }

    /// Blocks until there is something to do. Returns whether callbacks are pending, or `None` when it is time to end.
    fn sleep_until_needed(&self) -> Option<bool> {
        self.signal.sleep_until(|state, is_armed| match state {
            WaiterState { is_stopping: true, callbacks, .. } if callbacks.is_empty() => Some(None),
            WaiterState { callbacks, .. } if is_armed || !callbacks.is_empty() => Some(Some(!callbacks.is_empty())),
            _ => None,
        })
    }

    /// Sleeps until a callback is due or the state changes, and runs the callbacks that are due.
    fn wait_for_callbacks(&self) {
        let failed = self.wait_for_device().err().filter(|error| !matches!(error, Error::Timeout { .. }));
        // Lack of memory is temporary. For another error, each timeline is asked, since the wait does not say which one
        // caused it.
        let asks_each = failed.as_ref().is_some_and(|error| !error.is_out_of_memory());
        let (due, is_refused) = self.take_due(asks_each);
        if failed.is_some() || is_refused {
            thread::sleep(PAUSE); // The cause may be temporary.
        }
        for DueCallback { callback, outcome, recording } in due {
            if self.tracker.process.is_forked() {
                return; // The callback before this one forked, and the others are the parent's.
            }
            assert_none_held("a stream's callback");
            let _span = recording.map(|recording| recording.span("callback", None));
            // `contain_panic` ends a panic of the callback, and the other callbacks still run.
            contain_panic("a stream's callback", || callback(outcome));
        }
    }

    /// Sleeps until the device has reached the point of a callback, or the state changes. Afterwards this thread holds
    /// none of the points.
    fn wait_for_device(&self) -> Result<()> {
        let (waits, timeout) = {
            // If a task is added after this lock is released, the adding thread signals the timeline past `next`.
            let state = self.signal.lock();
            let Some(wake) = state.wake.clone() else { return Ok(()) };
            let next = wake.submitted() + 1;
            let points = state.callbacks.iter().map(|(point, _)| (Arc::clone(point.timeline()), point.value()));
            let waits: Vec<_> = points.chain([(wake, next)]).collect();
            (waits, self.signal.is_armed().then_some(FLUSH_DELAY))
        };
        wait_any(&waits, timeout)
    }

    /// Takes out the callbacks whose points are reached or whose timelines have failed, in the order in which they were
    /// added. With `asks_each`, a wait for each timeline finds a failed one. Also returns whether the driver refused
    /// such a wait for lack of memory, so that the callback is to be asked about again.
    fn take_due(&self, asks_each: bool) -> (Vec<DueCallback>, bool) {
        let mut state = self.signal.lock();
        let (mut due, mut is_refused) = (Vec::new(), false);
        for (point, callback) in mem::take(&mut state.callbacks) {
            let asked = match point.is_reached() {
                Ok(false) if asks_each => point.timeline().ask(point.value()),
                known => known,
            };
            let outcome = match asked {
                Ok(true) => Ok(()),
                Err(error) if !error.is_out_of_memory() => Err(error),
                pending => {
                    is_refused |= pending.is_err();
                    state.callbacks.push((point, callback));
                    continue;
                }
            };
            let recording = point.timeline().device().trace.recording();
            due.push(DueCallback { callback, outcome, recording });
        }
        if state.callbacks.is_empty() {
            state.wake = None; // It holds the logical device.
        }
        (due, is_refused)
    }

    /// Submits the batches that have grown old. Returns whether a batch is still open.
    fn flush_old(&self) -> bool {
        let before = Instant::now().checked_sub(FLUSH_DELAY).unwrap_or_else(Instant::now);
        let _defer = DeferDrops::begin(); // Ends last, after the lock is released.
        let _holding = self.holding.lock();
        let lanes = self.tracker.lock().watched_lanes();
        let mut is_open = false;
        for lane in lanes {
            match lane.flush_if_older(before) {
                Ok(stays_open) => is_open |= stays_open,
                // After a lack of memory the batch is submitted later. Another error stays with the device, whose next
                // call returns it.
                Err(error) => {
                    is_open |= lane.device().check_lost().is_ok();
                    log::debug!("cannot send recorded work: {error}");
                }
            }
        }
        is_open
    }
}

crate::debug_fields!(Waiter, this => is_armed: this.signal.is_armed());
