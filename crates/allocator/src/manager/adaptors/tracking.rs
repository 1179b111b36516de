//! Remembers what is given out and not given back, for who looks for a leak.
//!
//! An entry goes before the manager inside has the memory, since another thread may get the same memory at once.

use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use ash::vk::Handle;

use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

use super::{Adaptor, AdaptorRequest};
use crate::manager::MemoryManager;
use crate::memory::{BlockLabel, MemoryKind, MemoryPointer};

/// Memory that was given out and not given back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outstanding {
    /// Its place among all allocations, from zero on.
    pub nth: u64,
    /// Bytes, as request for.
    pub bytes: u64,
    /// What it is for.
    pub kind: MemoryKind,
    /// Who holds it.
    pub label: BlockLabel,
    /// Where it was allocated, if the adaptor keeps that.
    pub backtrace: Option<Arc<Backtrace>>,
}

/// Buffer, offset and the manager's own number.
type PointerKey = (u64, u64, u64);

#[derive(Debug, Default)]
struct Entries {
    n_allocations: u64,
    /// Several in one place only where they have no bytes.
    live: HashMap<PointerKey, Vec<Outstanding>>,
}

/// Keeps a list of live memory.
pub struct Tracking<M> {
    entries: Mutex<Entries>,
    with_backtraces: bool,
    inner: M,
}

impl<M: MemoryManager> Tracking<M> {
    /// Tracks what `inner` gives out from here on.
    pub fn new(inner: M) -> Self {
        Self { entries: Mutex::new(Rank::Tracking, Entries::default()), with_backtraces: false, inner }
    }

    /// Keeps where each allocation was made: slow, and of use with debug information only.
    #[must_use]
    pub fn with_backtraces(mut self) -> Self {
        self.with_backtraces = true;
        self
    }

    /// Live memory, the oldest first.
    #[must_use]
    pub fn outstanding(&self) -> Vec<Outstanding> {
        let mut all: Vec<_> = self.entries().live.values().flatten().cloned().collect();
        all.sort_by_key(|entry| entry.nth);
        all
    }

    /// Bytes of live memory, as request for.
    #[must_use]
    pub fn outstanding_bytes(&self) -> u64 {
        self.entries().live.values().flatten().map(|entry| entry.bytes).sum()
    }

    /// A line for each piece of live memory, with its backtrace below it; no text where there is none.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text = String::new();
        for Outstanding { nth, bytes, kind, label, backtrace } in self.outstanding() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "allocation {nth}: {bytes} bytes of {kind} memory, held by {label}");
            if let Some(backtrace) = backtrace {
                let _ = writeln!(text, "{backtrace}");
            }
        }
        text
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // Nothing under the lock panics half-way.
        self.entries.lock()
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for Tracking<M> {
    type Inner = M;

    fn inner(&self) -> &M {
        &self.inner
    }

    fn after(&self, request: &AdaptorRequest, given: Option<&MemoryPointer>) {
        let Some(memory) = given else { return };
        let backtrace = self.with_backtraces.then(|| Arc::new(Backtrace::force_capture()));
        let mut entries = self.entries();
        let (nth, label) = (entries.n_allocations, request.label.clone());
        entries.n_allocations += 1;
        let entry = Outstanding { nth, bytes: memory.size(), kind: memory.kind(), label, backtrace };
        entries.live.entry(place(memory)).or_default().push(entry);
    }

    fn held(&self, memory: &MemoryPointer, label: &BlockLabel) {
        if let Some(entry) = self.entries().live.get_mut(&place(memory)).and_then(|here| here.last_mut()) {
            entry.label = label.clone();
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        if !self.entries().forget(place(memory)) {
            tracing::error!(?memory, "memory was given back that was not tracked");
        }
    }
}

impl Entries {
    fn forget(&mut self, place: PointerKey) -> bool {
        let Some(here) = self.live.get_mut(&place) else { return false };
        here.pop();
        if here.is_empty() {
            self.live.remove(&place);
        }
        true
    }
}

impl<M: fmt::Debug> fmt::Debug for Tracking<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracking").field("inner", &self.inner).finish_non_exhaustive()
    }
}

fn place(memory: &MemoryPointer) -> PointerKey {
    (memory.buffer().as_raw(), memory.offset(), memory.tag())
}
