//! Sending a batch, and what comes of a batch that cannot be sent; the end of a lane.
//!
//! A batch refused for lack of memory stays and is sent again. One whose work is lost ends the device: others may wait
//! for it. `vulkan/loss.rs` says what follows from that.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use super::batch::Batch;
use super::{Lane, LaneState};
use crate::error::{Error, Result};
use crate::sync::drop_kept_alive;

impl Lane {
    pub(super) fn send(&self, state: &mut LaneState) -> Result<()> {
        let Some(batch) = &mut state.open else { return Ok(()) };
        // What an unsent batch of a failed device uses may be freed already: it is not even ended.
        let usable = self.device().check_lost();
        let ended = usable.and_then(|()| if batch.is_ended { Ok(()) } else { batch.end() });
        let queue = self.queue().lock();
        // Asked again under the queue's lock: once a failed device's queue was locked, nothing more is sent to it.
        if let Err(error) = ended.and_then(|()| self.device().check_lost()) {
            // Its work is lost. Whoever waits for it must not wait for ever: the device is of no more use.
            drop(queue);
            if let Some(mut lost) = state.open.take() {
                state.released.extend(lost.keep.drain(..));
            }
            return Err(self.device().fail(error));
        }
        let span = batch.trace.as_mut().and_then(|trace| trace.submit(self.device()));
        let submitted = self.submit(queue.raw, batch);
        drop(span);
        if let Err(error) = &submitted
            && error.is_out_of_memory()
        {
            // The specification promises that nothing has changed then: the batch stays, to be sent again.
            batch.opened = Some(Instant::now());
            return submitted;
        }
        let outcome = submitted.map_err(|error| self.device().fail_unsure(error));
        if outcome.is_ok() {
            self.timeline.set_submitted(batch.value);
            self.queue().note_newest(&self.timeline, batch.value);
        }
        drop(queue);
        // Also after a failure: the driver may have taken it, so it goes when the device is known to be idle.
        state.in_flight.extend(state.open.take());
        outcome?;
        if let Err(error) = self.prepare(state) {
            log::debug!("the next batch is begun when it is needed: {error}");
        }
        Ok(())
    }

    /// Sends what is open and waits until the device uses nothing of the lane's work any more.
    fn finish(&self, state: &mut LaneState) -> Result<()> {
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

    fn drain(&self, state: &mut LaneState) -> Result<()> {
        let sent = self.timeline.submitted();
        self.timeline.drain(sent)?;
        if state.in_flight.back().is_some_and(|batch| batch.value > sent) {
            self.device().wait_idle()?; // The driver may have taken it when the submission failed.
        }
        for mut batch in state.in_flight.drain(..) {
            batch.read_trace();
            drop_kept_alive(&mut mem::take(&mut batch.keep).into());
        }
        Ok(())
    }

    fn submit(&self, queue: vk::Queue, batch: &Batch) -> Result<()> {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        let at =
            |semaphore, value| vk::SemaphoreSubmitInfo::default().semaphore(semaphore).value(value).stage_mask(all);
        let waits: SmallVec<[_; 4]> = batch.waits.iter().map(|(timeline, value)| at(timeline.raw(), *value)).collect();
        let signals = [at(self.timeline.raw(), batch.value)];
        let commands: SmallVec<[_; 2]> =
            batch.commands().map(|commands| vk::CommandBufferSubmitInfo::default().command_buffer(commands)).collect();
        let info = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&commands)
            .signal_semaphore_infos(&signals);
        // SAFETY: the caller holds the queue's lock. The batch is recorded and goes to `in_flight`, which keeps it and
        // its timelines until it is done; batch numbers grow; every value waited for was submitted before.
        unsafe { self.device().raw().queue_submit2(queue, &[info], vk::Fence::null()) }
            .map_err(Error::from_call("vkQueueSubmit2"))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut state = mem::take(self.state.get_mut());
        if let Err(error) = self.finish(&mut state) {
            log::error!("a stream was dropped before its work was done; what the work uses is leaked: {error}");
            // The tracker goes on naming the timeline: what the work uses is never taken for done.
            mem::forget((state, Arc::clone(&self.timeline)));
            return;
        }
        self.tracker.lock().forget(self.id, state.newest);
    }
}
