//! The mechanics of a stream: its open batch, the batches in flight, and its timeline.
//!
//! No thread holds two lanes: work of another lane that must be sent first is sent before this lane is locked, and the
//! question is asked again. The order of locks is the table in `sync/lock.rs`.
//! How an operation finds its place in a batch is in `order.rs`; how a batch is sent, and how a lane ends, in
//! `send.rs`; what happens when the lock is released, in `locked.rs`. Read them in this order; `recorder.rs` is what the
//! crates above record with.
//! Batches are numbered on from where the timeline stands, and the lane's timeline reaches a batch's number when it is done.

mod barrier;
mod batch;
mod bind_cache;
mod descriptors;
mod graph_commands;
mod locked;
mod order;
mod recorder;
mod send;
mod timestamps;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Instant;

use self::batch::Batch;
pub(crate) use self::graph_commands::{GraphCommands, StepCommands};
use self::locked::{Locked, OpenOperation};
use self::order::Operation;
pub use self::recorder::Recorder;
use crate::error::Result;
use crate::hazard::{Access, LaneId};
use crate::lock::{Mutex, Rank};
use crate::sync::KeepAliveList;
use crate::trace::BatchId;
use crate::tracker::{Point, RegisteredLane, Submit, Tracker, Waiter};
use crate::vulkan::{Label, LogicalDevice, Queue, QueueIndex, Timeline};

/// A batch of this many operations is sent whatever the device does.
const MAX_OPS: u32 = 128;

/// In a burst, a batch sent early holds at most this many operations.
const MAX_EAGER_OPS: u32 = 64;

#[derive(Debug)]
pub(crate) struct Lane {
    id: LaneId,
    queue: QueueIndex,
    on: Arc<Queue>,
    tracker: Arc<Tracker>,
    waiter: Arc<Waiter>,
    state: Mutex<LaneState>,
    timeline: Arc<Timeline>,
}

#[derive(Default)]
struct LaneState {
    /// The batch being recorded.
    open: Option<Box<Batch>>, // Boxed once in its life, since it goes round all four.
    /// The batch to be recorded next, already begun.
    begun: Option<Box<Batch>>,
    /// Sent and perhaps not done, oldest first.
    in_flight: VecDeque<Box<Batch>>,
    /// Completion and ready to be recorded again.
    #[expect(clippy::vec_box, reason = "a batch keeps its box for as long as it lives")]
    spare: Vec<Box<Batch>>,
    /// What batches that are done kept alive, until the lock is given back.
    released: KeepAliveList,
    /// The number of the newest batch ever opened.
    newest: u64,
    /// Up to which batch the hazard table knows that they are done.
    told: u64,
    /// Operations a batch must hold before an idle device is a reason to send it; see [`Lane::should_send`].
    eager_ops: u32,
}

/// The open batch, where one was opened before.
fn opened(state: &mut LaneState) -> &mut Batch {
    state.open.as_mut().expect("a batch is opened before an operation is recorded")
}

impl Lane {
    /// Makes a lane of the stream of that number. `tracker` and `waiter` are the device's.
    pub(crate) fn new(
        device: &Arc<LogicalDevice>,
        tracker: &Arc<Tracker>,
        waiter: &Arc<Waiter>,
        queue: QueueIndex,
        stream: u64,
    ) -> Result<Arc<Self>> {
        let timeline = Timeline::new(device, stream)?;
        let state = LaneState { newest: timeline.submitted(), ..LaneState::default() };
        let on = device.queue(queue);
        let id = tracker.lock().hazards.add_lane(queue.number());
        let (state, timeline) = (Mutex::new(Rank::Lane, state), Arc::new(timeline.of_lane(id)));
        let (tracker, waiter) = (Arc::clone(tracker), Arc::clone(waiter));
        let lane = Arc::new(Self { id, queue, on, tracker, waiter, state, timeline });
        let submit: Weak<dyn Submit> = Arc::<Self>::downgrade(&lane);
        let registered = RegisteredLane { timeline: Arc::clone(&lane.timeline), lane: submit, is_watched: true };
        lane.tracker.lock().register(lane.id, registered);
        Ok(lane)
    }

    /// A lane of the same stream on another queue.
    pub(crate) fn beside(&self, queue: QueueIndex) -> Result<Arc<Self>> {
        Self::new(self.device(), &self.tracker, &self.waiter, queue, self.stream_number())
    }

    #[inline]
    pub(crate) fn device(&self) -> &Arc<LogicalDevice> {
        self.timeline.device()
    }

    pub(crate) fn stream_number(&self) -> u64 {
        self.timeline.stream_number().expect("a lane's timeline is its stream's")
    }

    pub(crate) fn queue_index(&self) -> QueueIndex {
        self.queue
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.on
    }

    pub(crate) fn id(&self) -> LaneId {
        self.id
    }

    pub(crate) fn point(self: &Arc<Self>) -> Point {
        let value = self.state().newest;
        self.point_at(value)
    }

    /// The point at which the batch of that number is done.
    pub(crate) fn point_at(self: &Arc<Self>, value: u64) -> Point {
        let lane: Weak<dyn Submit> = Arc::<Self>::downgrade(self);
        Point::new(Arc::clone(&self.timeline), lane, value)
    }

    /// The largest batch number that the device is known to have reached. Does not ask the driver, so it may lag.
    pub(crate) fn last_seen(&self) -> u64 {
        self.timeline.last_seen()
    }

    pub(crate) fn record<R, E: From<crate::Error>>(
        &self,
        accesses: &[Access],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut operation = OpenOperation::new(self, self.begin_operation(Operation::Once(accesses))?);
        let recorded = commands(&mut Recorder::new(self.device(), operation.batch()));
        // Also when the operation failed: the batch may hold part of it, and memory waits for the batch.
        let kept = operation.end();
        let recorded = recorded?;
        kept?;
        Ok(recorded)
    }

    /// Sends the batch that an operation was recorded into, if it is time, or sees to it that somebody will.
    fn end_operation(&self, mut state: Locked<'_>) -> Result<()> {
        let batch = opened(&mut state);
        if let Some(trace) = &mut batch.trace {
            trace.end_op(self.device().raw(), batch.commands);
        }
        let (n_ops, is_watched) = (batch.n_ops, batch.opened.is_some());
        let sent = match self.should_send(&mut state, n_ops) {
            Ok(false) if is_watched => return Ok(()),
            Ok(true) => {
                state.eager_ops = (state.eager_ops * 2).clamp(1, MAX_EAGER_OPS);
                self.send(&mut state).map(|()| true)
            }
            other => other,
        };
        self.keep_watched(state, sent, !is_watched)
    }

    /// Sees to it that somebody sends the open batch, if it was not sent and nobody watches it.
    ///
    /// What is recorded will run, so that it cannot be sent just now is no error of the operation, which would be
    /// repeated: whoever waits for it hears of that. Only a device that has failed is an error.
    fn keep_watched(&self, mut state: Locked<'_>, sent: Result<bool>, is_first: bool) -> Result<()> {
        match sent {
            Ok(true) => return Ok(()),
            Ok(false) if !is_first => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                self.device().check_lost()?;
                log::debug!("recorded work is sent later: {error}");
            }
        }
        // Nobody may come back to this batch: the waiter sends it when it has grown old.
        if let Some(batch) = &mut state.open {
            batch.opened.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.waiter.arm();
        Ok(())
    }

    /// Sends what is open, and behind it, as one operation more, what a graph recorded.
    pub(crate) fn replay(&self, recording: &Arc<GraphCommands>) -> Result<()> {
        if recording.is_empty() {
            return self.device().check_lost();
        }
        let mut state = self.begin_operation(Operation::Replay(recording.operation()))?;
        let batch = opened(&mut state);
        batch.followed_by = Some(recording.commands());
        batch.keep.push(Arc::clone(recording) as _);
        batch.trace_graph(recording.n_steps());
        self.device().labels().note(Label::replay(recording.n_steps()));
        let sent = self.send(&mut state).map(|()| true);
        self.keep_watched(state, sent, false)
    }

    /// Makes what is recorded later start after `point`. Returns the number of the batch that waits; nothing if there
    /// is nothing to wait for.
    pub(crate) fn wait_for(&self, point: &Point) -> Result<Option<u64>> {
        if Arc::ptr_eq(point.timeline(), &self.timeline) || point.is_complete()? {
            return Ok(None);
        }
        point.flush()?;
        let mut state = self.state();
        let waiting = self.start_after(&mut state, std::slice::from_ref(point))?;
        // A wait is work too: whoever only asks whether it is over must see it end.
        self.keep_watched(state, Ok(false), true)?;
        Ok(Some(waiting))
    }

    /// Whether all that was recorded is done, as far as is known without waiting.
    pub(crate) fn is_idle(&self) -> bool {
        // An open batch without operations may have been told to start after something.
        let is_open = self.state().open.as_ref().is_some_and(|batch| batch.n_ops > 0 || !batch.waits.is_empty());
        !is_open && self.timeline.has_reached(self.timeline.submitted())
    }

    #[inline]
    fn open_batch<'a>(&self, state: &'a mut LaneState) -> Result<&'a mut Batch> {
        if state.open.as_ref().is_none_or(|batch| batch.is_ended) {
            self.open_next(state)?;
        }
        Ok(opened(state))
    }

    fn open_next(&self, state: &mut LaneState) -> Result<()> {
        if state.open.is_some() {
            self.send(state)?; // It was refused before, and takes no more work.
        }
        if state.begun.is_none() {
            self.prepare(state)?;
        }
        self.tell_completed(state);
        let mut batch = state.begun.take().expect("prepared above");
        state.newest += 1;
        batch.value = state.newest;
        if let Some(recording) = self.device().trace().recording() {
            let id = BatchId::new(self.timeline.handle(), batch.value);
            batch.begin_trace(recording, (self.queue, self.queue()), id);
        }
        state.open = Some(batch);
        Ok(())
    }

    /// Begins the next batch. After a submission, which is when the host has time: the device is busy.
    fn prepare(&self, state: &mut LaneState) -> Result<()> {
        self.collect(state)?;
        let mut batch = match state.spare.pop() {
            Some(batch) => batch,
            None => Box::new(Batch::new(self.device(), self.queue())?),
        };
        batch.begin()?;
        state.begun = Some(batch);
        Ok(())
    }

    /// Takes back the batches that are done.
    fn collect(&self, state: &mut LaneState) -> Result<()> {
        let Some(oldest) = state.in_flight.front() else { return Ok(()) };
        let reached = if self.timeline.last_seen() >= oldest.value {
            self.timeline.last_seen()
        } else {
            self.timeline.reached()?
        };
        while state.in_flight.front().is_some_and(|batch| batch.value <= reached) {
            let mut batch = state.in_flight.pop_front().expect("its front was looked at");
            batch.recycle(&mut state.released)?;
            state.spare.push(batch);
        }
        self.tell_completed(state);
        Ok(())
    }

    /// Tells the hazard table what is known to be done, so that nothing is ordered after it any more.
    fn tell_completed(&self, state: &mut LaneState) {
        let seen = self.timeline.last_seen();
        if seen > state.told {
            state.told = seen;
            self.tracker.lock().completed(self.id, seen);
        }
    }

    /// Sends a full batch, and one that has enough in it while the device has nothing to do.
    ///
    /// What is enough doubles with every batch sent early, and is one operation again when somebody has waited. So a
    /// single operation goes out at once, and in a burst on a device that is faster than its host the cost of sending
    /// is shared by many.
    fn should_send(&self, state: &mut LaneState, n_ops: u32) -> Result<bool> {
        if n_ops >= MAX_OPS {
            return Ok(true);
        }
        if self.timeline.take_waited_for() {
            state.eager_ops = 1;
        }
        if n_ops < state.eager_ops || !n_ops.is_power_of_two() {
            return Ok(false);
        }
        let submitted = self.timeline.submitted();
        Ok(self.timeline.last_seen() >= submitted || self.timeline.reached()? >= submitted)
    }

    fn state(&self) -> Locked<'_> {
        // A panic in a caller's recording leaves a batch that is still recordable.
        Locked::new(self.state.lock())
    }
}

impl Submit for Lane {
    fn device(&self) -> &Arc<LogicalDevice> {
        self.timeline.device()
    }

    fn flush(&self) -> Result<()> {
        self.send(&mut self.state())
    }

    fn flush_up_to(&self, value: u64) -> Result<()> {
        let mut state = self.state();
        if self.timeline.submitted() >= value { Ok(()) } else { self.send(&mut state) }
    }

    fn flush_if_older(&self, before: Instant) -> Result<bool> {
        let mut state = self.state();
        match state.open.as_ref().and_then(|batch| batch.opened) {
            Some(opened) if opened <= before => self.send(&mut state).map(|()| false),
            opened => Ok(opened.is_some()),
        }
    }

    #[cfg(feature = "trace")]
    fn synchronize(&self) -> Result<()> {
        self.flush()?;
        let value = self.timeline.submitted();
        self.timeline.wait(value, None)?;
        self.collect(&mut self.state())
    }
}
