//! A batch: one command buffer being recorded or in flight, and what it keeps alive.
//!
//! Batches are recycled: a stream in steady work allocates none. `mod.rs` decides when a batch opens and closes.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use ash::vk;
use smallvec::SmallVec;

use super::bind_cache::BindCache;
use super::descriptors::DescriptorArena;
use super::timestamps::BatchTrace;
use crate::error::Result;
use crate::sync::{KeepAlive, KeepAliveList};
use crate::trace::{BatchId, TraceRecording};
use crate::vulkan::LogicalDevice;
use crate::vulkan::Timeline;
use crate::vulkan::{Owned, Queue, QueueIndex};

pub(crate) struct Batch {
    /// What the batch's commands refer to. First: dropped while the pool they were recorded from still stands.
    pub(crate) keep: Vec<KeepAlive>,
    /// Points on other timelines that the batch starts after.
    pub(crate) waits: SmallVec<[(Arc<Timeline>, u64); 4]>,
    pub(crate) descriptors: DescriptorArena,
    pub(crate) commands: vk::CommandBuffer,
    pool: Owned<vk::CommandPool>,
    /// What the lane's timeline reaches when the batch is done.
    pub(crate) value: u64,
    pub(crate) n_ops: u32,
    /// Commands recorded elsewhere that follow the batch's own.
    pub(crate) followed_by: Option<vk::CommandBuffer>,
    /// When its first operation was recorded.
    pub(crate) opened: Option<Instant>,
    /// What its commands have bound.
    pub(crate) bind_cache: BindCache,
    /// Whether the host will read what the batch writes.
    pub(crate) host_reads: bool,
    /// Its timestamps, while a trace is on.
    pub(crate) trace: Option<Box<BatchTrace>>,
    /// The pool of its timestamps, between two batches that are traced.
    timestamps: Option<Owned<vk::QueryPool>>,
    /// For the timestamp behind commands recorded elsewhere; made when first needed.
    epilogue: Option<vk::CommandBuffer>,
    /// Whether it is recorded and was not sent yet: the driver refused it for lack of memory.
    pub(crate) is_ended: bool,
    computes: bool,
    /// Whether its own command buffer holds no command, and never will: it is what follows that is sent.
    pub(crate) is_bare: bool,
    is_begun: bool,
}

impl Batch {
    pub(crate) fn new(device: &Arc<LogicalDevice>, queue: &Queue) -> Result<Self> {
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(queue.family())
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the family is one the device was opened with.
        let raw =
            unsafe { device.raw().create_command_pool(&info, None) }.map_err(device.failed("vkCreateCommandPool"))?;
        // SAFETY: just created; a lane drops a batch only when its work is done, or leaks it.
        let pool = unsafe { Owned::new(raw, device) };
        let commands = allocate(&pool)?;
        Ok(Self {
            keep: Vec::new(),
            waits: SmallVec::new(),
            descriptors: DescriptorArena::default(),
            commands,
            pool,
            value: 0,
            n_ops: 0,
            followed_by: None,
            opened: None,
            bind_cache: BindCache::default(),
            host_reads: false,
            trace: None,
            timestamps: None,
            epilogue: None,
            is_ended: false,
            computes: queue.computes(),
            is_bare: false,
            is_begun: false,
        })
    }

    /// Starts recording, to be sent once; nothing is to be done if it is recording already, for its last turn was bare.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.is_begun {
            return Ok(());
        }
        self.begin_for(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT)?;
        self.is_begun = true;
        Ok(())
    }

    pub(crate) fn begin_for(&mut self, usage: vk::CommandBufferUsageFlags) -> Result<()> {
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        // SAFETY: the buffer is fresh or was reset with its pool, and only this batch records it.
        unsafe { self.pool.device().raw().begin_command_buffer(self.commands, &info) }
            .map_err(self.pool.device().failed("vkBeginCommandBuffer"))
    }

    /// Ends recording. What the batch wrote to memory the host reads is made visible to it.
    pub(crate) fn end(&mut self) -> Result<()> {
        if self.is_bare {
            self.is_ended = true; // It goes on recording, next time.
            return Ok(());
        }
        let device = self.pool.device().raw();
        if self.host_reads {
            let mut stages = vk::PipelineStageFlags2::ALL_TRANSFER;
            let mut writes = vk::AccessFlags2::TRANSFER_WRITE;
            if self.computes {
                stages |= vk::PipelineStageFlags2::COMPUTE_SHADER;
                writes |= vk::AccessFlags2::SHADER_STORAGE_WRITE;
            }
            let barrier = [vk::MemoryBarrier2::default()
                .src_stage_mask(stages)
                .src_access_mask(writes)
                .dst_stage_mask(vk::PipelineStageFlags2::HOST)
                .dst_access_mask(vk::AccessFlags2::HOST_READ)];
            let info = vk::DependencyInfo::default().memory_barriers(&barrier);
            // SAFETY: the buffer is recording, and `info` borrows the barrier.
            unsafe { device.cmd_pipeline_barrier2(self.commands, &info) };
        }
        // SAFETY: the buffer is recording, in this batch alone.
        unsafe { device.end_command_buffer(self.commands) }.map_err(self.pool.device().failed("vkEndCommandBuffer"))?;
        (self.is_ended, self.is_begun) = (true, false);
        Ok(())
    }

    /// The command buffers to send, in order.
    pub(crate) fn commands(&self) -> impl Iterator<Item = vk::CommandBuffer> {
        let own = (!self.is_bare).then_some(self.commands);
        own.into_iter().chain(self.followed_by).chain(self.epilogue())
    }

    /// Makes the batch, which was just begun on that queue, part of a recording.
    pub(crate) fn begin_trace(&mut self, recording: Arc<TraceRecording>, queue: (QueueIndex, &Queue), id: BatchId) {
        let (device, commands) = (self.pool.device(), self.commands);
        self.trace = BatchTrace::begin(recording, device, queue, (commands, self.timestamps.take()), id);
    }

    /// Times what follows the batch's own commands, if a trace is on: its end is noted in a buffer behind it.
    ///
    /// If that fails, the batch is as it was, and the trace finds a timestamp missing.
    pub(crate) fn trace_graph(&mut self, n_steps: usize) {
        if let Err(error) = self.record_epilogue(n_steps) {
            self.epilogue = None;
            log::debug!("the end of a graph is left out of the trace: {error}");
        }
    }

    fn record_epilogue(&mut self, n_steps: usize) -> Result<()> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        let commands = match self.epilogue {
            Some(commands) => commands,
            None => *self.epilogue.insert(allocate(&self.pool)?),
        };
        let owner = self.pool.device();
        let device = owner.raw();
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the buffer is fresh or was reset with its pool, and only this batch records it.
        unsafe { device.begin_command_buffer(commands, &info) }.map_err(owner.failed("vkBeginCommandBuffer"))?;
        trace.end_graph(device, commands, n_steps);
        // SAFETY: the buffer is recording, in this batch alone.
        unsafe { device.end_command_buffer(commands) }.map_err(owner.failed("vkEndCommandBuffer"))
    }

    /// What is sent behind the batch's commands and those that follow them.
    fn epilogue(&self) -> Option<vk::CommandBuffer> {
        self.trace.as_ref().filter(|trace| trace.has_graph()).and(self.epilogue)
    }

    /// Hands its timestamps to the trace, if one is on. Its work is done.
    pub(crate) fn read_trace(&mut self) {
        if let Some(trace) = self.trace.take() {
            self.timestamps = (*trace).done();
        }
    }

    /// Makes the batch new again, and moves what it kept alive to `released`. Its work is done, or was never submitted.
    pub(crate) fn recycle(&mut self, released: &mut KeepAliveList) -> Result<()> {
        self.read_trace();
        released.extend(self.keep.drain(..));
        self.waits.clear();
        self.n_ops = 0;
        self.followed_by = None;
        self.opened = None;
        self.bind_cache.clear();
        self.host_reads = false;
        self.is_ended = false;
        if mem::take(&mut self.is_bare) {
            return Ok(()); // Nothing was recorded.
        }
        self.is_begun = false;
        self.descriptors.reset()?;
        // SAFETY: no command buffer of the pool is pending, as the caller promises.
        unsafe { self.pool.device().raw().reset_command_pool(self.pool.raw(), vk::CommandPoolResetFlags::empty()) }
            .map_err(self.pool.device().failed("vkResetCommandPool"))
    }
}

fn allocate(pool: &Owned<vk::CommandPool>) -> Result<vk::CommandBuffer> {
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool.raw()).command_buffer_count(1);
    // SAFETY: the pool is alive, and used by its batch alone.
    let buffers = unsafe { pool.device().raw().allocate_command_buffers(&info) };
    Ok(buffers.map_err(pool.device().failed("vkAllocateCommandBuffers"))?[0])
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("value", &self.value).field("n_ops", &self.n_ops).finish_non_exhaustive()
    }
}
