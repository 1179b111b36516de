//! A graph's steps, recorded: a command buffer that can be sent any number of times, also while it is running.
//!
//! It begins with the barrier that orders it after itself, so that a replay behind another, which is the usual case,
//! takes no command of its own. A recording is never changed while anybody holds it. Batches in flight hold theirs; a graph that was changed makes
//! another, out of one that nobody holds any more where there is such. Read `plan.rs` for the barriers in it.

use std::fmt;
use std::sync::Arc;

use ash::vk;

use super::Step;
use super::plan;
use crate::barrier::record_barrier;
use crate::batch::{Batch, KeptList};
use crate::device::Device;
use crate::error::Result;
use crate::hazard::Repeatable;
use crate::queue::Queue;
use crate::recorder::Recorder;

/// See the module.
pub(crate) struct Recording {
    /// The command buffer and what it refers to. It belongs to no lane, and its number means nothing.
    batch: Batch,
    family: u32,
    operation: Arc<Repeatable>,
    n_steps: usize,
}

impl Recording {
    /// Creates one without steps, for queues of the same family as `queue`.
    pub(super) fn new(device: &Arc<Device>, queue: &Queue) -> Result<Self> {
        let (batch, family) = (Batch::new(device, queue)?, queue.family());
        let operation = Arc::new(Repeatable::new(Vec::new()));
        Ok(Self { batch, family, operation, n_steps: 0 })
    }

    /// The family of queues that it can be sent to.
    pub(super) fn family(&self) -> u32 {
        self.family
    }

    /// Records the steps in place of those it held, and moves what those kept alive to `released`. Nothing sent still
    /// uses it, since it is borrowed alone.
    pub(super) fn record<'a>(
        &mut self,
        device: &Arc<Device>,
        steps: impl Iterator<Item = &'a Step> + Clone,
        released: &mut KeptList,
    ) -> Result<()> {
        self.batch.recycle(released)?;
        self.batch.begin_for(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE)?;
        let operation = Repeatable::new(plan::merged(steps.clone().flat_map(Step::accesses)));
        if let Some(barrier) = operation.barrier() {
            record_barrier(device, &self.batch, barrier);
        }
        let barriers = plan::barriers(steps.clone().map(Step::accesses));
        for (step, barrier) in steps.clone().zip(barriers) {
            if let Some(barrier) = barrier {
                record_barrier(device, &self.batch, barrier);
            }
            (step.commands)(&mut Recorder::new(device, &mut self.batch))?;
        }
        self.batch.end()?;
        self.n_steps = steps.count();
        self.operation = Arc::new(operation);
        Ok(())
    }

    pub(crate) fn commands(&self) -> vk::CommandBuffer {
        self.batch.commands
    }

    /// How many operations it holds.
    pub(crate) fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// Whether there is nothing to replay.
    pub(crate) fn is_empty(&self) -> bool {
        self.n_steps == 0
    }

    /// What one replay does to memory.
    pub(crate) fn operation(&self) -> &Arc<Repeatable> {
        &self.operation
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("n_steps", &self.n_steps).finish_non_exhaustive()
    }
}
