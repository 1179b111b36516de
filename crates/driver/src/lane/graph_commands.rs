//! A graph's recorded commands: a command buffer that can be submitted any number of times, also while it is running.
//!
//! It begins with the barrier that orders it after itself, so that a replay right after another one, which is the usual
//! case, needs no command of its own. It never changes while it is shared: batches in flight hold theirs, and a graph that
//! was changed records another. `graph/plan.rs` plans the barriers in it.

use std::fmt;
use std::sync::Arc;

use ash::vk;

use super::Recorder;
use super::barrier::record_barrier;
use super::batch::Batch;
use crate::error::Result;
use crate::hazard::{Barrier, Repeatable};
use crate::sync::KeepAlive;
use crate::vulkan::{LogicalDevice, Queue};

/// Records a step's commands.
pub(crate) type StepCommands = dyn Fn(&mut Recorder<'_>) -> Result<()> + Send + Sync;

/// See the module.
pub(crate) struct GraphCommands {
    /// The command buffer and the objects it refers to. It belongs to no lane, and its number has no meaning.
    batch: Batch,
    family: u32,
    operation: Arc<Repeatable>,
    n_steps: usize,
}

impl GraphCommands {
    /// Creates one without steps, for queues of the same family as `queue`.
    pub(crate) fn new(device: &Arc<LogicalDevice>, queue: &Queue) -> Result<Self> {
        let (batch, family) = (Batch::new(device, queue)?, queue.family());
        let operation = Arc::new(Repeatable::new(Vec::new()));
        Ok(Self { batch, family, operation, n_steps: 0 })
    }

    /// The family of queues that it can be sent to.
    pub(crate) fn family(&self) -> u32 {
        self.family
    }

    /// Records the steps, each behind its barrier, in place of those that it holds, and moves the objects that those kept
    /// alive to `released`. `operation` has the accesses of all steps together. No submitted work uses it, since the
    /// reference is exclusive.
    pub(crate) fn record<'a>(
        &mut self,
        device: &Arc<LogicalDevice>,
        operation: Repeatable,
        steps: impl Iterator<Item = (Option<Barrier>, &'a StepCommands)>,
        released: &mut Vec<KeepAlive>,
    ) -> Result<()> {
        self.batch.recycle(released)?;
        self.batch.begin(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE)?;
        if let Some(barrier) = operation.barrier() {
            record_barrier(device, self.batch.commands, barrier);
        }
        let mut n_steps = 0;
        for (barrier, commands) in steps {
            if let Some(barrier) = barrier {
                record_barrier(device, self.batch.commands, barrier);
            }
            commands(&mut Recorder::new(device, &mut self.batch))?;
            n_steps += 1;
        }
        self.batch.end()?;
        (self.n_steps, self.operation) = (n_steps, Arc::new(operation));
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

impl fmt::Debug for GraphCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphCommands").field("n_steps", &self.n_steps).finish_non_exhaustive()
    }
}
