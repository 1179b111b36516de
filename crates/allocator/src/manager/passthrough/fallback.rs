//! What the passthrough manager does in each step when memory runs out. The order of the steps is in `manager/oom_fallback.rs`.

use std::time::{Duration, Instant};

use super::PassthroughState;
use crate::error::{OomStep, OutOfMemory, Result, StepOutcome};
use crate::kind::MemoryKind;
use crate::manager::{MAX_WAIT, OomHandler};
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

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        let (pending, begun) = (&self.state.pending, Instant::now());
        let n_freed = match (step, pending.is_held_back()) {
            (OomStep::Reclaim, false) | (OomStep::HeldBack, true) => pending.free_over().map(Some),
            (OomStep::Reclaim, true) => Ok(Some(0)),
            (OomStep::Wait, _) => pending.wait_for_enough(self.heap, self.size, self.wait_left),
            (OomStep::Drain, _) => pending.wait_for_all(Some(self.wait_left)),
            (OomStep::Dedicated, _) => {
                self.backing = Backing::Dedicated;
                return Ok(StepOutcome::Relieved);
            }
            (OomStep::HeldBack | OomStep::Trim | OomStep::Smaller, _) => return Ok(StepOutcome::Absent),
        };
        self.wait_left = self.wait_left.saturating_sub(begun.elapsed());
        Ok(match n_freed? {
            None => StepOutcome::TimedOut,
            Some(0) => StepOutcome::Nothing,
            Some(_) => StepOutcome::Relieved,
        })
    }

    /// Adds live and pending blocks to the report.
    fn complete(&self, report: &mut OutOfMemory) {
        let live = self.state.live.lock();
        report.set_live_blocks(live.0.values().map(|live| (live.size, &live.label)));
        drop(live);
        (report.n_pending, report.pending) = self.state.pending.pending_by_stream();
    }
}
