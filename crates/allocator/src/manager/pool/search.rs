//! Where a pool looks for memory when a thread's own cache has none that is good enough.
//!
//! The order is a choice between bad things, so it is plain data, [`sources`], with the reasons in
//! `docs/decisions/012-the-pool.md`: memory with nothing to wait for first; then more memory, while there is much; then
//! memory that makes its next user wait on the device for work it has nothing to do with. The host waits last of all.

use super::growth::{GrowthSize, is_out_of_memory};
use super::sizing::Need;
use super::state::{Caller, PoolState};
use super::thread_cache::{CachedRange, RangeState, ReusePolicy};
use super::uses::CompletionQuery;
use crate::error::Result;
use crate::memory::MemoryPointer;

/// A place where memory may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemorySource {
    /// This thread's oldest range that fits, which may be done with by now.
    OldestHere,
    /// Other threads' ranges that have nothing to wait for.
    ReadyElsewhere,
    /// The free ranges of chunks.
    FreeRanges,
    /// The same, once all that has nothing to wait for has joined them.
    Reclaimed,
    /// A new chunk.
    Growth,
    /// This thread's ranges, whatever they wait for.
    PendingHere,
    /// Other threads' ranges, whatever they wait for.
    PendingElsewhere,
}

/// What the order depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SearchConditions {
    /// There is much memory yet.
    prefers_growth: bool,
    /// Much of what was taken lies ready in other sizes.
    reclaims_first: bool,
}

/// Where to look, in that order.
fn sources(conditions: SearchConditions) -> [MemorySource; 7] {
    use MemorySource::{FreeRanges, Growth, OldestHere, PendingElsewhere, PendingHere, ReadyElsewhere, Reclaimed};
    match conditions {
        SearchConditions { prefers_growth: true, reclaims_first: false } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Growth, Reclaimed, PendingHere, PendingElsewhere]
        }
        SearchConditions { prefers_growth: true, reclaims_first: true } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, Growth, PendingHere, PendingElsewhere]
        }
        SearchConditions { prefers_growth: false, .. } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, PendingHere, PendingElsewhere, Growth]
        }
    }
}

impl PoolState {
    /// Finds memory that the thread's cache does not offer at once. Frees dropped memory if too much is left.
    #[cold]
    pub(super) fn search(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        let found = self.find(need, caller);
        self.free_due();
        found
    }

    fn find(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        for source in sources(self.conditions(need)) {
            let found = match source {
                MemorySource::OldestHere => self.oldest(need, caller)?,
                MemorySource::ReadyElsewhere => self.elsewhere(need, caller, ReusePolicy::Ready),
                MemorySource::FreeRanges => self.carve(need, caller),
                MemorySource::Reclaimed => {
                    self.reclaim(need.kind)?;
                    self.carve(need, caller)
                }
                MemorySource::Growth => match self.grow(need, GrowthSize::Usual) {
                    Ok(range) => Some(self.admit(need, caller, CachedRange::new(range), true)),
                    Err(error) if is_out_of_memory(&error) => None,
                    Err(error) => return Err(error),
                },
                MemorySource::PendingHere => self.take_cached(need, caller, ReusePolicy::Any),
                MemorySource::PendingElsewhere => self.elsewhere(need, caller, ReusePolicy::Any),
            };
            if let Some(pointer) = found {
                return Ok(pointer);
            }
        }
        let range = self.run_fallback(need)?;
        Ok(self.admit(need, caller, CachedRange::new(range), true))
    }

    fn conditions(&self, need: &Need) -> SearchConditions {
        let pool = &self.kinds[need.kind.index()];
        let reserved = pool.reserved();
        let more = pool.sizing.chunk(need, reserved);
        let ready: u64 = self.caches.iter().map(|shard| shard.gauges.ready(need.kind)).sum();
        SearchConditions {
            prefers_growth: pool.sizing.prefers_growth(reserved, more) && self.has_room(more),
            // Reclaiming looks at everything that lies ready: worth it when that is as much as the new chunk.
            reclaims_first: ready >= more,
        }
    }

    /// This thread's oldest range that fits, if its uses are over after all.
    fn oldest(&self, need: &Need, caller: Caller<'_>) -> Result<Option<MemoryPointer>> {
        let shard = &self.caches[caller.cache_of];
        let Some((place, mut uses)) = shard.lock().oldest_pending(need) else { return Ok(None) };
        CompletionQuery::new(self.device()).forget_complete(&mut uses)?;
        if !uses.is_empty() {
            return Ok(None);
        }
        shard.lock().update_uses(place, uses, &shard.gauges);
        Ok(self.take_cached(need, caller, ReusePolicy::Ready))
    }

    fn carve(&self, need: &Need, caller: Caller<'_>) -> Option<MemoryPointer> {
        let range = self.kinds[need.kind.index()].carve(need)?;
        Some(self.admit(need, caller, CachedRange::new(range), true))
    }

    /// Takes one range, never more, from another thread's cache; those at which somebody works are left in peace.
    fn elsewhere(&self, need: &Need, caller: Caller<'_>, policy: ReusePolicy) -> Option<MemoryPointer> {
        let others = (1..self.caches.len()).map(|step| &self.caches[(caller.cache_of + step) % self.caches.len()]);
        let mut taken = others
            .filter(|shard| shard.has_any(need.kind, policy))
            .find_map(|shard| shard.try_lock()?.take_away(need, policy, &shard.gauges))?;
        if taken.found == RangeState::Pending {
            taken.found = RangeState::Shared; // With another thread.
        }
        Some(self.admit(need, caller, taken, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(order: &[MemorySource], source: MemorySource) -> usize {
        order.iter().position(|held| *held == source).unwrap_or_else(|| panic!("{source:?} is never looked at"))
    }

    #[test]
    fn every_order_looks_everywhere_and_at_what_waits_last() {
        for (prefers_growth, reclaims_first) in [(true, true), (true, false), (false, true), (false, false)] {
            let order = sources(SearchConditions { prefers_growth, reclaims_first });
            let at = |source| place(&order, source);
            // Nothing to wait for comes first, wherever it is.
            let waiting = [MemorySource::PendingHere, MemorySource::PendingElsewhere];
            for ready in [
                MemorySource::OldestHere,
                MemorySource::ReadyElsewhere,
                MemorySource::FreeRanges,
                MemorySource::Reclaimed,
            ] {
                assert!(waiting.iter().all(|source| at(ready) < at(*source)), "{order:?}");
            }
            // One's own work is waited for rather than a stranger's.
            assert!(at(MemorySource::PendingHere) < at(MemorySource::PendingElsewhere), "{order:?}");
            // With much memory left, more is taken before anybody waits; with little, after.
            assert_eq!(at(MemorySource::Growth) < at(MemorySource::PendingHere), prefers_growth, "{order:?}");
            // More is not taken while as much lies about.
            assert_eq!(
                at(MemorySource::Reclaimed) < at(MemorySource::Growth),
                reclaims_first || !prefers_growth,
                "{order:?}"
            );
            assert!(at(MemorySource::FreeRanges) < at(MemorySource::Growth), "{order:?}");
        }
    }
}
