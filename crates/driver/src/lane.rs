//! The mechanics of a stream: its open batch, the batches in flight, and its timeline.
//!
//! Locks are taken in this order: a lane's state, then the tracker or the queue. No thread holds two lanes: work of
//! another lane that must be sent first is sent before this lane is locked, and the question is asked again.
//! Batches are numbered on from where the timeline stands, and the lane's timeline reaches a batch's number when it is done.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use crate::batch::Batch;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{self, Access, Barrier, LaneId};
use crate::mask::{read_mask, stage_mask, write_mask};
use crate::point::Point;
use crate::queue::{Queue, QueueIndex};
use crate::stream::Recorder;
use crate::timeline::Timeline;
use crate::tracker::Registered;

/// A batch of this many operations is sent whatever the device does.
const MAX_OPS: u32 = 128;

#[derive(Debug)]
pub(crate) struct Lane {
    id: LaneId,
    queue: QueueIndex,
    state: Mutex<State>, // First lock in the order.
    timeline: Arc<Timeline>,
}

#[derive(Debug, Default)]
struct State {
    /// The batch being recorded.
    open: Option<Batch>,
    /// Sent and perhaps not done, oldest first.
    in_flight: VecDeque<Batch>,
    /// Done and ready to be recorded again.
    spare: Vec<Batch>,
    /// The number of the newest batch ever opened.
    newest: u64,
}

/// What a batch must start after.
type Waits = SmallVec<[Point; 4]>;

/// Where an operation stands.
enum Ordered {
    /// It belongs to the open batch, behind this barrier.
    Ready(Option<Barrier>),
    /// It belongs to a batch that starts after these points.
    After(Waits),
}

impl Lane {
    pub(crate) fn new(device: &Arc<Device>, queue: QueueIndex) -> Result<Arc<Self>> {
        let timeline = Arc::new(Timeline::new(device)?);
        let state = State { newest: timeline.submitted(), ..State::default() };
        let lane = Arc::new(Self { id: device.add_lane(queue), queue, state: Mutex::new(state), timeline });
        let registered = Registered { timeline: Arc::clone(&lane.timeline), lane: Arc::downgrade(&lane) };
        device.tracker().register(lane.id, registered);
        Ok(lane)
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        self.timeline.device()
    }

    pub(crate) fn queue_index(&self) -> QueueIndex {
        self.queue
    }

    pub(crate) fn queue(&self) -> &Queue {
        self.device().queue(self.queue)
    }

    pub(crate) fn id(&self) -> LaneId {
        self.id
    }

    pub(crate) fn point(self: &Arc<Self>) -> Point {
        let value = self.state().newest;
        Point::new(Arc::clone(&self.timeline), Arc::downgrade(self), value)
    }

    pub(crate) fn record<R, E: From<crate::Error>>(
        &self,
        accesses: &[Access],
        commands: impl FnOnce(&mut Recorder<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        self.device().check_lost()?;
        let mut state = self.state();
        let barrier = loop {
            self.open_batch(&mut state)?;
            let waits = match self.order(&mut state, accesses)? {
                Ordered::Ready(barrier) => break barrier,
                Ordered::After(waits) => waits,
            };
            match waits.iter().find(|p| p.timeline().submitted() < p.value()) {
                Some(behind) => {
                    drop(state); // Never two lanes at once.
                    behind.flush()?;
                    state = self.state();
                }
                None => self.start_after(&mut state, &waits)?,
            }
        };
        let batch = self.open_batch(&mut state)?;
        if let Some(barrier) = barrier {
            self.barrier(batch, barrier);
        }
        // Counted before it is recorded: a batch that holds a failed operation's first commands is still sent.
        batch.n_ops += 1;
        let n_ops = batch.n_ops;
        let recorded = commands(&mut Recorder::new(self.device(), batch));
        // Also when the operation failed: the batch may hold part of it, and memory waits for the batch.
        let posted = self.post(state, n_ops);
        let recorded = recorded?;
        posted?;
        Ok(recorded)
    }

    /// Sends the open batch if it is time to; else sees to it that somebody does.
    ///
    /// What is recorded will run, so that it cannot be sent just now is no error of the operation: whoever waits for
    /// it hears of that. Only a device that has failed is an error.
    fn post(&self, mut state: MutexGuard<'_, State>, n_ops: u32) -> Result<()> {
        let sent = match self.should_send(n_ops) {
            Ok(true) => self.send(&mut state).map(|()| true),
            other => other,
        };
        let is_watched = n_ops > 1;
        match sent {
            Ok(true) => return Ok(()),
            Ok(false) if is_watched => return Ok(()),
            Ok(false) => {}
            Err(error) => {
                self.device().check_lost()?;
                tracing::debug!(%error, "recorded work is sent later");
            }
        }
        // Nobody may come back to this batch: the waiter sends it when it has grown old.
        if let Some(batch) = &mut state.open {
            batch.opened.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.device().waiter().arm(self.device());
        Ok(())
    }

    pub(crate) fn wait_for(&self, point: &Point) -> Result<()> {
        if Arc::ptr_eq(point.timeline(), &self.timeline) || point.is_complete()? {
            return Ok(());
        }
        point.flush()?;
        let mut state = self.state();
        self.start_after(&mut state, std::slice::from_ref(point))
    }

    pub(crate) fn flush(&self) -> Result<()> {
        self.send(&mut self.state())
    }

    /// Sends the open batch if its first operation was recorded before `before`. Returns whether one stays open.
    pub(crate) fn flush_if_older(&self, before: Instant) -> Result<bool> {
        let mut state = self.state();
        match state.open.as_ref().and_then(|batch| batch.opened) {
            Some(opened) if opened <= before => self.send(&mut state).map(|()| false),
            opened => Ok(opened.is_some()),
        }
    }

    pub(crate) fn flush_up_to(&self, value: u64) -> Result<()> {
        let mut state = self.state();
        if self.timeline.submitted() >= value { Ok(()) } else { self.send(&mut state) }
    }

    /// Asks the hazard table, and commits the operation to the open batch if nothing foreign is to be waited for.
    ///
    /// Asking and committing are one step under the tracker's lock: no other lane slips in between.
    fn order(&self, state: &mut State, accesses: &[Access]) -> Result<Ordered> {
        let batch = state.open.as_ref().expect("the caller opened one");
        let mut tracker = self.device().tracker();
        loop {
            let plan = tracker.hazards.plan(self.id, accesses);
            if plan.waits.is_empty() {
                tracker.hazards.commit(&plan, batch.value, accesses);
                return Ok(Ordered::Ready(plan.barrier));
            }
            let mut waits = Waits::new();
            for &hazard::Point { lane, value } in &plan.waits {
                match tracker.point(lane, value) {
                    Some(point) if !point.is_complete()? => waits.push(point),
                    _ => tracker.hazards.completed(lane, value),
                }
            }
            if waits.len() == plan.waits.len() {
                return Ok(Ordered::After(waits));
            }
            // What is done needs no order: ask again.
        }
    }

    /// Makes the next operation start after `points`, all of them sent. What is recorded already does not wait.
    fn start_after(&self, state: &mut State, points: &[Point]) -> Result<()> {
        if state.open.as_ref().is_some_and(|batch| batch.n_ops > 0) {
            self.send(state)?;
        }
        let batch = self.open_batch(state)?;
        for point in points {
            if let Some(place) = point.place() {
                self.device().tracker().hazards.waited(self.id, batch.value, place);
            }
            match batch.waits.iter_mut().find(|(timeline, _)| Arc::ptr_eq(timeline, point.timeline())) {
                Some((_, value)) => *value = (*value).max(point.value()),
                None => batch.waits.push((Arc::clone(point.timeline()), point.value())),
            }
        }
        Ok(())
    }

    fn open_batch<'a>(&self, state: &'a mut State) -> Result<&'a mut Batch> {
        if state.open.as_ref().is_some_and(|batch| batch.is_ended) {
            self.send(state)?; // It was refused before, and takes no more work.
        }
        if state.open.is_none() {
            self.collect(state)?;
            let mut batch = match state.spare.pop() {
                Some(batch) => batch,
                None => Batch::new(self.device(), self.queue())?,
            };
            batch.begin(state.newest + 1)?;
            state.newest += 1;
            state.open = Some(batch);
        }
        Ok(state.open.as_mut().expect("opened above"))
    }

    /// Takes back the batches that are done.
    fn collect(&self, state: &mut State) -> Result<()> {
        let Some(oldest) = state.in_flight.front() else { return Ok(()) };
        let reached = if self.timeline.last_seen() >= oldest.value {
            self.timeline.last_seen()
        } else {
            self.timeline.reached()?
        };
        while state.in_flight.front().is_some_and(|batch| batch.value <= reached) {
            let mut batch = state.in_flight.pop_front().expect("its front was looked at");
            batch.recycle()?;
            state.spare.push(batch);
        }
        self.device().tracker().hazards.completed(self.id, reached);
        Ok(())
    }

    /// Sends a full batch, and any batch while the device has nothing to do. Looks at 1, 2, 4, 8, … operations.
    fn should_send(&self, n_ops: u32) -> Result<bool> {
        if n_ops >= MAX_OPS {
            return Ok(true);
        }
        Ok(n_ops.is_power_of_two() && self.timeline.reached()? >= self.timeline.submitted())
    }

    fn send(&self, state: &mut State) -> Result<()> {
        let Some(batch) = &mut state.open else { return Ok(()) };
        let ended = if batch.is_ended { Ok(()) } else { batch.end() };
        let queue = self.queue().lock();
        // Asked under the queue's lock: once a failed device's queue was locked, nothing more is sent to it.
        if let Err(error) = ended.and_then(|()| self.device().check_lost()) {
            // Its work is lost. Whoever waits for it must not wait for ever: the device is of no more use.
            drop(queue);
            state.open = None;
            return Err(self.device().fail(error));
        }
        let submitted = self.submit(*queue, batch);
        if let Err(error) = &submitted
            && error.is_out_of_memory()
        {
            // The specification promises that nothing has changed then: the batch stays, to be sent again.
            batch.opened = Some(Instant::now());
            return Err(error.clone());
        }
        let outcome = match submitted {
            Ok(()) => {
                self.timeline.set_submitted(batch.value);
                Ok(())
            }
            Err(error) => Err(self.device().fail_unsure(error)),
        };
        drop(queue);
        // Also after a failure: the driver may have taken it, so it goes when the device is known to be idle.
        state.in_flight.extend(state.open.take());
        outcome
    }

    /// Sends what is open and waits until the device uses nothing of the lane's work any more.
    fn finish(&self, state: &mut State) -> Result<()> {
        if self.device().is_forked() {
            return self.device().check_lost();
        }
        if let Err(refused) = self.send(state)
            && state.open.is_some()
        {
            // What is done makes room for what was refused for lack of memory.
            let again = self.drain(state).and_then(|()| self.send(state));
            if again.is_err() && state.open.take().is_some() {
                self.device().fail(refused); // Its work is lost, and others may wait for it.
            }
        }
        self.drain(state)
    }

    fn drain(&self, state: &mut State) -> Result<()> {
        let sent = self.timeline.submitted();
        self.timeline.settle(sent)?;
        if state.in_flight.back().is_some_and(|batch| batch.value > sent) {
            self.device().wait_idle()?; // The driver may have taken it when the submission failed.
        }
        state.in_flight.clear();
        Ok(())
    }

    fn submit(&self, queue: vk::Queue, batch: &Batch) -> Result<()> {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        let at =
            |semaphore, value| vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value).stage_mask(all);
        let waits: SmallVec<[_; 4]> = batch.waits.iter().map(|(timeline, value)| at(timeline.raw(), *value)).collect();
        let signals = [at(self.timeline.raw(), batch.value)];
        let commands = [vk::CommandBufferSubmitInfo::default().command_buffer(batch.commands)];
        let info = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signals);
        // SAFETY: the caller holds the queue's lock. The batch is recorded and goes to `in_flight`, which keeps it and
        // its timelines until it is done; batch numbers grow; every value waited for was submitted before.
        unsafe { self.device().raw().queue_submit2(queue, &[info], vk::Fence::null()) }
            .map_err(crate::Error::from_call("vkQueueSubmit2"))
    }

    fn barrier(&self, batch: &Batch, barrier: Barrier) {
        let memory = [vk::MemoryBarrier2::default()
            .src_stage_mask(stage_mask(barrier.src_stages))
            .src_access_mask(write_mask(barrier.src_stages))
            .dst_stage_mask(stage_mask(barrier.dst_stages))
            .dst_access_mask(write_mask(barrier.dst_stages) | read_mask(barrier.dst_stages))];
        let info = vk::DependencyInfo::default().memory_barriers(&memory);
        // SAFETY: the batch is recording under this lane's lock, and `info` borrows the barrier.
        unsafe { self.device().raw().cmd_pipeline_barrier2(batch.commands, &info) };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic in a caller's recording leaves a batch that is still recordable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = mem::take(self.state.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.finish(&mut state) {
            tracing::error!(%error, "a stream was dropped before its work was done; what the work uses is leaked");
            // The tracker goes on naming the timeline: what the work uses is never taken for done.
            mem::forget((state, Arc::clone(&self.timeline)));
            return;
        }
        self.device().tracker().forget(self.id, state.newest);
    }
}
