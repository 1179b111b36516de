//! Lists memory that was given out and not given back, to find leaks.
//!
//! An entry is removed before the manager inside gets the memory back, since another thread may be given it at once.

use std::backtrace::Backtrace;
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use ash::vk::Handle;

use vkarray_driver::lock::{Mutex, Rank};

use super::Adaptor;
use crate::kind::{BlockLabel, MemoryKind};
use crate::manager::{MemoryManager, Request};
use crate::memory::MemoryPointer;

/// Memory that was given out and not given back.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outstanding {
    /// The number of the allocation among all allocations, from zero on.
    pub nth: u64,
    /// The bytes, as requested.
    pub bytes: u64,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The label of the memory.
    pub label: BlockLabel,
    /// Where the memory was allocated, if the adaptor records that.
    pub backtrace: Option<Arc<Backtrace>>,
}

/// Buffer, offset and tag.
type PointerKey = (u64, u64, u64);

#[derive(Debug, Default)]
struct Entries {
    n_allocations: u64,
    /// The entries by key. Several entries have one key only where they have no bytes.
    live: HashMap<PointerKey, Vec<Outstanding>>,
}

/// Keeps a list of live memory.
///
/// ```
/// use std::sync::Arc;
///
/// use vkarray_allocator::{Allocator, MemoryKind, PoolManager, Tracking};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let tracking = Arc::new(Tracking::new(PoolManager::new()));
/// let allocator = Allocator::with_manager(&device, Box::new(Arc::clone(&tracking)))?;
/// let block = allocator.allocate(100, MemoryKind::Device)?;
/// block.set_label("weights");
/// assert_eq!(tracking.report(), "allocation 0: 100 bytes of device memory, used by `weights`\n");
/// drop(block);
/// assert!(tracking.outstanding().is_empty());
/// # Ok(())
/// # }
/// ```
#[doc(alias = "TrackingResourceAdaptor")]
pub struct Tracking<M> {
    /// A panic under the lock leaves no change half done.
    entries: Mutex<Entries>,
    with_backtraces: bool,
    inner: M,
}

impl<M: MemoryManager> Tracking<M> {
    /// Tracks the memory that `inner` gives out from here on.
    pub fn new(inner: M) -> Self {
        Self { entries: Mutex::new(Rank::Tracking, Entries::default()), with_backtraces: false, inner }
    }

    /// Records where each allocation is made. Slow, and useful only with debug information.
    #[must_use]
    pub fn with_backtraces(mut self) -> Self {
        self.with_backtraces = true;
        self
    }

    /// Live memory, the oldest first.
    pub fn outstanding(&self) -> Vec<Outstanding> {
        let mut all: Vec<_> = self.entries.lock().live.values().flatten().cloned().collect();
        all.sort_by_key(|entry| entry.nth);
        all
    }

    /// A line for each piece of live memory, with its backtrace below it; empty where there is none.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text = String::new();
        for Outstanding { nth, bytes, kind, label, backtrace } in self.outstanding() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "allocation {nth}: {bytes} bytes of {kind} memory, used by {label}");
            if let Some(backtrace) = backtrace {
                let _ = writeln!(text, "{backtrace}");
            }
        }
        text
    }
}

// SAFETY: the manager inside is a private field that nothing assigns to.
unsafe impl<M: MemoryManager> Adaptor for Tracking<M> {
    fn inner(&self) -> &dyn MemoryManager {
        &self.inner
    }

    fn after(&self, request: &Request, given: Option<&MemoryPointer>) {
        let Some(memory) = given else { return };
        let backtrace = self.with_backtraces.then(|| Arc::new(Backtrace::force_capture()));
        let mut entries = self.entries.lock();
        let (nth, label) = (entries.n_allocations, request.label.clone());
        entries.n_allocations += 1;
        let entry = Outstanding { nth, bytes: memory.size(), kind: memory.kind(), label, backtrace };
        entries.live.entry(place(memory)).or_default().push(entry);
    }

    fn relabelled(&self, memory: &MemoryPointer, label: &BlockLabel) {
        if let Some(entry) = self.entries.lock().live.get_mut(&place(memory)).and_then(|here| here.last_mut()) {
            entry.label = label.clone();
        }
    }

    fn freeing(&self, memory: &MemoryPointer) {
        if !self.entries.lock().forget(place(memory)) {
            log::error!("memory was given back that is not in the list: {memory:?}");
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

vkarray_driver::debug_fields!([M: fmt::Debug] Tracking<M>, this => inner: this.inner);

fn place(memory: &MemoryPointer) -> PointerKey {
    (memory.buffer().as_raw(), memory.offset(), memory.tag())
}
