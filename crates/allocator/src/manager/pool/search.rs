//! Where a pool searches for memory when the thread's own cache has no suitable range.
//!
//! The order is plain data, [`sources`]: memory whose uses are over first; then a new chunk, while much of the heap is left;
//! then memory whose uses are not over, so that the next block's work waits on the device for unrelated work. Waiting on the
//! host comes last. The reasons are in `docs/decisions/012-the-pool.md`.

use super::growth::GrowthSize;
use super::sizing::Need;
use super::state::{Caller, PoolState};
use super::thread_cache::{CachedRange, RangeState, ReusePolicy};
use crate::error::Result;
use crate::memory::MemoryPointer;
use crate::pending::Uses;

/// A place where memory may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemorySource {
    /// The oldest suitable range of this thread's cache, whose uses may be over by now.
    OldestHere,
    /// Ranges of other threads' caches whose uses are over.
    ReadyElsewhere,
    /// The free ranges of chunks.
    FreeRanges,
    /// The free ranges of chunks, after all cached ranges that are ready have joined them.
    Reclaimed,
    /// A new chunk.
    Growth,
    /// Ranges of this thread's cache, with any uses.
    PendingHere,
    /// Ranges of other threads' caches, with any uses.
    PendingElsewhere,
}

/// The places to search, in order. `prefers_growth`: enough of the heap is left that a new chunk is preferred to waiting.
/// `reclaims_first`: the caches have as many ready bytes in other sizes as a new chunk would have.
fn sources(prefers_growth: bool, reclaims_first: bool) -> [MemorySource; 7] {
    use MemorySource::{FreeRanges, Growth, OldestHere, PendingElsewhere, PendingHere, ReadyElsewhere, Reclaimed};
    match (prefers_growth, reclaims_first) {
        (true, false) => [OldestHere, ReadyElsewhere, FreeRanges, Growth, Reclaimed, PendingHere, PendingElsewhere],
        (true, true) => [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, Growth, PendingHere, PendingElsewhere],
        (false, _) => [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, PendingHere, PendingElsewhere, Growth],
    }
}

impl PoolState {
    /// Finds memory for a request that the thread's cache cannot serve at once. Then frees dropped memory if too much waits.
    #[cold]
    pub(super) fn search(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        let found = self.find(need, caller);
        self.free_due();
        found
    }

    fn find(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        let (pool, kind) = (&self.kinds[need.kind.index()], need.kind);
        let (reserved, ready) =
            (pool.reserved(), self.caches.iter().map(|shard| shard.gauges.ready(kind)).sum::<u64>());
        let more = pool.sizing.chunk(need, reserved);
        let prefers_growth = pool.sizing.prefers_growth(reserved, more) && self.has_room(more);
        // Reclaiming visits all cached ranges, which pays when they have as many bytes as the new chunk.
        for source in sources(prefers_growth, ready >= more) {
            let found = match source {
                MemorySource::OldestHere => self.oldest(need, caller)?,
                MemorySource::ReadyElsewhere => self.elsewhere(need, caller, ReusePolicy::Ready),
                MemorySource::FreeRanges => self.carve(need, caller),
                MemorySource::Reclaimed => {
                    self.reclaim(need.kind)?;
                    self.carve(need, caller)
                }
                MemorySource::Growth => match self.grow(need, GrowthSize::Usual) {
                    Ok(range) => Some(self.admit(need, caller, CachedRange::carved(range))),
                    Err(error) if error.is_out_of_memory() => None,
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
        Ok(self.admit(need, caller, CachedRange::carved(range)))
    }

    /// The oldest suitable range of this thread's cache, if its uses are over by now.
    fn oldest(&self, need: &Need, caller: Caller<'_>) -> Result<Option<MemoryPointer>> {
        let shard = &self.caches[caller.cache];
        let Some((id, mut uses)) = shard.cache.lock().oldest_pending(need) else { return Ok(None) };
        uses.forget_complete(self.device())?;
        if !uses.are_over() {
            return Ok(None);
        }
        shard.cache.lock().update_uses(id, uses, &shard.gauges);
        Ok(self.take_cached(need, caller, ReusePolicy::Ready))
    }

    fn carve(&self, need: &Need, caller: Caller<'_>) -> Option<MemoryPointer> {
        let range = self.kinds[need.kind.index()].carve(need)?;
        Some(self.admit(need, caller, CachedRange::carved(range)))
    }

    /// Takes one range from another thread's cache. Caches that are locked are skipped.
    fn elsewhere(&self, need: &Need, caller: Caller<'_>, policy: ReusePolicy) -> Option<MemoryPointer> {
        let others = (1..self.caches.len()).map(|step| &self.caches[(caller.cache + step) % self.caches.len()]);
        let mut taken = others
            .filter(|shard| shard.has_any(need.kind, policy))
            .find_map(|shard| shard.cache.try_lock()?.take_away(need, policy, &shard.gauges))?;
        if taken.found == RangeState::Pending {
            taken.found = RangeState::Shared; // The range belonged to another thread.
        }
        Some(self.admit(need, caller, taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(order: &[MemorySource], source: MemorySource) -> usize {
        order.iter().position(|held| *held == source).unwrap_or_else(|| panic!("{source:?} is never searched"))
    }

    #[test]
    fn every_order_searches_all_places_and_pending_memory_last() {
        for (prefers_growth, reclaims_first) in [(true, true), (true, false), (false, true), (false, false)] {
            let order = sources(prefers_growth, reclaims_first);
            let at = |source| place(&order, source);
            // Memory that is ready comes first, in any place.
            let waiting = [MemorySource::PendingHere, MemorySource::PendingElsewhere];
            for ready in [
                MemorySource::OldestHere,
                MemorySource::ReadyElsewhere,
                MemorySource::FreeRanges,
                MemorySource::Reclaimed,
            ] {
                assert!(waiting.iter().all(|source| at(ready) < at(*source)), "{order:?}");
            }
            // Memory of this thread comes before memory of other threads.
            assert!(at(MemorySource::PendingHere) < at(MemorySource::PendingElsewhere), "{order:?}");
            // With much memory left, the pool grows before work waits; with little left, after.
            assert_eq!(at(MemorySource::Growth) < at(MemorySource::PendingHere), prefers_growth, "{order:?}");
            // The pool does not grow while it has as many bytes cached.
            assert_eq!(
                at(MemorySource::Reclaimed) < at(MemorySource::Growth),
                reclaims_first || !prefers_growth,
                "{order:?}"
            );
            assert!(at(MemorySource::FreeRanges) < at(MemorySource::Growth), "{order:?}");
        }
    }
}
