//! The arena: a linear allocator for work in frames. Memory of a frame is taken back all at once.
//!
//! A ring of frames lies in memory of another manager, which also serves requests that are not for frames. Reusing a
//! frame never waits on the host: the next users of the frame are ordered on the device after the previous ones. The
//! arithmetic is in `frame.rs`.

mod frame;

use std::mem;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, log_in_drop};

use self::frame::Ring;
use super::{Counters, HostOptions, INTERFACE_VERSION, MemoryManager, Request, Usage};
use crate::error::{Error, OutOfMemory, Result, Shortage};
use crate::kind::{BlockLabel, MemoryKind};
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::{PendingUses, Uses};
use crate::vulkan::check_same_device;

/// Gives out device memory of the current frame. Clones are handles to the same arena: the allocator gets one handle,
/// and the program keeps another, to end frames with.
///
/// A block of a frame behaves like any other block. While it is alive, its frame cannot be reused. Host memory and
/// [`MemoryKind::Shared`] come from the other manager.
///
/// ```
/// use vkarray_allocator::{Allocator, ArenaManager, Error, MemoryKind, PoolManager};
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let arena = ArenaManager::new(Box::new(PoolManager::new()), 2, 1 << 16)?; // Two frames of 64 KiB.
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let allocator = Allocator::with_manager(&device, Box::new(arena.clone()))?;
/// let block = allocator.allocate(1000, MemoryKind::Device)?;
/// arena.next_frame()?;
/// assert!(matches!(arena.next_frame(), Err(Error::FrameInUse { frame: 0, n_blocks: 1 })));
/// drop(block);
/// assert_eq!(arena.next_frame()?, 2); // In the memory of frame 0.
/// # Ok(())
/// # }
/// ```
#[doc(alias = "ArenaMemoryResource")]
#[derive(Debug, Clone)]
pub struct ArenaManager {
    shared: Arc<ArenaShared>,
}

#[derive(Debug)]
struct ArenaShared {
    upstream: Box<dyn MemoryManager>,
    frame_bytes: u64,
    n_frames: usize,
    state: OnceLock<ArenaState>,
}

/// The frames of one device.
struct ArenaState {
    /// A panic under the lock leaves no change half done.
    ring: Mutex<Ring<PendingUses>>,
    /// Each frame's memory, in the ring's order.
    memory: Vec<MemoryPointer>,
    /// Blocks of frames that were given out.
    n_allocated: AtomicU64,
    /// Blocks of frames that came back.
    n_freed: AtomicU64,
    device: Arc<Device>,
}

impl ArenaManager {
    /// Creates an arena of `n_frames` frames of `frame_bytes` bytes each, in memory of `upstream`. Takes the memory when
    /// it is initialised.
    ///
    /// # Errors
    ///
    /// [`Error::BadArena`] without frames or bytes, or with more bytes than a `u64` can count.
    pub fn new(upstream: Box<dyn MemoryManager>, n_frames: usize, frame_bytes: u64) -> Result<Self> {
        let bytes = frame_bytes.checked_next_multiple_of(frame::ALIGNMENT).filter(|&bytes| bytes > 0 && n_frames > 0);
        let frame_bytes = bytes.ok_or(Error::BadArena { n_frames, frame_bytes })?;
        Ok(Self { shared: Arc::new(ArenaShared { upstream, frame_bytes, n_frames, state: OnceLock::new() }) })
    }

    /// The number of the current frame. Numbers start at 0 and continue when memory is reused.
    ///
    /// # Errors
    ///
    /// [`Error::NotInitialized`]; [`Forked`](vkarray_driver::Error::Forked).
    pub fn frame(&self) -> Result<u64> {
        let state = self.state()?;
        state.device.check_process()?;
        Ok(state.ring.lock().current())
    }

    /// Ends the current frame and begins the next, in the memory of the oldest frame. Returns the number of the new
    /// frame. Never blocks: new work in that memory waits on the device for the work that still uses it.
    ///
    /// # Errors
    ///
    /// [`Error::FrameInUse`] if a block of the oldest frame is still alive; the current frame continues then.
    /// [`Error::NotInitialized`]; [`DeviceLost`](vkarray_driver::Error::DeviceLost).
    pub fn next_frame(&self) -> Result<u64> {
        let state = self.state()?;
        state.device.check_lost()?;
        let mut ring = state.ring.lock();
        let begun = ring.advance().map_err(|(frame, n_blocks)| Error::FrameInUse { frame, n_blocks })?;
        let mut previous_uses = ring.previous_uses().clone();
        drop(ring); // The device's tracker is asked without the lock.
        if previous_uses.forget_complete(&state.device).is_ok() {
            let mut ring = state.ring.lock();
            if ring.current() == begun {
                // If the query fails, the uses are kept until the frame is reused.
                *ring.previous_uses() = previous_uses;
            }
        }
        Ok(begun)
    }

    fn state(&self) -> Result<&ArenaState> {
        self.shared.state.get().ok_or(Error::NotInitialized)
    }

    fn source(&self) -> &dyn MemoryManager {
        &*self.shared.upstream
    }

    /// The index in the ring of the frame that the memory lies in; `None` if the memory is not the arena's.
    fn frame_of(&self, memory: &MemoryPointer) -> Option<usize> {
        let frames = &self.shared.state.get()?.memory;
        frames.iter().position(|frame| {
            let end = frame.offset() + frame.size();
            frame.buffer() == memory.buffer() && (frame.offset()..end).contains(&memory.offset())
        })
    }

    fn allocate(&self, size: u64) -> Result<MemoryPointer> {
        let state = self.state()?;
        let kind = MemoryKind::Device;
        let mut ring = state.ring.lock();
        let Some((place, offset)) = ring.allocate(size) else {
            let mut report = OutOfMemory::new(size, kind, Shortage::Limit(self.shared.frame_bytes));
            report.largest_free = Some(ring.left());
            drop(ring);
            let Usage { in_use, reserved, .. } = self.usage();
            (report.in_use, report.reserved) = (in_use, reserved);
            return Err(Error::OutOfMemory(Box::new(report)));
        };
        let previous_uses = ring.previous_uses().clone();
        drop(ring);
        state.n_allocated.fetch_add(1, Ordering::Release);
        let frame = &state.memory[place];
        // SAFETY: the bytes are a frame's, whose memory is as a pointer's must be by the contract of the other manager, and
        // stays as long as one of its blocks. The ring gives them out once until they came back, at multiples of 256.
        let pointer =
            unsafe { MemoryPointer::new(frame.buffer(), frame.offset() + offset, size, kind) }.carrying(previous_uses);
        let pointer = match frame.is_addressable() {
            // SAFETY: the buffer is the frame's, of which the other manager says so.
            true => unsafe { pointer.with_device_address() },
            false => pointer,
        };
        let Some(start) = frame.mapping() else { return Ok(pointer) };
        // SAFETY: the offset lies inside the frame's mapping, and is a multiple of 256.
        let mapping = unsafe { start.after(offset) };
        // SAFETY: the frame is mapped for as long as it lives, and says whether it is coherent.
        Ok(unsafe { pointer.with_mapping(mapping) })
    }
}

vkarray_driver::debug_fields!(ArenaState, this => current: this.ring.lock().current());

impl ArenaShared {
    /// Gives frames back to the other manager, with the uses that may still be made of them. A frame with a block that
    /// never came back is leaked.
    fn end(&self, ArenaState { ring, memory, .. }: ArenaState) {
        let mut ring = ring.into_inner();
        for (place, mut frame) in memory.into_iter().enumerate() {
            let n_live = ring.n_live(place);
            if n_live > 0 {
                log_in_drop(|| {
                    log::error!("a frame of an arena is leaked: {n_live} of its blocks were never given back");
                });
                continue;
            }
            *frame.last_uses_mut() = ring.take_uses(place);
            // SAFETY: the other manager gave the frame out. All of its blocks came back, and these are their last uses.
            unsafe { self.upstream.memfree(frame) };
        }
    }
}

impl Drop for ArenaShared {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.end(state);
        }
    }
}

// SAFETY: a frame is memory of the other manager, of the same device, and lives as long as the arena; a frame with a
// block that never came back is leaked. The ring cuts a frame into ranges that do not overlap, and gives no range out
// again before all blocks of the frame came back, and then after their uses. All other memory belongs to the other
// manager, and is passed on unchanged.
unsafe impl MemoryManager for ArenaManager {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn upstream(&self) -> Option<&dyn MemoryManager> {
        Some(&*self.shared.upstream)
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.source().initialize(device)?;
        if let Some(state) = self.shared.state.get() {
            return check_same_device(&state.device, device);
        }
        let ArenaShared { frame_bytes, n_frames, .. } = *self.shared;
        let label = BlockLabel::new().with_name("frame of an arena");
        let request = Request::new(frame_bytes, MemoryKind::Device).with_label(label);
        let mut memory: Vec<MemoryPointer> = Vec::new();
        let taken = (0..n_frames).try_for_each(|_| {
            memory.push(self.source().memalloc(&request)?);
            Ok(())
        });
        let uses = memory.iter_mut().map(|frame| mem::take(frame.last_uses_mut())).collect();
        let (ring, device) = (Mutex::new(Rank::ArenaFrames, Ring::new(frame_bytes, uses)), Arc::clone(device));
        let state = ArenaState { ring, memory, n_allocated: AtomicU64::new(0), n_freed: AtomicU64::new(0), device };
        let unused = if taken.is_ok() { self.shared.state.set(state).err() } else { Some(state) };
        if let Some(state) = unused {
            self.shared.end(state); // Memory ran out, or another thread initialised the arena first, whose frames serve as well.
        }
        taken
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        if request.kind == MemoryKind::Device { self.allocate(request.size) } else { self.source().memalloc(request) }
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        self.source().memhostalloc(size, options)
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same as the other manager's.
        unsafe { self.source().mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, mut memory: MemoryPointer) {
        let (Some(place), Some(state)) = (self.frame_of(&memory), self.shared.state.get()) else {
            // SAFETY: the caller keeps this function's contract, and memory outside of frames belongs to the other
            // manager.
            return unsafe { self.source().memfree(memory) };
        };
        let uses = mem::take(memory.last_uses_mut());
        if !state.ring.lock().free(place, |held| held.merge(&uses)) {
            return log::error!(
                "memory was given back to a frame of an arena of which all blocks are back: {memory:?}"
            );
        }
        state.n_freed.fetch_add(1, Ordering::Release);
    }

    /// Refuses device memory: the frames are allocated when the arena is initialised.
    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        if kind == MemoryKind::Device {
            return Err(Error::Unsupported { what: "taking more memory for the frames of an arena" });
        }
        self.source().reserve(bytes, kind)
    }

    /// The counters. Only blocks of frames count as given out here. Bytes and chunks are the other manager's, for which
    /// each frame is a block. All are zero if that manager does not count.
    fn counters(&self) -> Counters {
        let mut counters = self.source().counters();
        let state = self.shared.state.get().filter(|_| counters != Counters::default());
        if let Some(ArenaState { memory, n_allocated, n_freed, .. }) = state {
            // Read in this order, so that no more blocks came back than were given out.
            let (n_freed, n_frames) = (n_freed.load(Ordering::Acquire), memory.len() as u64);
            let n_allocated = n_allocated.load(Ordering::Acquire);
            counters.allocations = counters.allocations.saturating_sub(n_frames) + n_allocated;
            counters.n_in_use = counters.n_in_use.saturating_sub(n_frames) + (n_allocated - n_freed);
        }
        counters
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        if self.frame_of(memory).is_some() { None } else { self.source().label(memory) }
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        // Memory of a frame is never reported by itself.
        if self.frame_of(memory).is_none() {
            self.source().set_label(memory, label);
        }
    }
}
