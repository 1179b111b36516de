//! Host access in place: guards over bytes of a block that the host addresses.
//!
//! A guard waits for the device's conflicting uses and excludes later ones: while the guard lives, work that would
//! touch its bytes is refused with [`HeldByHost`](vkarray_driver::Error::HeldByHost). The exclusion is state of the
//! device, so a leaked guard excludes the device too, until the block is freed. Copies through staging memory, which
//! exclude nothing, are in the folder `copy`.

use std::ops::{Deref, DerefMut, Range};
use std::slice;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use vkarray_driver::hazard::Mode;
use vkarray_driver::{HostAccess, HostAccessKind, log_in_drop};

use crate::allocator::Block;
use crate::error::{Error, Result};
use crate::memory::{HostIntent, Mapping};

/// Bytes of a block, or its elements, that the host reads in place. The device and other guards may also read them.
pub struct HostRead<'a, T = u8> {
    elements: &'a [T],
    hold: HostAccess<'a>,
    /// A handle to the block, for a guard that does not borrow the block. Dropped last.
    handle: Option<Arc<Block>>,
}

/// Bytes of a block, or its elements, that the host reads and writes in place. Nothing else may use them.
pub struct HostWrite<'a, T = u8> {
    elements: &'a mut [T],
    written: Written<'a>,
    /// A handle to the block, for a guard that does not borrow the block. Dropped last.
    handle: Option<Arc<Block>>,
}

/// Flushes what the host wrote, and ends its access.
struct Written<'a> {
    hold: Option<HostAccess<'a>>, // `None` once a failed flush has leaked it.
    block: &'a Block,
    range: Range<u64>,
}

impl Block {
    /// Gives read access to the bytes `range` in place. Blocks until no work of the device writes them.
    ///
    /// The guard belongs to no stream: it waits only for work on these bytes. In non-coherent memory (see
    /// [`Block::is_coherent`]) the guard also covers the bytes that share an atom with them, at most 255 on either
    /// side.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(64, MemoryKind::Pinned)?;
    /// block.fill(&stream, 0x0707_0707)?;
    /// let bytes = block.read_on_host(0..8)?; // Waits for the fill.
    /// assert_eq!(*bytes, [7; 8]);
    /// assert!(block.fill(&stream, 0).is_err()); // Refused while the guard lives.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::OutOfBounds`], [`Error::ReversedRange`];
    /// [`HeldByHost`](vkarray_driver::Error::HeldByHost) if another guard writes some of the bytes; and the errors of
    /// waiting for the device.
    pub fn read_on_host(&self, range: Range<u64>) -> Result<HostRead<'_>> {
        let (address, len, hold) = self.hold_on_host(&range, Mode::Read)?;
        // SAFETY: the mapping holds the range and lives as long as the block. Nothing writes the bytes while the hold
        // stands: work of the device was waited for, and later work and other guards are refused.
        let bytes = unsafe { slice::from_raw_parts(address, len) };
        Ok(HostRead { elements: bytes, hold, handle: None })
    }

    /// Gives read and write access to the bytes `range` in place. Blocks until no work of the device uses them.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4, MemoryKind::Pinned)?;
    /// block.write_on_host(0..4)?.copy_from_slice(&[1, 2, 3, 4]);
    /// let copy = allocator.allocate(4, MemoryKind::Device)?;
    /// copy.copy_from_block(&stream, 0, &block, 0..4)?; // The device sees what the host wrote.
    /// let mut bytes = [0; 4];
    /// copy.copy_to_host(&stream, 0, &mut bytes)?;
    /// assert_eq!(bytes, [1, 2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::read_on_host`], and `HeldByHost` also if another guard reads some of the bytes.
    pub fn write_on_host(&self, range: Range<u64>) -> Result<HostWrite<'_>> {
        let (address, len, hold) = self.hold_on_host(&range, Mode::Write)?;
        // SAFETY: the mapping holds the range and lives as long as the block. While the hold stands, nothing else reads
        // or writes the bytes.
        let bytes = unsafe { slice::from_raw_parts_mut(address, len) };
        Ok(HostWrite { elements: bytes, written: Written { hold: Some(hold), block: self, range }, handle: None })
    }

    /// Gives read access like [`Block::read_on_host`], with a guard that keeps the block alive: it can be stored, and
    /// sent to another thread. A leaked guard leaks the block.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let allocator = Allocator::new(&device)?;
    /// let block = allocator.allocate(8, MemoryKind::Pinned)?;
    /// block.write_on_host_arc(0..8)?.cast::<u32>()?.copy_from_slice(&[1, 2]);
    /// let numbers = block.read_on_host_arc(0..8)?.cast::<u32>()?;
    /// drop(block);
    /// assert_eq!(*numbers, [1, 2]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`Block::read_on_host`].
    pub fn read_on_host_arc(self: &Arc<Self>, range: Range<u64>) -> Result<HostRead<'static>> {
        // SAFETY: the guard gets a handle to the block, which is dropped after everything that borrows the block.
        let block: &'static Self = unsafe { &*Arc::as_ptr(self) };
        let mut guard = block.read_on_host(range)?;
        guard.handle = Some(Arc::clone(self));
        Ok(guard)
    }

    /// Gives read and write access like [`Block::write_on_host`], with a guard that keeps the block alive; see
    /// [`Block::read_on_host_arc`].
    ///
    /// # Errors
    ///
    /// The errors of [`Block::write_on_host`].
    pub fn write_on_host_arc(self: &Arc<Self>, range: Range<u64>) -> Result<HostWrite<'static>> {
        // SAFETY: the guard gets a handle to the block, which is dropped after everything that borrows the block.
        let block: &'static Self = unsafe { &*Arc::as_ptr(self) };
        let mut guard = block.write_on_host(range)?;
        guard.handle = Some(Arc::clone(self));
        Ok(guard)
    }

    fn hold_on_host(&self, range: &Range<u64>, mode: Mode) -> Result<(*mut u8, usize, HostAccess<'_>)> {
        self.check_bytes(range)?;
        // Device memory is mapped on some devices only. A program that relied on it would fail on the others.
        let mapping = self.mapping().filter(|_| self.kind().is_host_visible());
        let mapping = mapping.ok_or(Error::NotOnHost { kind: self.kind() })?;
        self.device().check_lost()?;
        let atoms = mapping.atoms(self.device(), range.clone());
        let (hold, uses) = self.device().begin_host_access(self.id(), atoms, mode, HostAccessKind::Lasting)?;
        uses.iter().try_for_each(|last| last.wait(None))?;
        mapping.invalidate(self.device(), range, HostIntent::Access)?;
        let len = usize::try_from(range.end - range.start).expect("a mapping is smaller than the address space");
        Ok((self.address(mapping, range.start, len)?, len, hold))
    }

    /// The address of `len` bytes at `offset`, through the block's own mapping. The block may have been reset since the call
    /// began; its memory stays as long as the block.
    pub(crate) fn address(&self, mapping: Mapping, offset: u64, len: usize) -> Result<*mut u8> {
        self.check_bounds(&(offset..offset.saturating_add(len as u64)), self.size())?;
        let offset = usize::try_from(offset).expect("a mapping is smaller than the address space");
        // SAFETY: the offset lies inside the mapping, which is at least as large as the block.
        Ok(unsafe { mapping.address().as_ptr().add(offset) })
    }
}

#[cfg(feature = "dlpack")]
impl HostRead<'static> {
    /// The access without the reference, for bytes that other code reads through their address.
    pub(crate) fn without_elements(self) -> Self {
        Self { elements: &[], ..self }
    }
}

impl HostWrite<'static> {
    /// The access without the reference, for bytes that other code reads and writes through their address,
    /// [`Block::mapped`], while the guard lives. The guard itself then has no bytes.
    #[must_use]
    pub fn without_elements(self) -> Self {
        Self { elements: &mut [], ..self }
    }
}

impl<'a> HostRead<'a> {
    /// The bytes as elements.
    ///
    /// # Errors
    ///
    /// [`Error::NotElements`] if the bytes are not aligned for `T`, or not a whole number of elements.
    pub fn cast<T: AnyBitPattern>(self) -> Result<HostRead<'a, T>> {
        let refused = not_elements::<T>(self.elements);
        let elements = bytemuck::try_cast_slice(self.elements).map_err(|_| refused)?;
        Ok(HostRead { elements, hold: self.hold, handle: self.handle })
    }
}

impl<'a> HostWrite<'a> {
    /// The bytes as elements.
    ///
    /// # Errors
    ///
    /// [`Error::NotElements`] if the bytes are not aligned for `T`, or not a whole number of elements.
    pub fn cast<T: NoUninit + AnyBitPattern>(self) -> Result<HostWrite<'a, T>> {
        let refused = not_elements::<T>(self.elements);
        let elements = bytemuck::try_cast_slice_mut(self.elements).map_err(|_| refused)?;
        Ok(HostWrite { elements, written: self.written, handle: self.handle })
    }
}

fn not_elements<T>(bytes: &[u8]) -> Error {
    Error::NotElements {
        address: bytes.as_ptr().addr(),
        size: bytes.len() as u64,
        itemsize: size_of::<T>(),
        alignment: align_of::<T>(),
    }
}

/// Makes the written bytes visible to the device.
impl Drop for Written<'_> {
    fn drop(&mut self) {
        if self.block.device().is_forked() {
            return; // The memory belongs to the parent process.
        }
        let Some(mapping) = self.block.mapping() else { return };
        if let Err(error) = mapping.flush(self.block.device(), &self.range) {
            std::mem::forget(self.hold.take());
            log_in_drop(|| {
                log::error!("a flush failed, so the device stays excluded from what the host wrote: {error}");
            });
        }
    }
}

impl<T> Deref for HostRead<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> Deref for HostWrite<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for HostWrite<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

vkarray_driver::debug_fields!([T] HostRead<'_, T>, this => len: this.elements.len());

vkarray_driver::debug_fields!([T] HostWrite<'_, T>, this => len: this.elements.len());
