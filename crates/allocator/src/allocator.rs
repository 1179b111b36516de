//! The allocator of one device: blocks out of large pieces of memory, and the queue of what was dropped.
//!
//! Sub-allocation is gpu-allocator's; which memory type serves which kind is `kind.rs`. Nothing is freed before the
//! device is done with it: dropped blocks pass through `cleanup.rs`.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;
use gpu_allocator::vulkan::{AllocationCreateDesc, AllocationScheme, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use vkarray_driver::{Device, Error as DriverError, Owned, Point};

use crate::block::{Block, Parts};
use crate::cleanup::{CleanupQueue, Completion};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// Every block can be an argument of any kernel, and either side of any copy.
const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw()
        | vk::BufferUsageFlags::INDIRECT_BUFFER.as_raw()
        | vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// Buffers are at least this large and a multiple of it: an array of no elements can still be bound, and a fill of
/// four-byte words reaches the last byte.
const GRANULE: u64 = 16;

/// How long closing the allocator asks a driver that refuses to say whether it is done.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it pauses between two questions.
const PAUSE: Duration = Duration::from_millis(1);

impl Completion for Point {
    type Error = DriverError;

    fn is_complete(&self) -> Result<bool, DriverError> {
        Point::is_complete(self)
    }

    fn wait(&self) -> Result<(), DriverError> {
        Point::wait(self, None)
    }
}

/// Bytes held and pending, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of blocks that live or wait to be freed.
    pub in_use: u64,
    /// Bytes taken from the driver.
    pub reserved: u64,
    /// Dropped blocks that the device may still use.
    pub n_pending: usize,
    /// Their bytes.
    pub pending: u64,
}

/// Gives out blocks of a device's memory.
pub struct Allocator {
    cleanup: Mutex<CleanupQueue<Point, Parts>>, // Taken alone, never together with `memory`.
    memory: ManuallyDrop<Mutex<gpu_allocator::vulkan::Allocator>>, // Before `device`: frees its pieces through it.
    /// Whose queues reach every block. Kept, not asked for at each allocation.
    families: Vec<u32>,
    device: Arc<Device>,
}

impl Allocator {
    /// Creates the allocator of a device. Takes no memory yet.
    ///
    /// # Errors
    ///
    /// [`Error::SubAllocator`] if gpu-allocator refuses the device.
    pub fn new(device: &Arc<Device>) -> Result<Arc<Self>> {
        let mut debug_settings = AllocatorDebugSettings::default();
        debug_settings.log_leaks_on_shutdown = false; // A leak here is deliberate, and reported by `drop`.
        let description = AllocatorCreateDesc {
            instance: device.physical().instance().raw().clone(),
            device: device.raw().clone(),
            physical_device: device.physical().raw(),
            debug_settings,
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::default(),
        };
        let memory = gpu_allocator::vulkan::Allocator::new(&description).map_err(Error::SubAllocator)?;
        Ok(Arc::new(Self {
            cleanup: Mutex::default(),
            memory: ManuallyDrop::new(Mutex::new(memory)),
            families: device.plan().families(),
            device: Arc::clone(device),
        }))
    }

    /// The device whose memory it gives out.
    #[must_use]
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Allocates `size` bytes, uninitialised. Zero bytes are a block like any other.
    ///
    /// When memory runs out, what is pending is waited for and freed, and the allocation is tried once more.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], [`Error::NoSuchMemory`], [`Error::OutOfMemory`]; those of waiting for the device.
    pub fn allocate(self: &Arc<Self>, size: u64, kind: MemoryKind) -> Result<Arc<Block>> {
        self.device.check_lost()?;
        self.try_flush()?;
        let parts = match self.try_allocate(size, kind) {
            // The sub-allocator says so when the host's memory runs out.
            Err(Error::OutOfMemory { .. } | Error::SubAllocator(_)) => {
                self.flush()?;
                self.try_allocate(size, kind)?
            }
            other => other?,
        };
        Ok(Arc::new(Block::new(self, parts, size, kind)))
    }

    /// Frees the dropped blocks that the device is done with. Never blocks.
    ///
    /// # Errors
    ///
    /// [`DriverError::DeviceLost`]; nothing is freed then.
    pub fn try_flush(&self) -> Result<()> {
        self.check_process()?;
        let ready = self.cleanup().take_ready()?;
        self.free(ready);
        Ok(())
    }

    /// Frees every dropped block: waits until the device is done with those dropped before the call.
    ///
    /// # Errors
    ///
    /// Those of waiting; what is not waited for stays pending.
    pub fn flush(&self) -> Result<()> {
        self.check_process()?;
        loop {
            let Some(last_uses) = self.cleanup().oldest().map(<[Point]>::to_vec) else { return Ok(()) };
            // Nothing is locked here: waiting may send work, and other threads may drop blocks.
            last_uses.iter().try_for_each(Completion::wait)?;
            self.try_flush()?;
        }
    }

    /// Frees every dropped block at last, also those of a device that has failed, once it is done with them.
    fn drain(&self) -> Result<()> {
        self.check_process()?;
        let begun = Instant::now();
        loop {
            match self.flush() {
                Err(_) if self.device.check_lost().is_err() => {
                    self.device.settle()?;
                    let all = self.cleanup().take_all();
                    self.free(all);
                    return Ok(());
                }
                Err(Error::Driver(refused)) if refused.is_out_of_memory() && begun.elapsed() < DRAIN_TIMEOUT => {
                    thread::sleep(PAUSE);
                }
                other => return other,
            }
        }
    }

    /// Bytes held and pending now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let (n_pending, pending) = self.cleanup().pending();
        let report = self.memory().generate_report();
        Usage { in_use: report.total_allocated_bytes, reserved: report.total_capacity_bytes, n_pending, pending }
    }

    /// Takes over what is left of a dropped block.
    pub(crate) fn release(&self, last_uses: Vec<Point>, parts: Parts) {
        let bytes = parts.allocation.size();
        self.cleanup().push(last_uses, bytes, parts);
        // An error is the device's loss: the next call that can report it does, and the entry stays.
        if let Err(error) = self.try_flush() {
            tracing::warn!(%error, "dropped memory stays pending");
        }
    }

    /// In a forked process the locks may be held by threads that are not there.
    fn check_process(&self) -> Result<()> {
        if self.device.is_forked() { Ok(self.device.check_lost()?) } else { Ok(()) }
    }

    fn try_allocate(&self, size: u64, kind: MemoryKind) -> Result<Parts> {
        let limit = self.device.info().limits.max_buffer_size;
        let rounded = size.max(1).checked_next_multiple_of(GRANULE).filter(|&bytes| bytes <= limit);
        let rounded = rounded.ok_or(Error::TooLarge { bytes: size, limit })?;
        let buffer = self.create_buffer(rounded, kind)?;
        // SAFETY: the buffer is alive and of this device.
        let mut requirements = unsafe { self.device.raw().get_buffer_memory_requirements(buffer.raw()) };
        let memory_type = kind.memory_type(self.device.info(), requirements.memory_type_bits);
        requirements.memory_type_bits = 1 << memory_type.ok_or(Error::NoSuchMemory { kind })?;
        let description = AllocationCreateDesc {
            name: "block",
            requirements,
            location: MemoryLocation::Unknown, // The type is chosen already.
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        };
        // The lock is let go before the refusal is described, which takes it again.
        let allocated = self.memory().allocate(&description);
        let allocation = allocated.map_err(|error| self.refused(error, size, kind))?;
        // SAFETY: the handle is used for the bind below and nothing else; the allocation is not freed before.
        let memory = unsafe { allocation.memory() };
        // SAFETY: the memory is of the type the buffer wants, aligned and large enough, and bound only here.
        let bound = unsafe { self.device.raw().bind_buffer_memory(buffer.raw(), memory, allocation.offset()) };
        if let Err(code) = bound {
            self.free_memory(allocation);
            return Err(self.device.failed("vkBindBufferMemory")(code).into());
        }
        // The parts own the handle now; `free` destroys it.
        Ok(Parts { buffer: buffer.into_raw(), allocation })
    }

    fn create_buffer(&self, size: u64, kind: MemoryKind) -> Result<Owned<vk::Buffer>> {
        let families = &self.families;
        // Streams and their transfers reach every block from any family, without handing it over.
        let sharing = if families.len() > 1 { vk::SharingMode::CONCURRENT } else { vk::SharingMode::EXCLUSIVE };
        let info = vk::BufferCreateInfo::default().size(size).usage(USAGE).sharing_mode(sharing);
        let info = if families.len() > 1 { info.queue_family_indices(families) } else { info };
        // SAFETY: `info` is complete; the size is checked against the device's limit.
        let raw = unsafe { self.device.raw().create_buffer(&info, None) }.map_err(|code| {
            let error = self.device.failed("vkCreateBuffer")(code);
            if error.is_out_of_memory() { self.out_of_memory(size, kind) } else { error.into() }
        })?;
        // SAFETY: just created, owned by nobody else, and used by no work yet.
        Ok(unsafe { Owned::new(raw, &self.device) })
    }

    fn refused(&self, error: AllocationError, bytes: u64, kind: MemoryKind) -> Error {
        match error {
            AllocationError::OutOfMemory => self.out_of_memory(bytes, kind),
            other => Error::SubAllocator(other),
        }
    }

    fn out_of_memory(&self, bytes: u64, kind: MemoryKind) -> Error {
        let usage = self.usage();
        Error::OutOfMemory { bytes, kind, in_use: usage.in_use, reserved: usage.reserved }
    }

    fn free(&self, ready: Vec<Parts>) {
        for Parts { buffer, allocation } in ready {
            // SAFETY: made by this device; every last use is over; the parts were its only owner.
            drop(unsafe { Owned::new(buffer, &self.device) });
            self.free_memory(allocation);
        }
    }

    fn free_memory(&self, allocation: gpu_allocator::vulkan::Allocation) {
        if let Err(error) = self.memory().free(allocation) {
            // Only for an allocation that is not this allocator's, which `Parts` rules out.
            unreachable!("gpu-allocator refused its own allocation: {error}");
        }
    }

    fn cleanup(&self) -> MutexGuard<'_, CleanupQueue<Point, Parts>> {
        // No caller's code runs under the lock.
        self.cleanup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, gpu_allocator::vulkan::Allocator> {
        // No caller's code runs under the lock.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        // Every block held this allocator, so all are in the queue. What cannot be waited for is leaked, with the
        // memory it lies in: freeing it under the device's feet is worse.
        match self.drain() {
            // SAFETY: dropped here and never touched again.
            Ok(()) => unsafe { ManuallyDrop::drop(&mut self.memory) },
            Err(error) => tracing::error!(%error, "memory is leaked: its last use never ended"),
        }
    }
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocator").field("usage", &self.usage()).finish_non_exhaustive()
    }
}
