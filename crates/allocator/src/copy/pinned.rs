//! [`Pinned`]: memory of the program that the device reaches until its owner is taken back.
//!
//! The owner goes into the block, and lives as long as any object that can reach its bytes: handles to the block,
//! recorded work, the import itself. Whole pages are imported (`vulkan/import.rs`). Other bytes, and all bytes where
//! the device imports nothing, are copied to pinned memory, and copied back when the owner is taken back.

use std::error::Error as StdError;
use std::fmt;
use std::ops::DerefMut;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use stable_deref_trait::StableDeref;

use super::registered::{RegisteredPath, until_idle};
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::vulkan::{page, whole_pages};

/// Memory of the program with its owner; see [`Allocator::pin`].
///
/// The object can be stored, sent to another thread, and kept over an `.await`. Dropping it never blocks: the owner is
/// dropped when the device no longer uses the bytes.
pub struct Pinned<O> {
    block: Arc<Block>,
    owner: Arc<O>,
    is_copy: bool,
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
    /// [`min_imported_host_pointer_alignment`]: vkarray_driver::Limits::min_imported_host_pointer_alignment
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
        let mut owner = Arc::new(owner);
        match self.pin_bytes(&mut owner) {
            Ok((block, is_copy)) => Ok(Pinned { block, owner, is_copy }),
            Err(error) => Err(PinError::new(error, Arc::into_inner(owner))),
        }
    }

    /// The block over the bytes of an owner, and whether it is a copy.
    fn pin_bytes<O, T>(self: &Arc<Self>, owner: &mut Arc<O>) -> Result<(Arc<Block>, bool)>
    where
        O: StableDeref + DerefMut<Target = [T]> + Send + Sync + 'static,
        T: Pod,
    {
        let bytes = bytes_of(owner);
        let (start, len) = (NonNull::from(&mut *bytes).cast::<u8>(), bytes.len());
        if len > 0 && whole_pages(start.addr().get(), len, page(self.device().info())) == (0..len) {
            // SAFETY: the block keeps a handle to the owner until the import has ended. Until then the owner is neither
            // moved out of its `Arc` nor borrowed, so its elements do not move, by the promise of `StableDeref`. Only
            // guards of the block, which exclude the device, refer to the elements.
            match unsafe { self.import_pages(Box::new(Arc::clone(owner)), start, len as u64) } {
                Ok(block) => return Ok((block, false)),
                Err(error @ Error::AlreadyPinned { .. }) => return Err(error),
                Err(error) => {
                    self.device().check_lost()?;
                    log::debug!("memory of the program is copied to pinned memory: {error}");
                }
            }
        }
        let copy = self.allocate(len as u64, MemoryKind::Pinned)?;
        copy.write_on_host(0..len as u64)?.copy_from_slice(bytes_of(owner));
        Ok((copy, true))
    }
}

/// The bytes of an owner that has one handle.
fn bytes_of<O: DerefMut<Target = [T]>, T: Pod>(owner: &mut Arc<O>) -> &mut [u8] {
    bytemuck::cast_slice_mut(Arc::get_mut(owner).expect("nothing was imported, so this is the only handle"))
}

impl<O> Pinned<O> {
    /// The memory. Handles to it keep the owner alive.
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// How the device reaches the bytes: [`RegisteredPath::Imported`] or [`RegisteredPath::Staged`].
    pub fn path(&self) -> RegisteredPath {
        if self.is_copy { RegisteredPath::Staged } else { RegisteredPath::Imported }
    }

    /// Takes the owner back, with the bytes that the device wrote. Blocks until the device no longer uses the bytes.
    ///
    /// # Errors
    ///
    /// [`Error::StillShared`] while other handles to the block exist, such as arrays and graphs, and the errors of
    /// waiting for the device; all of these return this object, unchanged. [`Error::StillPinned`] if the memory manager
    /// did not let go of the pages; the owner is dropped when the manager does.
    pub fn into_inner<T>(self) -> Result<O, PinError<Self>>
    where
        O: DerefMut<Target = [T]>,
        T: Pod,
    {
        let Self { block, mut owner, is_copy } = self;
        let block = match Arc::try_unwrap(block) {
            Ok(block) => block,
            Err(block) => {
                let error = Error::StillShared { n_handles: Arc::strong_count(&block).saturating_sub(1) };
                return Err(PinError::new(error, Some(Self { block, owner, is_copy })));
            }
        };
        if let Err(error) = settle(&block, is_copy, &mut owner) {
            return Err(PinError::new(error, Some(Self { block: Arc::new(block), owner, is_copy })));
        }
        // SAFETY: the uses of the block were waited for, and this was the last handle.
        unsafe { block.give_back_idle() };
        Arc::into_inner(owner).ok_or(PinError { error: Error::StillPinned, value: None })
    }
}

/// Waits until the device no longer uses the block, and copies its bytes to their owner if it is a copy.
fn settle<O, T>(block: &Block, is_copy: bool, owner: &mut Arc<O>) -> Result<()>
where
    O: DerefMut<Target = [T]>,
    T: Pod,
{
    block.device().check_process()?;
    until_idle(block)?;
    if is_copy {
        let bytes = block.read_on_host(0..block.size())?;
        bytes_of(owner).copy_from_slice(&bytes);
    }
    Ok(())
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

vkarray_driver::debug_fields!([O] Pinned<O>, this => nbytes: this.block.size(), path: this.path());
