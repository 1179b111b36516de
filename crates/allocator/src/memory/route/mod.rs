//! How bytes cross between the host and the device: one pure function, [`route`], and its one table of thresholds.
//!
//! Code that copies between the host and a block describes the copy as a [`CopyRequest`], asks once, and carries out
//! the [`Route`]. Whether a [`Fact`] of the moment holds is asked of the caller. Only a row that needs a fact asks for
//! it, since each answer costs a lock or a call of the driver. A route in place may be refused when it is carried out,
//! if work or another thread uses the bytes by then. The copy is then routed again, with [`Fact::Busy`]. The reasons are
//! in `docs/decisions/018-host-copies-use-staging-slots.md` and
//! `docs/decisions/052-small-jobs-are-one-submission.md`.

mod explain;

use vkarray_driver::{DeviceInfo, DeviceType, Direction};

use crate::error::Result;
use crate::kind::MemoryKind;
pub(crate) use explain::explain;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

// The thresholds, in bytes unless the name has another unit. "H100" is an H100 with driver 580, in November 2026.

/// The most bytes that the host writes from a slice over the bus. H100, 2026-11: one thread writes 13 GB/s; a copy by
/// the device costs some 10 µs and then passes 36 GB/s.
const MAX_WRITTEN_OVER_BUS: u64 = MIB;
/// The most bytes that the host copies from pinned memory over the bus. H100, 2026-11: the barrier between two kernels
/// takes 2.4 µs, in which the host writes this much.
const MAX_COPIED_BY_HOST: u64 = 32 * KIB;
/// The most bytes that the host reads in place where that is slow: the round trip of a copy by the device takes longer.
/// Estimated.
const MAX_SLOW_READ: u64 = 512;
/// The most bytes that a kernel copies. H100, 2026-11: between other kernels a command takes 5 µs longer, for any size.
const MAX_BY_KERNEL: u64 = 128 * KIB;
/// The most bytes that a kernel copies on a CPU, where a command copies a page as fast. lavapipe, 2026-11.
const MAX_BY_KERNEL_CPU: u64 = 4 * KIB;
/// The most bytes that are one command through a small staging slot. H100, 2026-11: several threads gain nothing for
/// fewer bytes.
pub(crate) const MAX_IN_SLOT: u64 = 64 * KIB;
/// From this size on a copy may use a transfer queue. H100, 2026-11: a wait between queues takes 6.5 µs, in which the bus
/// carries 300 KiB.
const MIN_BESIDE: u64 = MIB;
/// The most bytes that go to the host on an idle transfer queue. H100, 2026-11: 13.4 µs against 14.6 for 4 KiB; from
/// 512 KiB on the compute queue is faster.
const MAX_ALONE_BESIDE: u64 = 256 * KIB;
/// The most bytes that stay among the kernels of a short job. H200, 2026-11-22: a wait between queues takes 8 µs, twice
/// in a job.
const MAX_IN_JOB: u64 = 4 * MIB;
/// Rows of at least this size are regions of one command. H100, 2026-11: a region costs 1 µs, and the copy engine runs beside
/// kernels.
const MIN_ROW: u64 = 64 * KIB;
/// The most rows of one command. H100, 2026-11.
const MAX_ROWS: u64 = 4096;
/// More runs than this of registered memory are packed on the device if they are shorter than [`SHORT_RUN`].
const MAX_SHORT_RUNS: u64 = 4;
/// A run of registered memory that is short. H100, 2026-11: a command takes some microseconds, in which the bus carries this
/// much.
const SHORT_RUN: u64 = 256 * KIB;
/// The least bytes of each thread. H100's host, 2026-11: waking a thread takes 50 µs, in which one thread copies 700
/// KiB.
const BYTES_A_THREAD: u64 = 2 * MIB;
/// The least bytes of a chunk. H100, 2026-11: submitting a chunk takes 5 µs, in which the bus carries 256 KiB.
const MIN_CHUNK: u64 = 512 * KIB;
/// The most bytes of a chunk, and the size of a large staging slot. H100's host, 2026-11: all slots of a copy stay in the
/// processor's cache.
pub(crate) const MAX_CHUNK: u64 = 2 * MIB;
/// The size of a small staging slot: four copies of the largest size for one. Not measured.
pub(crate) const SMALL_SLOT: u64 = 256 * KIB;
/// The most staging slots of one direction and size, a number: two for each thread.
pub(crate) const MAX_SLOTS: usize = 16;
/// The number of slots of a thread that copies alone, and of each of several threads. Not measured apart from the sizes
/// above.
const SLOTS_OF_THREADS: [usize; 2] = [4, 2];
/// The most threads of a copy. H100's host, 2026-11: one thread copies 13.6 GB/s into pinned memory, four copy 29,
/// eight 35, and into write-combined memory 14, 33 and 55; the bus carries 51.
pub(crate) const MAX_THREADS: usize = 8;
/// The most bytes of a registered slice that is not imported unless it is whole pages. H200, 2026-11-22: an import
/// takes 260 µs.
pub(crate) const MAX_NOT_IMPORTED: usize = 16 << 10;
/// From this size on a copy from or to a registered slice is cut at the ends of its whole pages. H200, 2026-11-22:
/// copies that begin elsewhere reach 41 GB/s instead of 50, and the two short copies take 15 µs.
pub(crate) const MIN_CUT: usize = 4 << 20;
/// From this size on a copy between devices exports and imports memory for this one copy. H200, 2026-11-22: drivers
/// take 100 µs.
pub(crate) const MIN_EXPORTED: u64 = 16 * MIB;
/// The largest part of such memory. H200, 2026-11-22: the waits between parts take 10 µs, in which a GPU copies this
/// much.
#[cfg(unix)]
pub(crate) const EXPORTED_PART: u64 = 8 * MIB;
/// The most bytes of a repeated pattern that are uploaded, unless the pattern is longer; the device doubles them. Not
/// measured.
pub(crate) const MAX_PATTERN: u64 = 4 * KIB;

/// A copy of one run of bytes between the host and a block. Copies of several runs are cut by the array crate, which
/// asks [`is_by_rows`] and [`is_packed_first`] how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyRequest {
    /// The direction of the bytes.
    pub(crate) direction: Direction,
    /// The number of bytes, not zero.
    pub(crate) bytes: u64,
    /// The memory that holds the bytes on the host's side.
    pub(crate) host: HostSide,
    /// The memory that holds the bytes on the device's side.
    pub(crate) block: BlockSide,
    /// The bytes of the units in which a kernel could copy. `None` if the bytes are not whole words at offsets that a
    /// kernel can bind, or if the caller runs no kernels.
    pub(crate) unit: Option<u32>,
    /// Whether kernels of the stream that use other bytes are to run meanwhile, also if the copy then begins later.
    pub(crate) is_beside: bool,
}

/// The host's side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostSide {
    /// A slice of the program, which the device does not reach. A download to it blocks.
    Slice,
    /// A slice for a download that is waited for later.
    Later,
    /// Bytes that repeat a pattern, for new memory, which the device can also fill.
    Pattern,
    /// A block in host memory.
    Pinned {
        /// Whether the host addresses the block and reads it fast.
        is_read_fast: bool,
    },
    /// Imported pages of the program.
    Imported,
}

/// The device's side of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockSide {
    /// The kind of the block's memory.
    pub(crate) kind: MemoryKind,
    /// Whether the block's memory is in the address space of the process.
    pub(crate) is_addressed: bool,
}

/// The facts about a device that routes depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bus {
    /// Whether the device is a CPU.
    pub(crate) is_cpu: bool,
    /// Whether the host reads memory in place at least as fast as the device copies it to pinned memory; by kind.
    pub(crate) is_read_fast: [bool; 4],
    /// The most threads of a copy, including the caller's.
    pub(crate) n_threads: usize,
}

/// A fact about the moment that routes depend on. Each answer may cost a lock or a call of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The stream waits for a point that the program named.
    Waiting,
    /// Work, or another thread, is known to use bytes of the block. Carrying out a route in place finds this out.
    Busy,
    /// Unfinished work writes the host's side of an upload from imported pages.
    SourceWritten,
    /// Some of the stream's work is unfinished.
    Behind,
    /// The stream has a queue for transfers.
    TransferQueue,
    /// The stream and its transfer queue of this direction are idle.
    Alone(Direction),
    /// The next operation is probably one of a few between two waits of a thread.
    InJob,
    /// The next operation is probably waited for alone, on a device that is idle.
    Single,
}

/// How bytes cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The host copies, through the mapping, with this many threads.
    InPlace {
        /// The number of threads, including the caller's.
        n_threads: usize,
    },
    /// A kernel copies one run. The other side is pinned memory, from or to which a slice is copied.
    Kernel {
        /// The bytes of a unit.
        unit: u32,
    },
    /// A command of the device.
    Command {
        /// The queue that runs it.
        queue: CopyQueue,
        /// The memory that the command goes through.
        via: Via,
    },
}

/// The queue of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyQueue {
    /// The stream's own queue, among the stream's kernels.
    Own,
    /// The stream's transfer queue of the direction.
    Transfer(Direction),
}

/// The memory that a command copies from or to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// The host's side itself.
    Direct,
    /// A part of one small staging slot.
    Slot,
    /// Several large staging slots.
    Chunks(ChunkPlan),
    /// Pinned memory for this copy, until the copy is waited for.
    Pinned,
    /// No memory: the command is a fill.
    Fill,
}

/// A route and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Routed {
    /// The route.
    pub(crate) route: Route,
    /// The reason, in a sentence without a full stop.
    pub(crate) reason: &'static str,
}

impl Bus {
    /// The facts of a device, for copies by at most `n_threads` threads.
    pub(crate) fn new(device: &DeviceInfo, n_threads: usize) -> Self {
        let is_read_fast = MemoryKind::ALL.map(|kind| kind.is_read_fast(device));
        Self { is_cpu: device.device_type == DeviceType::Cpu, is_read_fast, n_threads }
    }

    /// Whether the host reads memory of this kind fast.
    pub(crate) fn is_read_fast(&self, kind: MemoryKind) -> bool {
        self.is_read_fast[kind.index()]
    }

    /// Whether the host reads a block: it addresses the memory, and work on the block is made visible to the host. Work
    /// on memory beyond a bus is not made visible. H200, 2026-11-22: a dispatch and a wait took 42 µs with the barrier
    /// for it, instead of 13.
    pub(crate) fn is_readable(&self, block: BlockSide) -> bool {
        block.is_addressed && (block.kind.is_host_visible() || self.is_read_fast(block.kind))
    }

    /// Whether the host reads this many bytes of a block itself.
    pub(crate) fn is_read_in_place(&self, block: BlockSide, bytes: u64) -> bool {
        self.is_readable(block) && (self.is_read_fast(block.kind) || bytes <= MAX_SLOW_READ)
    }

    /// The most bytes that the host writes to a block itself.
    fn most_written(&self, block: BlockSide, host: HostSide) -> u64 {
        let is_fast = self.is_read_fast(block.kind);
        match host {
            _ if !block.is_addressed => 0,
            HostSide::Pattern | HostSide::Pinned { .. } if is_fast => 0, // The device fills and copies as fast.
            HostSide::Pattern => self.most_by_kernel(),
            HostSide::Pinned { is_read_fast } => MAX_COPIED_BY_HOST * u64::from(is_read_fast),
            _ if is_fast => u64::MAX,
            _ => MAX_WRITTEN_OVER_BUS,
        }
    }

    fn most_by_kernel(&self) -> u64 {
        if self.is_cpu { MAX_BY_KERNEL_CPU } else { MAX_BY_KERNEL }
    }
}

/// Decides how bytes cross between the host and the device: by the first row whose condition holds. `holds` says whether
/// a fact is true.
///
/// # Errors
///
/// The errors of `holds`.
pub(crate) fn route(request: &CopyRequest, bus: &Bus, holds: impl Fn(Fact) -> Result<bool>) -> Result<Routed> {
    let &CopyRequest { direction, bytes, host, block, unit, .. } = request;
    let is_up = direction == Direction::ToDevice;
    let (is_slice, is_pinned) =
        (matches!(host, HostSide::Slice | HostSide::Later), matches!(host, HostSide::Pinned { .. }));
    let in_place = Route::InPlace { n_threads: n_threads(bytes, bus.n_threads) };
    let because = |route, reason| Ok(Routed { route, reason });

    if host == HostSide::Later && bytes <= MAX_IN_SLOT {
        return command(request, &holds, Via::Pinned, "nobody waits for the copy yet, so it has memory of its own");
    }
    if !is_up && is_slice && bus.is_read_in_place(block, bytes) {
        return because(in_place, "the host reads the memory where it is sooner than the device copies it");
    }
    if is_up && host == HostSide::Imported && (bytes > MAX_IN_SLOT || holds(Fact::SourceWritten)?) {
        return command(request, &holds, Via::Direct, "the device reaches the imported pages");
    }
    if is_up && bytes <= bus.most_written(block, host) && !holds(Fact::Busy)? && !holds(Fact::Waiting)? {
        return because(in_place, "nothing uses the memory, and the host writes it before the device would have begun");
    }
    if let Some(unit) = unit.filter(|_| bytes <= bus.most_by_kernel())
        && !block.kind.is_in_host_memory()
        && (is_pinned || !is_up && is_slice && holds(Fact::Behind)?)
    {
        return because(Route::Kernel { unit }, "between kernels a kernel copies few bytes sooner than a command");
    }
    match host {
        HostSide::Pattern => because(
            Route::Command { queue: CopyQueue::Own, via: Via::Fill },
            "the device fills memory faster than the host writes it",
        ),
        HostSide::Pinned { .. } => command(request, &holds, Via::Direct, "the device reaches pinned memory"),
        HostSide::Imported if !is_up => command(request, &holds, Via::Direct, "the device reaches the imported pages"),
        _ if bytes <= MAX_IN_SLOT => command(request, &holds, Via::Slot, "the device does not reach the slice"),
        _ => {
            let via = Via::Chunks(ChunkPlan::new(bytes, bus.n_threads));
            command(request, &holds, via, "the device does not reach the slice, and several slots overlap two copies")
        }
    }
}

/// Whether a kernel copies the runs of a copy between pinned and device memory, each of `run` bytes.
pub fn is_by_rows(n_runs: u64, run: u64) -> bool {
    n_runs > 1 && (n_runs > MAX_ROWS || run < MIN_ROW)
}

/// Whether runs of registered memory are packed on the device first: there are many, of few bytes on average.
pub fn is_packed_first(n_runs: u64, bytes: u64) -> bool {
    n_runs > MAX_SHORT_RUNS && bytes / n_runs < SHORT_RUN
}

/// A command, and its queue.
fn command(
    request: &CopyRequest,
    holds: impl Fn(Fact) -> Result<bool>,
    via: Via,
    reason: &'static str,
) -> Result<Routed> {
    let bytes = match via {
        Via::Chunks(plan) => plan.chunk as u64,
        _ => request.bytes,
    };
    let is_beside = match bytes {
        _ if request.block.kind.is_in_host_memory() || !holds(Fact::TransferQueue)? => false,
        _ if request.is_beside => true,
        MIN_BESIDE.. => !(request.bytes <= MAX_IN_JOB && holds(Fact::InJob)? || holds(Fact::Single)?),
        ..=MAX_ALONE_BESIDE => request.direction == Direction::ToHost && holds(Fact::Alone(request.direction))?,
        _ => false,
    };
    let queue = if is_beside { CopyQueue::Transfer(request.direction) } else { CopyQueue::Own };
    Ok(Routed { route: Route::Command { queue, via }, reason })
}

/// The chunks, threads and slots of a copy through several staging slots.
///
/// A thread fills one slot while the device empties another. Chunks are large, so that submitting them costs little
/// compared with copying them, but small enough that each thread has some chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkPlan {
    /// Bytes of each chunk; the last may be smaller.
    pub(crate) chunk: usize,
    /// Threads, including the caller's.
    pub(crate) n_threads: usize,
    /// Slots of each thread.
    pub(crate) slots_each: usize,
}

impl ChunkPlan {
    /// Plans a copy of `bytes` bytes, which are not zero, with at most `max_threads` threads.
    pub(crate) fn new(bytes: u64, max_threads: usize) -> Self {
        let n_threads = n_threads(bytes, max_threads);
        let slots_each = SLOTS_OF_THREADS[usize::from(n_threads > 1)];
        let even = bytes.div_ceil((n_threads * slots_each) as u64).next_multiple_of(MAX_IN_SLOT);
        let chunk = even.clamp(MIN_CHUNK, MAX_CHUNK);
        let chunks_each = bytes.div_ceil(chunk).div_ceil(n_threads as u64);
        let slots_each = usize::try_from(chunks_each).map_or(slots_each, |n| n.min(slots_each));
        Self { chunk: usize::try_from(chunk).expect("at most 2 MiB"), n_threads, slots_each }
    }
}

/// The number of threads for a copy of `bytes` bytes, at most `max`.
pub(crate) fn n_threads(bytes: u64, max: usize) -> usize {
    usize::try_from(bytes / BYTES_A_THREAD).map_or(max, |n| n.clamp(1, max))
}

#[cfg(test)]
mod tests;
