//! The timestamps of one batch: two for each operation, in a query pool that is passed from batch to batch.
//!
//! An operation's first timestamp is taken as soon as the queue comes to the operation or, if a barrier stands before
//! it, once the work that the barrier waits for is done. So the timestamps order nothing that is not ordered anyway.
//! The second timestamp is taken when the operation's stage, and with it earlier work of that stage, is done.

use std::sync::Arc;

use ash::vk;

use crate::error::Result;
use crate::hazard::{Barrier, BlockAccess, Stage, Stages};
use crate::trace::{BatchId, SpanGuard, TraceRecording, TracedBatch, TracedOperation, now_ns};
use crate::vulkan::{LogicalDevice, Owned, Queue, QueueIndex};

/// How many operations one pool has timestamps for. A batch holds no more operations.
const MAX_OPS: u32 = 128;

/// The timestamps of a batch that is recorded or in flight while a trace is on.
#[derive(Debug)]
pub(crate) struct BatchTrace {
    recording: Arc<TraceRecording>,
    /// The query pool; `None` on a queue that has no timestamps.
    pool: Option<Owned<vk::QueryPool>>,
    computes: bool,
    /// Whether a graph follows the batch's own commands.
    pub(super) has_graph: bool,
    batch: TracedBatch,
}

impl BatchTrace {
    /// Adds a batch that was just begun to the recording. If this fails, the batch is not in the trace.
    pub(crate) fn begin(
        recording: Arc<TraceRecording>,
        device: &Arc<LogicalDevice>,
        (index, queue): (QueueIndex, &Queue),
        (commands, spare): (vk::CommandBuffer, Option<Owned<vk::QueryPool>>),
        id: BatchId,
    ) -> Option<Box<Self>> {
        let pool = match fresh_pool(device, queue, commands, spare) {
            Ok(pool) => pool,
            Err(error) => {
                recording.lost(&error);
                return None;
            }
        };
        let (queue, family, computes) = (index.0, queue.family, queue.computes);
        let batch = TracedBatch { id, queue, family, submitted_ns: 0, seen_ns: 0, ops: Vec::new() };
        Some(Box::new(Self { recording, pool, computes, has_graph: false, batch }))
    }

    /// Notes that an operation begins, after `barrier`.
    pub(crate) fn begin_op(
        &mut self,
        commands: vk::CommandBuffer,
        barrier: Option<&Barrier>,
        accesses: &[BlockAccess],
    ) {
        let kind = kind_of(accesses);
        let begins = barrier.map_or(vk::PipelineStageFlags2::TOP_OF_PIPE, |barrier| self.after(barrier.src_stages));
        self.write(commands, 0, begins);
        self.batch.ops.push(TracedOperation { name: String::new(), kind, ticks: None });
    }

    /// Names the operation that was begun last.
    pub(crate) fn name_op(&mut self, name: String) {
        if let Some(op) = self.batch.ops.last_mut() {
            op.name = name;
        }
    }

    /// Notes that the operation that was begun last ends here.
    pub(crate) fn end_op(&mut self, commands: vk::CommandBuffer) {
        let Some(op) = self.batch.ops.pop() else { return };
        let ends = match op.kind {
            "dispatch" => vk::PipelineStageFlags2::COMPUTE_SHADER,
            "copy" => vk::PipelineStageFlags2::ALL_TRANSFER,
            _ => vk::PipelineStageFlags2::ALL_COMMANDS,
        };
        self.write(commands, 1, ends);
        self.batch.ops.push(op);
    }

    /// Notes that the operation begun last was the replay of a graph, which ends here. The steps of the graph have no
    /// timestamps.
    pub(crate) fn end_graph(&mut self, commands: vk::CommandBuffer, n_steps: usize) {
        self.has_graph = true;
        if let Some(op) = self.batch.ops.last_mut() {
            (op.name, op.kind) = (format!("graph of {n_steps} steps"), "graph");
        }
        self.end_op(commands);
    }

    /// Begins to time the submission.
    pub(crate) fn submit(&mut self, device: &LogicalDevice) -> Option<SpanGuard> {
        let span = device.trace.span("submit", Some(self.batch.id));
        self.batch.submitted_ns = span.as_ref().map_or_else(now_ns, |span| span.span.begin_ns);
        span
    }

    /// Reads the timestamps, and returns their pool for the next batch. The work of the batch is done.
    pub(crate) fn done(self) -> Option<Owned<vk::QueryPool>> {
        let Self { recording, pool, mut batch, .. } = self;
        batch.seen_ns = now_ns();
        if batch.submitted_ns == 0 {
            return pool; // Never sent.
        }
        let Some(timestamps) = &pool else {
            recording.push_batch(batch);
            return pool;
        };
        let mut ticks = vec![[0; 2]; batch.ops.len()];
        // SAFETY: the batch wrote two timestamps for each of its operations, and is done.
        match unsafe { read_timestamps(timestamps, ticks.as_flattened_mut()) } {
            Ok(()) => {
                batch.ops.iter_mut().zip(ticks).for_each(|(op, ticks)| op.ticks = Some(ticks));
                recording.push_batch(batch);
            }
            Err(error) => recording.lost(&error),
        }
        pool
    }

    /// The one stage at whose end all of `stages` are done. A queue for copies supports only the transfer stage.
    fn after(&self, stages: Stages) -> vk::PipelineStageFlags2 {
        let computed = stages.iter().any(|stage| stage != Stage::Transfer);
        match (self.computes && computed, stages.contains(Stage::Transfer)) {
            (true, false) => vk::PipelineStageFlags2::COMPUTE_SHADER,
            (false, true) => vk::PipelineStageFlags2::ALL_TRANSFER,
            _ => vk::PipelineStageFlags2::ALL_COMMANDS,
        }
    }

    fn write(&self, commands: vk::CommandBuffer, which: u32, stage: vk::PipelineStageFlags2) {
        let Some(pool) = &self.pool else { return };
        let n_ops = self.batch.ops.len().min(MAX_OPS as usize);
        let query = 2 * u32::try_from(n_ops).expect("at most 128") + which;
        debug_assert!(query < 2 * MAX_OPS, "a batch of more than {MAX_OPS} operations");
        // SAFETY: the buffer is recording on a queue with timestamps; the pool is this batch's alone until it is done, and
        // each of its queries is written once after it was reset.
        unsafe { pool.device().raw().cmd_write_timestamp2(commands, stage, pool.raw(), query) };
    }
}

/// A pool whose queries are reset, if the queue has timestamps and a way to reset them.
fn fresh_pool(
    device: &Arc<LogicalDevice>,
    queue: &Queue,
    commands: vk::CommandBuffer,
    spare: Option<Owned<vk::QueryPool>>,
) -> Result<Option<Owned<vk::QueryPool>>> {
    let from_host = device.plan().features.host_query_reset;
    let bits = device.info().queue_families[queue.family as usize].timestamp_valid_bits;
    if bits == 0 || !(from_host || queue.computes) {
        return Ok(None);
    }
    let pool = spare.map_or_else(|| create_query_pool(device, 2 * MAX_OPS), Ok)?;
    if from_host {
        // SAFETY: the batch that used the pool last is done, and the feature is enabled.
        unsafe { device.raw().reset_query_pool(pool.raw(), 0, 2 * MAX_OPS) };
    } else {
        // SAFETY: the buffer is recording, on a queue that may reset queries, and keeps the pool until it is done.
        unsafe { device.raw().cmd_reset_query_pool(commands, pool.raw(), 0, 2 * MAX_OPS) };
    }
    Ok(Some(pool))
}

/// Creates a pool of so many timestamps.
pub(crate) fn create_query_pool(device: &Arc<LogicalDevice>, n_timestamps: u32) -> Result<Owned<vk::QueryPool>> {
    let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(n_timestamps);
    // SAFETY: `info` is complete.
    let raw = unsafe { device.raw().create_query_pool(&info, None) }.map_err(device.failed("vkCreateQueryPool"))?;
    // SAFETY: just created; a batch that writes it keeps it until it is done, or is leaked with it.
    Ok(unsafe { Owned::new(raw, device) })
}

/// Reads the first timestamps of a pool, one for each element.
///
/// # Safety
///
/// The pool has as many timestamps, each was reset and written, and the work that wrote it is done.
pub(crate) unsafe fn read_timestamps(pool: &Owned<vk::QueryPool>, ticks: &mut [u64]) -> Result<()> {
    // A batch may have only waits and no operation.
    if ticks.is_empty() {
        return Ok(());
    }
    let flags = vk::QueryResultFlags::TYPE_64;
    // SAFETY: the caller's, and each element has room for a 64-bit result.
    unsafe { pool.device().raw().get_query_pool_results(pool.raw(), 0, ticks, flags) }
        .map_err(pool.device().failed("vkGetQueryPoolResults"))
}

/// The kind of an operation, judged by the stages of its accesses.
fn kind_of(accesses: &[BlockAccess]) -> &'static str {
    let n_copied = accesses.iter().filter(|access| access.stage == Stage::Transfer).count();
    match n_copied {
        0 if !accesses.is_empty() => "dispatch",
        n if n > 0 && n == accesses.len() => "copy",
        _ => "other",
    }
}
