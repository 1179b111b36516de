//! The passthrough manager: every allocation is a separate buffer, which is freed after its last uses.
//!
//! No buffer is reused, so the validation layer sees the allocations of the program unchanged. `fallback.rs` has the
//! steps that the manager takes when memory runs out.

mod counts;
mod fallback;

use std::mem;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, log_in_drop};

use self::counts::{ChunkStep, PassthroughCounts};
use super::{Counters, HostOptions, INTERFACE_VERSION, MemoryManager, Request, Usage};
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::manager::{MemoryInfo, OomCounts, OomFallback};
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::{DeferCleanup, DeferCount, PendingLimits, PendingQueue};
use crate::vulkan::{Chunk, ChunkSource, Imports, check_same_device};

/// Gives out every allocation as a separate buffer.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind, PassthroughManager, PendingLimits};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let manager = PassthroughManager::new().with_pending_limits(PendingLimits::new(0, 0.0)); // Frees at once.
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(manager))?;
/// drop(allocator.allocate(1000, MemoryKind::Device)?);
/// assert_eq!(allocator.usage().in_use, 0);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "CudaMemoryResource")]
#[derive(Debug, Default)]
pub struct PassthroughManager {
    limits: Option<PendingLimits>,
    deferrals: DeferCount,
    state: OnceLock<PassthroughState>,
}

struct PassthroughState {
    /// Memory that is given out.
    live: Mutex<LiveChunks>,
    /// Memory that came back.
    pending: PendingQueue<Dropped>,
    counts: Arc<PassthroughCounts>,
    imports: Imports,
    fallback: OomFallback,
    source: Arc<ChunkSource>,
}

/// Memory that came back. Dropping it frees the memory.
struct Dropped {
    kind: MemoryKind,
    chunk: Chunk,
    counts: Arc<PassthroughCounts>,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.counts.count(self.kind, ChunkStep::Freed, self.chunk.memory_size());
    }
}

/// Memory that is given out.
struct Live {
    chunk: Chunk,
    size: u64,
    heap: usize,
    label: BlockLabel,
}

/// All memory that is given out, by the tag of its pointer.
#[derive(Default)]
struct LiveChunks(SlotMap<DefaultKey, Live>);

impl LiveChunks {
    /// The chunk of a pointer. Pointers of other managers may have the same tag, so buffer and offset are compared too.
    fn get_mut(&mut self, memory: &MemoryPointer) -> Option<&mut Live> {
        let live = self.0.get_mut(key(memory))?;
        ((live.chunk.buffer(), 0) == (memory.buffer(), memory.offset())).then_some(live)
    }

    /// Removes the chunk of a pointer. Nothing changes if the pointer is not of this manager.
    fn take(&mut self, memory: &MemoryPointer) -> Option<Live> {
        self.get_mut(memory)?;
        self.0.remove(key(memory))
    }
}

fn key(memory: &MemoryPointer) -> DefaultKey {
    DefaultKey::from(KeyData::from_ffi(memory.tag()))
}

impl PassthroughManager {
    /// Creates a manager for one device, which [`MemoryManager::initialize`] names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how much dropped memory may wait to go back to the driver. Takes precedence over the environment; see
    /// [`PendingLimits::from_environment`].
    #[must_use]
    pub fn with_pending_limits(mut self, limits: PendingLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    fn state(&self) -> Result<&PassthroughState> {
        self.state.get().ok_or(Error::NotInitialized)
    }
}

// SAFETY: each piece of memory is a chunk of its own, of the device that the state was made for. It lives in `live`
// under its tag until it comes back, then in `pending` until its last uses are over. Host memory is mapped. `Imports`
// does the same for memory of the program. A state with memory that did not come back leaks it: see its `Drop`.
unsafe impl MemoryManager for PassthroughManager {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        if self.state.get().is_none() {
            let limits = self.limits.map_or_else(PendingLimits::from_environment, Ok)?;
            let pending = PendingQueue::with_limits(device, limits, self.deferrals.clone());
            let source = ChunkSource::new(device)?;
            let imports = Imports::new(device);
            let live = Mutex::new(Rank::PassthroughLive, LiveChunks::default());
            let (counts, fallback) = (Arc::default(), OomFallback::default());
            let state = PassthroughState { live, pending, counts, imports, fallback, source };
            // Another thread may have set the state first; that state serves as well.
            let _ = self.state.set(state);
        }
        check_same_device(self.state()?.source.device(), device)
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        self.state()?.allocate(request.size, request.kind, request.label.clone())
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        let pointer = self.state()?.allocate(size, options.kind(), BlockLabel::new())?;
        Ok(HostPointer::new(pointer, options.mapped).expect("memory of host kinds is mapped"))
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same as that of `pin`.
        unsafe { self.state()?.imports.pin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        let Some(state) = self.state.get() else { return };
        let Some(mut memory) = state.imports.end(memory) else { return };
        let Some(Live { chunk, heap, .. }) = state.live.lock().take(&memory) else {
            return log::error!("memory was given back that is not this manager's: {memory:?}");
        };
        let (kind, bytes, counts) = (memory.kind(), chunk.memory_size(), Arc::clone(&state.counts));
        state.counts.count(kind, ChunkStep::Dropped, bytes);
        let uses = mem::take(memory.last_uses_mut());
        state.pending.push(uses, heap, bytes, Dropped { kind, chunk, counts });
        // The error is the loss of the device, which the next call that returns errors reports. The entry stays in the
        // queue.
        if let Err(error) = state.pending.free_due() {
            log::warn!("dropped memory stays pending: {error}");
        }
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        self.memory_info_of(MemoryKind::Device)
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        let state = self.state()?;
        let heap = state.source.recent_heap(kind).ok_or(Error::NoSuchMemory { kind })?;
        let index = heap.index as usize;
        let live: u64 =
            state.live.lock().0.values().filter(|live| live.heap == index).map(|live| live.chunk.memory_size()).sum();
        Ok(MemoryInfo::of(heap, live + state.pending.bytes_on(index), 0))
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        self.deferrals.guard()
    }

    fn try_flush(&self) -> Result<()> {
        let state = self.state()?;
        state.imports.pending.try_flush()?;
        state.pending.try_flush()
    }

    fn flush(&self) -> Result<()> {
        let state = self.state()?;
        state.imports.pending.flush()?;
        state.pending.flush()
    }

    fn usage(&self) -> Usage {
        let Some(state) = self.state.get() else {
            return Usage::default();
        };
        let ((n_chunks, chunks), (n_imports, imports)) = (state.pending.pending(), state.imports.pending.pending());
        let held = state.source.usage();
        let (n_pending, pending) = (n_chunks + n_imports, chunks + imports);
        Usage { in_use: held.in_use, reserved: held.reserved, n_pending, pending }
    }

    fn counters(&self) -> Counters {
        self.state.get().map_or_else(Counters::default, |state| state.counts.counters())
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        self.state.get()?.live.lock().get_mut(memory).map(|live| live.label.clone())
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        let Some(state) = self.state.get() else { return };
        if let Some(live) = state.live.lock().get_mut(memory) {
            live.label = label;
        }
    }

    fn oom_counts(&self) -> OomCounts {
        self.state.get().map_or_else(OomCounts::default, |state| state.fallback.counts())
    }
}

impl PassthroughState {
    fn allocate(&self, size: u64, kind: MemoryKind, label: BlockLabel) -> Result<MemoryPointer> {
        self.pending.free_due()?;
        let chunk = self.make(size, kind)?;
        let (buffer, mapping) = (chunk.buffer(), chunk.mapping());
        self.counts.count(kind, ChunkStep::Made, chunk.memory_size());
        // The tag of the pointer is the key of the chunk; see `key`.
        let tag = self.live.lock().0.insert(Live { chunk, size, heap: self.heap(kind), label }).data().as_ffi();
        // SAFETY: the source made the buffer for every use, on this device, with at least `size` bytes rounded up to 16.
        // Nothing else lies in it, and it stays in `live` until `memfree`, then in `pending` until the last uses are over.
        let pointer = unsafe { MemoryPointer::new(buffer, 0, size, kind) };
        // SAFETY: the source makes each buffer and its memory so.
        let pointer = unsafe { pointer.with_device_address() }.with_tag(tag);
        Ok(match mapping {
            // SAFETY: the source mapped the chunk from its first byte on, which gpu-allocator aligned to at least 16, for
            // as long as it lives, and says whether it is coherent.
            Some(mapping) => unsafe { pointer.with_mapping(mapping) },
            None => pointer,
        })
    }

    /// The heap of memory of this kind.
    fn heap(&self, kind: MemoryKind) -> usize {
        self.source.heap_index(kind).map_or(0, |heap| heap as usize)
    }
}

impl Drop for PassthroughState {
    fn drop(&mut self) {
        // Memory that was never given back may be in use, so it is leaked, and its source with it.
        let live = mem::take(self.live.get_mut());
        if !live.0.is_empty() {
            log_in_drop(|| log::error!("memory is leaked: {} allocations were never given back", live.0.len()));
        }
        mem::forget(live);
        self.source.leak_if_forked();
    }
}

vkarray_driver::debug_fields!(PassthroughState, this => source: this.source);
