//! A graph's recorded commands: a command buffer that can be submitted any number of times, even while it is running.
//!
//! The commands begin with the barrier that orders a replay after the replay before it, so that repeated replays, the
//! usual case, need no command of their own. A shared command buffer never changes: batches in flight hold it, and a
//! graph that was changed records another one. `graph/plan.rs` plans the barriers between the steps.

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

/// The recorded commands of a graph, for queues of one family.
pub(crate) struct GraphCommands {
    /// The command buffer and the objects that it refers to. This batch belongs to no lane, and its number has no
    /// meaning.
    pub(super) batch: Batch,
    /// The family of queues that the commands can be submitted to.
    pub(crate) family: u32,
    /// The accesses of one replay.
    pub(crate) operation: Arc<Repeatable>,
    /// How many steps are recorded. A replay without steps does nothing.
    pub(crate) n_steps: usize,
}

impl GraphCommands {
    /// Creates a command buffer without steps, for queues of the same family as `queue`.
    pub(crate) fn new(device: &Arc<LogicalDevice>, queue: &Queue) -> Result<Self> {
        let (batch, family) = (Batch::new(device, queue)?, queue.family);
        let operation = Arc::new(Repeatable::new(Vec::new()));
        Ok(Self { batch, family, operation, n_steps: 0 })
    }

    /// Replaces the recorded steps by `steps`, each after its barrier, and moves the objects that the former steps kept
    /// alive to `released`. `operation` has the accesses of all steps together. No submitted work uses the command
    /// buffer, since the reference is exclusive.
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
            commands(&mut Recorder { device, batch: &mut self.batch })?;
            n_steps += 1;
        }
        self.batch.end()?;
        (self.n_steps, self.operation) = (n_steps, Arc::new(operation));
        Ok(())
    }
}

crate::debug_fields!(GraphCommands, this => n_steps: this.n_steps);
