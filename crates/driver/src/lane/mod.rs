//! A lane: one ordered recording onto one queue. It has an open batch, batches in flight, and a timeline.
//!
//! A stream has one lane, and further lanes for its copies on transfer queues. A lane exists so that operations
//! recorded one by one reach the driver in few submissions, and so that every submission has a number to wait for: the
//! lane numbers its batches, and its timeline reaches a batch's number when the batch is complete. A batch is in one of
//! four places: open for recording, begun in advance, in flight, or spare.
//!
//! No thread holds two lanes. Work of another lane that must be submitted first is submitted before this lane is
//! locked, and the operation is then ordered again.
//!
//! This folder never decides which operations conflict; the folder `hazard` does. This file records an operation.
//! `order.rs` finds the operation's place in a batch, `batch.rs` has the states of a batch, `submit.rs` decides when to
//! submit it, submits it, and ends a lane, `locked.rs` is a locked lane, and `job.rs` decides how many operations make
//! a batch. `recorder.rs` is what a closure records an operation with.

mod barrier;
mod batch;
mod bind_cache;
mod descriptors;
mod graph_commands;
mod job;
mod locked;
mod order;
mod recorder;
mod submit;
mod timestamps;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Instant;

use ash::vk;

use self::batch::Batch;
pub(crate) use self::graph_commands::{GraphCommands, StepCommands};
use self::job::Job;
use self::locked::{LockedLane, OpenOperation};
pub use self::recorder::Recorder;
pub(crate) use self::timestamps::{create_query_pool, read_timestamps};
use crate::error::Result;
use crate::hazard::{BlockAccess, LaneId, LaneTable, Operation};
use crate::lock::{Mutex, Rank};
use crate::sync::KeepAlive;
use crate::trace::BatchId;
use crate::tracker::{Point, RegisteredLane, Submit, Tracker, Waiter};
use crate::vulkan::{Label, LogicalDevice, Queue, QueueIndex, Timeline};

/// The most operations in a batch. A full batch is submitted even if the device is busy.
const MAX_OPS: u32 = 128;

#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) id: LaneId,
    hazards: Arc<LaneTable>,
    pub(crate) queue_index: QueueIndex,
    pub(crate) queue: Arc<Queue>,
    tracker: Arc<Tracker>,
    waiter: Arc<Waiter>,
    state: Mutex<LaneState>,
    pub(crate) timeline: Arc<Timeline>,
}

#[derive(Default)]
struct LaneState {
    /// The batch that operations are recorded into.
    open: Option<Box<Batch>>, // Boxed so that a batch moves between these four places as a pointer.
    /// The next batch, whose command buffer is already recording.
    begun: Option<Box<Batch>>,
    /// Batches that are submitted and perhaps not complete, oldest first.
    in_flight: VecDeque<Box<Batch>>,
    /// Batches that are complete and ready to be recorded again.
    #[expect(clippy::vec_box, reason = "a batch keeps its box for as long as it lives")]
    spare: Vec<Box<Batch>>,
    /// Objects that completed batches kept alive, to be dropped when the lock is released.
    released: Vec<KeepAlive>,
    /// The number of the newest batch ever opened.
    newest: u64,
    /// The number of the newest batch that the hazard table knows to be complete.
    reported: u64,
    /// How many operations a batch must hold to be submitted to an idle device; see [`Lane::should_submit`].
    eager_ops: u32,
    /// The operations since a thread last waited for the stream.
    job: Job,
    /// How often threads had waited for the stream when `job` began.
    n_waits: u64,
    /// Whether the job before `job` was a burst.
    follows_burst: bool,
}

impl LaneState {
    /// The open batch, which the caller has opened.
    #[inline]
    fn open_batch(&mut self) -> &mut Batch {
        self.open.as_mut().expect("a batch is opened before an operation is recorded")
    }
}

crate::debug_fields!(LaneState, this => open: this.open, newest: this.newest);

impl Lane {
    /// Makes a lane of the stream with this number. `beside` is another lane of the same stream, if it has one.
    /// `tracker` and `waiter` belong to the device.
    pub(crate) fn new(
        device: &Arc<LogicalDevice>,
        tracker: &Arc<Tracker>,
        waiter: &Arc<Waiter>,
        queue_index: QueueIndex,
        (stream, beside): (u64, Option<&Self>),
    ) -> Result<Arc<Self>> {
        let timeline = Timeline::new(device, stream)?;
        let state = LaneState { newest: timeline.submitted(), ..LaneState::default() };
        let queue = device.queue(queue_index);
        let (id, hazards) = {
            let table = &mut tracker.lock().hazards;
            let id = table.add_lane();
            (id, table.lane_table(id))
        };
        let (state, timeline) =
            (Mutex::new(Rank::Lane, state), Arc::new(timeline.of_lane(id, beside.map(|lane| &*lane.timeline))));
        let (tracker, waiter) = (Arc::clone(tracker), Arc::clone(waiter));
        let lane = Arc::new(Self { id, hazards, queue_index, queue, tracker, waiter, state, timeline });
        let submit: Weak<dyn Submit> = Arc::<Self>::downgrade(&lane);
        let registered = RegisteredLane { timeline: Arc::clone(&lane.timeline), lane: submit, is_watched: true };
        lane.tracker.lock().lanes.insert(lane.id, registered);
        Ok(lane)
    }

    /// Makes another lane of the same stream, on another queue.
    pub(crate) fn beside(&self, queue: QueueIndex) -> Result<Arc<Self>> {
        Self::new(self.device(), &self.tracker, &self.waiter, queue, (self.stream_number(), Some(self)))
    }

    #[inline]
    pub(crate) fn device(&self) -> &Arc<LogicalDevice> {
        self.timeline.device()
    }

    pub(crate) fn stream_number(&self) -> u64 {
        self.timeline.stream_number().expect("a lane's timeline is its stream's")
    }

    pub(crate) fn point(self: &Arc<Self>) -> Point {
        let value = self.state().newest;
        self.point_at(value)
    }

    /// The point at which the batch of this number is done.
    pub(crate) fn point_at(self: &Arc<Self>, value: u64) -> Point {
        let lane: Weak<dyn Submit> = Arc::<Self>::downgrade(self);
        Point::new(Arc::clone(&self.timeline), lane, value)
    }

    /// Records an operation into the open batch, and submits the batch if it is time.
    #[inline]
    pub(crate) fn record<R, E: From<crate::Error>>(
        &self,
        accesses: &[BlockAccess],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let state = self.begin_operation(Operation::Once(accesses))?;
        let mut operation = OpenOperation { lane: self, state: Some(state) };
        let recorded = commands(&mut Recorder { device: self.device(), batch: operation.batch() });
        // The operation is ended even when recording failed, since the batch may hold part of it and memory waits for
        // the batch.
        let ended = operation.end();
        let recorded = recorded?;
        ended?;
        Ok(recorded)
    }

    /// Ends an operation. Its batch is submitted now, or the waiting thread begins to watch it.
    fn end_operation(&self, mut state: LockedLane<'_>) -> Result<()> {
        let batch = state.open_batch();
        batch.end_operation();
        let (n_ops, is_watched) = (batch.n_ops, batch.watched_since.is_some());
        let submitted = match self.should_submit(&mut state, n_ops) {
            Ok(false) if is_watched => return Ok(()), // The batch's first operation armed the waiting thread.
            Ok(true) => {
                state.eager_ops = (state.eager_ops * 2).clamp(1, MAX_OPS);
                let begun = Instant::now();
                let submitted = self.submit(&mut state).map(|()| true);
                state.job.leave_out(begun.elapsed());
                submitted
            }
            other => other,
        };
        self.keep_watched(state, submitted, !is_watched)
    }

    /// Makes the waiting thread watch the open batch, if the batch was not submitted and is not watched.
    ///
    /// A batch that cannot be submitted now is no error of the operation, which is recorded and will run. The error is
    /// returned to the thread that waits for the operation. Only a device that has failed is an error here.
    fn keep_watched(&self, mut state: LockedLane<'_>, submitted: Result<bool>, is_first: bool) -> Result<()> {
        match submitted {
            Ok(true) => return Ok(()),
            Ok(false) if !is_first => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                self.device().check_lost()?;
                log::debug!("recorded work is submitted later: {error}");
            }
        }
        // The program may record nothing more. Then the waiting thread submits the batch when it has grown old.
        if let Some(batch) = &mut state.open {
            batch.watched_since.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.waiter.arm();
        Ok(())
    }

    /// Submits the open batch with a graph's commands after it. The replay is one more operation of the batch.
    pub(crate) fn replay(&self, graph: &Arc<GraphCommands>) -> Result<()> {
        if graph.n_steps == 0 {
            return self.device().check_lost();
        }
        let mut state = self.begin_operation(Operation::Repeatable(&graph.operation))?;
        state.open_batch().follow_with(graph);
        self.device().loss.labels.note(Label::replay(graph.n_steps));
        let submitted = self.submit(&mut state).map(|()| true);
        self.keep_watched(state, submitted, false)
    }

    /// Makes later operations start after `point`. Returns the number of the batch that waits, or nothing if `point` is
    /// complete or belongs to this lane.
    pub(crate) fn wait_for(&self, point: &Point) -> Result<Option<u64>> {
        if Arc::ptr_eq(point.timeline(), &self.timeline) || point.is_reached()? {
            return Ok(None);
        }
        point.flush()?;
        let mut state = self.state();
        let waiting = self.start_after(&mut state, std::slice::from_ref(point))?;
        // The batch is submitted even without operations, so that its completion can be queried.
        self.keep_watched(state, Ok(false), true)?;
        Ok(Some(waiting))
    }

    /// Whether everything recorded is complete. Never blocks.
    pub(crate) fn is_idle(&self) -> bool {
        // An open batch without operations may still have points to wait for.
        let is_open = self.state().open.as_ref().is_some_and(|batch| batch.n_ops > 0 || !batch.waits.is_empty());
        !is_open && self.timeline.has_reached(self.timeline.submitted()).unwrap_or(false)
    }

    #[inline]
    fn open_batch<'a>(&self, state: &'a mut LaneState) -> Result<&'a mut Batch> {
        if state.open.as_ref().is_none_or(|batch| batch.is_ended()) {
            self.open_next(state)?;
        }
        Ok(state.open_batch())
    }

    fn open_next(&self, state: &mut LaneState) -> Result<()> {
        if state.open.is_some() {
            self.submit(state)?; // It was refused for lack of memory, and takes no more operations.
        }
        if state.begun.is_none() {
            self.prepare(state)?;
        }
        self.report_completed(state);
        let mut batch = state.begun.take().expect("prepared above");
        state.newest += 1;
        batch.value = state.newest;
        if let Some(recording) = self.device().trace.recording() {
            let id = BatchId { timeline: self.timeline.handle(), value: batch.value };
            batch.begin_trace(recording, (self.queue_index, &self.queue), id);
        }
        state.open = Some(batch);
        Ok(())
    }

    /// Begins the next batch. Called after a submission, when the device is busy and the host has time.
    fn prepare(&self, state: &mut LaneState) -> Result<()> {
        self.collect(state)?;
        let mut batch = match state.spare.pop() {
            Some(batch) => batch,
            None => Box::new(Batch::new(self.device(), &self.queue)?),
        };
        batch.begin(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
        state.begun = Some(batch);
        Ok(())
    }

    /// Recycles the batches that are complete.
    fn collect(&self, state: &mut LaneState) -> Result<()> {
        let Some(oldest) = state.in_flight.front() else { return Ok(()) };
        self.timeline.has_reached(oldest.value)?;
        let reached = self.timeline.last_seen();
        while state.in_flight.front().is_some_and(|batch| batch.value <= reached) {
            let mut batch = state.in_flight.pop_front().expect("the loop's condition found it");
            batch.recycle(&mut state.released)?;
            state.spare.push(batch);
        }
        self.report_completed(state);
        Ok(())
    }

    /// Reports the complete batches to the hazard table, which then orders nothing after them.
    fn report_completed(&self, state: &mut LaneState) {
        let seen = self.timeline.last_seen();
        if seen > state.reported {
            state.reported = seen;
            self.tracker.lock().completed(self.id, seen);
        }
    }

    #[inline]
    fn state(&self) -> LockedLane<'_> {
        // A panic during the recording of an operation leaves a batch that can still be recorded.
        LockedLane::new(self.state.lock())
    }
}

impl Submit for Lane {
    fn device(&self) -> &Arc<LogicalDevice> {
        self.timeline.device()
    }

    fn waiter(&self) -> &Arc<Waiter> {
        &self.waiter
    }

    fn flush(&self) -> Result<()> {
        self.submit(&mut self.state())
    }

    fn flush_up_to(&self, value: u64) -> Result<()> {
        let mut state = self.state();
        if self.timeline.submitted() >= value { Ok(()) } else { self.submit(&mut state) }
    }

    fn flush_if_older(&self, before: Instant) -> Result<bool> {
        let mut state = self.state();
        match state.open.as_ref().and_then(|batch| batch.watched_since) {
            Some(since) if since <= before => self.submit(&mut state).map(|()| false),
            since => Ok(since.is_some()),
        }
    }

    fn synchronize(&self) -> Result<()> {
        self.flush()?;
        let value = self.timeline.submitted();
        self.timeline.wait(value, None)?;
        self.collect(&mut self.state())
    }
}
