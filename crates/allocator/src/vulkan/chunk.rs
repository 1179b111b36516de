//! Chunks: a buffer with memory behind it, as the driver gives it.
//!
//! The one place that asks the driver for memory, through gpu-allocator. What is carved out of a chunk, and when a
//! chunk goes back, is for the memory managers. Which memory type serves which kind is `kind.rs`. Refusals are read in
//! `chunk/refusal.rs` and reported as `out_of_memory.rs` says.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, AllocatorCreateDesc};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_driver::{Device, HeapBudget, MemoryType, Owned};

use crate::error::{Error, Result};
use crate::memory::{Mapping, MemoryKind};
use crate::oom::{HeapUse, OutOfMemory, Shortage};
use crate::vulkan::budget_cache::BudgetCache;

/// Every block can be an argument of any kernel, and either side of any copy.
pub(crate) const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// Buffers are at least this large and a multiple of it: an array of no elements can still be bound, and a fill of
/// four-byte words reaches the last byte.
const GRANULE: u64 = 16;

/// A buffer and the memory bound to it. Goes back through [`ChunkSource::free`], and only there.
#[derive(Debug)]
#[must_use = "dropping a chunk leaks it"]
pub(crate) struct Chunk {
    buffer: vk::Buffer,
    allocation: Allocation,
    mapping: Option<Mapping>,
    size: u64,
}

impl Chunk {
    pub(crate) fn buffer(&self) -> vk::Buffer {
        self.buffer
    }

    /// The bytes of its buffer.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of memory that it takes, which alignment can make more than its buffer's.
    pub(crate) fn memory_size(&self) -> u64 {
        self.allocation.size()
    }

    /// Where the host addresses its first byte, if it can.
    pub(crate) fn mapping(&self) -> Option<Mapping> {
        self.mapping
    }
}

/// How a chunk's memory is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backing {
    /// A part of one of gpu-allocator's own blocks, or a block of its own when large.
    Shared,
    /// Memory of its own, whatever its size.
    Dedicated,
}

/// Bytes that a source has given out and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceUsage {
    /// Bytes of chunks.
    pub(crate) in_use: u64,
    /// Bytes taken from the driver.
    pub(crate) reserved: u64,
}

/// How long what the driver says of its heaps is good. Other processes take memory meanwhile.
const BUDGETS_GOOD_FOR: Duration = Duration::from_millis(10);

/// Asks the driver for chunks, and gives them back.
///
/// Its lock is held while the driver allocates, which takes milliseconds: nothing that must be quick waits for it.
pub(crate) struct ChunkSource {
    memory: Mutex<gpu_allocator::vulkan::Allocator>, // Before `device`: frees its pieces through it.
    /// Whose queues reach every chunk. Kept, not asked for each time.
    families: Vec<u32>,
    is_scarce: [bool; MemoryKind::ALL.len()],
    budgets: BudgetCache<Option<Vec<HeapBudget>>>,
    device: Arc<Device>,
}

impl ChunkSource {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self> {
        let mut debug_settings = AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false; // A leak here is deliberate, and reported where it is decided.
        let description = AllocatorCreateDesc {
            instance: device.physical().instance().raw().clone(),
            device: device.raw().clone(),
            physical_device: device.physical().raw(),
            debug_settings,
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::default(),
        };
        let memory = gpu_allocator::vulkan::Allocator::new(&description).map_err(Error::SubAllocator)?;
        let is_scarce = MemoryKind::ALL.map(|kind| kind.is_scarce(device.info()));
        let families = device.plan().families();
        let budgets = BudgetCache::new(BUDGETS_GOOD_FOR);
        let memory = Mutex::new(Rank::Chunks, memory);
        Ok(Self { memory, families, is_scarce, budgets, device: Arc::clone(device) })
    }

    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Makes a chunk of at least `size` bytes.
    pub(crate) fn make(&self, size: u64, kind: MemoryKind, backing: Backing) -> Result<Chunk> {
        let limit = self.device.info().limits.max_buffer_size;
        let rounded = size.max(1).checked_next_multiple_of(GRANULE).filter(|&bytes| bytes <= limit);
        let rounded = rounded.ok_or(Error::TooLarge { bytes: size, limit })?;
        self.check_window(rounded, kind)?;
        let buffer = self.create_buffer(rounded, kind)?;
        // SAFETY: the buffer is alive and of this device.
        let mut requirements = unsafe { self.device.raw().get_buffer_memory_requirements(buffer.raw()) };
        let memory_type = kind.memory_type(self.device.info(), requirements.memory_type_bits);
        let memory_type = memory_type.ok_or(Error::NoSuchMemory { kind })?;
        let MemoryType { host_coherent, .. } = self.device.info().memory_types[memory_type as usize];
        requirements.memory_type_bits = 1 << memory_type;
        requirements.alignment = requirements.alignment.max(GRANULE); // Both are powers of two. For host addresses.
        if !host_coherent {
            self.round_to_atoms(&mut requirements);
        }
        let allocation_scheme = match backing {
            Backing::Shared => AllocationScheme::GpuAllocatorManaged,
            Backing::Dedicated => AllocationScheme::DedicatedBuffer(buffer.raw()),
        };
        let description = AllocationCreateDesc {
            name: "chunk",
            requirements,
            location: MemoryLocation::Unknown, // The type is chosen already.
            linear: true,
            allocation_scheme,
        };
        // The lock is let go before the refusal is described, which takes it again.
        let allocated = self.memory().allocate(&description);
        self.budgets.forget();
        let allocation = allocated.map_err(|error| match Shortage::of_refusal(&error) {
            Some(shortage) => {
                let limit = self.device.info().limits.max_memory_allocation_size;
                self.out_of_memory(size, kind, shortage.beyond(description.requirements.size, limit))
            }
            None => Error::SubAllocator(error),
        })?;
        // SAFETY: the handle is used for the bind below and nothing else; the allocation is not freed before.
        let memory = unsafe { allocation.memory() };
        // SAFETY: the memory is of the type the buffer wants, aligned and large enough, and bound only here.
        let bound = unsafe { self.device.raw().bind_buffer_memory(buffer.raw(), memory, allocation.offset()) };
        if let Err(code) = bound {
            self.free_memory(allocation);
            return Err(self.refused("vkBindBufferMemory", code, size, kind));
        }
        let mapping = allocation.mapped_ptr().map(|address| match host_coherent {
            true => Mapping::from(address.cast()),
            // SAFETY: gpu-allocator has mapped the memory until it is freed, and this part of it, which is the chunk's
            // alone, begins and ends with an atom.
            false => unsafe { Mapping::non_coherent(address.cast(), memory, allocation.offset()) },
        });
        // The chunk owns the handle now; `free` destroys it.
        Ok(Chunk { buffer: buffer.into_raw(), allocation, mapping, size: rounded })
    }

    /// Refuses scarce memory that the driver's budget has no room for: some drivers would give it, and move it, or
    /// something else, to slower memory.
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

    /// No two chunks share an atom, so that none is flushed or invalidated with another.
    fn round_to_atoms(&self, requirements: &mut vk::MemoryRequirements) {
        let atom = self.device.info().limits.non_coherent_atom_size.max(1);
        requirements.alignment = requirements.alignment.max(atom); // Both are powers of two.
        requirements.size = requirements.size.next_multiple_of(atom);
    }

    /// Gives a chunk back to the driver.
    ///
    /// # Safety
    ///
    /// The chunk is of this source, and nothing uses its buffer any more, on the device or on the host.
    pub(crate) unsafe fn free(&self, chunk: Chunk) {
        // SAFETY: made by this device and owned by the chunk alone; the caller vouches that nothing uses it.
        drop(unsafe { Owned::new(chunk.buffer, self.device.logical()) });
        self.free_memory(chunk.allocation);
    }

    pub(crate) fn usage(&self) -> SourceUsage {
        let report = self.memory().generate_report();
        SourceUsage { in_use: report.total_allocated_bytes, reserved: report.total_capacity_bytes }
    }

    fn create_buffer(&self, size: u64, kind: MemoryKind) -> Result<Owned<vk::Buffer>> {
        let families = &self.families;
        // Streams and their transfers reach every block from any family, without handing it over.
        let sharing = if families.len() > 1 { vk::SharingMode::CONCURRENT } else { vk::SharingMode::EXCLUSIVE };
        let info = vk::BufferCreateInfo::default().size(size).usage(USAGE).sharing_mode(sharing);
        let info = if families.len() > 1 { info.queue_family_indices(families) } else { info };
        // SAFETY: `info` is complete; the size is checked against the device's limit.
        let raw = unsafe { self.device.raw().create_buffer(&info, None) }
            .map_err(|code| self.refused("vkCreateBuffer", code, size, kind))?;
        // SAFETY: just created, owned by nobody else, and used by no work yet.
        Ok(unsafe { Owned::new(raw, self.device.logical()) })
    }

    /// Says why a call failed.
    fn refused(&self, call: &'static str, code: vk::Result, bytes: u64, kind: MemoryKind) -> Error {
        match Shortage::of_code(code) {
            Some(shortage) => self.out_of_memory(bytes, kind, shortage),
            None => self.device.failed(call)(code).into(),
        }
    }

    /// Starts the report with what the source knows; the manager knows the rest.
    fn out_of_memory(&self, bytes: u64, kind: MemoryKind, shortage: Shortage) -> Error {
        let heap = self.heap(kind);
        let is_larger = heap.is_some_and(|heap| bytes > heap.size);
        let shortage = if is_larger && shortage == Shortage::DeviceMemory { Shortage::HeapSize } else { shortage };
        let SourceUsage { in_use, reserved } = self.usage();
        Error::OutOfMemory(Box::new(OutOfMemory { heap, in_use, reserved, ..OutOfMemory::new(bytes, kind, shortage) }))
    }

    /// The heap that memory of that kind comes from, as the driver describes it now.
    pub(crate) fn heap(&self, kind: MemoryKind) -> Option<HeapUse> {
        self.budgets.forget();
        self.recent_heap(kind)
    }

    /// The same, as it was at most ten milliseconds ago; later where this source took or gave back memory since.
    pub(crate) fn recent_heap(&self, kind: MemoryKind) -> Option<HeapUse> {
        let index = self.heap_index(kind)?;
        let size = self.device.info().memory_heaps[index as usize].size;
        let budgets = self.budgets.at(Instant::now(), || self.device.heap_budgets());
        let budget = budgets.and_then(|heaps| heaps.get(index as usize).copied());
        Some(HeapUse { index, size, budget })
    }

    /// Its place among the device's heaps.
    pub(crate) fn heap_index(&self, kind: MemoryKind) -> Option<u32> {
        let info = self.device.info();
        Some(info.memory_types[kind.memory_type(info, u32::MAX)? as usize].heap)
    }

    fn free_memory(&self, allocation: Allocation) {
        if let Err(error) = self.memory().free(allocation) {
            // Only for an allocation that is not this source's, which `free` asks its caller to rule out.
            unreachable!("gpu-allocator refused its own allocation: {error}");
        }
        self.budgets.forget();
    }

    fn memory(&self) -> MutexGuard<'_, gpu_allocator::vulkan::Allocator> {
        // No caller's code runs under the lock.
        self.memory.lock()
    }
}

impl fmt::Debug for ChunkSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkSource").field("usage", &self.usage()).finish_non_exhaustive()
    }
}
