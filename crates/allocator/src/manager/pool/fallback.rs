//! What a pool does in each step when memory runs out. The order of the steps is in `manager/oom_fallback.rs`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::growth::GrowthSize;
use super::sizing::Need;
use super::state::PoolState;
use super::thread_cache::BufferRange;
use crate::error::{OomStep, OutOfMemory, Result, StepOutcome};
use crate::manager::{MAX_WAIT, OomHandler};
use crate::pending::{PendingUses, bytes_by_stream};

/// One allocation and its retries.
struct PoolAttempt<'a> {
    state: &'a PoolState,
    need: &'a Need,
    size: GrowthSize,
    /// How long the steps may still wait.
    wait_left: Duration,
}

impl PoolState {
    /// Takes the steps against running out, one after the other, until there is memory.
    pub(super) fn run_fallback(&self, need: &Need) -> Result<BufferRange> {
        let mut attempt = PoolAttempt { state: self, need, size: GrowthSize::Usual, wait_left: MAX_WAIT };
        self.fallback.run(&mut attempt)
    }
}

impl PoolAttempt<'_> {
    /// Waits for the uses of cached ranges, oldest first in each cache. With `until_enough`, waits only until a free
    /// range is large enough.
    fn wait(&mut self, until_enough: bool) -> Result<StepOutcome> {
        let (state, need) = (self.state, self.need);
        let pool = &state.kinds[need.kind.index()];
        let pending = state.pending();
        // All work is submitted first, so that the device continues with it while the first uses are waited for.
        let mut points = pending.iter().flat_map(|range| state.device().points(&range.uses));
        points.try_for_each(|point| point.flush())?;
        let mut outcome = StepOutcome::Nothing;
        for range in pending {
            let begun = Instant::now();
            state.waits.fetch_add(1, Ordering::Relaxed);
            let is_over = range.uses.wait(state.device(), Some(self.wait_left))?;
            self.wait_left = self.wait_left.saturating_sub(begun.elapsed());
            if !is_over {
                return Ok(StepOutcome::TimedOut);
            }
            let shard = &state.caches[range.cache];
            shard.cache.lock().update_uses(range.id, PendingUses::default(), &shard.gauges);
            state.coalesce_ready(pool);
            outcome = StepOutcome::Relieved;
            if until_enough && pool.largest_free() >= need.bytes() {
                break;
            }
        }
        Ok(outcome)
    }

    fn set_growth(&mut self, size: GrowthSize) -> StepOutcome {
        let pool = &self.state.kinds[self.need.kind.index()];
        if pool.sizing.chunk(self.need, pool.reserved()) <= self.need.bytes() {
            return StepOutcome::Nothing; // The usual chunk was as small.
        }
        self.size = size;
        StepOutcome::Relieved
    }
}

impl OomHandler for PoolAttempt<'_> {
    type Memory = BufferRange;

    fn attempt(&mut self) -> Result<BufferRange> {
        self.state.grow(self.need, self.size)
    }

    fn take(&mut self, step: OomStep) -> Result<StepOutcome> {
        let gained = |bytes: u64| if bytes > 0 { StepOutcome::Relieved } else { StepOutcome::Nothing };
        match step {
            OomStep::Reclaim => self.state.reclaim(self.need.kind).map(gained),
            OomStep::Wait => self.wait(true),
            OomStep::Drain => self.wait(false),
            // Chunks are returned also while `defer_cleanup` holds frees back.
            OomStep::Trim => Ok(gained(self.state.return_all_empty(0))),
            OomStep::Smaller => Ok(self.set_growth(GrowthSize::Smaller)),
            OomStep::Dedicated => Ok(self.set_growth(GrowthSize::Exact)),
            OomStep::HeldBack => Ok(StepOutcome::Absent),
        }
    }

    /// Replaces the chunk source's figures by the pool's, and adds live and pending blocks.
    fn complete(&self, report: &mut OutOfMemory) {
        let (state, need) = (self.state, self.need);
        let counters = state.counters();
        report.bytes = need.size;
        report.in_use = counters.total(|kind| kind.in_use + kind.pending);
        report.reserved = counters.total(|kind| kind.reserved);
        report.largest_free = Some(counters.kind(need.kind).largest_free);
        let held: Vec<_> = state.caches.iter().flat_map(|shard| shard.cache.lock().live()).collect();
        report.set_live_blocks(held.iter().map(|(bytes, label)| (*bytes, label)));
        let pending = state.pending();
        let uses = pending.iter().map(|range| (&range.uses, range.bytes));
        (report.n_pending, report.pending) = (pending.len(), bytes_by_stream(state.device(), uses));
    }
}
