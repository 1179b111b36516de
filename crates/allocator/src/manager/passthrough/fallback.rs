//! What the plain manager tries when memory runs out. The order of the steps is `ladder.rs`.

use std::time::{Duration, Instant};

use super::PassthroughState;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::oom::{Climber, Fall, OutOfMemory, Rung, Taken};
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
        self.ladder.climb(&mut wanted).map_err(|fall| match fall {
            Fall::Failed(error) => error,
            Fall::RanOut(Error::OutOfMemory(mut report), trail) => {
                report.trail = trail;
                self.complete(&mut report);
                Error::OutOfMemory(report)
            }
            Fall::RanOut(error, _) => error,
        })
    }

    /// Adds what only the manager knows.
    fn complete(&self, report: &mut OutOfMemory) {
        let live = self.live();
        report.set_holders(live.iter().map(|live| (live.size, &live.holder)));
        drop(live);
        (report.n_pending, report.pending) = self.dropped.waiting();
    }
}

impl Climber for PassthroughAttempt<'_> {
    type Memory = Chunk;
    type Error = Error;

    fn attempt(&mut self) -> Result<Chunk> {
        self.state.source.make(self.size, self.kind, self.backing)
    }

    fn ran_out(error: &Error) -> bool {
        matches!(error, Error::OutOfMemory(_))
    }

    fn take(&mut self, rung: Rung) -> Result<Taken> {
        let state = self.state;
        let (dropped, free) = (&state.dropped, |garbage| state.free(garbage));
        let begun = Instant::now();
        let taken = match rung {
            Rung::Reclaim => dropped.reclaim(false, free),
            Rung::HeldBack => dropped.reclaim(true, free),
            Rung::Wait => dropped.wait_for_enough(self.heap, self.size, self.patience, free),
            Rung::Drain => dropped.wait_for_all(self.patience, free),
            Rung::Dedicated => {
                self.backing = Backing::Dedicated;
                Ok(Taken::Relieved)
            }
            Rung::Trim | Rung::Caches | Rung::Smaller | Rung::Callback => Ok(Taken::Absent),
        };
        self.patience = self.patience.saturating_sub(begun.elapsed());
        taken
    }
}
