//! Registered memory: a slice of the program that the device copies from and to, for the length of a call.
//!
//! The pages that hold the slice are imported (`slice_pages.rs`), and the slice's bytes are copied directly over the
//! bus. Bytes that are not imported go through staging memory. At the end the call waits until the device no longer
//! uses the slice, copies staged bytes back, and ends the import. No handle to the pages leaves the call, so no handle
//! can be leaked. Kernels reach the slice through `bound.rs`.

use std::array;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use vkarray_driver::hazard::Mode;
use vkarray_driver::{Direction, Stream, log_in_drop};

use super::bus::Moment;
use super::slice_pages::{SlicePages, parts};
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::memory::{HostSide, MemoryKind, Route, Via};
use crate::vulkan::check_same_device;

/// The pause before a query that the driver refused at the end of a scope is repeated.
const PAUSE: Duration = Duration::from_millis(1);

/// How copies reach registered memory. Kernels reach imported memory only if all of it is imported and it is whole
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

/// Memory of the program that is registered for the length of a call; see [`Allocator::register`].
pub struct Registered<'a> {
    pub(super) start: NonNull<u8>,
    pub(super) len: usize,
    imported: Option<SlicePages>,
    /// A copy of all bytes, which is used in place of them while it exists.
    pub(super) copy: Option<Arc<Block>>,
    /// Copies to this memory that are still in staging memory, oldest first.
    pending: VecDeque<StagedCopy>,
    pub(super) allocator: Arc<Allocator>,
    bytes: PhantomData<&'a mut [u8]>,
}

// SAFETY: the address stands for the mutable slice that it was made from; all other fields can be sent.
unsafe impl Send for Registered<'_> {}
// SAFETY: a shared reference gives no access to the bytes.
unsafe impl Sync for Registered<'_> {}

#[derive(Debug, Clone)]
struct StagedCopy {
    staging: Arc<Block>,
    part: Range<usize>,
}

impl Allocator {
    /// Lets the device copy from and to `bytes` while `work` runs.
    ///
    /// Blocks at the end until the device no longer uses the bytes, also when `work` panics. There is no time limit: if the
    /// call returned earlier, the device could write to memory that is no longer borrowed.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4096, MemoryKind::Device)?;
    /// block.fill(&stream, 0x0606_0606)?;
    /// let mut bytes = vec![0_u8; 4096];
    /// allocator.register(&mut bytes, |registered| registered.copy_from_block(&stream, 0, &block, 0..4096))??;
    /// assert_eq!(bytes, vec![6; 4096]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail
    /// # fn f(allocator: &std::sync::Arc<vkarray_allocator::Allocator>, bytes: &mut [u8], others: &mut [u8]) {
    /// allocator.register(bytes, |outer| {
    ///     allocator.register(others, |inner| std::mem::swap(outer, inner)).unwrap(); // Scopes cannot be exchanged.
    /// });
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyPinned`] if pages that hold nothing but the slice are imported already; and the errors of
    /// waiting for the device, when `work` has run.
    pub fn register<R>(
        self: &Arc<Self>,
        bytes: &mut [u8],
        work: impl for<'r> FnOnce(&mut Registered<'r>) -> R,
    ) -> Result<R> {
        self.register_all([bytes], |[registered]| work(registered))
    }

    /// Lets the device copy from and to several slices while `work` runs; see [`Allocator::register`].
    ///
    /// # Errors
    ///
    /// The errors of [`Allocator::register`].
    pub fn register_all<R, const N: usize>(
        self: &Arc<Self>,
        slices: [&mut [u8]; N],
        work: impl for<'x, 'r> FnOnce([&'x mut Registered<'r>; N]) -> R,
    ) -> Result<R> {
        self.device().check_lost()?;
        let registered = slices.into_iter().map(|bytes| Registered::new(self, bytes));
        let mut registered = registered.collect::<Result<Vec<_>>>()?;
        let mut each = registered.iter_mut();
        let value = work(array::from_fn(|_| each.next().expect("there is one for each slice")));
        // Ends all registrations, also after an error.
        registered.iter_mut().map(Registered::end).fold(Ok(()), Result::and)?;
        Ok(value)
    }
}

impl<'a> Registered<'a> {
    fn new(allocator: &Arc<Allocator>, bytes: &'a mut [u8]) -> Result<Self> {
        let (start, len) = (NonNull::from(&mut *bytes).cast::<u8>(), bytes.len());
        let mut registered = Self {
            start,
            len,
            imported: None,
            copy: None,
            pending: VecDeque::new(),
            allocator: Arc::clone(allocator),
            bytes: PhantomData,
        };
        // SAFETY: the slice is borrowed for the scope. Its end waits for the device and gives the block back, and by
        // its contract the manager lets the pages go before `memfree` returns. Work uses no byte outside the slice:
        // `place_of` names none, and `bind` gives out only blocks that are exactly the slice. `read` and `write` wait
        // for the work before they give out a reference, which borrows the registration mutably, so nothing is recorded
        // while it lives.
        match unsafe { SlicePages::import(allocator, start, len) } {
            Ok(imported) => registered.imported = imported,
            Err(error @ Error::AlreadyPinned { .. }) => return Err(error),
            Err(error) => {
                allocator.device().check_lost()?;
                log::debug!("registered memory is copied through staging memory: {error}");
            }
        }
        Ok(registered)
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How the device reaches the bytes.
    pub fn path(&self) -> RegisteredPath {
        match &self.imported {
            None => RegisteredPath::Staged,
            Some(imported) if imported.bytes == (0..self.len) => RegisteredPath::Imported,
            Some(imported) => RegisteredPath::Parts { imported: imported.bytes.clone() },
        }
    }

    /// The import, if it is exactly the slice.
    pub(super) fn whole_block(&self) -> Option<&Arc<Block>> {
        self.imported.as_ref().map(|imported| &imported.block).filter(|block| block.size() == self.len as u64)
    }

    /// Copies the bytes `range` to `target` at `offset`, in the order of `stream`. Returns at once, except that it
    /// waits for an earlier copy to bytes that are staged.
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_from_block`] and [`Block::copy_from_host`].
    pub fn copy_to_block(
        &mut self,
        stream: &Stream,
        target: &Arc<Block>,
        offset: u64,
        range: Range<usize>,
    ) -> Result<()> {
        self.check(&range)?;
        target.check_range(offset, range.len() as u64)?;
        if let Some(copy) = &self.copy {
            return target.copy_from_block(stream, offset, copy, range.start as u64..range.end as u64);
        }
        self.finish_staged()?;
        check_same_device(stream.device(), target.device())?;
        for part in self.parts(&range) {
            let to = offset + (part.start - range.start) as u64;
            let place = self.place_of(&part);
            let pages = place.as_ref().map(|(block, pages)| (&***block, pages));
            let host = if pages.is_some() { HostSide::Imported } else { HostSide::Slice };
            let request = target.request(Direction::ToDevice, part.len() as u64, host);
            let route = Moment { pages, ..Moment::of(stream) }.route(target, &request)?;
            match (route, place) {
                (Route::Command { queue, via: Via::Direct }, Some((block, pages))) => {
                    target.send_from(block, pages, to, (stream, queue))?;
                }
                _ => target.upload((stream, route), &(to..to + part.len() as u64), self.bytes_of(&part))?,
            }
        }
        Ok(())
    }

    /// Copies the bytes `range` of `source` to the bytes at `at`, in the order of `stream`.
    ///
    /// Returns at once, unless many bytes are staged: [`Registered::read`] and the end of the scope wait for them.
    ///
    /// # Errors
    ///
    /// The errors of [`Block::copy_from_block`] and [`Block::copy_to_host`].
    pub fn copy_from_block(
        &mut self,
        stream: &Stream,
        at: usize,
        source: &Arc<Block>,
        range: Range<u64>,
    ) -> Result<()> {
        source.check_bytes(&range)?;
        let Range { start, end } = range;
        let len = end - start;
        let whole = at..at.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        self.check(&whole)?;
        if let Some(copy) = &self.copy {
            return copy.copy_from_block(stream, at as u64, source, start..end);
        }
        for part in self.parts(&whole) {
            let from = start + (part.start - at) as u64;
            let bytes = from..from + part.len() as u64;
            if let Some((block, pages)) = self.place_of(&part) {
                block.copy_from_block(stream, pages.start, source, bytes)?;
                continue;
            }
            let request = source.request(Direction::ToHost, part.len() as u64, HostSide::Later);
            if let Route::Command { queue, via: Via::Pinned } = Moment::of(stream).route(source, &request)? {
                let staging = self.allocator.allocate(part.len() as u64, MemoryKind::Pinned)?;
                staging.send_from(source, bytes, 0, (stream, queue))?;
                self.pending.push_back(StagedCopy { staging, part });
            } else {
                self.finish_staged()?;
                source.copy_to_host(stream, from, self.staged_mut(&part))?;
            }
        }
        Ok(())
    }

    /// The bytes, to be read. Blocks until no work of the device writes them.
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device.
    pub fn read(&mut self) -> Result<&[u8]> {
        self.wait(Mode::Read)?;
        // SAFETY: the slice is borrowed for the scope. The device was waited for, and while this borrow lives nothing is
        // recorded.
        Ok(unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) })
    }

    /// The bytes, to be written. Blocks until no work of the device uses them.
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device.
    pub fn write(&mut self) -> Result<&mut [u8]> {
        self.wait(Mode::Write)?;
        // SAFETY: the slice is borrowed mutably for the scope. All work that uses the bytes was waited for, and while
        // this mutable borrow lives nothing is recorded.
        Ok(unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) })
    }

    fn wait(&mut self, mode: Mode) -> Result<()> {
        self.finish_staged()?;
        self.allocator.device().check_lost()?;
        self.copy_back()?;
        match &self.imported {
            Some(SlicePages { block, .. }) => block.wait_for_uses(&(0..block.size()), mode),
            None => Ok(()),
        }
    }

    /// Finishes the copies that are still in staging memory.
    fn finish_staged(&mut self) -> Result<()> {
        while let Some(StagedCopy { staging, part }) = self.pending.front().cloned() {
            staging.wait_for_uses(&(0..staging.size()), Mode::Read)?;
            let mapping = staging.mapping().ok_or(Error::NotOnHost { kind: staging.kind() })?;
            // SAFETY: the writes were waited for. The block belongs to this registration alone, and nothing is recorded
            // with it while `self` is borrowed mutably.
            unsafe { staging.read_mapped(mapping, 0, self.staged_mut(&part)) }?;
            self.pending.pop_front(); // Removed afterwards, so that a copy whose wait failed is tried again.
        }
        Ok(())
    }

    /// Ends the scope: waits without a limit until the device no longer uses the bytes.
    fn end(&mut self) -> Result<()> {
        if let Err(forked) = self.allocator.device().check_process() {
            // This process has a copy of the pages that the device uses, and the block's memory belongs to the parent
            // process.
            (self.imported, self.copy, self.pending) = (None, None, VecDeque::new());
            return Err(forked.into());
        }
        let settled = self.finish_staged().and(self.copy_back());
        let Some(SlicePages { block, .. }) = self.imported.take() else { return settled };
        let waited = until_idle(&block);
        let block = Arc::into_inner(block).expect("no other handle was made");
        // SAFETY: the uses of the block were waited for, or were lost with a device that is idle now.
        unsafe { block.give_back_idle() };
        settled.and(waited)
    }

    fn check(&self, range: &Range<usize>) -> Result<()> {
        let (start, end, size) = (range.start as u64, range.end as u64, self.len as u64);
        let len = end.checked_sub(start).ok_or(Error::ReversedRange { start, end })?;
        if end <= size { Ok(()) } else { Err(Error::OutOfBounds { offset: start, len, size }) }
    }

    /// The parts of `range` that are copied one by one.
    fn parts(&self, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let cut = self.imported.as_ref().map_or(0..0, |imported| imported.cut(range.len()));
        parts(range, &cut)
    }

    /// The block that a part lies in and the part's range in it, if the part is imported.
    fn place_of(&self, part: &Range<usize>) -> Option<(&Arc<Block>, Range<u64>)> {
        self.imported.as_ref()?.place_of(part)
    }

    /// The bytes of a part, which the device must not be writing.
    fn bytes_of(&self, part: &Range<usize>) -> &[u8] {
        // SAFETY: the part lies in the borrowed slice. The device never reaches staged bytes, and was found not to
        // write the imported bytes; nothing is recorded while this borrow lives.
        unsafe { slice::from_raw_parts(self.address(part), part.len()) }
    }

    fn staged_mut(&mut self, part: &Range<usize>) -> &mut [u8] {
        // SAFETY: the part lies in the slice, which was borrowed mutably, and the device never reaches staged bytes.
        unsafe { slice::from_raw_parts_mut(self.address(part), part.len()) }
    }

    fn address(&self, part: &Range<usize>) -> *mut u8 {
        // SAFETY: the part lies in the slice.
        unsafe { self.start.add(part.start) }.as_ptr()
    }
}

/// Also ends the scope when the work has panicked.
impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            log_in_drop(|| log::error!("a registration ended with an error: {error}"));
        }
    }
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

vkarray_driver::debug_fields!(Registered<'_>, this => len: this.len, path: this.path());
