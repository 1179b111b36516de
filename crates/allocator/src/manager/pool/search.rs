//! Where a pool looks for memory when a thread's own shelf has none that is good enough.
//!
//! The order is a choice between bad things, so it is plain data, [`sources`], with the reasons in
//! `docs/decisions/012-the-pool.md`: memory with nothing to wait for first; then more memory, while there is much; then
//! memory that makes its next user wait on the device for work it has nothing to do with. The host waits last of all.

use super::growth::{Step, is_out_of_memory};
use super::sizing::Need;
use super::state::{Caller, PoolState};
use super::thread_cache::{CachedRange, Found, Wish};
use super::uses::Asker;
use crate::error::Result;
use crate::memory::MemoryPointer;

/// A place where memory may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
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
struct Circumstances {
    /// There is much memory yet.
    is_wide: bool,
    /// Much of what was taken lies ready in other sizes.
    is_hoarding: bool,
}

/// Where to look, in that order.
fn sources(circumstances: Circumstances) -> [Source; 7] {
    use Source::{FreeRanges, Growth, OldestHere, PendingElsewhere, PendingHere, ReadyElsewhere, Reclaimed};
    match circumstances {
        Circumstances { is_wide: true, is_hoarding: false } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Growth, Reclaimed, PendingHere, PendingElsewhere]
        }
        Circumstances { is_wide: true, is_hoarding: true } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, Growth, PendingHere, PendingElsewhere]
        }
        Circumstances { is_wide: false, .. } => {
            [OldestHere, ReadyElsewhere, FreeRanges, Reclaimed, PendingHere, PendingElsewhere, Growth]
        }
    }
}

impl PoolState {
    /// Finds memory that the thread's shelf does not offer at once. Frees dropped memory if too much is left.
    #[cold]
    pub(super) fn search(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        let found = self.find(need, caller);
        self.free_due();
        found
    }

    fn find(&self, need: &Need, caller: Caller<'_>) -> Result<MemoryPointer> {
        for source in sources(self.circumstances(need)) {
            let found = match source {
                Source::OldestHere => self.oldest(need, caller)?,
                Source::ReadyElsewhere => self.elsewhere(need, caller, Wish::Ready),
                Source::FreeRanges => self.carve(need, caller),
                Source::Reclaimed => {
                    self.reclaim(need.kind)?;
                    self.carve(need, caller)
                }
                Source::Growth => match self.grow(need, Step::Usual) {
                    Ok(span) => Some(self.admit(need, caller, CachedRange::new(span), true)),
                    Err(error) if is_out_of_memory(&error) => None,
                    Err(error) => return Err(error),
                },
                Source::PendingHere => self.take_here(need, caller, Wish::Any),
                Source::PendingElsewhere => self.elsewhere(need, caller, Wish::Any),
            };
            if let Some(pointer) = found {
                return Ok(pointer);
            }
        }
        let span = self.last_resort(need)?;
        Ok(self.admit(need, caller, CachedRange::new(span), true))
    }

    fn circumstances(&self, need: &Need) -> Circumstances {
        let pool = &self.kinds[need.kind.index()];
        let reserved = pool.reserved();
        let more = pool.sizing.chunk(need, reserved);
        let ready: u64 = self.shelves.iter().map(|shelved| shelved.meter.ready(need.kind)).sum();
        Circumstances {
            is_wide: pool.sizing.is_wide(reserved, more) && self.has_room(more),
            // Reclaiming looks at everything that lies ready: worth it when that is as much as the new chunk.
            is_hoarding: ready >= more,
        }
    }

    /// This thread's oldest range that fits, if its uses are over after all.
    fn oldest(&self, need: &Need, caller: Caller<'_>) -> Result<Option<MemoryPointer>> {
        let shelved = &self.shelves[caller.home];
        let Some((place, mut uses)) = shelved.lock().oldest_pending(need) else { return Ok(None) };
        Asker::new(self.device()).forget_complete(&mut uses)?;
        if !uses.is_empty() {
            return Ok(None);
        }
        shelved.lock().settle(place, uses, &shelved.meter);
        Ok(self.take_here(need, caller, Wish::Ready))
    }

    fn carve(&self, need: &Need, caller: Caller<'_>) -> Option<MemoryPointer> {
        let span = self.kinds[need.kind.index()].carve(need)?;
        Some(self.admit(need, caller, CachedRange::new(span), true))
    }

    /// Takes one range, never more, from another thread's shelf; those at which somebody works are left in peace.
    fn elsewhere(&self, need: &Need, caller: Caller<'_>, wish: Wish) -> Option<MemoryPointer> {
        let others = (1..self.shelves.len()).map(|step| &self.shelves[(caller.home + step) % self.shelves.len()]);
        let mut taken = others
            .filter(|shelved| shelved.has_any(need.kind, wish))
            .find_map(|shelved| shelved.try_lock()?.take_away(need, wish, &shelved.meter))?;
        if taken.found == Found::Pending {
            taken.found = Found::Shared; // With another thread.
        }
        Some(self.admit(need, caller, taken, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(order: &[Source], source: Source) -> usize {
        order.iter().position(|held| *held == source).unwrap_or_else(|| panic!("{source:?} is never looked at"))
    }

    #[test]
    fn every_order_looks_everywhere_and_at_what_waits_last() {
        for (is_wide, is_hoarding) in [(true, true), (true, false), (false, true), (false, false)] {
            let order = sources(Circumstances { is_wide, is_hoarding });
            let at = |source| place(&order, source);
            // Nothing to wait for comes first, wherever it is.
            let waiting = [Source::PendingHere, Source::PendingElsewhere];
            for ready in [Source::OldestHere, Source::ReadyElsewhere, Source::FreeRanges, Source::Reclaimed] {
                assert!(waiting.iter().all(|source| at(ready) < at(*source)), "{order:?}");
            }
            // One's own work is waited for rather than a stranger's.
            assert!(at(Source::PendingHere) < at(Source::PendingElsewhere), "{order:?}");
            // With much memory left, more is taken before anybody waits; with little, after.
            assert_eq!(at(Source::Growth) < at(Source::PendingHere), is_wide, "{order:?}");
            // More is not taken while as much lies about.
            assert_eq!(at(Source::Reclaimed) < at(Source::Growth), is_hoarding || !is_wide, "{order:?}");
            assert!(at(Source::FreeRanges) < at(Source::Growth), "{order:?}");
        }
    }
}
