//! Pages of host memory that devices of several processes reach, so that the host copies nothing between them.
//!
//! The pages are a file in memory without a path. Its name says where the kernel lists the file among those of the
//! process that made it, so it is opened while that process keeps it open, and no file is left when all processes have
//! ended. The file cannot shrink, so the pages stay. Only devices read and write them: no block maps them.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsRawFd as _;
use std::process;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::vulkan::page;

/// What keeps the size of the file.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A mapped file.
struct MappedPages {
    start: NonNull<u8>,
    len: usize,
    /// Open in the process that made the pages, so that others find it.
    _file: Option<File>,
}

// SAFETY: the address stands for memory that this object owns, and that only devices read and write.
unsafe impl Send for MappedPages {}
// SAFETY: a shared reference gives no access to the memory, which only devices read and write.
unsafe impl Sync for MappedPages {}

impl Drop for MappedPages {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `import_file`, and nothing uses it: the import that owns this object has ended.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        unmapped.unwrap_or_else(|error| log::warn!("{} bytes of named pages stay mapped: {error}", self.len));
    }
}

impl Allocator {
    /// Makes pages of host memory, of `size` bytes or more, which are zeros, and returns them with their name: other
    /// processes of the user on this host give them to their devices by [`Allocator::open_named_pages`] as long as the
    /// block lives. A name has at most 64 bytes, of ASCII, and no spaces.
    ///
    /// The library does not order work between the processes: messages say when one process is done with bytes
    /// ([`Block::wait_until_unused`]) and the other may continue. The host does not address the block.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let (block, name) = allocator.named_pages(100)?;
    /// let other = allocator.open_named_pages(&name)?; // In another process, with its own device.
    /// block.fill(&stream, 0x0707_0707)?;
    /// block.wait_until_unused(0..100)?; // Then a message tells the other process.
    /// let copy = allocator.allocate(4, MemoryKind::Pinned)?;
    /// copy.copy_from_block(&stream, 0, &other, 96..100)?;
    /// assert_eq!(*copy.read_on_host(0..4)?, [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] or [`Error::NotWholePages`] where this device imports no memory of the program;
    /// [`Error::Descriptor`] if the system makes no such memory.
    pub fn named_pages(self: &Arc<Self>, size: u64) -> Result<(Arc<Block>, String)> {
        let size = size.max(1).next_multiple_of(page(self.device().info()).max(rustix::param::page_size() as u64));
        let tag = format!("{:016x}", RandomState::new().hash_one(process::id()));
        let file = || -> io::Result<File> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = File::from(rustix::fs::memfd_create(file_name(&tag), flags)?);
            file.set_len(size)?;
            rustix::fs::fcntl_add_seals(&file, SEALS)?;
            Ok(file)
        };
        let file = file().map_err(Error::Descriptor)?;
        let name = format!("{}/{}/{tag}", process::id(), file.as_raw_fd());
        Ok((self.import_file(file, true)?, name))
    }

    /// Opens pages of another process on this host, or of this one, as a block of this device.
    ///
    /// # Errors
    ///
    /// [`Error::Descriptor`] if no process of this user has such pages; and the errors of [`Allocator::named_pages`].
    pub fn open_named_pages(self: &Arc<Self>, name: &str) -> Result<Arc<Block>> {
        let file = open(name).map_err(Error::Descriptor)?;
        self.import_file(file, false)
    }

    /// Maps a file whose size is sealed, and gives its pages to the device. The file stays open with the block if asked.
    fn import_file(self: &Arc<Self>, file: File, stays_open: bool) -> Result<Arc<Block>> {
        let size = file.metadata().map_err(Error::Descriptor)?.len();
        let limit = isize::MAX as u64;
        let len = usize::try_from(size).ok().filter(|_| size <= limit).ok_or(Error::TooLarge { bytes: size, limit })?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the range, so no memory of the program is replaced.
        let start = unsafe { rustix::mm::mmap(ptr::null_mut(), len, access, MapFlags::SHARED, &file, 0) };
        let start = start.map_err(|error| Error::Descriptor(error.into()))?;
        let start = NonNull::new(start.cast()).expect("a mapping does not start at zero");
        let pages = MappedPages { start, len, _file: stays_open.then_some(file) };
        // SAFETY: the owner keeps the pages mapped until it is dropped, and the file cannot shrink. No Rust reference points
        // to them, and the block is not mapped, so that none will.
        unsafe { self.import_pages(Box::new(pages), start, size, false) }
    }
}

/// What the kernel calls the file with a tag.
fn file_name(tag: &str) -> String {
    format!("vkarray-{tag}")
}

/// Opens the file with this name, if it is one that [`Allocator::named_pages`] made.
fn open(name: &str) -> io::Result<File> {
    let refused = || io::Error::new(io::ErrorKind::NotFound, format!("{name:?} names no pages"));
    let mut words = name.splitn(3, '/');
    let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).ok_or_else(refused);
    let (process, descriptor) = (number()?, number()?);
    let tag = words.next().ok_or_else(refused)?;
    let path = format!("/proc/{process}/fd/{descriptor}");
    // The process may have ended, and its numbers may name another file by now.
    let is_it = fs::read_link(&path)?.to_string_lossy().starts_with(&format!("/memfd:{} ", file_name(tag)));
    let file = OpenOptions::new().read(true).write(true).open(&path)?;
    if !is_it || !rustix::fs::fcntl_get_seals(&file)?.contains(SEALS) {
        return Err(refused());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_pages_that_were_made_are_opened() {
        let made = |name: &str, seals| {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = File::from(rustix::fs::memfd_create(name, flags).unwrap());
            rustix::fs::fcntl_add_seals(&file, seals).unwrap();
            let number = file.as_raw_fd();
            (file, format!("{}/{number}", process::id()))
        };
        let (sealed, place) = made(&file_name("a"), SEALS);
        sealed.set_len(4096).unwrap_err(); // Its size stays.
        assert_eq!(open(&format!("{place}/a")).unwrap().metadata().unwrap().len(), 0);
        let (_unsealed, other) = made(&file_name("a"), SealFlags::GROW);
        let (_foreign, foreign) = made("a", SEALS);
        for name in [
            "".to_owned(),
            "a".to_owned(),
            "1/2".to_owned(),
            place.clone(),
            format!("{place}/b"),
            format!("{place}/"),
            format!("{other}/a"),
            format!("{foreign}/a"),
            format!("0/{}/a", sealed.as_raw_fd()),
        ] {
            assert!(open(&name).is_err(), "{name}");
        }
    }
}
