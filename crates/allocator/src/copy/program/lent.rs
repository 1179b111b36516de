//! [`Registered`]: memory that is lent to the device for the length of a call.
//!
//! **Why this is safe.** The bytes are borrowed for the scope, mutably or shared. The scope itself holds what reaches
//! them ([`ProgramMemory`]); the program gets handles that end with the scope, and no handle to a block. At its end, also
//! when it panics, the scope waits without a limit until the device no longer uses the bytes, copies back what the
//! device wrote elsewhere, and ends the imports. A leaked handle therefore keeps nothing. Bytes that are borrowed shared
//! are only read: copies to them are refused here, and kernels that write them by the kernel crate.

use std::any::Any;
use std::array;
use std::collections::VecDeque;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use vkarray_driver::hazard::Mode;
use vkarray_driver::{Direction, Stream, log_in_drop};

use super::memory::{ProgramMemory, RegisteredPath, StagedCopy};
use super::pages::parts;
use crate::allocator::{Allocator, Block};
use crate::copy::bus::Moment;
use crate::error::{Result, check_inside};
use crate::kind::MemoryKind;
use crate::memory::{HostSide, Route, Via};
use crate::vulkan::check_same_device;

/// Bytes of the program that are lent to the device.
#[derive(Debug)]
pub enum Lent<'a> {
    /// Bytes that the device reads.
    Read(&'a [u8]),
    /// Bytes that the device reads and writes.
    Write(&'a mut [u8]),
}

impl Lent<'_> {
    /// The bytes, and whether they may be written.
    pub(super) fn by_address(self) -> (NonNull<[u8]>, bool) {
        match self {
            Self::Read(bytes) => (NonNull::from(bytes), false),
            Self::Write(bytes) => (NonNull::from(bytes), true),
        }
    }
}

/// Memory of the program that is registered for the length of a call; see [`Allocator::register_all`].
pub struct Registered<'x>(&'x mut ProgramMemory);

/// Memory that code of another language owns and goes on using, registered until this is dropped; see
/// [`Allocator::register_by_address`]. Dropping it waits for the device.
// Each registration of `register_all` is one, too, which the program reaches as a `Registered`.
pub struct RegisteredMemory(ProgramMemory);

impl Allocator {
    /// Lets the device copy from and to bytes while `work` runs. Bytes that are lent to be read may be lent several
    /// times at once.
    ///
    /// Blocks at the end until the device no longer uses the bytes, also when `work` panics. There is no time limit: if the
    /// call returned earlier, the device could write to memory that is no longer borrowed.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, Lent, MemoryKind};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let block = allocator.allocate(4096, MemoryKind::Device)?;
    /// let (given, mut bytes) = (vec![6_u8; 4096], vec![0_u8; 4096]);
    /// allocator.register_all([Lent::Read(&given), Lent::Write(&mut bytes)], |[mut given, mut bytes]| {
    ///     given.copy_to_block(&stream, &block, 0, 0..4096)?;
    ///     bytes.copy_from_block(&stream, 0, &block, 0..4096)
    /// })??;
    /// assert_eq!(bytes, given);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail
    /// # use vkarray_allocator::{Allocator, Lent};
    /// # fn f(allocator: &std::sync::Arc<Allocator>, bytes: &mut [u8], others: &mut [u8]) {
    /// allocator.register_all([Lent::Write(bytes)], |[mut outer]| {
    ///     // Scopes cannot be exchanged.
    ///     allocator.register_all([Lent::Write(others)], |[mut inner]| std::mem::swap(&mut outer, &mut inner)).unwrap();
    ///     outer.len()
    /// });
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyPinned`](crate::Error::AlreadyPinned) if pages that hold nothing but bytes that are lent to be
    /// written are imported already; and the errors of waiting for the device, when `work` has run.
    #[doc(alias = "register")]
    pub fn register_all<R, const N: usize>(
        self: &Arc<Self>,
        bytes: [Lent<'_>; N],
        work: impl for<'x> FnOnce([Registered<'x>; N]) -> R,
    ) -> Result<R> {
        self.device().check_lost()?;
        // SAFETY: the bytes are borrowed for the scope, mutably if they may be written. The registration ends before the
        // scope does. `read` and `write` wait for the work before they give out a reference, which borrows the
        // registration mutably, so that nothing is recorded while it lives.
        let registered = bytes.into_iter().map(|bytes| unsafe { RegisteredMemory::new(self, bytes.by_address()) });
        let mut registered = registered.collect::<Result<Vec<_>>>()?;
        let mut each = registered.iter_mut();
        let value = work(array::from_fn(|_| Registered(&mut each.next().expect("there is one for each").0)));
        // Ends all registrations, also after an error.
        registered.iter_mut().map(RegisteredMemory::end).fold(Ok(()), Result::and)?;
        Ok(value)
    }

    /// Registers memory that code of another language owns, such as a buffer of Python, until the result is dropped. Its
    /// copies wait for the device, so that the owner may use the memory between them.
    ///
    /// # Safety
    ///
    /// The bytes can be read and written until the result is dropped. While a copy runs, no other code writes them, and while a
    /// copy to them runs, none reads them.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyPinned`](crate::Error::AlreadyPinned) if pages that hold nothing but these bytes are imported
    /// already; the loss of the device.
    pub unsafe fn register_by_address(self: &Arc<Self>, bytes: NonNull<[u8]>) -> Result<RegisteredMemory> {
        self.device().check_lost()?;
        // SAFETY: the caller promises the bytes. The result refers to them in copies alone, which wait until they are over.
        unsafe { RegisteredMemory::new(self, (bytes, true)) }
    }
}

impl RegisteredMemory {
    /// Registers bytes; the flag says whether they may be written.
    ///
    /// # Safety
    ///
    /// What [`ProgramMemory::new`] asks, until the registration ends.
    unsafe fn new(allocator: &Arc<Allocator>, bytes: (NonNull<[u8]>, bool)) -> Result<Self> {
        let keeper: Arc<dyn Any + Send + Sync> = Arc::new(()); // The caller keeps the bytes.
        // SAFETY: the caller promises what is asked of it.
        let mut registered = Self(unsafe { ProgramMemory::new(allocator, bytes) });
        // SAFETY: the end of the registration waits for the device and gives the block back, and by its contract the
        // manager lets the pages go before `memfree` returns.
        unsafe { registered.0.import(&keeper, false) }?;
        Ok(registered)
    }

    /// Ends the registration: waits without a limit until the device no longer uses the bytes.
    fn end(&mut self) -> Result<()> {
        let memory = &mut self.0;
        if let Err(forked) = memory.allocator.device().check_process() {
            // This process has a copy of the pages that the device uses, and the block's memory belongs to the parent
            // process.
            (memory.imported, memory.copy, memory.pending) = (None, None, VecDeque::new());
            return Err(forked.into());
        }
        let settled = memory.finish_staged().and(memory.copy_back());
        settled.and(memory.end_import()) // Ended also after an error.
    }

    /// How the device reaches the bytes.
    pub fn path(&self) -> RegisteredPath {
        self.0.path()
    }

    /// Copies all bytes to `target` at `offset`, in the order of `stream`, and blocks until they are copied.
    ///
    /// # Errors
    ///
    /// The errors of [`Registered::copy_to_block`] and of waiting for the device.
    pub fn copy_to_block(&mut self, stream: &Stream, target: &Arc<Block>, offset: u64) -> Result<()> {
        let memory = &mut self.0;
        let whole = 0..memory.len;
        let copied = Registered(memory).copy_to_block(stream, target, offset, whole);
        copied.and(memory.wait(Mode::Write)) // Waits also after an error, which may come after a part.
    }

    /// Copies as many bytes of `source` from `offset` on to the bytes, in the order of `stream`, and blocks until they are
    /// copied.
    ///
    /// # Errors
    ///
    /// The errors of [`Registered::copy_from_block`] and of waiting for the device.
    pub fn copy_from_block(&mut self, stream: &Stream, source: &Arc<Block>, offset: u64) -> Result<()> {
        let memory = &mut self.0;
        let range = offset..offset.saturating_add(memory.len as u64);
        let copied = Registered(memory).copy_from_block(stream, 0, source, range);
        copied.and(memory.wait(Mode::Write))
    }
}

vkarray_driver::debug_fields!(RegisteredMemory, this => path: this.path());

/// Also ends the registration when the work has panicked.
impl Drop for RegisteredMemory {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            log_in_drop(|| log::error!("a registration ended with an error: {error}"));
        }
    }
}

impl Registered<'_> {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// This registration, for a shorter time.
    pub fn reborrow(&mut self) -> Registered<'_> {
        Registered(self.0)
    }

    /// How the device reaches the bytes.
    pub fn path(&self) -> RegisteredPath {
        self.0.path()
    }

    /// Whether the bytes were lent to be written.
    pub fn is_writable(&self) -> bool {
        self.0.is_writable
    }

    /// The memory for kernels, from its first byte to its last. Imported memory is reached in place if it is whole pages;
    /// otherwise a kernel could write to other bytes in the same page. Other memory is copied to pinned memory, which
    /// blocks until the device no longer uses the bytes. If it may be written, it is copied back by
    /// [`Registered::read`], [`Registered::write`] and the end of the registration.
    ///
    /// # Safety
    ///
    /// No handle that is cloned from it outlives the borrow of this object: the registration ends the memory. Unless
    /// [`Registered::is_writable`], no work and no host access writes it.
    ///
    /// # Errors
    ///
    /// The errors of allocating pinned memory and of waiting for the device.
    pub unsafe fn bind(&mut self) -> Result<&Arc<Block>> {
        self.0.bind()
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
        let memory = &mut *self.0;
        if let Some(copy) = &memory.copy {
            return target.copy_from_block(stream, offset, copy, range.start as u64..range.end as u64);
        }
        memory.finish_staged()?;
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
                _ => target.upload((stream, route), &(to..to + part.len() as u64), self.0.bytes(&part))?,
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
        self.0.check_writable()?;
        let Range { start, end } = range;
        let len = end - start;
        let whole = at..at.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        self.check(&whole)?;
        if let Some(copy) = &self.0.copy {
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
                let staging = self.0.allocator.allocate(part.len() as u64, MemoryKind::Pinned)?;
                staging.send_from(source, bytes, 0, (stream, queue))?;
                self.0.pending.push_back(StagedCopy { staging, part });
            } else {
                self.0.finish_staged()?;
                source.copy_to_host(stream, from, self.0.bytes_mut(&part))?;
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
        self.0.wait(Mode::Read)?;
        Ok(self.0.bytes(&(0..self.len())))
    }

    /// The bytes, to be written. Blocks until no work of the device uses them.
    ///
    /// # Errors
    ///
    /// The errors of waiting for the device.
    pub fn write(&mut self) -> Result<&mut [u8]> {
        self.0.check_writable()?;
        self.0.wait(Mode::Write)?;
        let whole = 0..self.len();
        Ok(self.0.bytes_mut(&whole))
    }

    fn check(&self, range: &Range<usize>) -> Result<()> {
        check_inside(&(range.start as u64..range.end as u64), self.0.len as u64)
    }

    /// The parts of `range` that are copied one by one.
    fn parts(&self, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let cut = self.0.imported.as_ref().map_or(0..0, |imported| imported.cut(range.len()));
        parts(range, &cut)
    }

    /// The block that a part lies in and the part's range in it, if the part is imported.
    fn place_of(&self, part: &Range<usize>) -> Option<(&Arc<Block>, Range<u64>)> {
        self.0.imported.as_ref()?.place_of(part)
    }
}

vkarray_driver::debug_fields!(Registered<'_>, this => len: this.len(), path: this.path());
