//! The report of memory running out: the request, the memory of the heap, the largest blocks, the steps that were
//! tried.
//!
//! The source of the memory fills in the heap, and its manager the live and the pending blocks. The report is plain
//! data. An example of the text is `out_of_memory/report.txt`, which a test compares.

use std::fmt;

use vkarray_driver::HeapBudget;

use super::oom_steps::{StepOutcome, StepOutcomes};
use crate::kind::{BlockLabel, Bytes, MemoryKind};

/// Live blocks that a report lists.
const MAX_LISTED: usize = 10;

/// The resource of which there was too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortage {
    /// Device memory: `VK_ERROR_OUT_OF_DEVICE_MEMORY`.
    DeviceMemory,
    /// The driver's own memory on the host: `VK_ERROR_OUT_OF_HOST_MEMORY`.
    HostMemory,
    /// Allocations, of which the driver allows a limited number: `VK_ERROR_TOO_MANY_OBJECTS`.
    Objects,
    /// Addresses for mapping the memory to the host: `VK_ERROR_MEMORY_MAP_FAILED`.
    HostAddresses,
    /// The size of one allocation: the driver promises none above this many bytes (`maxMemoryAllocationSize`), and
    /// refused this one.
    AllocationSize(u64),
    /// The driver's budget of a scarce heap for this process, which leaves this many bytes.
    Budget(u64),
    /// The heap itself, which is smaller even when empty.
    HeapSize,
    /// The limit of a memory manager, in bytes.
    Limit(u64),
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeviceMemory => f.write_str("the device has none left"),
            Self::HostMemory => f.write_str("the host has none left for the driver"),
            Self::Objects => f.write_str("the driver has reached its number of allocations"),
            Self::HostAddresses => f.write_str("the host has no addresses left to map it"),
            Self::AllocationSize(limit) => write!(f, "the driver promises no allocation above {limit} bytes"),
            Self::Budget(left) => write!(f, "the driver's budget of the heap leaves {left} bytes"),
            Self::HeapSize => f.write_str("the heap is smaller"),
            Self::Limit(limit) => write!(f, "the memory manager is limited to {limit} bytes"),
        }
    }
}

/// A memory heap and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapUse {
    /// The index of the heap among the device's heaps.
    pub index: u32,
    /// The bytes of the heap.
    pub size: u64,
    /// The driver's budget and usage, where the driver reports them.
    pub budget: Option<HeapBudget>,
}

/// A live block in a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveBlock {
    /// The bytes of the block.
    pub bytes: u64,
    /// The label of the block.
    pub label: BlockLabel,
}

/// Dropped memory that waits for the work of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingOn {
    /// The number of the stream whose work may still use the memory; `None` for foreign work.
    pub stream: Option<u64>,
    /// The bytes of the memory. Memory that waits for several streams counts for each.
    pub bytes: u64,
}

/// An allocation that failed for lack of memory, and the reason. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// Bytes that were requested.
    pub bytes: u64,
    /// The kind of the requested memory.
    pub kind: MemoryKind,
    /// The resource of which there was too little.
    pub shortage: Shortage,
    /// The heap that the memory would have come from.
    pub heap: Option<HeapUse>,
    /// Bytes of all kinds in live blocks and in dropped blocks that are not freed.
    pub in_use: u64,
    /// Bytes of all kinds taken from the driver.
    pub reserved: u64,
    /// The largest allocation that the manager could serve without the driver; `None` if it does not count that.
    pub largest_free: Option<u64>,
    /// The ten largest live blocks, largest first; see [`OutOfMemory::set_live_blocks`].
    pub largest: Vec<LiveBlock>,
    /// How many live blocks there are.
    pub n_live: usize,
    /// Dropped memory that is not freed, by stream.
    pub pending: Vec<PendingOn>,
    /// How many dropped blocks are not freed.
    pub n_pending: usize,
    /// The steps that were tried.
    pub steps: StepOutcomes,
}

impl OutOfMemory {
    /// Creates a report. The caller fills in the other fields.
    pub fn new(bytes: u64, kind: MemoryKind, shortage: Shortage) -> Self {
        Self {
            bytes,
            kind,
            shortage,
            heap: None,
            in_use: 0,
            reserved: 0,
            largest_free: None,
            largest: Vec::new(),
            n_live: 0,
            pending: Vec::new(),
            n_pending: 0,
            steps: StepOutcomes::default(),
        }
    }

    /// Sets the live blocks: counts all of them, and keeps the ten largest.
    pub fn set_live_blocks<'a>(&mut self, all: impl Iterator<Item = (u64, &'a BlockLabel)>) {
        let mut all: Vec<_> = all.collect();
        self.n_live = all.len();
        all.sort_by_key(|&(bytes, _)| std::cmp::Reverse(bytes));
        let largest = all.into_iter().take(MAX_LISTED);
        self.largest = largest.map(|(bytes, label)| LiveBlock { bytes, label: label.clone() }).collect();
    }

    fn write_heap(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(heap) = self.heap else { return Ok(()) };
        write!(f, "\n  heap {}: {}", heap.index, Bytes(heap.size))?;
        match heap.budget {
            Some(HeapBudget { budget, usage }) => {
                write!(f, "; this process may use {} and uses {}", Bytes(budget), Bytes(usage))
            }
            None => f.write_str("; the driver does not report how much of it is used"),
        }
    }

    fn write_pending(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_pending == 0 {
            return Ok(());
        }
        write!(f, "\n  dropped and not freed: {}", self.n_pending)?;
        for (i, pending) in self.pending.iter().enumerate() {
            let gap = if i > 0 { ", " } else { "; " };
            let work = pending.stream.map_or_else(|| "foreign work".to_owned(), |stream| format!("stream {stream}"));
            write!(f, "{gap}{} wait for {work}", Bytes(pending.bytes))?;
        }
        Ok(())
    }

    fn write_largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_live == 0 {
            return Ok(());
        }
        match self.n_live {
            n if n == self.largest.len() => write!(f, "\n  used by:")?,
            n => write!(f, "\n  used by {n} blocks, of which the largest are:")?,
        }
        for LiveBlock { bytes, label } in &self.largest {
            write!(f, "\n  {:>12}  {label}", Bytes(*bytes))?;
        }
        Ok(())
    }

    fn write_steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = self.steps.tried().filter(|(_, outcome)| *outcome != StepOutcome::Absent);
        for (i, (step, outcome)) in tried.enumerate() {
            f.write_str(if i > 0 { ", " } else { "\n  tried: " })?;
            write!(f, "{step} ({outcome})")?;
        }
        Ok(())
    }
}

/// One line, followed by indented lines with the details.
impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory for {} bytes of {} memory: {}", self.bytes, self.kind, self.shortage)?;
        self.write_heap(f)?;
        write!(f, "\n  this allocator: {} in use, {} reserved", Bytes(self.in_use), Bytes(self.reserved))?;
        if let Some(largest) = self.largest_free {
            write!(f, ", {} free in one piece", Bytes(largest))?;
        }
        self.write_pending(f)?;
        self.write_largest(f)?;
        self.write_steps(f)
    }
}

impl std::error::Error for OutOfMemory {}

#[cfg(test)]
mod tests;
