//! The deferred-cleanup queue: dropped items that the device may still use. Pure.
//!
//! An item is *eligible* when the work that used it is over, and *due* when too many items wait; see
//! [`PendingLimits`](crate::PendingLimits). Generic over the timeline and the items, so that the main rule, *never early*, is
//! tested with counters. The queue only decides what may be freed; `deferred.rs` frees and waits. Each entry waits on one of
//! its uses at a time, so that a query costs one question for each timeline and not one for each entry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// A value on a timeline: complete once the timeline has reached it.
pub(crate) trait Completion: Clone {
    /// The error of a query.
    type Error;
    /// Identifies a timeline.
    type Timeline: Copy + Eq + Hash;

    /// Its timeline.
    fn timeline(&self) -> Self::Timeline;

    /// Its value.
    fn value(&self) -> u64;

    /// Whether its timeline has reached it. Does not block.
    fn is_complete(&self) -> Result<bool, Self::Error>;
}

/// An item and the last uses that must be over before it is freed.
#[derive(Debug)]
struct CleanupEntry<C, T> {
    /// The uses that may not be over. The entry waits on the last of them.
    last_uses: Vec<C>,
    heap: usize,
    bytes: u64,
    item: T,
}

/// Dropped items in the order of their drops.
#[derive(Debug)]
pub(crate) struct CleanupQueue<C: Completion, T> {
    /// By their position in that order.
    entries: BTreeMap<u64, CleanupEntry<C, T>>,
    /// For each timeline the values that entries wait for, and the entries.
    waiting: HashMap<C::Timeline, BTreeSet<(u64, u64)>>,
    /// The entries whose uses are over.
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
    /// Adds an item of `bytes` bytes on that heap, which is eligible once all of `last_uses` are complete. Makes no query.
    pub(crate) fn push(&mut self, last_uses: Vec<C>, heap: usize, bytes: u64, item: T) {
        let index = self.next;
        self.next += 1;
        if self.bytes.len() <= heap {
            self.bytes.resize(heap + 1, 0);
        }
        self.bytes[heap] += bytes;
        self.entries.insert(index, CleanupEntry { last_uses, heap, bytes, item });
        self.wait_on_last(index);
    }

    /// The number of entries and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        (self.entries.len(), self.bytes.iter().sum())
    }

    /// The bytes on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.bytes.get(heap).copied().unwrap_or(0)
    }

    /// Whether the entries exceed the limits.
    pub(crate) fn is_due(&self, limits: &HeapLimits) -> bool {
        limits.are_exceeded(self.entries.len(), &self.bytes)
    }

    /// Queries which entries are eligible. An entry whose query fails stays as it is.
    ///
    /// Entries of different timelines do not wait for each other.
    pub(crate) fn poll(&mut self) -> Result<(), C::Error> {
        let mut failed = Ok(());
        let mut timelines: Vec<_> = self.waiting.keys().copied().collect();
        while let Some(timeline) = timelines.pop() {
            while let Some(&(value, index)) = self.waiting.get(&timeline).and_then(BTreeSet::first) {
                let uses = &mut self.entries.get_mut(&index).expect("what is waiting is there").last_uses;
                match uses.last().expect("it is waiting at its last").is_complete() {
                    Ok(true) => uses.pop(),
                    Ok(false) => break,
                    Err(error) => {
                        failed = Err(error);
                        break;
                    }
                };
                self.waiting.get_mut(&timeline).expect("just looked into").remove(&(value, index));
                timelines.extend(self.wait_on_last(index));
            }
            if self.waiting.get(&timeline).is_some_and(BTreeSet::is_empty) {
                self.waiting.remove(&timeline);
            }
        }
        failed
    }

    /// Removes the oldest entry that is known to be eligible.
    pub(crate) fn take_eligible(&mut self) -> Option<T> {
        let index = self.eligible.pop_first()?;
        self.take(index)
    }

    /// Removes all entries, eligible or not, for when the device is known to be idle.
    pub(crate) fn take_all(&mut self) -> Vec<T> {
        self.waiting.clear();
        self.eligible.clear();
        self.bytes.clear();
        std::mem::take(&mut self.entries).into_values().map(|entry| entry.item).collect()
    }

    /// The points to wait for until all present entries are eligible, one for each timeline.
    pub(crate) fn last_uses(&self) -> Vec<C> {
        latest(self.entries.values())
    }

    /// The points to wait for until the oldest entries of a heap with `bytes` bytes in total are eligible.
    pub(crate) fn last_uses_of_oldest(&self, heap: usize, bytes: u64) -> Vec<C> {
        let mut sum = 0_u64;
        latest(self.entries.values().filter(|entry| entry.heap == heap).take_while(|entry| {
            let is_needed = sum < bytes;
            sum = sum.saturating_add(entry.bytes);
            is_needed
        }))
    }

    /// The uses and the bytes of each entry, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[C], u64)> {
        self.entries.values().map(|entry| (entry.last_uses.as_slice(), entry.bytes))
    }

    /// Makes an entry wait on its last use, and returns the timeline; without uses, the entry is eligible.
    fn wait_on_last(&mut self, index: u64) -> Option<C::Timeline> {
        let Some(last) = self.entries[&index].last_uses.last() else {
            self.eligible.insert(index);
            return None;
        };
        let timeline = last.timeline();
        self.waiting.entry(timeline).or_default().insert((last.value(), index));
        Some(timeline)
    }

    fn take(&mut self, index: u64) -> Option<T> {
        let entry = self.entries.remove(&index)?;
        self.bytes[entry.heap] -= entry.bytes;
        Some(entry.item)
    }
}

/// The latest of the entries' uses on each timeline.
fn latest<'a, C: Completion + 'a, T: 'a>(entries: impl Iterator<Item = &'a CleanupEntry<C, T>>) -> Vec<C> {
    let mut by_timeline = HashMap::<C::Timeline, &C>::new();
    for last in entries.flat_map(|entry| &entry.last_uses) {
        let known = by_timeline.entry(last.timeline()).or_insert(last);
        if known.value() < last.value() {
            *known = last;
        }
    }
    by_timeline.into_values().cloned().collect()
}

/// The limits above which entries are due: their number, and their bytes on each heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeapLimits {
    pub(crate) count: usize,
    /// By heap.
    pub(crate) bytes: Vec<u64>,
}

impl HeapLimits {
    /// Whether `count` entries with `bytes` on each heap exceed the limits.
    pub(crate) fn are_exceeded(&self, count: usize, bytes: &[u64]) -> bool {
        let is_over = |(&bytes, &limit): (&u64, &u64)| bytes > limit;
        count > self.count || bytes.iter().zip(&self.bytes).any(is_over)
    }
}

#[cfg(test)]
mod tests;
