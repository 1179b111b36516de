//! [`PendingList`]: dropped items that the device may still use, in the order of their drops. Pure.
//!
//! An item is *over* when the work that used it is, and the list is *due* when too many items wait; see
//! [`PendingLimits`](crate::PendingLimits). The list only decides what may be freed; `queue.rs` frees and waits. It is
//! generic over the uses, so that its main rule, *never early*, is tested with counters.

use super::uses::{CompletionQuery, Uses};

/// An item and the uses that must be over before it is freed.
#[derive(Debug)]
struct PendingItem<U, T> {
    uses: U,
    heap: usize,
    bytes: u64,
    item: T,
}

/// Dropped items, oldest first.
#[derive(Debug)]
pub(crate) struct PendingList<U, T>(Vec<PendingItem<U, T>>);

impl<U, T> Default for PendingList<U, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<U: Uses, T> PendingList<U, T> {
    /// Adds an item of `bytes` bytes on that heap. Makes no query.
    pub(crate) fn push(&mut self, uses: U, heap: usize, bytes: u64, item: T) {
        self.0.push(PendingItem { uses, heap, bytes, item });
    }

    /// The number of items and their bytes.
    pub(crate) fn pending(&self) -> (usize, u64) {
        (self.0.len(), self.0.iter().map(|held| held.bytes).sum())
    }

    /// The bytes on one heap.
    pub(crate) fn bytes_on(&self, heap: usize) -> u64 {
        self.0.iter().filter(|held| held.heap == heap).map(|held| held.bytes).sum()
    }

    /// Whether the items exceed the limits.
    pub(crate) fn is_due(&self, limits: &HeapLimits) -> bool {
        limits.are_exceeded(self.0.len(), (0..limits.bytes.len()).map(|heap| self.bytes_on(heap)))
    }

    /// Removes the uses that are over from all items. An item whose query fails stays as it is, and holds back no item
    /// of another lane.
    pub(crate) fn poll<F, E>(&mut self, query: &mut CompletionQuery<U::Lane, F>) -> Result<(), E>
    where
        F: FnMut(&mut U) -> Result<(), E>,
    {
        self.0.iter_mut().map(|held| query.forget_complete(&mut held.uses)).fold(Ok(()), Result::and)
    }

    /// Removes the oldest item whose uses are known to be over.
    pub(crate) fn take_over(&mut self) -> Option<T> {
        let at = self.0.iter().position(|held| held.uses.are_over())?;
        Some(self.0.remove(at).item)
    }

    /// Removes all items, for when the device is known to be idle.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = T> + use<U, T> {
        std::mem::take(&mut self.0).into_iter().map(|held| held.item)
    }

    /// The uses to wait for until all present items are over.
    pub(crate) fn uses(&self) -> U {
        merged(self.0.iter())
    }

    /// The uses to wait for until the oldest items of a heap with `bytes` bytes in total are over.
    pub(crate) fn uses_of_oldest(&self, heap: usize, bytes: u64) -> U {
        let mut sum = 0_u64;
        merged(self.0.iter().filter(|held| held.heap == heap).take_while(|held| {
            let is_needed = sum < bytes;
            sum = sum.saturating_add(held.bytes);
            is_needed
        }))
    }

    /// The uses and the bytes of each item, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&U, u64)> {
        self.0.iter().map(|held| (&held.uses, held.bytes))
    }
}

fn merged<'a, U: Uses + 'a, T: 'a>(items: impl Iterator<Item = &'a PendingItem<U, T>>) -> U {
    items.fold(U::default(), |mut uses, held| {
        uses.merge(&held.uses);
        uses
    })
}

/// The limits above which items are due: their number, and their bytes on each heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeapLimits {
    pub(crate) count: usize,
    /// By heap.
    pub(crate) bytes: Vec<u64>,
}

impl HeapLimits {
    /// Whether `count` items with `bytes` on each heap exceed the limits.
    pub(crate) fn are_exceeded(&self, count: usize, bytes: impl IntoIterator<Item = u64>) -> bool {
        count > self.count || bytes.into_iter().zip(&self.bytes).any(|(bytes, limit)| bytes > *limit)
    }
}

#[cfg(test)]
mod tests;
