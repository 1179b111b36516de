//! Counts the memory that a manager gives out: now, at most, and in total; for the whole program and for scopes of it.
//!
//! Scopes nest as in RMM: an event is counted in the innermost scope, whose counts are added to the scope around it when
//! it ends. The counting is plain data in [`ScopeStack`].

use std::fmt;

use vkarray_driver::ProcessId;
use vkarray_driver::lock::{Mutex, Rank};

use super::Adaptor;
use crate::error::{Error, Result};
use crate::manager::{MemoryManager, Request};
use crate::memory::MemoryPointer;

/// One quantity. It is negative where a scope gave back memory from before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// The amount given out and not given back.
    pub current: i64,
    /// The largest value of `current` so far.
    pub peak: i64,
    /// The amount given out in total.
    pub total: i64,
}

impl Counter {
    fn add(&mut self, n: i64) {
        self.current += n;
        self.total += n;
        self.peak = self.peak.max(self.current);
    }

    /// Adds the counts of an inner scope that ended.
    fn fold(&mut self, scope: Self) {
        self.peak = self.peak.max(self.current + scope.peak);
        self.current += scope.current;
        self.total += scope.total;
    }
}

/// The counts of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeCounters {
    /// Bytes, as requested.
    pub bytes: Counter,
    /// Allocations.
    pub allocations: Counter,
}

impl ScopeCounters {
    fn allocated(&mut self, bytes: i64) {
        self.bytes.add(bytes);
        self.allocations.add(1);
    }

    fn freed(&mut self, bytes: i64) {
        self.bytes.current -= bytes;
        self.allocations.current -= 1;
    }

    fn fold(&mut self, scope: Self) {
        self.bytes.fold(scope.bytes);
        self.allocations.fold(scope.allocations);
    }
}

/// The open scopes, innermost last, inside the scope of the whole program.
#[derive(Debug, Default)]
struct ScopeStack {
    program: ScopeCounters,
    scopes: Vec<ScopeCounters>,
}

impl ScopeStack {
    fn innermost(&mut self) -> &mut ScopeCounters {
        self.scopes.last_mut().unwrap_or(&mut self.program)
    }

    fn pop(&mut self) -> Option<ScopeCounters> {
        let scope = self.scopes.pop()?;
        self.innermost().fold(scope);
        Some(scope)
    }
}

/// Counts bytes and allocations.
///
/// ```
/// use std::sync::Arc;
///
/// use vkarray_allocator::{Allocator, MemoryKind, PoolManager, AllocationStatistics};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let statistics = Arc::new(AllocationStatistics::new(PoolManager::new()));
/// let allocator = Allocator::with_manager(&device, Box::new(Arc::clone(&statistics)))?;
/// let scope = statistics.scope();
/// drop(allocator.allocate(100, MemoryKind::Device)?);
/// let counted = scope.end()?;
/// assert_eq!((counted.bytes.peak, counted.bytes.current, counted.allocations.total), (100, 0, 1));
/// # Ok(())
/// # }
/// ```
#[doc(alias = "StatisticsResourceAdaptor")]
pub struct AllocationStatistics<M> {
    /// A panic under the lock leaves no change half done.
    stack: Mutex<ScopeStack>,
    process: ProcessId,
    inner: M,
}

impl<M: MemoryManager> AllocationStatistics<M> {
    /// Counts the memory that `inner` gives out from here on.
    pub fn new(inner: M) -> Self {
        Self { stack: Mutex::new(Rank::Statistics, ScopeStack::default()), process: ProcessId::current(), inner }
    }

    /// The counts of the innermost scope so far.
    pub fn counted(&self) -> ScopeCounters {
        *self.stack.lock().innermost()
    }

    /// Begins a scope for all threads. [`AllocationStatistics::scope`] begins one that ends with a guard.
    pub fn push(&self) {
        self.stack.lock().scopes.push(ScopeCounters::default());
    }

    /// Ends the innermost scope and returns its counts, which are added to the scope around it.
    ///
    /// # Errors
    ///
    /// [`Error::NoOpenScope`] if no scope is open.
    pub fn pop(&self) -> Result<ScopeCounters> {
        self.stack.lock().pop().ok_or(Error::NoOpenScope)
    }

    /// Begins a scope that ends with the guard. Scopes are shared by all threads: if two threads have scopes open at the
    /// same time, each counts into the innermost.
    #[must_use = "the scope ends with the guard"]
    pub fn scope(&self) -> StatisticsScope<'_, M> {
        let mut stack = self.stack.lock();
        stack.scopes.push(ScopeCounters::default());
        StatisticsScope { depth: stack.scopes.len(), statistics: self }
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for AllocationStatistics<M> {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    fn after(&self, _: &Request, given: Option<&MemoryPointer>) {
        if let Some(memory) = given {
            self.stack.lock().innermost().allocated(signed(memory.size()));
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        self.stack.lock().innermost().freed(signed(memory.size()));
    }
}

vkarray_driver::debug_fields!([M: fmt::Debug] AllocationStatistics<M>, this => stack: this.stack, inner: this.inner);

/// A scope of [`AllocationStatistics`]. When dropped, it ends together with the scopes opened inside it.
#[derive(Debug)]
pub struct StatisticsScope<'a, M: MemoryManager> {
    depth: usize,
    statistics: &'a AllocationStatistics<M>,
}

impl<M: MemoryManager> StatisticsScope<'_, M> {
    /// Ends the scope and returns its counts.
    ///
    /// # Errors
    ///
    /// [`Error::NoOpenScope`] if [`AllocationStatistics::pop`] has ended it.
    pub fn end(self) -> Result<ScopeCounters> {
        self.close().ok_or(Error::NoOpenScope)
    }

    fn close(&self) -> Option<ScopeCounters> {
        let mut stack = self.statistics.stack.lock();
        while stack.scopes.len() > self.depth {
            stack.pop();
        }
        if stack.scopes.len() == self.depth { stack.pop() } else { None }
    }
}

impl<M: MemoryManager> Drop for StatisticsScope<'_, M> {
    fn drop(&mut self) {
        // In a forked process the lock may stay locked forever.
        if !self.statistics.process.is_forked() {
            self.close();
        }
    }
}

/// Sums of live sizes stay far below the limit of the type, since they are bounded by the address space.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
