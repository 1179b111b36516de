//! Counts what a manager gives out: now, at most, and altogether; for the whole program and for parts of it.
//!
//! Scopes nest as RMM's do: what happens is counted in the innermost one, and folded into the one around it when that
//! ends. The counting is plain data in [`ScopeStack`]; the adaptor feeds it.

use std::fmt;

use vkarray_driver::Origin;
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

use super::{Adaptor, AdaptorRequest};
use crate::error::{Error, Result};
use crate::manager::MemoryManager;
use crate::memory::MemoryPointer;

/// One quantity. Negative where a scope gave back what was given out before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// Given out and not given back.
    pub current: i64,
    /// The largest that was.
    pub peak: i64,
    /// Given out altogether.
    pub total: i64,
}

impl Counter {
    fn add(&mut self, n: i64) {
        self.current += n;
        self.total += n;
        self.peak = self.peak.max(self.current);
    }

    /// Takes in what happened in a scope since this counter last moved.
    fn fold(&mut self, scope: Self) {
        self.peak = self.peak.max(self.current + scope.peak);
        self.current += scope.current;
        self.total += scope.total;
    }
}

/// What a scope counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScopeCounters {
    /// Bytes, as request for.
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

/// Open scopes, the innermost last; the program's own is always there.
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
pub struct Statistics<M> {
    stack: Mutex<ScopeStack>,
    origin: Origin,
    inner: M,
}

impl<M: MemoryManager> Statistics<M> {
    /// Counts what `inner` gives out from here on.
    pub fn new(inner: M) -> Self {
        Self { stack: Mutex::new(Rank::Statistics, ScopeStack::default()), origin: Origin::here(), inner }
    }

    /// What the innermost scope has counted so far.
    #[must_use]
    pub fn counted(&self) -> ScopeCounters {
        *self.stack().innermost()
    }

    /// Begins a scope, on all threads; see [`Statistics::scope`] for one that ends by itself.
    pub fn push(&self) {
        self.stack().scopes.push(ScopeCounters::default());
    }

    /// Ends the innermost scope and returns what it counted, which now counts in the one around it.
    ///
    /// # Errors
    ///
    /// [`Error::NoOpenScope`] if only the program's own is left.
    pub fn pop(&self) -> Result<ScopeCounters> {
        self.stack().pop().ok_or(Error::NoOpenScope)
    }

    /// Begins a scope that ends with the guard. Scopes are not of a thread: two threads that open some at a time count
    /// into each other's.
    #[must_use = "the scope ends with the guard"]
    pub fn scope(&self) -> StatisticsScope<'_, M> {
        let mut stack = self.stack();
        stack.scopes.push(ScopeCounters::default());
        StatisticsScope { depth: stack.scopes.len(), statistics: self }
    }

    fn stack(&self) -> MutexGuard<'_, ScopeStack> {
        // Nothing under the lock panics half-way.
        self.stack.lock()
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for Statistics<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        &self.inner
    }

    fn after(&self, _: &AdaptorRequest, given: Option<&MemoryPointer>) {
        if let Some(memory) = given {
            self.stack().innermost().allocated(signed(memory.size()));
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        self.stack().innermost().freed(signed(memory.size()));
    }
}

impl<M: fmt::Debug> fmt::Debug for Statistics<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics").field("stack", &self.stack).field("inner", &self.inner).finish()
    }
}

/// A scope of [`Statistics`]. Ends, and ends those opened inside it, when dropped.
#[derive(Debug)]
pub struct StatisticsScope<'a, M: MemoryManager> {
    depth: usize,
    statistics: &'a Statistics<M>,
}

impl<M: MemoryManager> StatisticsScope<'_, M> {
    /// Ends the scope and returns what it counted.
    ///
    /// # Errors
    ///
    /// [`Error::NoOpenScope`] if [`Statistics::pop`] ended it before.
    pub fn end(self) -> Result<ScopeCounters> {
        self.close().ok_or(Error::NoOpenScope)
    }

    fn close(&self) -> Option<ScopeCounters> {
        let mut stack = self.statistics.stack();
        while stack.scopes.len() > self.depth {
            stack.pop();
        }
        if stack.scopes.len() == self.depth { stack.pop() } else { None }
    }
}

impl<M: MemoryManager> Drop for StatisticsScope<'_, M> {
    fn drop(&mut self) {
        // In a forked process the lock may stay locked for ever.
        if !self.statistics.origin.is_elsewhere() {
            self.close();
        }
    }
}

/// No sum of live sizes comes near the end of the type: addresses do not.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
