//! What a pool tries when memory runs out. The order of the steps is `ladder.rs`; what the report says of the pool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::buffer_range::BufferRange;
use super::growth::GrowthSize;
use super::sizing::Need;
use super::state::PoolState;
use super::uses;
use crate::error::{Error, Result};
use crate::memory::PendingUses;
use crate::oom::{FallbackError, OomHandler, OomStep, OutOfMemory, PendingOn, StepOutcome};

/// How long the waits for dropped memory may last in all.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// One allocation on its way up the ladder.
struct PoolAttempt<'a> {
    state: &'a PoolState,
    need: &'a Need,
    step: GrowthSize,
    /// How long it may still wait.
    patience: Duration,
}

impl PoolState {
    /// Finds memory when there seems to be none: takes what helps, one step after the other.
    pub(super) fn run_fallback(&self, need: &Need) -> Result<BufferRange> {
        let mut wanted = PoolAttempt { state: self, need, step: GrowthSize::Usual, patience: MAX_WAIT };
        self.fallback.run(&mut wanted).map_err(|fall| match fall {
            FallbackError::Failed(error) => error,
            FallbackError::RanOut(Error::OutOfMemory(mut report), steps) => {
                report.steps = steps;
                self.complete(&mut report, need);
                Error::OutOfMemory(report)
            }
            FallbackError::RanOut(error, _) => error,
        })
    }

    /// Adds what only the pool knows: what makes the chunks knows neither blocks nor limits.
    fn complete(&self, report: &mut OutOfMemory, need: &Need) {
        let counters = self.counters();
        report.bytes = need.size;
        report.in_use = counters.total(|kind| kind.in_use + kind.pending);
        report.reserved = counters.total(|kind| kind.reserved);
        report.largest_free = Some(counters.kind(need.kind).largest_free);
        let held: Vec<_> = self.caches.iter().flat_map(|shard| shard.lock().live()).collect();
        report.set_live_blocks(held.iter().map(|(bytes, label)| (*bytes, label)));
        (report.n_pending, report.pending) = self.waiting();
    }

    /// How many ranges wait, and for which streams.
    fn waiting(&self) -> (usize, Vec<PendingOn>) {
        let mut by_stream = BTreeMap::<Option<u64>, u64>::new();
        let pending = self.pending();
        for lying in &pending {
            let points = self.device().points(&lying.uses);
            let streams: BTreeSet<_> = points.iter().map(|point| point.timeline().stream_number()).collect();
            for stream in streams {
                *by_stream.entry(stream).or_default() += lying.bytes;
            }
        }
        (pending.len(), by_stream.into_iter().map(|(stream, bytes)| PendingOn { stream, bytes }).collect())
    }
}

impl PoolAttempt<'_> {
    /// Waits for what lies ready, the oldest of each cache first, until some of it is enough or all of it is done.
    fn wait(&mut self, until_enough: bool) -> Result<StepOutcome> {
        let (state, need) = (self.state, self.need);
        let pool = &state.kinds[need.kind.index()];
        let pending = state.pending();
        // All of it is sent first, so that the device works on what is waited for later.
        pending.iter().try_for_each(|lying| uses::send(state.device(), &lying.uses))?;
        let mut taken = StepOutcome::Nothing;
        for lying in pending {
            let begun = Instant::now();
            state.waits.fetch_add(1, Ordering::Relaxed);
            let is_over = uses::wait(state.device(), &lying.uses, Some(self.patience))?;
            self.patience = self.patience.saturating_sub(begun.elapsed());
            if !is_over {
                return Ok(StepOutcome::TimedOut);
            }
            let shard = &state.caches[lying.cache];
            shard.lock().update_uses(lying.place, PendingUses::default(), &shard.gauges);
            state.coalesce_ready(pool);
            taken = StepOutcome::Relieved;
            if until_enough && pool.largest_free() >= need.bytes() {
                break;
            }
        }
        Ok(taken)
    }

    fn step(&mut self, step: GrowthSize) -> StepOutcome {
        let pool = &self.state.kinds[self.need.kind.index()];
        if pool.sizing.chunk(self.need, pool.reserved()) <= self.need.bytes() {
            return StepOutcome::Nothing; // It has asked for no more already.
        }
        self.step = step;
        StepOutcome::Relieved
    }
}

impl OomHandler for PoolAttempt<'_> {
    type Memory = BufferRange;
    type Error = Error;

    fn attempt(&mut self) -> Result<BufferRange> {
        self.state.grow(self.need, self.step)
    }

    fn ran_out(error: &Error) -> bool {
        super::growth::is_out_of_memory(error)
    }

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        let gained = |bytes: u64| if bytes > 0 { StepOutcome::Relieved } else { StepOutcome::Nothing };
        match step {
            OomStep::Reclaim => self.state.reclaim(self.need.kind).map(gained),
            OomStep::Wait => self.wait(true),
            OomStep::Drain => self.wait(false),
            // Also what `defer_cleanup` holds back: running out is worse than a late free.
            OomStep::Trim => Ok(gained(self.state.return_all_empty(0))),
            OomStep::Smaller => Ok(self.step(GrowthSize::Smaller)),
            OomStep::Dedicated => Ok(self.step(GrowthSize::Exact)),
            OomStep::HeldBack | OomStep::Caches | OomStep::Callback => Ok(StepOutcome::Absent),
        }
    }
}
