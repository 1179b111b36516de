//! The arena: memory for one frame of work after the other, given out by moving a number and taken back all at once.
//!
//! A ring of frames lies in memory of another manager, which also serves what is not for frames. Coming round to a frame
//! waits for nobody: who gets its memory next is ordered on the device after those that had it before. The arithmetic
//! is `arena/frame.rs`.

mod frame;

use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use vkarray_driver::Device;
use vkarray_driver::hazard::{LastUses, absorb};
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};

use self::frame::Ring;
use super::{Counters, DeferCleanup, HostOptions, INTERFACE_VERSION, IpcHandle, MemoryManager, Request, Usage};
use crate::error::{Error, Result};
use crate::manager::{MemoryInfo, Pending};
use crate::memory::{BlockLabel, HostPointer, MemoryKind, MemoryPointer, Owner};
use crate::oom::{OomCounts, OutOfMemory, Shortage};
use crate::vulkan::check_same_device;

/// Gives out device memory of the current frame. Clones are handles to the same arena: one goes to the allocator, and
/// another stays with the program, to end frames with.
///
/// A block of a frame is a block like any other. It is kept alive as long as somebody holds it, and keeps its frame from
/// coming round. Host memory and [`MemoryKind::Shared`] are the other manager's.
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
    ring: Mutex<Ring<LastUses>>,
    /// Each frame's memory, in the ring's order.
    memory: Vec<MemoryPointer>,
    /// Blocks of frames that were given out and that came back.
    n_allocated: AtomicU64,
    n_freed: AtomicU64,
    device: Arc<Device>,
}

impl ArenaManager {
    /// Makes an arena of `n_frames` frames of `frame_bytes` bytes each, in memory of `upstream`. Takes the memory when
    /// it is initialised.
    ///
    /// # Errors
    ///
    /// [`Error::BadArena`] without frames or bytes, or with more bytes than can be counted.
    pub fn new(upstream: Box<dyn MemoryManager>, n_frames: usize, frame_bytes: u64) -> Result<Self> {
        let bytes = frame_bytes.checked_next_multiple_of(frame::ALIGNMENT).filter(|&bytes| bytes > 0 && n_frames > 0);
        let frame_bytes = bytes.ok_or(Error::BadArena { n_frames, frame_bytes })?;
        Ok(Self { shared: Arc::new(ArenaShared { upstream, frame_bytes, n_frames, state: OnceLock::new() }) })
    }

    /// The number of the current frame, counted from 0 over all rounds.
    ///
    /// # Errors
    ///
    /// [`Error::NotInitialized`]; [`Forked`](vkarray_driver::Error::Forked).
    pub fn frame(&self) -> Result<u64> {
        let state = self.state()?;
        state.device.check_process()?;
        Ok(state.ring().current())
    }

    /// Ends the current frame and begins the next, whose memory is that of the oldest. Returns its number. Never
    /// blocks: work that still uses the memory is waited for on the device, by the work that comes to use it next.
    ///
    /// # Errors
    ///
    /// [`Error::FrameInUse`] if a block of the oldest frame is still held; the current frame goes on then.
    /// [`Error::NotInitialized`]; [`DeviceLost`](vkarray_driver::Error::DeviceLost).
    pub fn next_frame(&self) -> Result<u64> {
        let state = self.state()?;
        state.device.check_lost()?;
        let mut ring = state.ring();
        let begun = ring.advance().map_err(|(frame, n_blocks)| Error::FrameInUse { frame, n_blocks })?;
        let mut previous_uses = ring.previous_uses().clone();
        drop(ring); // The device's book is asked without it.
        if state.device.forget_complete(&mut previous_uses).is_ok() {
            let mut ring = state.ring();
            if ring.current() == begun {
                *ring.previous_uses() = previous_uses; // Else it is remembered a round longer.
            }
        }
        Ok(begun)
    }

    fn state(&self) -> Result<&ArenaState> {
        self.shared.state.get().ok_or(Error::NotInitialized)
    }

    fn upstream(&self) -> &dyn MemoryManager {
        &*self.shared.upstream
    }

    /// Gives back frames of which nothing was given out, with the uses that they came with.
    fn give_frames_back(&self, memory: Vec<MemoryPointer>, uses: Vec<LastUses>) {
        for (frame, uses) in memory.into_iter().zip(uses) {
            // SAFETY: `initialize` got the frame from the other manager, and nothing of it was given out since.
            unsafe { self.upstream().memfree(frame.after(uses)) };
        }
    }

    /// The frame of the ring that memory lies in, if it is the arena's.
    fn place(&self, memory: &MemoryPointer) -> Option<usize> {
        let frames = &self.shared.state.get()?.memory;
        frames.iter().position(|frame| {
            let end = frame.offset() + frame.size();
            frame.buffer() == memory.buffer() && (frame.offset()..end).contains(&memory.offset())
        })
    }

    fn allocate(&self, size: u64) -> Result<MemoryPointer> {
        let state = self.state()?;
        let kind = MemoryKind::Device;
        let mut ring = state.ring();
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
            unsafe { MemoryPointer::new(frame.buffer(), frame.offset() + offset, size, kind) }.after(previous_uses);
        let Some(start) = frame.mapping() else { return Ok(pointer) };
        // SAFETY: the offset lies inside the frame's mapping, and is a multiple of 256.
        let mapping = unsafe { start.after(offset) };
        // SAFETY: the frame is mapped for as long as it lives, and says whether it is coherent.
        Ok(unsafe { pointer.with_mapping(mapping) })
    }
}

impl ArenaState {
    fn ring(&self) -> MutexGuard<'_, Ring<LastUses>> {
        // Each change is whole before anything can panic.
        self.ring.lock()
    }
}

impl fmt::Debug for ArenaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaState").field("current", &self.ring().current()).finish_non_exhaustive()
    }
}

impl Drop for ArenaShared {
    fn drop(&mut self) {
        let Some(ArenaState { ring, memory, .. }) = self.state.take() else { return };
        let mut ring = ring.into_inner();
        for (place, mut frame) in memory.into_iter().enumerate() {
            let n_live = ring.n_live(place);
            if n_live > 0 {
                tracing::error!(n_live, "the frame of an arena is leaked: some of it was never given back");
                continue;
            }
            frame.set_last_uses(ring.take_uses(place));
            // SAFETY: the other manager gave the frame out. All of its blocks have come back, and these are their last uses.
            unsafe { self.upstream.memfree(frame) };
        }
    }
}

// SAFETY: a frame is memory of the other manager, of the same device, and lives as long as the arena; a frame with a block
// that never came back is leaked. The ring cuts it into ranges that do not overlap, and gives no range out again before
// all blocks of the frame came back, and then after their uses. All else is the other manager's, passed on unchanged.
unsafe impl MemoryManager for ArenaManager {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.upstream().initialize(device)?;
        if let Some(state) = self.shared.state.get() {
            return check_same_device(&state.device, device);
        }
        let ArenaShared { frame_bytes, n_frames, .. } = *self.shared;
        let label = BlockLabel::new().with_name("frame of an arena");
        let request = Request::new(frame_bytes, MemoryKind::Device).with_label(label);
        let mut memory: Vec<MemoryPointer> = Vec::new();
        let mut uses = Vec::new();
        for _ in 0..n_frames {
            match self.upstream().memalloc(&request) {
                Ok(mut frame) => {
                    uses.push(frame.take_last_uses());
                    memory.push(frame);
                }
                Err(error) => {
                    self.give_frames_back(memory, uses);
                    return Err(error);
                }
            }
        }
        let (ring, device) = (Mutex::new(Rank::ArenaFrames, Ring::new(frame_bytes, uses)), Arc::clone(device));
        let state = ArenaState { ring, memory, n_allocated: AtomicU64::new(0), n_freed: AtomicU64::new(0), device };
        if let Err(ArenaState { memory, ring, .. }) = self.shared.state.set(state) {
            // Somebody else was quicker; theirs is as good.
            let mut ring = ring.into_inner();
            let uses = (0..memory.len()).map(|place| ring.take_uses(place)).collect();
            self.give_frames_back(memory, uses);
        }
        Ok(())
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        if request.kind == MemoryKind::Device { self.allocate(request.size) } else { self.upstream().memalloc(request) }
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        self.upstream().memhostalloc(size, options)
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps the same promises.
        unsafe { self.upstream().mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, mut memory: MemoryPointer) {
        let (Some(place), Some(state)) = (self.place(&memory), self.shared.state.get()) else {
            // SAFETY: the caller keeps this function's contract, and what lies in no frame is the other manager's.
            return unsafe { self.upstream().memfree(memory) };
        };
        let uses = memory.take_last_uses();
        if !state.ring().free(place, |held| uses.iter().for_each(|last| absorb(held, last))) {
            return tracing::error!(?memory, "memory was given back to an arena that gave none of this frame out");
        }
        state.n_freed.fetch_add(1, Ordering::Release);
    }

    fn get_ipc_handle(&self, memory: &MemoryPointer) -> Result<IpcHandle> {
        self.upstream().get_ipc_handle(memory)
    }

    fn get_memory_info(&self) -> Result<MemoryInfo> {
        self.upstream().get_memory_info()
    }

    fn memory_info_of(&self, kind: MemoryKind) -> Result<MemoryInfo> {
        self.upstream().memory_info_of(kind)
    }

    fn reset(&self) -> Result<()> {
        self.upstream().reset()
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        self.upstream().defer_cleanup()
    }

    fn try_flush(&self) -> Result<()> {
        self.upstream().try_flush()
    }

    fn flush(&self) -> Result<()> {
        self.upstream().flush()
    }

    /// Of kinds that are not for frames: those are there from the start.
    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        if kind == MemoryKind::Device {
            return Err(Error::Unsupported { what: "taking more memory for the frames of an arena" });
        }
        self.upstream().reserve(bytes, kind)
    }

    fn trim(&self, keep: u64) -> Result<u64> {
        self.upstream().trim(keep)
    }

    /// Blocks as given out here; bytes and chunks those of the other manager, for which each frame is a block. Nothing if
    /// that does not count.
    fn counters(&self) -> Counters {
        let mut counters = self.upstream().counters();
        let state = self.shared.state.get().filter(|_| counters != Counters::default());
        if let Some(ArenaState { memory, n_allocated, n_freed, .. }) = state {
            // Back first: what comes back was given out before.
            let (n_freed, n_frames) = (n_freed.load(Ordering::Acquire), memory.len() as u64);
            let n_allocated = n_allocated.load(Ordering::Acquire);
            counters.allocations = counters.allocations.saturating_sub(n_frames) + n_allocated;
            counters.n_in_use = counters.n_in_use.saturating_sub(n_frames) + (n_allocated - n_freed);
        }
        counters
    }

    /// That of the other manager, for which all frames are in use.
    fn usage(&self) -> Usage {
        self.upstream().usage()
    }

    /// That of the other manager: memory of a frame never waits to be freed, it goes with its frame.
    fn pending(&self) -> Pending {
        self.upstream().pending()
    }

    fn label(&self, memory: &MemoryPointer) -> Option<BlockLabel> {
        if self.place(memory).is_some() { None } else { self.upstream().label(memory) }
    }

    fn set_label(&self, memory: &MemoryPointer, label: BlockLabel) {
        // Memory of a frame goes with its frame, so nobody asks who holds it.
        if self.place(memory).is_none() {
            self.upstream().set_label(memory, label);
        }
    }

    fn oom_counts(&self) -> OomCounts {
        self.upstream().oom_counts()
    }
}
