//! Imports: buffers over whole pages of the program's own memory (`VK_EXT_external_memory_host`).
//!
//! The resulting pointer owns the buffer and the memory object: dropping it ends the import, so it is dropped when the
//! device no longer uses it. Managers have an [`Imports`] beside their own memory. `copy/program/pages.rs` decides which
//! pages of a slice are imported.

use std::mem;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use ash::{ext, vk};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{Device, DeviceInfo, Owned};

use super::chunk::{create_buffer, memory_of};
use crate::error::{Error, Result};
use crate::kind::{MemoryKind, memory_types};
use crate::memory::{HostPointer, MemoryPointer, Owner};
use crate::pending::PendingQueue;

const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;

/// The imports of one device.
pub(crate) struct Imports {
    /// `None` where the extension is not enabled, or the device imports no host memory as such buffers.
    host: Option<ext::external_memory_host::Device>,
    /// The addresses of imported pages.
    live: Arc<Mutex<Vec<Range<usize>>>>,
    /// Imports that were given back. Guards never hold these back, since the program waits to use its memory again.
    pub(crate) pending: PendingQueue<MemoryPointer>,
    device: Arc<Device>,
}

/// The objects that an imported pointer owns, in the order of the drops.
struct Import {
    _buffer: Owned<vk::Buffer>,
    _memory: Owned<vk::DeviceMemory>,
    _pages: Pages,
    _owner: Owner,
}

/// Imported pages, which cannot be imported again until this is dropped.
struct Pages {
    range: Range<usize>,
    live: Arc<Mutex<Vec<Range<usize>>>>,
}

impl Imports {
    pub(crate) fn new(device: &Arc<Device>) -> Self {
        let instance = device.physical().instance().raw();
        let imports = device.external().host_memory.importable;
        let host = imports.then(|| ext::external_memory_host::Device::new(instance, device.raw()));
        let live = Arc::new(Mutex::new(Rank::ImportedPages, Vec::new()));
        Self { host, live, pending: PendingQueue::new(device), device: Arc::clone(device) }
    }

    /// Imports memory of the program.
    ///
    /// # Safety
    ///
    /// The obligations of [`MemoryManager::mempin`](crate::MemoryManager::mempin).
    pub(crate) unsafe fn pin(
        &self,
        owner: Owner,
        pointer: NonNull<u8>,
        size: u64,
        mapped: bool,
    ) -> Result<HostPointer> {
        let host = self.host.as_ref().ok_or(Error::Unsupported { what: "pinning memory of the program" })?;
        let pages = self.claim(pointer, size)?;
        let buffer = create_buffer(&self.device, size, Some(HANDLE)).map_err(self.device.failed("vkCreateBuffer"))?;
        // SAFETY: the buffer is alive and of this device.
        let wanted = unsafe { self.device.raw().get_buffer_memory_requirements(buffer.raw()) };
        // The runtime does not map the memory, so it could not flush it: a coherent type is needed.
        let coherent = memory_types(self.device.info(), |kind| kind.host_coherent);
        let allowed = wanted.memory_type_bits & self.importable_types(host, pointer)? & coherent;
        let memory_type = MemoryKind::Pinned.memory_type(self.device.info(), allowed);
        let memory_type = memory_type.ok_or(Error::NoSuchMemory { kind: MemoryKind::Pinned })?;
        let mut host_pages =
            vk::ImportMemoryHostPointerInfoEXT::default().handle_type(HANDLE).host_pointer(pointer.as_ptr().cast());
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut host_pages);
        let refused = |code| self.device.failed("vkAllocateMemory")(code).into();
        // SAFETY: the type is one of the types that the buffer allows and with which the device imports the pages. Their
        // address and size are whole multiples of a page, which was checked; the caller promises that they stay.
        let memory = unsafe { memory_of(&self.device, &buffer, &info, refused) }?;
        let raw = buffer.raw();
        let import = Import { _buffer: buffer, _memory: memory, _pages: pages, _owner: owner };
        // SAFETY: the buffer has the properties that a pointer requires; the pointer owns it, and starts at its first
        // byte.
        let pointer_to = unsafe { MemoryPointer::new(raw, 0, size, MemoryKind::Pinned) };
        // SAFETY: the address is the program's own address of the same pages; the type is coherent.
        let pointer_to = unsafe { pointer_to.with_mapping(pointer) }.with_owner(Box::new(import));
        Ok(HostPointer::new(pointer_to, mapped).expect("it has a mapping"))
    }

    /// Ends the import of `memory`, at once if its last uses are over. Returns memory that is not imported.
    pub(crate) fn end(&self, mut memory: MemoryPointer) -> Option<MemoryPointer> {
        if !is_import(&memory) {
            return Some(memory);
        }
        let (uses, bytes) = (mem::take(memory.last_uses_mut()), memory.size());
        self.pending.free_or_push(uses, bytes, memory);
        None
    }

    /// Reserves the pages from `pointer` on, if they are whole and not imported.
    fn claim(&self, pointer: NonNull<u8>, size: u64) -> Result<Pages> {
        let (start, alignment) = (pointer.addr().get(), page(self.device.info()));
        let is_whole = |value: u64| alignment > 0 && value.is_multiple_of(alignment);
        let bytes = usize::try_from(size).ok().filter(|&bytes| bytes > 0 && is_whole(size) && is_whole(start as u64));
        let end = bytes.and_then(|bytes| start.checked_add(bytes));
        let range = start..end.ok_or(Error::NotWholePages { address: start, size, alignment })?;
        let mut live = self.live.lock();
        if let Some(other) = live.iter().find(|other| other.start < range.end && range.start < other.end) {
            return Err(Error::AlreadyPinned { pages: range, pinned: other.clone() });
        }
        live.push(range.clone());
        Ok(Pages { range, live: Arc::clone(&self.live) })
    }

    /// The memory types for importing the pages, a bit for each.
    fn importable_types(&self, host: &ext::external_memory_host::Device, pointer: NonNull<u8>) -> Result<u32> {
        let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
        let call = host.fp().get_memory_host_pointer_properties_ext;
        // SAFETY: the address is a multiple of the alignment that the device requires, which was checked, and the
        // structure is complete.
        unsafe { call(self.device.raw().handle(), HANDLE, pointer.as_ptr().cast(), &raw mut properties) }
            .result()
            .map_err(self.device.failed("vkGetMemoryHostPointerPropertiesEXT"))?;
        Ok(properties.memory_type_bits)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let mut live = self.live.lock();
        live.retain(|range| *range != self.range);
    }
}

/// Whether the memory is an import of the program's pages.
pub(crate) fn is_import(memory: &MemoryPointer) -> bool {
    memory.owner().is_some_and(|owner| (**owner).is::<Import>())
}

vkarray_driver::debug_fields!(Imports, this => pending: this.pending);

/// The size of the pages that the device imports, in bytes; 0 if it imports none.
pub(crate) fn page(device: &DeviceInfo) -> u64 {
    device.limits.min_imported_host_pointer_alignment
}

/// The whole pages of `page` bytes among the `len` bytes at `address`, as a range of these bytes. Empty if there are
/// none, and where nothing can be imported.
pub(crate) fn whole_pages(address: usize, len: usize, page: u64) -> Range<usize> {
    let Ok(page) = usize::try_from(page) else { return 0..0 };
    let Some(first) = address.checked_next_multiple_of(page) else { return 0..0 };
    let (skipped, end) = (first - address, address.saturating_add(len));
    let last = end - end % page;
    if last > first { skipped..last - address } else { 0..0 }
}

/// The addresses of the pages of `page` bytes that hold the `len` bytes at `address`. `None` if there are no bytes, and where
/// nothing can be imported.
pub(crate) fn pages_around(address: usize, len: usize, page: u64) -> Option<Range<usize>> {
    let page = usize::try_from(page).ok()?;
    let start = address - address.checked_rem(page)?;
    let end = address.checked_add(len)?.checked_next_multiple_of(page)?;
    (len > 0 && start > 0).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_all_the_whole_pages_there_are() {
        let page = 16;
        for address in 32..64_usize {
            for len in 0..80 {
                let inside = |start: usize| start >= address && start + page <= address + len;
                let pages: Vec<usize> = (0..160).step_by(page).filter(|&start| inside(start)).collect();
                let expected = match (pages.first(), pages.last()) {
                    (Some(first), Some(last)) => first - address..last + page - address,
                    _ => 0..0,
                };
                assert_eq!(whole_pages(address, len, page as u64), expected, "{len} bytes at {address}");
            }
        }
    }

    #[test]
    fn the_pages_around_are_those_with_a_byte_of_the_slice() {
        let page = 16;
        for address in 32..64_usize {
            for len in 0..80 {
                let holds = |start: usize| (start..start + page).any(|at| (address..address + len).contains(&at));
                let pages: Vec<usize> = (0..160).step_by(page).filter(|&start| holds(start)).collect();
                let expected = pages.first().map(|&first| first..first + pages.len() * page);
                assert_eq!(pages_around(address, len, page as u64), expected, "{len} bytes at {address}");
            }
        }
        for (address, len, page) in [(usize::MAX - 3, 2, 4096), (4096, 8192, 0), (4096, usize::MAX, 4096), (4, 2, 4096)]
        {
            assert_eq!(pages_around(address, len, page), None, "{len} bytes at {address} in pages of {page}");
        }
    }

    #[test]
    fn nothing_is_whole_at_the_end_of_the_addresses_or_without_pages() {
        // The address, the length, and the size of a page.
        for (address, len, page) in [(usize::MAX - 3, 2, 4096), (usize::MAX - 3, 2, 1 << 40), (4096, 8192, 0)] {
            assert_eq!(whole_pages(address, len, page), 0..0, "{len} bytes at {address} in pages of {page}");
        }
    }
}
