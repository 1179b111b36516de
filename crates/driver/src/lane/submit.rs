//! When and how a batch is submitted, what happens when a submission fails, and the end of a lane.
//!
//! A batch that the driver refuses for lack of memory stays open and is submitted again. When a batch's work is lost
//! the device fails, since other work may wait for it; `vulkan/loss.rs` says what a failed device does.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use super::batch::Batch;
use super::job::Job;
use super::{Lane, LaneState, MAX_OPS};
use crate::error::{Error, Result};
use crate::sync::{DeferDrops, log_in_drop};

impl Lane {
    /// Whether the open batch is submitted now: if it is full, or if it holds enough operations and the device is idle.
    ///
    /// The number that is enough starts at [`Job::eager_ops`] after a thread has waited, and doubles with each batch
    /// submitted early. So a job that is repeated is submitted as a whole, and in a burst on a fast device many
    /// operations share the cost of a submission.
    #[inline]
    pub(super) fn should_submit(&self, state: &mut LaneState, n_ops: u32) -> Result<bool> {
        if n_ops >= MAX_OPS {
            return Ok(true);
        }
        self.job(state).add(Instant::now);
        if n_ops < state.eager_ops || (n_ops > state.eager_ops && !n_ops.is_power_of_two()) {
            return Ok(false);
        }
        self.timeline.has_reached(self.timeline.submitted())
    }

    /// Whether the next operation is probably one of few between two waits of a thread, judged by the last operations.
    pub(crate) fn is_in_job(&self) -> bool {
        let state = self.state();
        let begins = self.timeline.n_waits() != state.n_waits;
        !state.job.is_burst() && (begins || !state.follows_burst)
    }

    /// Whether a thread has waited since the last operation, and this operation was the only one since the wait before.
    pub(crate) fn follows_single(&self) -> bool {
        let state = self.state();
        self.timeline.n_waits() != state.n_waits && state.job.is_single()
    }

    /// Counts a copy of the same stream on another queue.
    pub(crate) fn note_beside(&self) {
        self.job(&mut self.state()).add_beside();
    }

    /// The job that the next operation belongs to: a new one if a thread has waited since the last operation.
    #[inline]
    fn job<'a>(&self, state: &'a mut LaneState) -> &'a mut Job {
        let n_waits = self.timeline.n_waits();
        if n_waits != state.n_waits {
            state.n_waits = n_waits;
            let job = mem::take(&mut state.job);
            if !job.is_empty() {
                (state.eager_ops, state.follows_burst) = (job.eager_ops(), job.is_burst());
            }
        }
        &mut state.job
    }

    /// Submits the open batch, if there is one, and begins the next one.
    pub(super) fn submit(&self, state: &mut LaneState) -> Result<()> {
        let Some(batch) = &mut state.open else { return Ok(()) };
        // An unsent batch of a failed device may use objects that are already freed, so its recording is not even
        // ended.
        let ended = self.device().check_lost().and_then(|()| batch.end());
        let queue = self.queue.lock();
        // The check is repeated under the queue's lock: a thread that locks a queue after the device has failed submits
        // nothing more to it.
        if let Err(error) = ended.and_then(|()| self.device().check_lost()) {
            drop(queue);
            if let Some(mut lost) = state.open.take() {
                lost.release(&mut state.released);
            }
            return Err(self.device().fail(error)); // The work is lost, and other threads may wait for it.
        }
        let span = batch.trace.as_mut().and_then(|trace| trace.submit(self.device()));
        let submitted = self.queue_submit(queue.raw, batch);
        drop(span);
        if let Err(error) = &submitted
            && error.is_out_of_memory()
        {
            // The specification guarantees that nothing has changed. The batch stays open, to be submitted again.
            batch.watched_since = Some(Instant::now());
            return submitted;
        }
        let outcome = submitted.map_err(|error| self.device().fail_unsure(error));
        if outcome.is_ok() {
            self.timeline.set_submitted(batch.value);
            self.queue.note_newest(&self.timeline, batch.value);
        }
        drop(queue);
        // The batch also goes to `in_flight` after a failure: the driver may have taken it, so it is freed when the
        // device is known to be idle.
        state.in_flight.extend(state.open.take());
        outcome?;
        if let Err(error) = self.prepare(state) {
            log::debug!("the next batch is begun when it is needed: {error}");
        }
        Ok(())
    }

    fn queue_submit(&self, queue: vk::Queue, batch: &Batch) -> Result<()> {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        let at =
            |semaphore, value| vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value).stage_mask(all);
        let waits: SmallVec<[_; 4]> = batch.waits.iter().map(|(timeline, value)| at(timeline.raw(), *value)).collect();
        let signals = [at(self.timeline.raw(), batch.value)];
        let commands =
            batch.submission().map(|commands| vk::CommandBufferSubmitInfo::default().command_buffer(commands));
        let commands: SmallVec<[_; 2]> = commands.collect();
        let info = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signals);
        // SAFETY: the caller holds the queue's lock. The batch is recorded and goes to `in_flight`, which keeps it and
        // its timelines until it is complete; batch numbers grow; every value waited for was submitted before.
        unsafe { self.device().raw().queue_submit2(queue, &[info], vk::Fence::null()) }
            .map_err(Error::from_call("vkQueueSubmit2"))
    }

    /// Submits the open batch and waits until the device uses nothing of the lane's work any more.
    fn finish(&self, state: &mut LaneState) -> Result<()> {
        if self.device().is_forked() {
            return self.device().check_lost();
        }
        if let Err(refused) = self.submit(state)
            && state.open.is_some()
        {
            // Completed work may free memory for the batch that was refused.
            let again = self.drain(state).and_then(|()| self.submit(state));
            if again.is_err() && state.open.take().is_some() {
                self.device().fail(refused); // Its work is lost, and other threads may wait for it.
            }
        }
        self.drain(state)
    }

    fn drain(&self, state: &mut LaneState) -> Result<()> {
        let submitted = self.timeline.submitted();
        self.timeline.drain(submitted)?;
        if state.in_flight.back().is_some_and(|batch| batch.value > submitted) {
            self.device().wait_idle()?; // The driver may have taken it although the submission failed.
        }
        let mut released = Vec::new();
        for mut batch in state.in_flight.drain(..) {
            batch.read_trace();
            batch.release(&mut released);
            drop(DeferDrops::postpone(&mut released));
        }
        Ok(())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = mem::take(self.state.get_mut());
        if let Err(error) = self.finish(&mut state) {
            // The tracker still names the timeline, so the memory and objects that the work uses are never considered
            // free.
            mem::forget((state, Arc::clone(&self.timeline)));
            return log_in_drop(|| {
                log::error!("a stream was dropped before its work was complete; what the work uses is leaked: {error}");
            });
        }
        self.tracker.lock().forget(self.id, state.newest);
    }
}
