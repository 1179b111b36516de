//! The report of memory running out: what was asked, what there is, who holds it, what was tried.
//!
//! A source of memory fills in what it knows of the heap, its manager the holders and what is pending. Plain data; its
//! text is in `out_of_memory/report.txt`, which a test compares. What is tried, in which order, is `ladder.rs`.

use std::fmt;

use vkarray_driver::HeapBudget;

use crate::memory::{BlockLabel, Bytes, MemoryKind};
use crate::oom::StepOutcomes;

/// Holders that a report names.
const MAX_LISTED: usize = 10;

/// What there was too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortage {
    /// Memory of the device: `VK_ERROR_OUT_OF_DEVICE_MEMORY`.
    DeviceMemory,
    /// The driver's own memory on the host: `VK_ERROR_OUT_OF_HOST_MEMORY`.
    HostMemory,
    /// Allocations that the driver can hold: `VK_ERROR_TOO_MANY_OBJECTS`.
    Objects,
    /// Room for the host's address of the memory: `VK_ERROR_MEMORY_MAP_FAILED`.
    HostAddresses,
    /// One allocation as large as that: the driver promises none above so many bytes (`maxMemoryAllocationSize`), and gave
    /// none.
    AllocationSize(u64),
    /// What the driver lets this process have of a scarce heap; it has so many bytes left.
    Budget(u64),
    /// The heap itself, even when empty.
    HeapSize,
    /// What a manager allows, in bytes.
    Limit(u64),
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeviceMemory => f.write_str("the device has none left"),
            Self::HostMemory => f.write_str("the host has none left for the driver"),
            Self::Objects => f.write_str("the driver holds as many allocations as it can"),
            Self::HostAddresses => f.write_str("the host has no addresses left for it"),
            Self::AllocationSize(limit) => write!(f, "the driver promises no allocation above {limit} bytes"),
            Self::Budget(left) => write!(f, "the driver's budget of the heap leaves {left} bytes"),
            Self::HeapSize => f.write_str("the heap is smaller"),
            Self::Limit(limit) => write!(f, "the memory manager is limited to {limit} bytes"),
        }
    }
}

/// The heap that was to give the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapUse {
    /// Its place among the device's heaps.
    pub index: u32,
    /// Its bytes.
    pub size: u64,
    /// What the driver says of it, where it does.
    pub budget: Option<HeapBudget>,
}

/// Live memory and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveBlock {
    /// Its bytes.
    pub bytes: u64,
    /// Who.
    pub label: BlockLabel,
}

/// Dropped memory that waits for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingOn {
    /// The stream whose work may still use it, by its number; nothing for work that no stream of ours does.
    pub stream: Option<u64>,
    /// Its bytes. What waits for several streams counts for each.
    pub bytes: u64,
}

/// Memory that could not be had, and why. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// What was asked for.
    pub bytes: u64,
    /// Where.
    pub kind: MemoryKind,
    /// What there was too little of.
    pub shortage: Shortage,
    /// The heap.
    pub heap: Option<HeapUse>,
    /// Bytes of all kinds that live blocks and dropped ones hold.
    pub in_use: u64,
    /// Bytes of all kinds that are taken from the driver.
    pub reserved: u64,
    /// The most that the manager could give without asking the driver, where it knows.
    pub largest_free: Option<u64>,
    /// The ten largest pieces of live memory, largest first; see [`OutOfMemory::set_live_blocks`].
    pub largest: Vec<LiveBlock>,
    /// How many live pieces there are.
    pub n_live: usize,
    /// What is dropped and not freed, by stream.
    pub pending: Vec<PendingOn>,
    /// How many dropped pieces are not freed.
    pub n_pending: usize,
    /// What was tried.
    pub steps: StepOutcomes,
}

impl OutOfMemory {
    /// Starts a report. The caller fills in what it knows.
    #[must_use]
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

    /// Notes who holds memory: counts all, keeps the ten largest.
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
            None => f.write_str("; the driver does not tell how much of it is used"),
        }
    }

    fn write_pending(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_pending == 0 {
            return Ok(());
        }
        write!(f, "\n  dropped and not freed: {}", self.n_pending)?;
        for (i, pending) in self.pending.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "; " })?;
            match pending.stream {
                Some(stream) => write!(f, "{} wait for stream {stream}", Bytes(pending.bytes))?,
                None => write!(f, "{} wait for work of others", Bytes(pending.bytes))?,
            }
        }
        Ok(())
    }

    fn write_largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_live == 0 {
            return Ok(());
        }
        match self.n_live {
            n if n == self.largest.len() => write!(f, "\n  held by:")?,
            n => write!(f, "\n  held by {n}, of which the largest are:")?,
        }
        for LiveBlock { bytes, label } in &self.largest {
            write!(f, "\n  {:>12}  {label}", Bytes(*bytes))?;
        }
        Ok(())
    }

    fn write_steps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = self.steps.tried().filter(|(_, taken)| *taken != crate::oom::StepOutcome::Absent);
        for (i, (step, taken)) in tried.enumerate() {
            f.write_str(if i > 0 { ", " } else { "\n  tried: " })?;
            write!(f, "{step} ({taken})")?;
        }
        Ok(())
    }
}

/// The first line says it; the lines after it say why.
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
