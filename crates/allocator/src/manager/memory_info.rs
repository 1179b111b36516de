//! How much memory a device has, and how much of it can still be allocated. Pure.
//!
//! The driver crate asks for the driver's estimate; a manager adds the memory that it has given out.

use crate::error::HeapUse;

/// Bytes of one memory heap, as [`Allocator::memory_info`](crate::Allocator::memory_info) returns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Bytes that can still be allocated, as far as is known: from the driver, or because the manager keeps them for the
    /// next block. Memory that the device may still use is not free yet.
    pub free: u64,
    /// Bytes of the heap.
    pub total: u64,
    /// How `free` was determined.
    pub confidence: Confidence,
}

/// How a [`MemoryInfo`] was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// The driver's budget and the usage of this process (`VK_EXT_memory_budget`). It is an estimate, which other
    /// processes change at any time.
    Budget,
    /// The heap's size less the bytes that this manager has taken from it. Other users of the device are not counted.
    OwnUse,
}

impl MemoryInfo {
    /// The free bytes of a heap from which a manager has taken `taken` bytes and keeps `kept` of them for the next
    /// block.
    pub(crate) fn of(heap: HeapUse, taken: u64, kept: u64) -> Self {
        let total = heap.size;
        let (free, confidence) = match heap.budget {
            // The use may exceed the budget, and the budget may exceed the heap.
            Some(budget) => (budget.budget.saturating_sub(budget.usage), Confidence::Budget),
            None => (total.saturating_sub(taken), Confidence::OwnUse),
        };
        Self { free: free.saturating_add(kept).min(total), total, confidence }
    }

    /// The memory info for a manager that may give out at most `bytes` bytes more.
    pub(crate) fn at_most(self, bytes: u64) -> Self {
        Self { free: self.free.min(bytes), ..self }
    }
}

#[cfg(test)]
mod tests {
    use vkarray_driver::HeapBudget;

    use super::*;

    #[test]
    fn the_drivers_budget_is_preferred_to_our_own_count() {
        // The budget and the usage; the bytes taken and kept; the free bytes.
        let cases = [
            (Some((90, 30)), 50, 0, 60, Confidence::Budget),
            (Some((90, 30)), 50, 20, 80, Confidence::Budget), // Kept memory is free, too.
            (Some((90, 91)), 0, 0, 0, Confidence::Budget),    // More is used than the budget.
            (Some((300, 0)), 0, 0, 100, Confidence::Budget),  // A budget larger than the heap.
            (None, 30, 0, 70, Confidence::OwnUse),
            (None, 30, 10, 80, Confidence::OwnUse),
            (None, 101, 0, 0, Confidence::OwnUse), // CPU drivers give more than their heap has.
        ];
        for (budget, taken, kept, free, confidence) in cases {
            let budget = budget.map(|(budget, usage)| HeapBudget { budget, usage });
            let info = MemoryInfo::of(HeapUse { index: 0, size: 100, budget }, taken, kept);
            assert_eq!(info, MemoryInfo { free, total: 100, confidence }, "{budget:?}, {taken} taken, {kept} kept");
            assert_eq!(info.at_most(65).free, free.min(65));
        }
    }
}
