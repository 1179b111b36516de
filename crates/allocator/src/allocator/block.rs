//! [`Block`]: a range of a manager's memory whose uses the device tracks.
//!
//! Arrays share a block and view it. The last handle to be dropped gives the memory back to its manager, together with
//! the work that may still use it. A block has bytes only; elements are in the ndarray crate.

use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use ash::vk;
use vkarray_driver::Device;
use vkarray_driver::hazard::{BlockAccess, BlockId, Stage};

use crate::allocator::Allocator;
use crate::allocator::image::Images;
use crate::error::{Error, Result};
use crate::kind::{BlockLabel, MemoryKind};
use crate::memory::{BlockSide, Mapping, MemoryPointer};

/// Kernels read and write whole words of four bytes.
const WORD: u64 = 4;

/// A piece of memory for kernels and copies: bytes of a buffer.
///
/// Dropping it never blocks, and never frees memory that the device may still use.
///
/// ```
/// use vkarray_allocator::{Allocator, MemoryKind};
/// use vkarray_driver::Stream;
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
/// let block = allocator.allocate(16, MemoryKind::Device)?;
/// block.fill(&stream, 0x0101_0101)?;
/// block.copy_from_host(&stream, 12, &[2; 4])?;
/// let mut bytes = [0; 16];
/// block.copy_to_host(&stream, 0, &mut bytes)?;
/// assert_eq!((bytes[0], bytes[15]), (1, 2));
/// # Ok(())
/// # }
/// ```
#[doc(alias = "AutoFreePointer")]
#[doc(alias = "piMemBufferCreate")]
#[doc(alias = "urMemBufferCreate")]
pub struct Block {
    memory: Option<MemoryPointer>, // `None` once it was given back.
    /// Assigned at the first use, so that memory which is never used is not tracked.
    id: OnceLock<BlockId>,
    pub(super) images: OnceLock<Box<Images>>,
    /// The number of resets of the allocator when the block was made.
    generation: u64,
    allocator: Arc<Allocator>,
}

impl Block {
    pub(crate) fn new(allocator: &Arc<Allocator>, memory: MemoryPointer) -> Self {
        let (id, images, generation) = (OnceLock::new(), OnceLock::new(), allocator.generation());
        Self { memory: Some(memory), id, images, generation, allocator: Arc::clone(allocator) }
    }

    /// The size of the block in bytes, as requested.
    pub fn size(&self) -> u64 {
        self.memory().size()
    }

    /// The kind of the block's memory.
    pub fn kind(&self) -> MemoryKind {
        self.memory().kind()
    }

    /// The device of the block's memory.
    #[inline]
    pub fn device(&self) -> &Arc<Device> {
        self.allocator.device()
    }

    /// The allocator that made the block.
    pub fn allocator(&self) -> &Arc<Allocator> {
        &self.allocator
    }

    /// The buffer that the block is a part of. Using the handle needs `unsafe` code, whose author keeps to the rules of
    /// Vulkan.
    #[inline]
    pub fn buffer(&self) -> vk::Buffer {
        self.memory().buffer()
    }

    /// The position of the block's first byte in the buffer: a multiple of 256, which every device can bind.
    #[inline]
    pub fn buffer_offset(&self) -> u64 {
        self.memory().offset()
    }

    /// Describes the bytes `range` of the block for a descriptor. The range may end after the last byte, at the next
    /// multiple of four.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::DeadMemory`].
    #[inline]
    pub fn binding(&self, range: &Range<u64>) -> Result<vk::DescriptorBufferInfo> {
        let memory = self.memory();
        self.check_within(range, memory.size().next_multiple_of(WORD))?;
        let (offset, range) = (memory.offset() + range.start, range.end - range.start);
        Ok(vk::DescriptorBufferInfo { buffer: memory.buffer(), offset, range })
    }

    /// The address of the first byte on the device, for kernels that reach memory by it. The address says nothing of how long
    /// the memory lives, and nothing is ordered by it: a launch that reaches the block names it.
    ///
    /// # Errors
    ///
    /// [`Error::NoAddress`] where the device was opened without `bufferDeviceAddress`, and for memory of other processes, of
    /// the program, or of a manager that does not say that it has an address
    /// ([`MemoryPointer::with_device_address`](crate::MemoryPointer::with_device_address)); [`Error::DeadMemory`].
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance};
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let allocator = Allocator::new(&device)?;
    /// let block = allocator.allocate(16, MemoryKind::Device)?;
    /// assert_eq!(block.device_address().is_ok(), device.plan().features.buffer_device_address);
    /// # anyhow::Ok(())
    /// ```
    pub fn device_address(&self) -> Result<u64> {
        self.check_alive()?;
        let (memory, device) = (self.memory(), self.device());
        let reason = if !device.plan().features.buffer_device_address {
            "the device was opened without bufferDeviceAddress, or lacks it"
        } else if !memory.is_addressable() {
            "it is imported, exported, or of a memory manager that gives it none; copy it to memory that has one"
        } else {
            let info = vk::BufferDeviceAddressInfo::default().buffer(memory.buffer());
            // SAFETY: the device has the feature, and the manager promised that the buffer and its memory were made for it.
            return Ok(unsafe { device.raw().get_buffer_device_address(&info) } + memory.offset());
        };
        Err(Error::NoAddress { size: memory.size(), kind: memory.kind(), reason })
    }

    /// The identifier of the block in the device's hazard table.
    #[inline]
    pub fn id(&self) -> BlockId {
        match self.id.get() {
            Some(&id) => id,
            None => self.track(),
        }
    }

    fn track(&self) -> BlockId {
        if self.device().is_forked() {
            return BlockId::default(); // Another thread may have been in the initialisation at the fork.
        }
        *self.id.get_or_init(|| self.device().track_block_after(self.memory().last_uses()))
    }

    /// Describes a read of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn read(&self, range: Range<u64>, stage: Stage) -> BlockAccess {
        BlockAccess::read(self.id(), range, stage)
    }

    /// Describes a write, or a read and write, of the bytes `range`.
    #[must_use]
    #[inline]
    pub fn write(&self, range: Range<u64>, stage: Stage) -> BlockAccess {
        BlockAccess::write(self.id(), range, stage)
    }

    /// A number that grows each time recorded work or the host writes bytes of the block. Writes of other processes or
    /// libraries are not counted. Returns at once.
    ///
    /// ```
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(16, MemoryKind::Device)?;
    /// let before = block.write_count();
    /// block.fill(&stream, 1)?;
    /// assert!(block.write_count() > before);
    /// # anyhow::Ok(())
    /// ```
    #[must_use]
    pub fn write_count(&self) -> u64 {
        self.device().write_count(self.id())
    }

    /// The label of the block, if its manager keeps labels.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// use vkarray_allocator::BlockLabel;
    ///
    /// let block = allocator.allocate_labelled(64, MemoryKind::Device, BlockLabel::array("f32", &[16]))?;
    /// block.set_label("weights");
    /// assert_eq!(block.label().unwrap().to_string(), "`weights`, f32 (16,)");
    /// # Ok(())
    /// # }
    /// ```
    pub fn label(&self) -> Option<BlockLabel> {
        if self.device().is_forked() {
            return None; // In a forked process the manager's locks may stay locked forever.
        }
        self.allocator.manager().label(self.memory())
    }

    /// Sets the name in the block's label, for the report of memory running out. A manager may ignore the name.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        if self.device().is_forked() {
            return;
        }
        let manager = self.allocator.manager();
        let former = manager.label(self.memory()).unwrap_or_default();
        manager.set_label(self.memory(), former.with_name(label));
    }

    /// Whether the host can address the block.
    #[inline]
    pub fn is_mapped(&self) -> bool {
        self.mapped().is_some()
    }

    /// Whether the host may read what the device writes, or another device that the host orders.
    pub(crate) fn is_read_beside(&self) -> bool {
        self.is_mapped() || self.is_in_host_memory()
    }

    /// Whether the host can address the block, and its memory is coherent, so that no write has to be flushed. Guards
    /// such as [`Block::read_on_host`] flush and invalidate non-coherent memory.
    pub fn is_coherent(&self) -> bool {
        self.mapping().is_some_and(|mapping| mapping.is_coherent())
    }

    /// Whether the block's allocator has not been reset since the block was made. After a reset, every use of the block
    /// is refused.
    #[inline]
    pub fn is_alive(&self) -> bool {
        self.generation == self.allocator.generation()
    }

    /// Checks that the block's allocator has not been reset; see [`Block::is_alive`].
    ///
    /// # Errors
    ///
    /// [`Error::DeadMemory`] after a reset.
    pub fn check_alive(&self) -> Result<()> {
        if self.is_alive() { Ok(()) } else { Err(self.dead_memory()) }
    }

    #[cold]
    fn dead_memory(&self) -> Error {
        let label = self.label().filter(|label| *label != BlockLabel::new()).map(Box::new);
        Error::DeadMemory { size: self.size(), kind: self.kind(), label }
    }

    /// Checks that `len` bytes at `offset` lie in the block, and that the block is alive. Returns the bytes as a range.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::DeadMemory`].
    pub fn check_range(&self, offset: u64, len: u64) -> Result<Range<u64>> {
        let out_of_bounds = Error::OutOfBounds { offset, len, size: self.size() };
        let range = offset..offset.checked_add(len).ok_or(out_of_bounds)?;
        self.check_bytes(&range).map(|()| range)
    }

    /// Checks that the bytes `range` lie in the block, and that the block is alive.
    pub(crate) fn check_bytes(&self, range: &Range<u64>) -> Result<()> {
        self.check_within(range, self.size())
    }

    #[inline]
    fn check_within(&self, range: &Range<u64>, limit: u64) -> Result<()> {
        if self.is_alive() { self.check_bounds(range, limit) } else { self.check_alive() }
    }

    /// The one place that decides which bytes are bound, copied, filled or shown to the host: the bytes before `limit`.
    ///
    /// A block that is no longer alive passes this check: a reset by another thread may end it during a call, and its
    /// memory stays until the last handle is dropped.
    #[inline]
    pub(super) fn check_bounds(&self, range: &Range<u64>, limit: u64) -> Result<()> {
        if range.start <= range.end && range.end <= limit { Ok(()) } else { Err(Error::outside(range, self.size())) }
    }

    /// The address of the first byte on the host, if the host can address the block. Using it needs `unsafe` code, whose author
    /// excludes conflicting uses by the device and by other threads, as guards do.
    #[must_use]
    #[inline]
    pub fn mapped(&self) -> Option<NonNull<u8>> {
        self.mapping().map(|mapping| mapping.address())
    }

    /// How the host addresses it, if it can. Bytes are invalidated before they are accessed, and flushed after they were
    /// written.
    ///
    /// `None` for memory of [`MemoryKind::Device`] beyond a bus, even where the host could read it; see
    /// [`Bus::is_readable`](crate::Bus::is_readable).
    #[inline]
    pub(crate) fn mapping(&self) -> Option<Mapping> {
        let mapping = self.memory().mapping()?;
        self.allocator.bus().is_readable(BlockSide { kind: self.kind(), is_addressed: true }).then_some(mapping)
    }

    /// The block as a side of a copy over the bus.
    #[inline]
    pub(crate) fn side(&self) -> BlockSide {
        BlockSide { kind: self.kind(), is_addressed: self.memory().mapping().is_some() }
    }

    /// Gives the memory back without last uses.
    ///
    /// # Safety
    ///
    /// All work that uses the block is over.
    pub(crate) unsafe fn give_back_idle(mut self) {
        if self.device().is_forked() {
            return; // The end of the block leaves the memory to the parent process.
        }
        if let Some(id) = self.id.take() {
            // SAFETY: the block tracked the id and is here by value: no guard borrows it, and the id ends here. The caller
            // promises that the uses are over, so that they can be forgotten.
            drop(unsafe { self.device().retire_block(id) });
        }
        drop(self.memory.as_mut().map(MemoryPointer::take_last_uses));
    }

    #[inline]
    pub(crate) fn memory(&self) -> &MemoryPointer {
        self.memory.as_ref().expect("present until it is given back")
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        if self.device().is_forked() {
            return mem::forget(memory); // The memory belongs to the parent process.
        }
        if let Some(&id) = self.id.get() {
            // SAFETY: the block tracked the id, and this is its last use. Guards over the bytes borrow the block, so none is
            // left. The memory goes back to its manager with the uses that the tracker returns.
            memory.last_uses_mut().set(unsafe { self.device().retire_block(id) });
        }
        // SAFETY: the pointer came from this allocator, and only its last uses were changed. Recording work borrows the block
        // until the tracker has noted the work, so the tracker's answer names all of it, and the uses that the block was given
        // out with; a block that was never tracked still has the latter. `give_back_idle` leaves neither, as its caller
        // promises that all uses are over. This was the last handle, so no more work follows.
        unsafe { self.allocator.give_back(memory) };
    }
}

vkarray_driver::debug_fields!(Block, this => size: this.size(), kind: this.kind());
