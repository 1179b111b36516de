//! A batch: one command buffer from recording to completion, and the objects that it keeps alive.
//!
//! [`BatchState`] is the state of the command buffer. Its transitions are the methods `begin`, `start_operation`, `end`
//! and `recycle`, all in this file. Batches are recycled, so a stream in steady work creates none. `mod.rs` decides
//! when a batch opens, and `submit.rs` submits it.

use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use super::GraphCommands;
use super::barrier::{record_barrier, record_host_barrier};
use super::bind_cache::BindCache;
use super::descriptors::DescriptorArena;
use super::timestamps::BatchTrace;
use crate::error::Result;
use crate::hazard::{Barrier, Operation};
use crate::sync::KeepAlive;
use crate::trace::{BatchId, TraceRecording};
use crate::tracker::Point;
use crate::vulkan::{Label, LogicalDevice, Owned, Queue, QueueIndex, Timeline};

/// The state of a batch's own command buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchState {
    /// New or reset.
    Initial,
    /// Recording; `is_empty` while it holds no command.
    Recording { is_empty: bool },
    /// Recorded, and either submitted or waiting to be.
    Ended,
    /// The batch is submitted, or will be, with only the commands of a graph. The batch's own command buffer is still
    /// recording and holds no command, so the next use of the batch need not begin it again.
    EndedEmpty,
}

pub(super) struct Batch {
    /// The objects that the commands refer to. The field is declared first, so they are dropped before the command
    /// pool.
    keep: Vec<KeepAlive>,
    /// Points on other timelines that the batch waits for when it starts.
    pub(super) waits: SmallVec<[(Arc<Timeline>, u64); 4]>,
    pub(super) descriptors: DescriptorArena,
    pub(super) commands: vk::CommandBuffer,
    pool: Owned<vk::CommandPool>,
    state: BatchState,
    /// The value of the lane's timeline that says that the batch is complete.
    pub(super) value: u64,
    pub(super) n_ops: u32,
    /// The commands of a graph, which are submitted after the batch's own.
    followed_by: Option<vk::CommandBuffer>,
    /// When the waiting thread began to watch the batch, which the thread submits once the batch has grown old.
    pub(super) watched_since: Option<Instant>,
    /// The pipeline, buffers and push constants that the batch's commands have bound.
    pub(super) bind_cache: BindCache,
    /// The label of the newest operation.
    pub(super) label: Option<Label>,
    /// Whether the host will read what the batch writes.
    pub(super) host_reads: bool,
    /// The batch's timestamps, while a trace is on.
    pub(super) trace: Option<Box<BatchTrace>>,
    /// A pool of timestamp queries for the next trace.
    timestamps: Option<Owned<vk::QueryPool>>,
    /// The command buffer that records the timestamp after a graph's commands. It is made when first needed.
    epilogue: Option<vk::CommandBuffer>,
    /// Whether the batch's queue runs kernels.
    computes: bool,
}

impl Batch {
    pub(super) fn new(device: &Arc<LogicalDevice>, queue: &Queue) -> Result<Self> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(queue.family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device was opened with queues of this family.
        let raw =
            unsafe { device.raw().create_command_pool(&info, None) }.map_err(device.failed("vkCreateCommandPool"))?;
        // SAFETY: just created; a lane drops a batch only when its work is complete, or leaks it.
        let pool = unsafe { Owned::new(raw, device) };
        let commands = allocate(&pool)?;
        Ok(Self {
            keep: Vec::new(),
            waits: SmallVec::new(),
            descriptors: DescriptorArena::default(),
            commands,
            pool,
            state: BatchState::Initial,
            value: 0,
            n_ops: 0,
            followed_by: None,
            watched_since: None,
            bind_cache: BindCache::default(),
            label: None,
            host_reads: false,
            trace: None,
            timestamps: None,
            epilogue: None,
            computes: queue.computes,
        })
    }

    /// Begins to record commands for `usage`, unless the command buffer is already recording.
    pub(super) fn begin(&mut self, usage: vk::CommandBufferUsageFlags) -> Result<()> {
        if self.state == BatchState::Initial {
            begin(&self.pool, self.commands, usage)?;
            self.state = BatchState::Recording { is_empty: true };
        }
        Ok(())
    }

    /// Whether recording has ended, so that the batch takes no more operations. This is the case for a batch that the
    /// driver refused for lack of memory and that is submitted again.
    #[inline]
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.state, BatchState::Ended | BatchState::EndedEmpty)
    }

    /// Starts an operation behind `barrier`.
    #[inline]
    pub(super) fn start_operation(&mut self, barrier: Option<Barrier>, operation: Operation<'_>) {
        if let Some(barrier) = barrier {
            record_barrier(self.pool.device(), self.commands, barrier);
        }
        // A replayed graph has a command buffer of its own.
        if barrier.is_some() || matches!(operation, Operation::Once(_)) {
            self.state = BatchState::Recording { is_empty: false };
        }
        // The operation is counted before it is recorded, since a batch that holds the first commands of a failed
        // operation is still submitted.
        self.n_ops += 1;
        if let Some(trace) = &mut self.trace {
            trace.begin_op(self.commands, barrier.as_ref(), operation.accesses());
        }
    }

    /// Ends the operation that was started last.
    #[inline]
    pub(super) fn end_operation(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.end_op(self.commands);
        }
    }

    /// Makes the operation that was started last the replay of a graph, which is the batch's last operation.
    pub(super) fn follow_with(&mut self, graph: &Arc<GraphCommands>) {
        self.followed_by = Some(graph.batch.commands);
        self.keep.push(Arc::clone(graph) as _);
        // If recording the timestamp fails, the batch is unchanged, and the trace lacks a timestamp.
        if let Err(error) = self.record_epilogue(graph.n_steps) {
            self.epilogue = None;
            log::debug!("the end of a graph is left out of the trace: {error}");
        }
    }

    /// Keeps an object alive until the batch is complete.
    #[inline]
    pub(super) fn keep(&mut self, object: KeepAlive) {
        self.keep.push(object);
    }

    /// Makes the batch wait for `point` when it starts.
    pub(super) fn wait_for(&mut self, point: &Point) {
        match self.waits.iter_mut().find(|(timeline, _)| Arc::ptr_eq(timeline, point.timeline())) {
            Some((_, value)) => *value = (*value).max(point.value()),
            None => self.waits.push((Arc::clone(point.timeline()), point.value())),
        }
    }

    /// Ends recording, unless it has ended. A barrier makes what the batch wrote visible to the host, if the host reads
    /// it.
    pub(super) fn end(&mut self) -> Result<()> {
        match self.state {
            BatchState::Ended | BatchState::EndedEmpty => return Ok(()),
            BatchState::Recording { is_empty: true } if self.followed_by.is_some() => {
                self.state = BatchState::EndedEmpty;
                return Ok(());
            }
            BatchState::Initial | BatchState::Recording { .. } => {}
        }
        if self.host_reads {
            record_host_barrier(self.pool.device(), self.commands, self.computes);
        }
        end(&self.pool, self.commands)?;
        self.state = BatchState::Ended;
        Ok(())
    }

    /// The command buffers to submit, in order. Recording has ended.
    pub(super) fn submission(&self) -> impl Iterator<Item = vk::CommandBuffer> {
        let own = (self.state != BatchState::EndedEmpty).then_some(self.commands);
        let epilogue = self.trace.as_ref().filter(|trace| trace.has_graph).and(self.epilogue);
        own.into_iter().chain(self.followed_by).chain(epilogue)
    }

    /// Adds the batch, which was just begun for this queue, to a trace.
    pub(super) fn begin_trace(&mut self, recording: Arc<TraceRecording>, queue: (QueueIndex, &Queue), id: BatchId) {
        self.state = BatchState::Recording { is_empty: false }; // Timestamps are commands.
        let commands = (self.commands, self.timestamps.take());
        self.trace = BatchTrace::begin(recording, self.pool.device(), queue, commands, id);
    }

    /// Records the timestamp after a graph's commands, if a trace is on.
    fn record_epilogue(&mut self, n_steps: usize) -> Result<()> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        let commands = match self.epilogue {
            Some(commands) => commands,
            None => *self.epilogue.insert(allocate(&self.pool)?),
        };
        begin(&self.pool, commands, vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
        trace.end_graph(commands, n_steps);
        end(&self.pool, commands)
    }

    /// Passes the batch's timestamps to the trace, if one is on. The work of the batch is complete.
    pub(super) fn read_trace(&mut self) {
        if let Some(trace) = self.trace.take() {
            self.timestamps = (*trace).done();
        }
    }

    /// Moves the objects that the batch kept alive to `released`.
    pub(super) fn release(&mut self, released: &mut Vec<KeepAlive>) {
        released.append(&mut self.keep);
    }

    /// Makes the batch ready to begin again, and moves the objects that it kept alive to `released`. The work of the
    /// batch is complete, or was never submitted.
    pub(super) fn recycle(&mut self, released: &mut Vec<KeepAlive>) -> Result<()> {
        self.read_trace();
        self.release(released);
        self.waits.clear();
        self.n_ops = 0;
        self.followed_by = None;
        self.watched_since = None;
        self.bind_cache.clear();
        self.label = None;
        self.host_reads = false;
        if self.state == BatchState::EndedEmpty {
            self.state = BatchState::Recording { is_empty: true };
            return Ok(());
        }
        self.descriptors.reset()?;
        // SAFETY: no command buffer of the pool is pending, as the caller promises.
        unsafe { self.pool.device().raw().reset_command_pool(self.pool.raw(), vk::CommandPoolResetFlags::empty()) }
            .map_err(self.pool.device().failed("vkResetCommandPool"))?;
        self.state = BatchState::Initial;
        Ok(())
    }
}

fn allocate(pool: &Owned<vk::CommandPool>) -> Result<vk::CommandBuffer> {
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool.raw()).command_buffer_count(1);
    // SAFETY: the pool is alive, and used by its batch alone.
    let buffers = unsafe { pool.device().raw().allocate_command_buffers(&info) };
    Ok(buffers.map_err(pool.device().failed("vkAllocateCommandBuffers"))?[0])
}

fn begin(pool: &Owned<vk::CommandPool>, commands: vk::CommandBuffer, usage: vk::CommandBufferUsageFlags) -> Result<()> {
    let info = vk::CommandBufferBeginInfo::default().flags(usage);
    // SAFETY: the buffer is fresh or was reset with its pool, and only its batch records it.
    unsafe { pool.device().raw().begin_command_buffer(commands, &info) }
        .map_err(pool.device().failed("vkBeginCommandBuffer"))
}

fn end(pool: &Owned<vk::CommandPool>, commands: vk::CommandBuffer) -> Result<()> {
    // SAFETY: the buffer is recording, in its batch alone.
    unsafe { pool.device().raw().end_command_buffer(commands) }.map_err(pool.device().failed("vkEndCommandBuffer"))
}

crate::debug_fields!(Batch, this => state: this.state, value: this.value);
