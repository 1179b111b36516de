//! Chunks: buffers with memory behind them, in the sizes that the driver gives.
//!
//! This file and `external.rs` allocate device memory, here through gpu-allocator. Managers cut chunks into ranges and
//! decide when a chunk goes back. `kind/memory_kind.rs` chooses the memory type of a kind; `refusal.rs` classifies errors.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{BUFFER_USAGE, Device, HeapBudget, MemoryType, Owned};

use crate::error::{Error, HeapUse, OutOfMemory, Result, Shortage};
use crate::kind::MemoryKind;
use crate::memory::Mapping;
use crate::vulkan::budget_cache::BudgetCache;

/// Sizes of buffers are multiples of this, and not zero: an empty array can still be bound, and a fill with four-byte words
/// reaches the last byte.
const GRANULE: u64 = 16;

/// A buffer and the memory bound to it. Dropping it frees both, so a manager keeps it until the uses of everything that
/// lies in it are over, and leaks it if they never end.
#[derive(Debug)]
pub(crate) struct Chunk {
    buffer: Owned<vk::Buffer>, // Destroyed before the memory it is bound to.
    memory: ChunkMemory,
    mapping: Option<Mapping>,
    size: u64,
}

/// The memory of a chunk or an image. A leaked chunk keeps the source alive, whose end would free the memory of all chunks.
#[derive(Debug)]
pub(crate) struct ChunkMemory {
    allocation: Allocation,
    source: Arc<ChunkSource>,
}

impl Drop for ChunkMemory {
    fn drop(&mut self) {
        if self.source.leak_if_forked() {
            return;
        }
        if let Err(error) = self.source.memory.lock().free(mem::take(&mut self.allocation)) {
            // Only for an allocation of another source, and each chunk holds its own.
            unreachable!("gpu-allocator refused its own allocation: {error}");
        }
        self.source.budgets.forget();
    }
}

impl Chunk {
    pub(crate) fn buffer(&self) -> vk::Buffer {
        self.buffer.raw()
    }

    /// Bytes of the chunk's buffer.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of the chunk's memory, which alignment can make larger than the buffer.
    pub(crate) fn memory_size(&self) -> u64 {
        self.memory.allocation.size()
    }

    /// The mapping of the chunk's first byte, if the host addresses it.
    pub(crate) fn mapping(&self) -> Option<Mapping> {
        self.mapping
    }
}

/// How a chunk's memory is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backing {
    /// Part of a memory block of gpu-allocator, or a dedicated allocation when large.
    Shared,
    /// A dedicated allocation, for any size.
    Dedicated,
}

/// Bytes that a source has given out and taken from the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceUsage {
    /// Bytes of chunks.
    pub(crate) in_use: u64,
    /// Bytes taken from the driver.
    pub(crate) reserved: u64,
}

/// How long the driver's budgets are cached. Other processes allocate meanwhile.
const BUDGETS_GOOD_FOR: Duration = Duration::from_millis(10);

/// Takes chunks from the driver. A chunk gives itself back.
///
/// The lock is held while the driver allocates, which takes milliseconds. Fast paths never take the lock.
pub(crate) struct ChunkSource {
    /// No caller's code runs under the lock.
    memory: Mutex<gpu_allocator::vulkan::Allocator>, // Dropped before `device`, through which it frees.
    is_scarce: [bool; MemoryKind::ALL.len()],
    budgets: BudgetCache<Option<Vec<HeapBudget>>>,
    device: Arc<Device>,
}

impl ChunkSource {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        let mut debug_settings = AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false; // Leaks here are deliberate, and reported by the manager.
        let description = AllocatorCreateDesc {
            instance: device.physical().instance().raw().clone(),
            device: device.raw().clone(),
            physical_device: device.physical().raw(),
            debug_settings,
            buffer_device_address: device.plan().features.buffer_device_address,
            allocation_sizes: AllocationSizes::default(),
        };
        let memory = gpu_allocator::vulkan::Allocator::new(&description).map_err(Error::SubAllocator)?;
        let is_scarce = MemoryKind::ALL.map(|kind| kind.is_scarce(device.info()));
        let budgets = BudgetCache::new(BUDGETS_GOOD_FOR);
        let memory = Mutex::new(Rank::Chunks, memory);
        Ok(Arc::new(Self { memory, is_scarce, budgets, device: Arc::clone(device) }))
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Leaks the source in a forked process, since its memory belongs to the parent process. Returns whether it did.
    pub(crate) fn leak_if_forked(self: &Arc<Self>) -> bool {
        if self.device.is_forked() {
            mem::forget(Arc::clone(self));
        }
        self.device.is_forked()
    }

    /// Makes a chunk of at least `size` bytes.
    pub(crate) fn make(self: &Arc<Self>, size: u64, kind: MemoryKind, backing: Backing) -> Result<Chunk> {
        let rounded = buffer_size(&self.device, size)?;
        self.check_window(rounded, kind)?;
        let buffer = create_buffer(&self.device, rounded, None)
            .map_err(|code| self.refused("vkCreateBuffer", code, rounded, kind))?;
        // SAFETY: the buffer is alive and of this device.
        let mut requirements = unsafe { self.device.raw().get_buffer_memory_requirements(buffer.raw()) };
        requirements.alignment = requirements.alignment.max(GRANULE); // Both are powers of two. The granule is for host addresses.
        let allocation_scheme = match backing {
            Backing::Shared => AllocationScheme::GpuAllocatorManaged,
            Backing::Dedicated => AllocationScheme::DedicatedBuffer(buffer.raw()),
        };
        let (memory, MemoryType { host_coherent, .. }) =
            self.allocate(requirements, allocation_scheme, (size, kind))?;
        let (allocation, mapped) = (&memory.allocation, memory.allocation.mapped_ptr());
        // SAFETY: the handle is used for the bind and the mapping below; the allocation is not freed before the chunk.
        let raw = unsafe { allocation.memory() };
        // SAFETY: the memory is of the type the buffer requires, aligned and large enough, and bound only here.
        unsafe { self.device.raw().bind_buffer_memory(buffer.raw(), raw, allocation.offset()) }
            .map_err(|code| self.refused("vkBindBufferMemory", code, size, kind))?;
        let mapping = mapped.map(|address| match host_coherent {
            true => Mapping::from(address.cast()),
            // SAFETY: gpu-allocator has mapped the memory until it is freed. This part of the memory, which belongs to
            // the chunk alone, begins and ends with an atom.
            false => unsafe { Mapping::non_coherent(address.cast(), raw, allocation.offset()) },
        });
        Ok(Chunk { buffer, memory, mapping, size: rounded })
    }

    /// Makes memory for an image, which is bound to it. `kind` is one of device memory.
    pub(crate) fn make_image(self: &Arc<Self>, image: vk::Image, kind: MemoryKind) -> Result<ChunkMemory> {
        // SAFETY: the image is alive and of this device.
        let requirements = unsafe { self.device.raw().get_image_memory_requirements(image) };
        let size = requirements.size;
        self.check_window(size, kind)?;
        let (memory, _) = self.allocate(requirements, AllocationScheme::DedicatedImage(image), (size, kind))?;
        // SAFETY: the handle is used for the bind below; the allocation is not freed before the image, by its owner.
        let raw = unsafe { memory.allocation.memory() };
        // SAFETY: the memory is of a type that the image allows, aligned and large enough, and bound only here.
        unsafe { self.device.raw().bind_image_memory(image, raw, memory.allocation.offset()) }
            .map_err(|code| self.refused("vkBindImageMemory", code, size, kind))?;
        Ok(memory)
    }

    /// Takes memory of the best type for the kind; where the driver has no more of it, of another type of the same heap.
    /// Drivers give out less of the memory that the host addresses than the heap has. An error says that `size` bytes were
    /// asked for.
    fn allocate(
        self: &Arc<Self>,
        requirements: vk::MemoryRequirements,
        allocation_scheme: AllocationScheme,
        (size, kind): (u64, MemoryKind),
    ) -> Result<(ChunkMemory, MemoryType)> {
        let (device, mut admitted) = (self.device.info(), requirements.memory_type_bits);
        let linear = !matches!(allocation_scheme, AllocationScheme::DedicatedImage(_));
        loop {
            let chosen = kind.memory_type(device, admitted).ok_or(Error::NoSuchMemory { kind })?;
            let memory_type = device.memory_types[chosen as usize];
            let mut requirements = vk::MemoryRequirements { memory_type_bits: 1 << chosen, ..requirements };
            if !memory_type.host_coherent && linear {
                // Whole atoms, so that no chunk is flushed or invalidated with another.
                let atom = device.limits.non_coherent_atom_size.max(1);
                requirements.alignment = requirements.alignment.max(atom); // Both are powers of two.
                requirements.size = requirements.size.next_multiple_of(atom);
            }
            admitted = kind.instead_of(chosen, device, admitted);
            let location = MemoryLocation::Unknown; // The memory type is chosen already.
            let description = AllocationCreateDesc { name: "chunk", requirements, location, linear, allocation_scheme };
            // The lock is released before the error is described, which takes it again.
            let allocated = self.memory.lock().allocate(&description);
            self.budgets.forget();
            match allocated.map_err(|error| (Shortage::of_refusal(&error), error)) {
                Ok(allocation) => return Ok((ChunkMemory { allocation, source: Arc::clone(self) }, memory_type)),
                Err((Some(_), _)) if admitted != 0 => {}
                Err((Some(shortage), _)) => {
                    let shortage = shortage.beyond(requirements.size, device.limits.max_memory_allocation_size);
                    return Err(self.out_of_memory(size, kind, shortage));
                }
                Err((None, error)) => return Err(Error::SubAllocator(error)),
            }
        }
    }

    /// Refuses scarce memory beyond the driver's budget: some drivers would allocate it and then move allocations to slower
    /// memory.
    fn check_window(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        if !self.is_scarce[kind.index()] {
            return Ok(());
        }
        let left =
            self.heap(kind).and_then(|heap| heap.budget).map(|budget| budget.budget.saturating_sub(budget.usage));
        match left {
            Some(left) if left < bytes => Err(self.out_of_memory(bytes, kind, Shortage::Budget(left))),
            _ => Ok(()),
        }
    }

    pub(crate) fn usage(&self) -> SourceUsage {
        let report = self.memory.lock().generate_report();
        SourceUsage { in_use: report.total_allocated_bytes, reserved: report.total_capacity_bytes }
    }

    /// The error of a failed call.
    fn refused(&self, call: &'static str, code: vk::Result, bytes: u64, kind: MemoryKind) -> Error {
        match Shortage::of_code(code) {
            Some(shortage) => self.out_of_memory(bytes, kind, shortage),
            None => self.device.failed(call)(code).into(),
        }
    }

    /// The report of memory running out, with the figures of this source. The manager adds the rest.
    fn out_of_memory(&self, bytes: u64, kind: MemoryKind, shortage: Shortage) -> Error {
        let heap = self.heap(kind);
        let is_larger = heap.is_some_and(|heap| bytes > heap.size);
        let shortage = if is_larger && shortage == Shortage::DeviceMemory { Shortage::HeapSize } else { shortage };
        let SourceUsage { in_use, reserved } = self.usage();
        Error::OutOfMemory(Box::new(OutOfMemory { heap, in_use, reserved, ..OutOfMemory::new(bytes, kind, shortage) }))
    }

    /// The heap of a kind, with the driver's current budget.
    pub(crate) fn heap(&self, kind: MemoryKind) -> Option<HeapUse> {
        self.budgets.forget();
        self.recent_heap(kind)
    }

    /// The heap of a kind. The budget is at most ten milliseconds old, and newer than the last change by this source.
    pub(crate) fn recent_heap(&self, kind: MemoryKind) -> Option<HeapUse> {
        let index = self.heap_index(kind)?;
        let size = self.device.info().memory_heaps[index as usize].size;
        let budgets = self.budgets.at(Instant::now(), || self.device.heap_budgets());
        let budget = budgets.and_then(|heaps| heaps.get(index as usize).copied());
        Some(HeapUse { index, size, budget })
    }

    /// The index of the heap of a kind.
    pub(crate) fn heap_index(&self, kind: MemoryKind) -> Option<u32> {
        kind.chosen(self.device.info()).map(|chosen| chosen.heap)
    }
}

/// The size of the buffer that is made for `size` bytes.
pub(super) fn buffer_size(device: &Device, size: u64) -> Result<u64> {
    let limit = device.info().limits.max_buffer_size;
    let rounded = size.max(1).checked_next_multiple_of(GRANULE).filter(|&bytes| bytes <= limit);
    rounded.ok_or(Error::TooLarge { bytes: size, limit })
}

/// Creates a buffer. Memory of the handle type can be bound to it, if there is one. Other memory has an address on devices
/// with the feature.
pub(super) fn create_buffer(
    device: &Device,
    size: u64,
    external: Option<vk::ExternalMemoryHandleTypeFlags>,
) -> std::result::Result<Owned<vk::Buffer>, vk::Result> {
    let families = device.plan().families();
    // Streams of any family use every block without ownership transfers.
    let sharing = if families.len() > 1 { vk::SharingMode::CONCURRENT } else { vk::SharingMode::EXCLUSIVE };
    let has_address = external.is_none() && device.plan().features.buffer_device_address;
    let address = if has_address { vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS } else { vk::BufferUsageFlags::empty() };
    // Vulkan ignores the families of an exclusive buffer.
    let mut info = vk::BufferCreateInfo::default()
        .size(size)
        .usage(BUFFER_USAGE | address)
        .sharing_mode(sharing)
        .queue_family_indices(&families);
    let mut handles = external.map(|handle| vk::ExternalMemoryBufferCreateInfo::default().handle_types(handle));
    if let Some(handles) = &mut handles {
        info = info.push_next(handles);
    }
    // SAFETY: `info` is complete and borrows what it points to; the caller checks the size against the device's limit.
    let raw = unsafe { device.raw().create_buffer(&info, None) }?;
    // SAFETY: just created, not owned elsewhere, and not used by any work yet.
    Ok(unsafe { Owned::new(raw, device.logical()) })
}

/// Takes memory of its own from the driver for a buffer, and binds it. `refused` makes the error of a refusal.
///
/// # Safety
///
/// The size and the type of `info` are what the buffer requires. Memory that `info` imports is as the import asks, and
/// stays until the result is dropped.
pub(super) unsafe fn memory_of(
    device: &Device,
    buffer: &Owned<vk::Buffer>,
    info: &vk::MemoryAllocateInfo<'_>,
    refused: impl FnOnce(vk::Result) -> Error,
) -> Result<Owned<vk::DeviceMemory>> {
    // SAFETY: `info` borrows what it points to; the caller promises the rest.
    let raw = unsafe { device.raw().allocate_memory(info, None) }.map_err(refused)?;
    // SAFETY: the memory was made just now, nothing else owns it, and no work uses it yet.
    let memory = unsafe { Owned::new(raw, device.logical()) };
    // SAFETY: the memory is of a type that the buffer allows, as large as the buffer needs, and bound only here.
    unsafe { device.raw().bind_buffer_memory(buffer.raw(), raw, 0) }.map_err(device.failed("vkBindBufferMemory"))?;
    Ok(memory)
}

vkarray_driver::debug_fields!(ChunkSource, this => usage: this.usage());
