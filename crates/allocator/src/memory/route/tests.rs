use super::*;
use Direction::{ToDevice as Up, ToHost as Down};
use HostSide::{Imported, Later, Pattern, Slice};
use MemoryKind::{Device, Shared, WriteCombined};
use Route::{Kernel, PackFirst, Rows};

const PINNED: HostSide = HostSide::Pinned { is_read_fast: true };

/// A GPU, and a CPU or an integrated GPU, whose memory the host reads fast.
const GPU: Bus = Bus { is_cpu: false, is_read_fast: [false, true, true, false], n_threads: 8 };
const CPU: Bus = Bus { is_cpu: true, is_read_fast: [true; 4], n_threads: 2 };

/// What the moment is like; nothing happens by default, and there is a transfer queue.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    waits: bool,
    is_busy: bool,
    is_source_written: bool,
    is_behind: bool,
    has_one_queue: bool,
    is_in_job: bool,
    is_single: bool,
}

impl Load for Moment {
    fn waits(&self) -> Result<bool> {
        Ok(self.waits)
    }
    fn is_busy(&self) -> bool {
        self.is_busy
    }
    fn is_source_written(&self) -> Result<bool> {
        Ok(self.is_source_written)
    }
    fn is_behind(&self) -> Result<bool> {
        Ok(self.is_behind)
    }
    fn has_transfer_queue(&self) -> bool {
        !self.has_one_queue
    }
    fn is_alone(&self, _: Direction) -> bool {
        !self.is_behind
    }
    fn is_in_job(&self) -> bool {
        self.is_in_job
    }
    fn is_single(&self) -> bool {
        self.is_single
    }
}

const IDLE: Moment = Moment {
    waits: false,
    is_busy: false,
    is_source_written: false,
    is_behind: false,
    has_one_queue: false,
    is_in_job: false,
    is_single: false,
};
const WAITS: Moment = Moment { waits: true, ..IDLE };
/// Behind a kernel that uses the bytes.
const BUSY: Moment = Moment { is_busy: true, is_behind: true, ..IDLE };
const WRITTEN: Moment = Moment { is_source_written: true, is_behind: true, ..IDLE };
const JOB: Moment = Moment { is_in_job: true, is_behind: true, is_busy: true, ..IDLE };
const SINGLE: Moment = Moment { is_single: true, is_busy: true, ..IDLE };
const ONE_QUEUE: Moment = Moment { has_one_queue: true, is_busy: true, ..IDLE };

/// A block whose memory the host addresses, and one that it does not address.
const fn seen(kind: MemoryKind) -> BlockSide {
    BlockSide { kind, is_addressed: true }
}
const HIDDEN: BlockSide = BlockSide { kind: Device, is_addressed: false };

/// A copy of one run that a kernel could do.
fn one(direction: Direction, bytes: u64, host: HostSide, block: BlockSide) -> CopyRequest {
    CopyRequest { direction, bytes, n_runs: 1, host, block, unit: Some(16) }
}

/// A copy that no kernel does.
fn unaligned(direction: Direction, bytes: u64, host: HostSide, block: BlockSide) -> CopyRequest {
    CopyRequest { unit: None, ..one(direction, bytes, host, block) }
}

fn rows(n_runs: u64, row: u64, host: HostSide) -> CopyRequest {
    CopyRequest { n_runs, ..one(Up, n_runs * row, host, seen(Device)) }
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
fn check(bus: &Bus, cases: &[(CopyRequest, Moment, Route)]) {
    for (request, moment, expected) in cases {
        let routed = route(request, bus, moment).unwrap();
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
            (one(Up, 256 * MIB, Slice, seen(Device)), SINGLE, beside(Up, chunks(2 * MIB, 8, 2))),
            (one(Up, 4 * MIB, Slice, seen(Device)), JOB, beside(Up, chunks(MIB, 2, 2))),
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
            (one(Down, 256 * MIB, Slice, HIDDEN), SINGLE, beside(Down, chunks(2 * MIB, 8, 2))),
            (one(Down, 512, Slice, seen(Shared)), BUSY, in_place(1)),
            (one(Down, 513, Slice, seen(Shared)), IDLE, beside(Down, Slot)),
            (one(Down, 513, Slice, seen(Shared)), BUSY, Kernel { unit: 16 }),
            (one(Down, 64 * MIB, Slice, seen(MemoryKind::Pinned)), BUSY, in_place(8)),
            (one(Down, 4 * KIB, Later, HIDDEN), BUSY, own(Via::Pinned)),
            (one(Down, 64 * KIB + 1, Later, HIDDEN), BUSY, own(chunks(512 * KIB, 1, 1))),
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
            (rows(3, 64 * KIB, PINNED), IDLE, own(Direct)),
            (rows(4096, 64 * KIB, PINNED), IDLE, beside(Up, Direct)),
            (rows(3, 64 * KIB - 1, PINNED), IDLE, Rows),
            (rows(4097, 64 * KIB, PINNED), IDLE, Rows),
            (CopyRequest { unit: None, ..rows(3, 16, PINNED) }, IDLE, own(Direct)),
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
            (rows(5, 256 * KIB - 1, Imported), IDLE, PackFirst),
            (rows(5, 8, Slice), IDLE, PackFirst),
            (one(Up, 128 * KIB, Pattern, seen(Device)), IDLE, in_place(1)),
            (one(Up, 128 * KIB + 1, Pattern, seen(Device)), IDLE, own(Fill)),
            (one(Up, 16, Pattern, seen(Device)), WAITS, own(Fill)),
            (one(Up, 16, Pattern, HIDDEN), IDLE, own(Fill)),
            (one(Up, 16, Pattern, seen(MemoryKind::Pinned)), IDLE, own(Fill)),
        ],
    );
}

/// Where the host reads all memory fast: CPU drivers, integrated GPUs.
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
    // Bytes, threads there are; bytes of a chunk, threads, slots of each.
    let cases = [
        (1, 8, 512 * KIB, 1, 1),                 // One chunk, one slot.
        (512 * KIB, 8, 512 * KIB, 1, 1),         // Just one chunk.
        (MIB, 8, 512 * KIB, 1, 2),               // Two chunks: one on the bus while the host copies the other.
        (3 * MIB, 8, 768 * KIB, 1, 4),           // Too small for a second thread.
        (4 * MIB, 8, MIB, 2, 2),                 // Large enough for one.
        (4 * MIB, 1, MIB, 1, 4),                 // There is no other thread.
        (16 * MIB, 8, MIB, 8, 2),                // All threads have work.
        (16 * MIB + 1, 8, MIB + 64 * KIB, 8, 2), // Slightly larger chunks, not one more.
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
