//! [`ProgramMemory`]: bytes of the program, and how the device reaches them.
//!
//! Copies reach bytes in imported pages directly, and all others through staging memory. Kernels reach the bytes in
//! place if they are imported and whole pages, since a kernel could write to other bytes in the same page. Otherwise
//! kernels are given a copy in pinned memory, which stands for the bytes until it is copied back.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use vkarray_driver::hazard::Mode;

use super::pages::ProgramPages;
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::kind::MemoryKind;

/// The pause before a query that the driver refused at the end of the device's work is repeated.
const PAUSE: Duration = Duration::from_millis(1);

/// How copies reach memory of the program. Kernels reach imported memory only if all of it is imported and it is whole
/// pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisteredPath {
    /// All bytes are reached directly.
    Imported,
    /// Some bytes are reached directly, the others through staging memory.
    Parts {
        /// The bytes in the pages that are imported.
        imported: Range<usize>,
    },
    /// All bytes are reached through staging memory.
    Staged,
}

/// Bytes of the program. What keeps them where they are is `lent.rs` or `owned.rs`.
pub(crate) struct ProgramMemory {
    start: NonNull<u8>,
    pub(super) len: usize,
    /// Whether the device and this object may write the bytes.
    pub(super) is_writable: bool,
    pub(super) imported: Option<ProgramPages>,
    /// A copy of all bytes, which is used in place of them while it exists.
    pub(super) copy: Option<Arc<Block>>,
    /// Copies to this memory that are still in staging memory, oldest first.
    pub(super) pending: VecDeque<StagedCopy>,
    pub(super) allocator: Arc<Allocator>,
}

// SAFETY: the address stands for bytes that this object may read, and write if it says so; all other fields can be sent.
unsafe impl Send for ProgramMemory {}
// SAFETY: a shared reference gives no access to the bytes.
unsafe impl Sync for ProgramMemory {}

/// A copy from the device that is still in staging memory.
#[derive(Debug, Clone)]
pub(super) struct StagedCopy {
    pub(super) staging: Arc<Block>,
    pub(super) part: Range<usize>,
}

impl ProgramMemory {
    /// Memory of which nothing is imported: bytes, and whether they may be written.
    ///
    /// # Safety
    ///
    /// The bytes stay as long as the object is used. Until then no Rust reference writes bytes that are lent to be read,
    /// and none but those of this object reaches bytes that are lent to be written.
    pub(super) unsafe fn new(allocator: &Arc<Allocator>, (bytes, is_writable): (NonNull<[u8]>, bool)) -> Self {
        let (start, len) = (bytes.cast(), bytes.len());
        let (pending, allocator) = (VecDeque::new(), Arc::clone(allocator));
        Self { start, len, is_writable, imported: None, copy: None, pending, allocator }
    }

    /// Imports the pages of the bytes if the device can, and if that saves more than it costs; only `whole` pages, or
    /// also those that hold other bytes. The import holds `keeper`.
    ///
    /// Bytes that are only read are not imported. Vulkan cannot be asked for an import to be read. A driver may refuse
    /// pages that the program cannot write, and NVIDIA's (580) then refuses other pages too.
    ///
    /// # Safety
    ///
    /// What [`ProgramMemory::new`] asks holds until the import has ended.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyPinned`] if pages that hold nothing but the bytes are imported already; the loss of the device.
    pub(super) unsafe fn import(&mut self, keeper: &Arc<dyn Any + Send + Sync>, whole: bool) -> Result<()> {
        if !self.is_writable {
            return Ok(());
        }
        // SAFETY: the caller promises what is asked of it. Work uses no byte outside: `place_of` names none, and `block`
        // gives out only an import that is exactly the bytes.
        match unsafe { ProgramPages::import(&self.allocator, (self.start, self.len), keeper, whole) } {
            Ok(imported) => self.imported = imported,
            Err(error @ Error::AlreadyPinned { .. }) => return Err(error),
            Err(error) => {
                self.allocator.device().check_lost()?;
                log::debug!("memory of the program is copied through staging memory: {error}");
            }
        }
        Ok(())
    }

    /// How the device reaches the bytes.
    pub(super) fn path(&self) -> RegisteredPath {
        match &self.imported {
            None => RegisteredPath::Staged,
            Some(imported) if imported.bytes == (0..self.len) => RegisteredPath::Imported,
            Some(imported) => RegisteredPath::Parts { imported: imported.bytes.clone() },
        }
    }

    /// The block that stands for the bytes: the copy, or the import if it is exactly the bytes.
    pub(super) fn block(&self) -> Option<&Arc<Block>> {
        let imported = self.imported.as_ref().map(|imported| &imported.block);
        self.copy.as_ref().or(imported.filter(|block| block.size() == self.len as u64))
    }

    /// The block for kernels. Copies the bytes to pinned memory if they are not reached in place, which waits for work
    /// on them.
    pub(super) fn bind(&mut self) -> Result<&Arc<Block>> {
        if self.block().is_none() {
            let copy = self.allocator.allocate(self.len as u64, MemoryKind::Pinned)?;
            self.wait(Mode::Write)?; // Waits also for work that reads the imported part.
            copy.write_on_host(0..copy.size())?.copy_from_slice(self.bytes(&(0..self.len)));
            self.copy = Some(copy);
        }
        Ok(self.block().expect("there is a copy, if there was no import"))
    }

    /// Checks that the bytes may be written.
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.is_writable { Ok(()) } else { Err(Error::LentToRead { nbytes: self.len }) }
    }

    /// Waits until the host may access the bytes in `mode`, and they are what the device has written.
    pub(super) fn wait(&mut self, mode: Mode) -> Result<()> {
        self.finish_staged()?;
        self.allocator.device().check_lost()?;
        self.copy_back()?;
        match &self.imported {
            Some(ProgramPages { block, .. }) => block.wait_for_uses(&(0..block.size()), mode),
            None => Ok(()),
        }
    }

    /// Finishes the copies that are still in staging memory.
    pub(super) fn finish_staged(&mut self) -> Result<()> {
        while let Some(StagedCopy { staging, part }) = self.pending.front().cloned() {
            staging.wait_for_uses(&(0..staging.size()), Mode::Read)?;
            let mapping = staging.mapping().ok_or(Error::NotOnHost { kind: staging.kind() })?;
            // SAFETY: the writes were waited for. The block belongs to this object alone, and nothing is recorded with
            // it while `self` is borrowed mutably.
            unsafe { staging.read_mapped(mapping, 0, self.bytes_mut(&part)) }?;
            self.pending.pop_front(); // Removed afterwards, so that a copy whose wait failed is tried again.
        }
        Ok(())
    }

    /// Ends the import of the bytes. Waits without a limit until the device no longer uses them.
    ///
    /// # Errors
    ///
    /// [`Error::StillShared`] if there is another handle to the block, and nothing has changed; the loss of the device.
    pub(super) fn end_import(&mut self) -> Result<()> {
        let Some(mut pages) = self.imported.take() else { return Ok(()) };
        match Arc::try_unwrap(pages.block) {
            Ok(block) => {
                let waited = until_idle(&block);
                // SAFETY: this was the last handle. The uses of the block were waited for, or were lost with a device
                // that is idle now.
                unsafe { block.give_back_idle() };
                waited
            }
            Err(block) => {
                let error = still_shared(&block);
                pages.block = block;
                self.imported = Some(pages);
                Err(error)
            }
        }
    }

    /// Copies the bytes back if kernels had a copy that they may have written. Waits for the kernels.
    pub(super) fn copy_back(&mut self) -> Result<()> {
        let Some(copy) = self.copy.as_ref().filter(|_| self.is_writable).cloned() else { return Ok(()) };
        let bytes = copy.read_on_host(0..copy.size())?;
        self.bytes_mut(&(0..self.len)).copy_from_slice(&bytes);
        drop(bytes);
        self.copy = None;
        Ok(())
    }

    /// The bytes of a part, which the device must not be writing.
    pub(super) fn bytes(&self, part: &Range<usize>) -> &[u8] {
        // SAFETY: the part lies in the bytes, which stay. The device never reaches staged bytes, and was found not to
        // write the imported bytes; nothing is recorded while this borrow lives.
        unsafe { slice::from_raw_parts(self.address(part), part.len()) }
    }

    /// The bytes of a part, which the device must not be using, of memory that may be written.
    pub(super) fn bytes_mut(&mut self, part: &Range<usize>) -> &mut [u8] {
        assert!(self.is_writable, "bytes that are only read are never written");
        // SAFETY: the part lies in the bytes, which stay, and which nothing else refers to, since they may be written.
        // The device never reaches staged bytes, and imported bytes were waited for; nothing is recorded while this
        // borrow lives.
        unsafe { slice::from_raw_parts_mut(self.address(part), part.len()) }
    }

    fn address(&self, part: &Range<usize>) -> *mut u8 {
        assert!(part.start <= part.end && part.end <= self.len, "{part:?} is outside {} bytes", self.len);
        // SAFETY: the part lies in the bytes, which was checked.
        unsafe { self.start.add(part.start) }.as_ptr()
    }
}

/// The error of a block to which there are other handles than this.
pub(super) fn still_shared(block: &Arc<Block>) -> Error {
    Error::StillShared { n_handles: Arc::strong_count(block).saturating_sub(1) }
}

/// Waits until the device no longer uses the block: its work is over, or lost with the device.
pub(super) fn until_idle(block: &Block) -> Result<()> {
    loop {
        let device = block.device();
        let Err(error) = block.wait_for_uses(&(0..block.size()), Mode::Write) else { return Ok(()) };
        if device.check_lost().is_err() && device.drain_after_loss().is_ok() {
            return Err(error);
        }
        thread::sleep(PAUSE);
    }
}
