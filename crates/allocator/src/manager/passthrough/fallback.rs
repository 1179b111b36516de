//! What the passthrough manager does in each step when memory runs out. The order of the steps is in `oom/fallback.rs`.

use std::time::{Duration, Instant};

use super::PassthroughState;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::oom::{MAX_WAIT, OomHandler, OomStep, OutOfMemory, StepOutcome};
use crate::vulkan::{Backing, Chunk};

/// One allocation and its retries.
struct PassthroughAttempt<'a> {
    state: &'a PassthroughState,
    size: u64,
    kind: MemoryKind,
    heap: usize,
    backing: Backing,
    /// How long the steps may still wait.
    wait_left: Duration,
}

impl PassthroughState {
    /// Makes a chunk. When memory runs out, takes the steps until there is enough memory.
    pub(super) fn make(&self, size: u64, kind: MemoryKind) -> Result<Chunk> {
        let heap = self.heap(kind);
        let mut attempt =
            PassthroughAttempt { state: self, size, kind, heap, backing: Backing::Shared, wait_left: MAX_WAIT };
        self.fallback.run(&mut attempt)
    }
}

impl OomHandler for PassthroughAttempt<'_> {
    type Memory = Chunk;

    fn attempt(&mut self) -> Result<Chunk> {
        self.state.source.make(self.size, self.kind, self.backing)
    }

    fn is_out_of_memory(error: &Error) -> bool {
        matches!(error, Error::OutOfMemory(_))
    }

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        let state = self.state;
        let (dropped, free) = (&state.dropped, |garbage| state.free(garbage));
        let begun = Instant::now();
        let outcome = match step {
            OomStep::Reclaim => dropped.reclaim(false, free),
            OomStep::HeldBack => dropped.reclaim(true, free),
            OomStep::Wait => dropped.wait_for_enough(self.heap, self.size, self.wait_left, free),
            OomStep::Drain => dropped.wait_for_all(self.wait_left, free),
            OomStep::Dedicated => {
                self.backing = Backing::Dedicated;
                Ok(StepOutcome::Relieved)
            }
            OomStep::Trim | OomStep::Smaller => Ok(StepOutcome::Absent),
        };
        self.wait_left = self.wait_left.saturating_sub(begun.elapsed());
        outcome
    }

    /// Adds live and pending blocks to the report.
    fn complete(&self, report: &mut OutOfMemory) {
        let live = self.state.live();
        report.set_live_blocks(live.iter().map(|live| (live.size, &live.label)));
        drop(live);
        (report.n_pending, report.pending) = self.state.dropped.pending_by_stream();
    }
}
