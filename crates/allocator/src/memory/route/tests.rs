//! The route of each copy on a GPU and on a CPU, as a table, and the conditions that hold for every request.
#![expect(clippy::cast_possible_truncation, reason = "chunks are small")]

use super::*;
use Direction::{ToDevice as Up, ToHost as Down};
use HostSide::{Imported, Later, Pattern, Slice};
use MemoryKind::{Device, Shared, WriteCombined};
use Route::Kernel;

const PINNED: HostSide = HostSide::Pinned { is_read_fast: true };

/// A GPU, and a CPU or an integrated GPU, whose memory the host reads fast.
const GPU: Bus = Bus { is_cpu: false, is_read_fast: [false, true, true, false], n_threads: 8 };
const CPU: Bus = Bus { is_cpu: true, is_read_fast: [true; 4], n_threads: 2 };

/// Answers that are fixed beforehand, a bit for each.
#[derive(Debug, Clone, Copy)]
struct FixedLoad(u32);

const IS_WAITING: u32 = 1;
const IS_BUSY: u32 = 2;
const IS_SOURCE_WRITTEN: u32 = 4;
const IS_BEHIND: u32 = 8;
const HAS_ONE_QUEUE: u32 = 16;
const IS_IN_JOB: u32 = 32;
const IS_SINGLE: u32 = 64;

impl FixedLoad {
    fn holds(self, fact: Fact) -> bool {
        let is = |bit| self.0 & bit > 0;
        match fact {
            Fact::Waiting => is(IS_WAITING),
            Fact::Busy => is(IS_BUSY),
            Fact::SourceWritten => is(IS_SOURCE_WRITTEN),
            Fact::Behind => is(IS_BEHIND),
            Fact::TransferQueue => !is(HAS_ONE_QUEUE),
            Fact::Alone(_) => !is(IS_BEHIND),
            Fact::InJob => is(IS_IN_JOB),
            Fact::Single => is(IS_SINGLE),
        }
    }
}

/// The route of a request under a load.
fn routed(request: &CopyRequest, bus: &Bus, load: &FixedLoad) -> Routed {
    route(request, bus, |fact| Ok(load.holds(fact))).unwrap()
}

const IDLE: FixedLoad = FixedLoad(0);
const WAITS: FixedLoad = FixedLoad(IS_WAITING);
/// The load behind a kernel that uses the bytes.
const BUSY: FixedLoad = FixedLoad(IS_BUSY | IS_BEHIND);
const WRITTEN: FixedLoad = FixedLoad(IS_SOURCE_WRITTEN | IS_BEHIND);
const JOB: FixedLoad = FixedLoad(IS_IN_JOB | IS_BEHIND | IS_BUSY);
const SINGLE: FixedLoad = FixedLoad(IS_SINGLE | IS_BUSY);
const ONE_QUEUE: FixedLoad = FixedLoad(HAS_ONE_QUEUE | IS_BUSY);

/// A block whose memory the host addresses, and a block whose memory it does not address.
const fn seen(kind: MemoryKind) -> BlockSide {
    BlockSide { kind, is_addressed: true }
}
const HIDDEN: BlockSide = BlockSide { kind: Device, is_addressed: false };

/// A copy of one run that a kernel could do.
fn one(direction: Direction, bytes: u64, host: HostSide, block: BlockSide) -> CopyRequest {
    CopyRequest { direction, bytes, host, block, unit: Some(16), is_beside: false }
}

/// A copy that no kernel does.
fn unaligned(direction: Direction, bytes: u64, host: HostSide, block: BlockSide) -> CopyRequest {
    CopyRequest { unit: None, ..one(direction, bytes, host, block) }
}

const fn in_place(n_threads: usize) -> Route {
    Route::InPlace { n_threads }
}

const fn own(via: Via) -> Route {
    Route::Command { queue: CopyQueue::Own, via }
}

const fn beside(direction: Direction, via: Via) -> Route {
    Route::Command { queue: CopyQueue::Transfer(direction), via }
}

fn chunks(chunk: u64, n_threads: usize, slots_each: usize) -> Via {
    Via::Chunks(ChunkPlan { chunk: chunk as usize, n_threads, slots_each })
}

#[track_caller]
fn check(bus: &Bus, cases: &[(CopyRequest, FixedLoad, Route)]) {
    for (request, moment, expected) in cases {
        let routed = routed(request, bus, moment);
        assert_eq!(routed.route, *expected, "{request:?}, {moment:?}: {}", routed.reason);
    }
}

#[test]
fn uploads_from_slices_to_a_gpu() {
    use Via::Slot;
    check(
        &GPU,
        &[
            (one(Up, 4 * KIB, Slice, seen(Device)), IDLE, in_place(1)),
            (one(Up, MIB, Slice, seen(Device)), IDLE, in_place(1)),
            (unaligned(Up, 3, Slice, seen(Device)), IDLE, in_place(1)),
            (one(Up, 4 * KIB, Slice, seen(Device)), BUSY, own(Slot)),
            (one(Up, 4 * KIB, Slice, seen(Device)), WAITS, own(Slot)),
            (one(Up, 64 * KIB, Slice, seen(Device)), BUSY, own(Slot)),
            (one(Up, 64 * KIB + 4, Slice, seen(Device)), BUSY, own(chunks(512 * KIB, 1, 1))),
            (one(Up, MIB, Slice, seen(Device)), BUSY, own(chunks(512 * KIB, 1, 2))),
            (one(Up, MIB + 4, Slice, seen(Device)), IDLE, own(chunks(512 * KIB, 1, 3))),
            (one(Up, 4 * MIB, Slice, seen(Device)), IDLE, beside(Up, chunks(MIB, 2, 2))),
            (one(Up, 256 * MIB, Slice, seen(Device)), IDLE, beside(Up, chunks(2 * MIB, 8, 2))),
            (one(Up, 256 * MIB, Slice, seen(Device)), SINGLE, own(chunks(2 * MIB, 8, 2))),
            (one(Up, 4 * MIB, Slice, seen(Device)), JOB, own(chunks(MIB, 2, 2))),
            (one(Up, 4 * MIB + 4, Slice, seen(Device)), JOB, beside(Up, chunks(MIB + 64 * KIB, 2, 2))),
            (one(Up, 4 * MIB, Slice, seen(Device)), ONE_QUEUE, own(chunks(MIB, 2, 2))),
            (one(Up, 4 * KIB, Slice, HIDDEN), IDLE, own(Slot)),
            (one(Up, MIB, Slice, HIDDEN), IDLE, own(chunks(512 * KIB, 1, 2))),
            (one(Up, 4 * KIB, Slice, seen(Shared)), IDLE, in_place(1)),
            (one(Up, 64 * MIB, Slice, seen(MemoryKind::Pinned)), IDLE, in_place(8)),
            (one(Up, 64 * MIB, Slice, seen(MemoryKind::Pinned)), BUSY, own(chunks(2 * MIB, 8, 2))),
        ],
    );
}

#[test]
fn downloads_to_slices_from_a_gpu() {
    use Via::Slot;
    check(
        &GPU,
        &[
            (one(Down, 4, Slice, seen(Device)), IDLE, beside(Down, Slot)),
            (one(Down, 4 * KIB, Slice, seen(Device)), IDLE, beside(Down, Slot)),
            (one(Down, 4 * KIB, Slice, seen(Device)), BUSY, Kernel { unit: 16 }),
            (one(Down, 4 * KIB, Slice, HIDDEN), BUSY, Kernel { unit: 16 }),
            (one(Down, 128 * KIB, Slice, HIDDEN), BUSY, Kernel { unit: 16 }),
            (unaligned(Down, 4 * KIB, Slice, seen(Device)), BUSY, own(Slot)),
            (one(Down, 4 * KIB, Slice, seen(Device)), ONE_QUEUE, own(Slot)),
            (one(Down, 64 * KIB + 4, Slice, HIDDEN), IDLE, own(chunks(512 * KIB, 1, 1))),
            (one(Down, 128 * KIB + 4, Slice, HIDDEN), BUSY, own(chunks(512 * KIB, 1, 1))),
            (one(Down, 256 * MIB, Slice, HIDDEN), BUSY, beside(Down, chunks(2 * MIB, 8, 2))),
            (one(Down, 256 * MIB, Slice, HIDDEN), SINGLE, own(chunks(2 * MIB, 8, 2))),
            (one(Down, 4 * MIB, Slice, HIDDEN), JOB, own(chunks(MIB, 2, 2))),
            (one(Down, 4 * MIB + 4, Slice, HIDDEN), JOB, beside(Down, chunks(MIB + 64 * KIB, 2, 2))),
            (one(Down, 512, Slice, seen(Shared)), BUSY, in_place(1)),
            (one(Down, 513, Slice, seen(Shared)), IDLE, beside(Down, Slot)),
            (one(Down, 513, Slice, seen(Shared)), BUSY, Kernel { unit: 16 }),
            (one(Down, 64 * MIB, Slice, seen(MemoryKind::Pinned)), BUSY, in_place(8)),
            (one(Down, 4 * KIB, Later, HIDDEN), BUSY, own(Via::Pinned)),
            (unaligned(Down, 64 * KIB + 1, Later, HIDDEN), BUSY, own(chunks(512 * KIB, 1, 1))),
        ],
    );
}

#[test]
fn copies_between_pinned_memory_and_a_gpu() {
    use Via::Direct;
    check(
        &GPU,
        &[
            (one(Up, 4 * KIB, PINNED, seen(Device)), IDLE, in_place(1)),
            (one(Up, 32 * KIB, PINNED, seen(Device)), IDLE, in_place(1)),
            (unaligned(Up, 4 * KIB, PINNED, seen(Device)), IDLE, in_place(1)),
            (one(Up, 4 * KIB, PINNED, seen(Device)), BUSY, Kernel { unit: 16 }),
            (one(Up, 4 * KIB, PINNED, seen(Device)), WAITS, Kernel { unit: 16 }),
            (unaligned(Up, 4 * KIB, PINNED, seen(Device)), BUSY, own(Direct)),
            (one(Up, 4 * KIB, HostSide::Pinned { is_read_fast: false }, seen(Device)), IDLE, Kernel { unit: 16 }),
            (one(Up, 4 * KIB, PINNED, HIDDEN), IDLE, Kernel { unit: 16 }),
            (one(Up, 32 * KIB + 4, PINNED, seen(Device)), IDLE, Kernel { unit: 16 }),
            (one(Up, 128 * KIB + 16, PINNED, seen(Device)), IDLE, own(Direct)),
            (one(Up, MIB, PINNED, HIDDEN), IDLE, beside(Up, Direct)),
            (one(Up, MIB, PINNED, HIDDEN), JOB, own(Direct)),
            (one(Up, 4 * MIB, PINNED, HIDDEN), JOB, own(Direct)),
            (one(Up, 4 * MIB + 1, PINNED, HIDDEN), JOB, beside(Up, Direct)),
            (one(Up, 256 * MIB, PINNED, HIDDEN), SINGLE, own(Direct)),
            (one(Up, 256 * MIB, PINNED, HIDDEN), BUSY, beside(Up, Direct)),
            (one(Up, 256 * MIB, PINNED, HIDDEN), ONE_QUEUE, own(Direct)),
            (one(Down, 4 * KIB, PINNED, seen(Device)), IDLE, Kernel { unit: 16 }),
            (unaligned(Down, 4 * KIB, PINNED, seen(Device)), IDLE, beside(Down, Direct)),
            (unaligned(Down, 4 * KIB, PINNED, seen(Device)), BUSY, own(Direct)),
            (one(Down, 256 * KIB, PINNED, HIDDEN), IDLE, beside(Down, Direct)),
            (one(Down, 256 * KIB + 4, PINNED, HIDDEN), IDLE, own(Direct)),
            (one(Down, 256 * MIB, PINNED, HIDDEN), BUSY, beside(Down, Direct)),
        ],
    );
}

#[test]
fn short_rows_are_copied_by_a_kernel_and_short_runs_are_packed() {
    // The runs, the bytes of each, and whether a kernel copies them.
    let cases = [(1, 4, false), (3, MIN_ROW, false), (4096, MIN_ROW, false), (3, MIN_ROW - 1, true), (4097, MIB, true)];
    for (n_runs, run, expected) in cases {
        assert_eq!(is_by_rows(n_runs, run), expected, "{n_runs} of {run}");
    }
    // The runs, the bytes of all, and whether they are packed on the device first.
    for (n_runs, bytes, expected) in
        [(4, 32, false), (5, 40, true), (5, 5 * (256 * KIB - 1), true), (5, 5 * 256 * KIB, false)]
    {
        assert_eq!(is_packed_first(n_runs, bytes), expected, "{n_runs} of {bytes} bytes in all");
    }
}

#[test]
fn copies_beside_kernels_take_the_transfer_queue() {
    use Via::Direct;
    let beside_kernels =
        |direction, bytes, block| CopyRequest { is_beside: true, ..unaligned(direction, bytes, PINNED, block) };
    check(
        &GPU,
        &[
            (beside_kernels(Up, 4, HIDDEN), IDLE, beside(Up, Direct)),
            (beside_kernels(Up, MIB, HIDDEN), JOB, beside(Up, Direct)),
            (beside_kernels(Down, 512 * KIB, HIDDEN), SINGLE, beside(Down, Direct)),
            (beside_kernels(Down, 512 * KIB, HIDDEN), ONE_QUEUE, own(Direct)),
            (beside_kernels(Up, 4, seen(MemoryKind::Pinned)), IDLE, own(Direct)),
        ],
    );
}

#[test]
fn copies_of_registered_memory_and_of_patterns() {
    use Via::{Direct, Fill, Slot};
    check(
        &GPU,
        &[
            (unaligned(Up, 64 * KIB, Imported, seen(Device)), IDLE, in_place(1)),
            (unaligned(Up, 64 * KIB, Imported, seen(Device)), BUSY, own(Slot)),
            (unaligned(Up, 64 * KIB, Imported, seen(Device)), WRITTEN, own(Direct)),
            (unaligned(Up, 64 * KIB + 1, Imported, seen(Device)), IDLE, own(Direct)),
            (unaligned(Up, MIB, Imported, HIDDEN), IDLE, beside(Up, Direct)),
            (unaligned(Down, 64 * KIB, Imported, HIDDEN), IDLE, beside(Down, Direct)),
            (unaligned(Down, 4, Imported, HIDDEN), BUSY, own(Direct)),
            (one(Up, 128 * KIB, Pattern, seen(Device)), IDLE, in_place(1)),
            (one(Up, 128 * KIB + 1, Pattern, seen(Device)), IDLE, own(Fill)),
            (one(Up, 16, Pattern, seen(Device)), WAITS, own(Fill)),
            (one(Up, 16, Pattern, HIDDEN), IDLE, own(Fill)),
            (one(Up, 16, Pattern, seen(MemoryKind::Pinned)), IDLE, own(Fill)),
        ],
    );
}

/// Devices on which the host reads all memory fast: CPU drivers, integrated GPUs.
#[test]
fn copies_to_and_from_memory_that_the_host_reads_fast() {
    use Via::{Direct, Fill, Slot};
    check(
        &CPU,
        &[
            (one(Up, 64 * MIB, Slice, seen(Device)), IDLE, in_place(2)),
            (one(Up, 4 * KIB, Slice, seen(Device)), BUSY, own(Slot)),
            (one(Down, 64 * MIB, Slice, seen(Device)), BUSY, in_place(2)),
            (one(Up, 4 * KIB, PINNED, seen(Device)), IDLE, Kernel { unit: 16 }),
            (one(Up, 4 * KIB + 4, PINNED, seen(Device)), IDLE, own(Direct)),
            (one(Down, 4 * KIB, Slice, seen(WriteCombined)), BUSY, in_place(1)),
            (one(Up, 16, Pattern, seen(Device)), IDLE, own(Fill)),
            (one(Down, 4 * KIB + 4, Slice, HIDDEN), BUSY, own(Slot)), // Memory for other processes.
        ],
    );
}

#[test]
fn a_plan_has_work_for_every_thread() {
    // The bytes, and the threads there are; then the bytes of a chunk, the threads, and the slots of each.
    let cases = [
        (1, 8, 512 * KIB, 1, 1),                 // One chunk, one slot.
        (512 * KIB, 8, 512 * KIB, 1, 1),         // Just one chunk.
        (MIB, 8, 512 * KIB, 1, 2),               // Two chunks: one on the bus while the host copies the other.
        (3 * MIB, 8, 768 * KIB, 1, 4),           // Too small for a second thread.
        (4 * MIB, 8, MIB, 2, 2),                 // Large enough for a second thread.
        (4 * MIB, 1, MIB, 1, 4),                 // There is no other thread.
        (16 * MIB, 8, MIB, 8, 2),                // All threads have work.
        (16 * MIB + 1, 8, MIB + 64 * KIB, 8, 2), // Chunks are slightly larger, and not one more.
        (256 * MIB, 8, 2 * MIB, 8, 2),           // Whole slots.
        (256 * MIB, 1, 2 * MIB, 1, 4),
        (256 * MIB, 3, 2 * MIB, 3, 2),
    ];
    for (bytes, max_threads, chunk, n_threads, slots_each) in cases {
        let expected = ChunkPlan { chunk: chunk as usize, n_threads, slots_each };
        assert_eq!(ChunkPlan::new(bytes, max_threads), expected, "{bytes} bytes, {max_threads} threads");
    }
}

#[test]
fn every_plan_keeps_the_limits() {
    for (n, max_threads) in (1..5000).flat_map(|n| (1..=8).map(move |max| (n, max))) {
        let bytes = n * 4999;
        let ChunkPlan { chunk, n_threads, slots_each } = ChunkPlan::new(bytes, max_threads);
        let n_chunks = usize::try_from(bytes.div_ceil(chunk as u64)).unwrap();
        assert!((MIN_CHUNK..=MAX_CHUNK).contains(&(chunk as u64)), "{bytes}: {chunk}");
        assert!((chunk as u64).is_multiple_of(MAX_IN_SLOT), "{bytes}: {chunk}");
        assert!((1..=max_threads).contains(&n_threads) && slots_each >= 1, "{bytes}");
        assert!(n_threads * slots_each < n_chunks + n_threads, "slots without chunks: {bytes}");
        assert!(n_chunks >= n_threads, "threads without chunks: {bytes}");
    }
}

/// Sizes near the thresholds, in ascending order.
fn sizes() -> impl Iterator<Item = u64> {
    let thresholds = [
        4,
        MAX_SLOW_READ,
        MAX_BY_KERNEL_CPU,
        MAX_COPIED_BY_HOST,
        MAX_IN_SLOT,
        MAX_BY_KERNEL,
        MAX_ALONE_BESIDE,
        MIN_BESIDE,
        MAX_IN_JOB,
        1 << 33,
    ];
    thresholds.into_iter().flat_map(|bytes| [bytes - 1, bytes, bytes + 1, bytes + 4])
}

/// Every request of four bytes, on both devices, with every answer of a load.
fn requests() -> impl Iterator<Item = (CopyRequest, &'static Bus, FixedLoad)> {
    let hosts = [Slice, Later, Pattern, PINNED, HostSide::Pinned { is_read_fast: false }, Imported];
    let blocks = MemoryKind::ALL.into_iter().flat_map(|kind| [seen(kind), BlockSide { kind, is_addressed: false }]);
    let sides = blocks.flat_map(move |block| hosts.map(|host| (block, host)));
    let ways = sides.flat_map(|(block, host)| [Up, Down].map(|direction| (direction, block, host)));
    let ways = ways.filter(|&(direction, _, host)| direction == Down || host != Later); // Only downloads are waited for later.
    ways.flat_map(|(direction, block, host)| {
        let devices = [(&GPU, None), (&GPU, Some(4)), (&CPU, None), (&CPU, Some(4))];
        devices.into_iter().flat_map(move |(bus, unit)| {
            let request = CopyRequest { direction, bytes: 4, host, block, unit, is_beside: false };
            (0..128).map(move |answers| (request, bus, FixedLoad(answers)))
        })
    })
}

#[test]
fn every_route_keeps_its_conditions() {
    for (request, bus, load) in requests() {
        for bytes in sizes() {
            let request = CopyRequest { bytes, ..request };
            check_conditions(&request, &load, routed(&request, bus, &load).route);
        }
    }
}

/// In place, by a kernel, through a slot, by commands: a larger copy never goes an earlier way of these than a smaller one.
#[test]
fn larger_copies_never_go_the_way_of_smaller_ones() {
    let step = |route| match route {
        Route::InPlace { .. } => 0,
        Kernel { .. } => 1,
        Route::Command { via: Via::Slot, .. } => 2,
        _ => 3,
    };
    for (request, bus, load) in requests().filter(|(request, ..)| request.host != Later) {
        let steps = sizes().map(|bytes| step(routed(&CopyRequest { bytes, ..request }, bus, &load).route));
        assert!(steps.is_sorted(), "{request:?}, {load:?}");
    }
}

fn check_conditions(request: &CopyRequest, load: &FixedLoad, route: Route) {
    let &CopyRequest { direction, bytes, host, block, unit, .. } = request;
    let is_allowed = match route {
        Route::InPlace { .. } if direction == Up => {
            block.is_addressed && !load.holds(Fact::Busy) && !load.holds(Fact::Waiting)
        }
        Route::InPlace { .. } => block.is_addressed && matches!(host, Slice | Later),
        Kernel { unit: with } => unit == Some(with) && bytes <= MAX_BY_KERNEL && !block.kind.is_in_host_memory(),
        Route::Command { queue, via } => {
            let is_on_queue = queue == CopyQueue::Own
                || queue == CopyQueue::Transfer(direction)
                    && load.holds(Fact::TransferQueue)
                    && !block.kind.is_in_host_memory();
            is_on_queue
                && match via {
                    Via::Direct => matches!(host, HostSide::Pinned { .. } | Imported),
                    Via::Slot => bytes <= MAX_IN_SLOT && matches!(host, Slice | Imported),
                    Via::Chunks(_) => bytes > MAX_IN_SLOT && matches!(host, Slice | Later),
                    Via::Pinned => bytes <= MAX_IN_SLOT && host == Later,
                    Via::Fill => host == Pattern,
                }
        }
    };
    assert!(is_allowed, "{request:?}, {load:?}: {route:?}");
}

#[test]
fn routes_are_told_with_their_reasons() {
    let text = explain::explain(4096, &GPU, seen(Device), true).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 8);
    assert!(
        lines[0].starts_with("upload from a slice, idle: in place by the host, threads: 1: nothing uses the memory")
    );
    assert!(
        lines[1].starts_with(
            "upload from a slice, behind a kernel: a command on the stream's queue, through a staging slot"
        )
    );
    assert!(
        lines[5].starts_with("download to a slice, behind a kernel: a kernel, in units of 16 bytes: between kernels")
    );
    assert!(explain::explain(1, &GPU, HIDDEN, false).unwrap().lines().all(|line| !line.contains("transfer queue")));
}
