//! The deferred-cleanup queue: what was dropped while the device may still use it.
//!
//! Garbage is *eligible* when the work that used it is over, and *due* when too much of it waits; see
//! [`PendingLimits`]. Generic over what completes and what is thrown away, so that the one rule that matters, *never
//! early*, is tested with a counter for a clock. The queue only says what may be freed: freeing and waiting are
//! `deferred.rs`. Each entry is waiting at one use at a time, so that asking costs a question a clock and not one an
//! entry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// Something that is complete once its clock has reached a value, and stays so.
pub(crate) trait Completion: Clone {
    /// What asking can fail with.
    type Error;
    /// Names a clock.
    type Timeline: Copy + Eq + Hash;

    /// Its clock.
    fn timeline(&self) -> Self::Timeline;

    /// The value at which it is complete.
    fn value(&self) -> u64;

    /// Whether it is complete. Does not block.
    fn is_complete(&self) -> Result<bool, Self::Error>;
}

/// Garbage and the last uses that must be over before it is freed.
#[derive(Debug)]
struct CleanupEntry<C, T> {
    /// Those that may not be over. The entry is waiting at the last.
    last_uses: Vec<C>,
    heap: usize,
    bytes: u64,
    garbage: T,
}

/// Garbage in the order in which it was dropped.
#[derive(Debug)]
pub(crate) struct CleanupQueue<C: Completion, T> {
    /// By index in that order.
    entries: BTreeMap<u64, CleanupEntry<C, T>>,
    /// For each clock the value that an entry waits for, and the entry.
    waiting: HashMap<C::Timeline, BTreeSet<(u64, u64)>>,
    /// The entries that nothing uses any more.
    eligible: BTreeSet<u64>,
    /// Bytes on each heap.
    bytes: Vec<u64>,
    next: u64,
}

impl<C: Completion, T> Default for CleanupQueue<C, T> {
    fn default() -> Self {
        let (entries, waiting, eligible) = (BTreeMap::new(), HashMap::new(), BTreeSet::new());
        Self { entries, waiting, eligible, bytes: Vec::new(), next: 0 }
    }
}

impl<C: Completion, T> CleanupQueue<C, T> {
    /// Adds garbage of `bytes` bytes on that heap, which is free once all of `last_uses` are complete. Asks nobody.
    pub(crate) fn push(&mut self, last_uses: Vec<C>, heap: usize, bytes: u64, garbage: T) {
        let index = self.next;
        self.next += 1;
        if self.bytes.len() <= heap {
            self.bytes.resize(heap + 1, 0);
        }
        self.bytes[heap] += bytes;
        self.entries.insert(index, CleanupEntry { last_uses, heap, bytes, garbage });
        self.wait_on_last(index);
    }

    /// How many entries wait, and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        (self.entries.len(), self.bytes.iter().sum())
    }

    /// The bytes on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.bytes.get(heap).copied().unwrap_or(0)
    }

    /// Whether more waits than may.
    pub(crate) fn is_due(&self, limits: &HeapLimits) -> bool {
        limits.are_exceeded(self.entries.len(), &self.bytes)
    }

    /// Finds out what is eligible. An entry that cannot be asked about stays as it is.
    ///
    /// Clocks go at their own pace, so a busy entry holds back none of another clock.
    pub(crate) fn poll(&mut self) -> Result<(), C::Error> {
        let mut failed = Ok(());
        let mut clocks: Vec<_> = self.waiting.keys().copied().collect();
        while let Some(clock) = clocks.pop() {
            while let Some(&(value, index)) = self.waiting.get(&clock).and_then(BTreeSet::first) {
                let uses = &mut self.entries.get_mut(&index).expect("what is waiting is there").last_uses;
                match uses.last().expect("it is waiting at its last").is_complete() {
                    Ok(true) => uses.pop(),
                    Ok(false) => break,
                    Err(error) => {
                        failed = Err(error);
                        break;
                    }
                };
                self.waiting.get_mut(&clock).expect("just looked into").remove(&(value, index));
                clocks.extend(self.wait_on_last(index));
            }
            if self.waiting.get(&clock).is_some_and(BTreeSet::is_empty) {
                self.waiting.remove(&clock);
            }
        }
        failed
    }

    /// Takes out the oldest entry that is known to be eligible.
    pub(crate) fn take_eligible(&mut self) -> Option<T> {
        let index = self.eligible.pop_first()?;
        self.take(index)
    }

    /// Takes out everything, used or not: for when the device itself is known to be done.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.waiting.clear();
        self.eligible.clear();
        self.bytes.clear();
        std::mem::take(&mut self.entries).into_values().map(|entry| entry.garbage).collect()
    }

    /// What to wait for until everything that is there now is eligible: one point a clock.
    pub(crate) fn last_uses(&self) -> Vec<C> {
        latest(self.entries.values())
    }

    /// What to wait for until the oldest entries of that heap that together have so many bytes are eligible.
    pub(crate) fn last_uses_of_oldest(&self, heap: usize, bytes: u64) -> Vec<C> {
        let mut sum = 0_u64;
        latest(self.entries.values().filter(|entry| entry.heap == heap).take_while(|entry| {
            let is_needed = sum < bytes;
            sum = sum.saturating_add(entry.bytes);
            is_needed
        }))
    }

    /// Each entry's uses that may not be over, and its bytes, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[C], u64)> {
        self.entries.values().map(|entry| (entry.last_uses.as_slice(), entry.bytes))
    }

    /// Parks an entry at its last use and returns the clock; without one, it is eligible.
    fn wait_on_last(&mut self, index: u64) -> Option<C::Timeline> {
        let Some(last) = self.entries[&index].last_uses.last() else {
            self.eligible.insert(index);
            return None;
        };
        let clock = last.timeline();
        self.waiting.entry(clock).or_default().insert((last.value(), index));
        Some(clock)
    }

    fn take(&mut self, index: u64) -> Option<T> {
        let entry = self.entries.remove(&index)?;
        self.bytes[entry.heap] -= entry.bytes;
        Some(entry.garbage)
    }
}

/// The latest of the entries' uses on each clock.
fn latest<'a, C: Completion + 'a, T: 'a>(entries: impl Iterator<Item = &'a CleanupEntry<C, T>>) -> Vec<C> {
    let mut by_clock = HashMap::<C::Timeline, &C>::new();
    for last in entries.flat_map(|entry| &entry.last_uses) {
        let known = by_clock.entry(last.timeline()).or_insert(last);
        if known.value() < last.value() {
            *known = last;
        }
    }
    by_clock.into_values().cloned().collect()
}

/// How much may wait before it is due: more entries than `count`, or more bytes than a heap's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeapLimits {
    pub(crate) count: usize,
    /// For each heap.
    pub(crate) bytes: Vec<u64>,
}

impl HeapLimits {
    /// Whether that many entries, with so many bytes on each heap, are more than may wait.
    pub(crate) fn are_exceeded(&self, count: usize, bytes: &[u64]) -> bool {
        let is_over = |(&bytes, &limit): (&u64, &u64)| bytes > limit;
        count > self.count || bytes.iter().zip(&self.bytes).any(is_over)
    }
}

#[cfg(test)]
mod tests;
