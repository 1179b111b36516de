//! What the plain manager tries when memory runs out. The order of the steps is `ladder.rs`.

use std::time::Duration;

use super::State;
use crate::chunk::{Backing, Chunk};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;
use crate::ladder::{Climber, Fall, Rung, Taken};
use crate::out_of_memory::OutOfMemory;

/// How long a wait for dropped memory may last.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// One allocation on its way up the ladder.
struct Wanted<'a> {
    state: &'a State,
    size: u64,
    kind: MemoryKind,
    backing: Backing,
}

impl State {
    /// Makes a chunk; when memory runs out, does what helps.
    pub(super) fn make(&self, size: u64, kind: MemoryKind) -> Result<Chunk> {
        let mut wanted = Wanted { state: self, size, kind, backing: Backing::Shared };
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
        report.set_holders(live.values().map(|live| (live.size, &live.holder)));
        drop(live);
        (report.n_pending, report.pending) = self.dropped.waiting();
    }
}

impl Climber for Wanted<'_> {
    type Memory = Chunk;
    type Error = Error;

    fn attempt(&mut self) -> Result<Chunk> {
        self.state.source.make(self.size, self.kind, self.backing)
    }

    fn ran_out(error: &Error) -> bool {
        matches!(error, Error::OutOfMemory(_))
    }

    fn take(&mut self, rung: Rung) -> Result<Taken> {
        let (dropped, free) = (&self.state.dropped, |chunk| self.state.free(chunk));
        match rung {
            Rung::Reclaim => dropped.reclaim(free),
            Rung::Wait => dropped.wait_for(self.size, MAX_WAIT, free),
            Rung::Drain => dropped.wait_for(u64::MAX, MAX_WAIT, free),
            Rung::Dedicated => {
                self.backing = Backing::Dedicated;
                Ok(Taken::Relieved)
            }
            Rung::HeldBack | Rung::Trim | Rung::Caches | Rung::Smaller | Rung::Callback => Ok(Taken::Absent),
        }
    }
}
