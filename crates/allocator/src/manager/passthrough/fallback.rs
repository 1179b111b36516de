//! What the plain manager tries when memory runs out. The order of the steps is `ladder.rs`.

use std::time::{Duration, Instant};

use super::PassthroughState;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::oom::{FallbackError, OomHandler, OomStep, OutOfMemory, StepOutcome};
use crate::vulkan::{Backing, Chunk};

/// How long the waits for dropped memory may last in all.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// One allocation on its way up the ladder.
struct PassthroughAttempt<'a> {
    state: &'a PassthroughState,
    size: u64,
    kind: MemoryKind,
    heap: usize,
    backing: Backing,
    /// How long it may still wait.
    patience: Duration,
}

impl PassthroughState {
    /// Makes a chunk; when memory runs out, does what helps.
    pub(super) fn make(&self, size: u64, kind: MemoryKind) -> Result<Chunk> {
        let heap = self.heap(kind);
        let mut wanted =
            PassthroughAttempt { state: self, size, kind, heap, backing: Backing::Shared, patience: MAX_WAIT };
        self.fallback.run(&mut wanted).map_err(|fall| match fall {
            FallbackError::Failed(error) => error,
            FallbackError::RanOut(Error::OutOfMemory(mut report), steps) => {
                report.steps = steps;
                self.complete(&mut report);
                Error::OutOfMemory(report)
            }
            FallbackError::RanOut(error, _) => error,
        })
    }

    /// Adds what only the manager knows.
    fn complete(&self, report: &mut OutOfMemory) {
        let live = self.live();
        report.set_live_blocks(live.iter().map(|live| (live.size, &live.label)));
        drop(live);
        (report.n_pending, report.pending) = self.dropped.pending_by_stream();
    }
}

impl OomHandler for PassthroughAttempt<'_> {
    type Memory = Chunk;
    type Error = Error;

    fn attempt(&mut self) -> Result<Chunk> {
        self.state.source.make(self.size, self.kind, self.backing)
    }

    fn ran_out(error: &Error) -> bool {
        matches!(error, Error::OutOfMemory(_))
    }

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        let state = self.state;
        let (dropped, free) = (&state.dropped, |garbage| state.free(garbage));
        let begun = Instant::now();
        let taken = match step {
            OomStep::Reclaim => dropped.reclaim(false, free),
            OomStep::HeldBack => dropped.reclaim(true, free),
            OomStep::Wait => dropped.wait_for_enough(self.heap, self.size, self.patience, free),
            OomStep::Drain => dropped.wait_for_all(self.patience, free),
            OomStep::Dedicated => {
                self.backing = Backing::Dedicated;
                Ok(StepOutcome::Relieved)
            }
            OomStep::Trim | OomStep::Caches | OomStep::Smaller | OomStep::Callback => Ok(StepOutcome::Absent),
        };
        self.patience = self.patience.saturating_sub(begun.elapsed());
        taken
    }
}
