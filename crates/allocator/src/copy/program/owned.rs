//! [`Pinned`]: memory of the program that the device reaches until its owner is taken back.
//!
//! **Why this is safe.** The owner goes into the block, and lives as long as any object that can reach its bytes:
//! handles to the block, recorded work, the import itself. Nothing is borrowed, so the object can be leaked, stored and
//! sent. Whole pages are imported (`vulkan/import.rs`). All other bytes are copied to pinned memory, and back when the
//! owner is taken back. A block can be written by safe code, so bytes that may only be read are always a copy, which is
//! never copied back.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::ops::DerefMut;
use std::sync::Arc;

use bytemuck::Pod;
use stable_deref_trait::StableDeref;

use super::lent::Lent;
use super::memory::{ProgramMemory, RegisteredPath, still_shared, until_idle};
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};

/// Memory of the program with its owner; see [`Allocator::pin`].
///
/// The object can be stored, sent to another thread, and kept over an `.await`. Dropping it never blocks: the owner is
/// dropped when the device no longer uses the bytes.
pub struct Pinned<O> {
    memory: ProgramMemory,
    owner: Arc<O>,
}

/// Why memory could not be pinned, or taken back, together with the value that was to be consumed.
pub struct PinError<P> {
    error: Error,
    value: Option<Box<P>>,
}

impl Allocator {
    /// Lets the device reach the elements of `owner`, and keeps `owner` alive for as long as the device may use them.
    ///
    /// The owner is a container whose elements do not move when it is moved: a `Vec`, a `Box<[T]>`, a mapped file.
    /// Elements that are whole pages of the device ([`min_imported_host_pointer_alignment`]) are reached in place; all
    /// others are copied to pinned memory by this call, and back by [`Pinned::into_inner`]. [`Pinned::path`] says
    /// which.
    ///
    /// ```
    /// # use vkarray_allocator::Allocator;
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let (allocator, stream) = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let pinned = allocator.pin(vec![1_u32, 2, 3, 4])?;
    /// pinned.block().fill_range(&stream, 0..8, &[9, 0, 0, 0])?;
    /// assert_eq!(pinned.into_inner()?, [9, 9, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`min_imported_host_pointer_alignment`]: vkarray_driver::DeviceLimits::min_imported_host_pointer_alignment
    ///
    /// # Errors
    ///
    /// Each error returns the owner. [`Error::AlreadyPinned`] if the pages are pinned; and the errors of
    /// [`Allocator::allocate`].
    #[doc(alias = "cudaHostRegister")]
    #[doc(alias = "mapped")]
    pub fn pin<O, T>(self: &Arc<Self>, owner: O) -> Result<Pinned<O>, PinError<O>>
    where
        O: StableDeref + DerefMut<Target = [T]> + Send + Sync + 'static,
        T: Pod,
    {
        // SAFETY: the elements do not move when their owner does, by the promise of `StableDeref`.
        unsafe { self.pin_as(owner, |owner| Lent::Write(bytemuck::cast_slice_mut(owner))) }
    }

    /// Lets the device read the elements of `owner`, which may be shared: an `Arc<[T]>`, a file that is mapped to be
    /// read. They are copied to pinned memory by this call, and nothing is copied back.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use vkarray_allocator::Allocator;
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let allocator = Allocator::new(&device)?;
    /// let shared: Arc<[u32]> = Arc::from([1, 2, 3]);
    /// let pinned = allocator.pin_to_read(Arc::clone(&shared))?;
    /// assert_eq!(pinned.block().size(), 12);
    /// assert!(Arc::ptr_eq(&pinned.into_inner()?, &shared));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Each error returns the owner: the errors of [`Allocator::allocate`].
    pub fn pin_to_read<O, T>(self: &Arc<Self>, owner: O) -> Result<Pinned<O>, PinError<O>>
    where
        O: StableDeref<Target = [T]> + Send + Sync + 'static,
        T: Pod,
    {
        // SAFETY: the elements do not move when their owner does, by the promise of `StableDeref`, and while the owner
        // lives nobody writes them: they are borrowed shared from it, and have no interior mutability, being `Pod`.
        unsafe { self.pin_as(owner, |owner| Lent::Read(bytemuck::cast_slice(owner))) }
    }

    /// Pins the bytes of an owner.
    ///
    /// # Safety
    ///
    /// The bytes stay where they are and as they are for as long as the owner lives, is not borrowed, and is not moved.
    unsafe fn pin_as<O: Send + Sync + 'static>(
        self: &Arc<Self>,
        owner: O,
        bytes: impl for<'o> FnOnce(&'o mut O) -> Lent<'o>,
    ) -> Result<Pinned<O>, PinError<O>> {
        let mut owner = Arc::new(owner);
        let bytes = bytes(Arc::get_mut(&mut owner).expect("there is one handle"));
        // SAFETY: the owner lives as long as the memory, in `Pinned`, and until `into_inner` it is neither moved out of
        // its `Arc` nor borrowed. The caller promises that the bytes stay meanwhile.
        let mut memory = unsafe { ProgramMemory::new(self, bytes.by_address()) };
        let keeper: Arc<dyn Any + Send + Sync> = Arc::<O>::clone(&owner);
        // SAFETY: the import keeps a handle to the owner until it has ended. Only guards of the block, which exclude the
        // device, refer to the bytes.
        let imported = unsafe { memory.import(&keeper, true) };
        drop(keeper);
        match imported.and_then(|()| memory.bind().map(drop)) {
            Ok(()) => Ok(Pinned { memory, owner }),
            Err(error) => Err(PinError::new(error, Arc::into_inner(owner))),
        }
    }
}

impl<O> Pinned<O> {
    /// The memory. Handles to it keep the owner alive.
    pub fn block(&self) -> &Arc<Block> {
        self.memory.block().expect("it was bound when it was pinned")
    }

    /// How the device reaches the bytes: [`RegisteredPath::Imported`] or [`RegisteredPath::Staged`].
    pub fn path(&self) -> RegisteredPath {
        self.memory.path()
    }

    /// Whether the owner gave its bytes to be written.
    pub fn is_writable(&self) -> bool {
        self.memory.is_writable
    }

    /// Takes the owner back, with the bytes that the device wrote. Blocks until the device no longer uses the bytes.
    ///
    /// # Errors
    ///
    /// [`Error::StillShared`] while other handles to the block exist, such as arrays and graphs, and the errors of
    /// waiting for the device; all of these return this object, unchanged. [`Error::StillPinned`] if the memory manager
    /// did not let go of the pages; the owner is dropped when the manager does.
    pub fn into_inner(mut self) -> Result<O, PinError<Self>> {
        match self.settle() {
            Err(error) if self.memory.block().is_some() => Err(PinError::new(error, Some(self))),
            // The bytes are not reached any more, also if the device was lost at the very end.
            _ => Arc::into_inner(self.owner).ok_or(PinError { error: Error::StillPinned, value: None }),
        }
    }

    /// Waits until the device no longer uses the block, and copies its bytes to their owner if it is a copy.
    fn settle(&mut self) -> Result<()> {
        let block = self.block();
        if Arc::strong_count(block) > 1 {
            return Err(still_shared(block));
        }
        block.device().check_process()?;
        until_idle(block)?;
        self.memory.copy_back()?;
        if !self.memory.is_writable {
            self.memory.copy = None;
        }
        self.memory.end_import()
    }
}

impl<P> PinError<P> {
    pub(crate) fn new(error: Error, value: Option<P>) -> Self {
        Self { error, value: value.map(Box::new) }
    }

    /// The reason why the memory could not be pinned or taken back.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// The value that was to be consumed. `None` only with [`Error::StillPinned`].
    #[must_use]
    pub fn into_value(self) -> Option<P> {
        self.value.map(|value| *value)
    }

    /// The error and the value.
    #[must_use]
    pub fn into_parts(self) -> (Error, Option<P>) {
        (self.error, self.value.map(|value| *value))
    }

    /// Replaces the value of the error.
    #[must_use]
    pub fn map<Q>(self, change: impl FnOnce(P) -> Q) -> PinError<Q> {
        PinError::new(self.error, self.value.map(|value| change(*value)))
    }
}

impl<P> From<PinError<P>> for Error {
    fn from(refused: PinError<P>) -> Self {
        refused.error
    }
}

impl<P> fmt::Display for PinError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<P> fmt::Debug for PinError<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<P> StdError for PinError<P> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

vkarray_driver::debug_fields!([O] Pinned<O>, this => nbytes: this.block().size(), path: this.path());
