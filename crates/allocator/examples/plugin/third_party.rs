//! A memory manager over another library: device memory from gpu-allocator, host memory from [`HostOnlyMemoryManager`].
//!
//! gpu-allocator decides where memory comes from; each allocation is a `VkBuffer` that is bound to memory from it. The
//! contract is in the docs of [`MemoryManager`]; the crate `vkarray-conformance` tests it.

use std::collections::HashMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ash::vk;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};
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
    memory: Allocation,
    buffer: Owned<vk::Buffer>,
    size: u64,
}

#[derive(Debug, Default)]
struct Pieces {
    live: HashMap<u64, Piece>,
    /// Dropped pieces, with the points after which they may be freed.
    dropped: Vec<(Vec<Point>, Piece)>,
}

/// The plugin.
#[derive(Default)]
pub(crate) struct GpuAllocatorPlugin {
    host: HostOnlyMemoryManager,
    n_given: AtomicU64,
    n_guards: Arc<AtomicU64>,
    pieces: Mutex<Pieces>,
    library: OnceLock<Mutex<Allocator>>, // Dropped before the device, through which it frees.
    device: OnceLock<Arc<Device>>,
}

impl GpuAllocatorPlugin {
    /// Creates a manager for one device.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn device(&self) -> Result<&Arc<Device>> {
        self.device.get().ok_or(Error::NotInitialized)
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn library(&self) -> Result<MutexGuard<'_, Allocator>> {
        let library = self.library.get().ok_or(Error::NotInitialized)?;
        Ok(library.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn make(&self, size: u64) -> Result<Piece> {
        let device = self.device()?;
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
        // SAFETY: this device made the buffer just now, and nothing else owns it; it is freed only when its last uses
        // are over.
        let buffer = unsafe { Owned::new(buffer, device.logical()) };
        // SAFETY: the buffer is alive and of this device.
        let needs = unsafe { device.raw().get_buffer_memory_requirements(buffer.raw()) };
        let wanted = AllocationCreateDesc {
            name: "vkarray",
            requirements: needs,
            location: MemoryLocation::GpuOnly,
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        };
        let memory = self.library()?.allocate(&wanted).map_err(refused)?;
        // SAFETY: the handle is only bound, and the allocation is kept with the buffer.
        let handle = unsafe { memory.memory() };
        // SAFETY: the memory is of a type that the buffer admits, is large enough, and is bound only here.
        let bound = unsafe { device.raw().bind_buffer_memory(buffer.raw(), handle, memory.offset()) };
        let piece = Piece { memory, buffer, size: needs.size };
        if let Err(code) = bound {
            self.release(piece);
            return Err(DriverError::from_call("vkBindBufferMemory")(code).into());
        }
        Ok(piece)
    }

    fn release(&self, piece: Piece) {
        drop(piece.buffer); // Before the memory that it is bound to.
        if let Err(error) = self.library().and_then(|mut library| library.free(piece.memory).map_err(refused)) {
            eprintln!("gpu-allocator did not take memory back: {error}");
        }
    }

    /// Frees pieces whose uses are over, unless frees are held back.
    fn free_done(&self) -> Result<()> {
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
        done.into_iter().for_each(|(_, piece)| self.release(piece));
        Ok(())
    }
}

/// The error of the runtime for an error of gpu-allocator.
fn refused(error: AllocationError) -> Error {
    match error {
        AllocationError::OutOfMemory => {
            DriverError::from_call("vkAllocateMemory")(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY).into()
        }
        error => Error::SubAllocator(error),
    }
}

// SAFETY: each allocation is a buffer of its own and memory that gpu-allocator gives to it alone, made by the device
// that the host's half accepted, and kept by its tag until it comes back and its last uses are over. Memory that does
// not come back is leaked, and then gpu-allocator with it. Host memory belongs to the other manager, and goes back to
// it.
unsafe impl MemoryManager for GpuAllocatorPlugin {
    fn interface_version(&self) -> u32 {
        INTERFACE_VERSION
    }

    fn initialize(&self, device: &Arc<Device>) -> Result<()> {
        self.host.initialize(device)?; // Refuses a second device, so there is one here too.
        let mut debug_settings = AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false; // Leaks here are deliberate.
        let library = Allocator::new(&AllocatorCreateDesc {
            instance: device.physical().instance().raw().clone(),
            device: device.raw().clone(),
            physical_device: device.physical().raw(),
            debug_settings,
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::default(),
        });
        let library = library.map_err(refused)?;
        self.device.get_or_init(|| Arc::clone(device));
        self.library.get_or_init(|| Mutex::new(library)); // Another thread may have set the library first.
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
        // SAFETY: the caller keeps this function's contract, which is the same as the other manager's.
        unsafe { self.host.mempin(owner, pointer, size, mapped) }
    }

    unsafe fn memfree(&self, memory: MemoryPointer) {
        if self.host.owns(&memory) {
            // SAFETY: the caller keeps this function's contract, and memory of these kinds belongs to the other
            // manager.
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

impl fmt::Debug for GpuAllocatorPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuAllocatorPlugin").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl Drop for GpuAllocatorPlugin {
    fn drop(&mut self) {
        let Pieces { live, dropped } = std::mem::take(&mut *self.pieces());
        let mut is_all_free = live.is_empty();
        std::mem::forget(live); // The device or the host may still use memory that never came back.
        for (points, piece) in dropped {
            // Pieces whose work never ends are leaked, and so are pieces whose wait failed.
            let is_over = points.iter().all(|point| point.wait(Some(std::time::Duration::from_secs(10))).is_ok());
            if is_over {
                self.release(piece);
            } else {
                std::mem::forget(piece);
                is_all_free = false;
            }
        }
        if !is_all_free {
            std::mem::forget(self.library.take()); // Dropping it would free the leaked memory.
        }
    }
}
