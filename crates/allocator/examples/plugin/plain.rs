//! A memory manager outside the library: device memory of its own, host memory from [`HostOnlyMemoryManager`].
//!
//! Each allocation is a `VkBuffer` and a `VkDeviceMemory`. A real plugin would take memory from another library instead. The
//! contract is in the docs of [`MemoryManager`]; the crate `vkarray-conformance` tests it.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ash::vk;
use vkarray_allocator::{
    DeferCleanup, Error, HostOnlyMemoryManager, HostOptions, HostPointer, INTERFACE_VERSION, MemoryKind, MemoryManager,
    MemoryPointer, Owner, Request, Result, Usage,
};
use vkarray_driver::{Device, Error as DriverError, Owned, Point};

/// The usage of every buffer.
const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// A buffer and its memory.
#[derive(Debug)]
struct Piece {
    memory: vk::DeviceMemory,
    buffer: Owned<vk::Buffer>,
    size: u64,
}

#[derive(Debug, Default)]
struct Pieces {
    live: HashMap<u64, Piece>,
    /// With the points after which they may be freed.
    dropped: Vec<(Vec<Point>, Piece)>,
}

/// The plugin.
#[derive(Debug, Default)]
pub(crate) struct PlainPlugin {
    host: HostOnlyMemoryManager,
    n_given: AtomicU64,
    n_guards: Arc<AtomicU64>,
    pieces: Mutex<Pieces>,
    device: OnceLock<Arc<Device>>,
}

impl PlainPlugin {
    /// Creates a manager for one device.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn device(&self) -> Result<&Arc<Device>> {
        self.device.get().ok_or(Error::NotInitialized)
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make(&self, size: u64) -> Result<Piece> {
        let (device, kind) = (self.device()?, MemoryKind::Device);
        let limit = device.info().limits.max_buffer_size;
        let rounded = size.max(1).checked_next_multiple_of(16).filter(|&bytes| bytes <= limit);
        let rounded = rounded.ok_or(Error::TooLarge { bytes: size, limit })?;
        let families = device.plan().families();
        let sharing = if families.len() > 1 { vk::SharingMode::CONCURRENT } else { vk::SharingMode::EXCLUSIVE };
        let info = vk::BufferCreateInfo::default()
            .size(rounded)
            .usage(USAGE)
            .sharing_mode(sharing)
            .queue_family_indices(&families);
        // SAFETY: `info` is complete and borrows the families.
        let buffer = unsafe { device.raw().create_buffer(&info, None) };
        let buffer = buffer.map_err(DriverError::from_call("vkCreateBuffer"))?;
        // SAFETY: made by this device just now, and not owned elsewhere; freed only when its last uses are over.
        let buffer = unsafe { Owned::new(buffer, device.logical()) };
        // SAFETY: the buffer is alive and of this device.
        let needs = unsafe { device.raw().get_buffer_memory_requirements(buffer.raw()) };
        let memory_type =
            kind.memory_type(device.info(), needs.memory_type_bits).ok_or(Error::NoSuchMemory { kind })?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(memory_type);
        // SAFETY: `info` is complete.
        let memory = unsafe { device.raw().allocate_memory(&info, None) };
        let memory = memory.map_err(DriverError::from_call("vkAllocateMemory"))?;
        // SAFETY: memory of a type that the buffer admits, large enough, and bound only here.
        let bound = unsafe { device.raw().bind_buffer_memory(buffer.raw(), memory, 0) };
        let piece = Piece { memory, buffer, size: needs.size };
        if let Err(code) = bound {
            release(device, piece);
            return Err(DriverError::from_call("vkBindBufferMemory")(code).into());
        }
        Ok(piece)
    }

    /// Frees pieces whose uses are over, unless frees are held back.
    fn free_done(&self) -> Result<()> {
        let device = self.device()?;
        if self.n_guards.load(Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let done = {
            let mut pieces = self.pieces();
            let (done, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut pieces.dropped)
                .into_iter()
                .partition(|(points, _)| points.iter().all(|point| point.is_complete().unwrap_or(false)));
            pieces.dropped = rest;
            done
        };
        done.into_iter().for_each(|(_, piece)| release(device, piece));
        Ok(())
    }
}

fn release(device: &Device, piece: Piece) {
    drop(piece.buffer); // Before the memory that it is bound to.
    // SAFETY: allocated by this device, owned by the piece, and no longer used.
    unsafe { device.raw().free_memory(piece.memory, None) };
}

// SAFETY: each allocation is a buffer and memory of its own, made by the device that the host's half accepted, and kept by
// its tag until it comes back and its last uses are over. What does not come back is leaked. Host memory is the other
// manager's, and goes back to it.
unsafe impl MemoryManager for PlainPlugin {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.host.initialize(device)?; // Refuses a second device, so there is one here too.
        self.device.get_or_init(|| Arc::clone(device));
        Ok(())
    }

    fn memalloc(&self, request: &Request) -> Result<MemoryPointer> {
        if request.kind != MemoryKind::Device {
            return Err(Error::NoSuchMemory { kind: request.kind });
        }
        let piece = self.make(request.size)?;
        let (buffer, tag) = (piece.buffer.raw(), self.n_given.fetch_add(1, Ordering::Relaxed));
        self.pieces().live.insert(tag, piece);
        // SAFETY: the buffer is for every use, of device memory, large enough, shared by all families of the plan, and
        // freed only after `memfree` and the last uses.
        Ok(unsafe { MemoryPointer::new(buffer, 0, request.size, request.kind) }.with_tag(tag))
    }

    fn memhostalloc(&self, size: u64, options: HostOptions) -> Result<HostPointer> {
        self.host.memhostalloc(size, options)
    }

    unsafe fn mempin(&self, owner: Owner, pointer: NonNull<u8>, size: u64, mapped: bool) -> Result<HostPointer> {
        // SAFETY: the caller keeps this function's contract, which is the same.
        unsafe { self.host.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        if self.host.owns(&memory) {
            // SAFETY: the caller keeps this function's contract, and memory of these kinds is the other manager's.
            return unsafe { self.host.memfree(memory) };
        }
        let Ok(device) = self.device() else { return };
        let points = device.points(memory.last_uses());
        let mut pieces = self.pieces();
        if let Some(piece) = pieces.live.remove(&memory.tag()) {
            pieces.dropped.push((points, piece));
        }
    }

    fn reset(&self) -> Result<()> {
        self.flush()?;
        self.host.reset()
    }

    fn defer_cleanup(&self) -> DeferCleanup {
        let (n_guards, host) = (Arc::clone(&self.n_guards), self.host.defer_cleanup());
        n_guards.fetch_add(1, Ordering::Relaxed);
        DeferCleanup::new(move || {
            n_guards.fetch_sub(1, Ordering::Relaxed);
            drop(host);
        })
    }

    fn try_flush(&self) -> Result<()> {
        self.free_done()?;
        self.host.try_flush()
    }

    fn flush(&self) -> Result<()> {
        if self.n_guards.load(Ordering::Relaxed) == 0 {
            let points: Vec<_> = self.pieces().dropped.iter().flat_map(|(points, _)| points.clone()).collect();
            points.iter().try_for_each(|point| point.wait(None))?; // Without the lock.
        }
        self.free_done()?;
        self.host.flush()
    }

    fn usage(&self) -> Usage {
        let (pieces, host) = (self.pieces(), self.host.usage());
        let pending: u64 = pieces.dropped.iter().map(|(_, piece)| piece.size).sum();
        let own = pieces.live.values().map(|piece| piece.size).sum::<u64>() + pending;
        Usage {
            in_use: own + host.in_use,
            reserved: own + host.reserved,
            n_pending: pieces.dropped.len() + host.n_pending,
            pending: pending + host.pending,
        }
    }
}

impl Drop for PlainPlugin {
    fn drop(&mut self) {
        let Some(device) = self.device.get() else { return };
        let Pieces { live, dropped } = std::mem::take(&mut *self.pieces());
        std::mem::forget(live); // The device or the host may still use memory that never came back.
        for (points, piece) in dropped {
            // What never ends is leaked, and so is what a failed wait leaves in doubt.
            let is_over = points.iter().all(|point| point.wait(Some(std::time::Duration::from_secs(10))).is_ok());
            if is_over {
                release(device, piece);
            } else {
                std::mem::forget(piece);
            }
        }
    }
}
