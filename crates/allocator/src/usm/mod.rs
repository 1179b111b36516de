//! Memory objects: [`DeviceMemory`], [`HostMemory`] and [`SharedMemory`], untyped bytes of one kind each.
//!
//! The three kinds and their methods are those of dpctl's USM memory. An object is a range of an allocation; clones and
//! views share it, and see it freed. Work goes to the stream of the context that it was made with, and is ordered by
//! the runtime. What all three do is in `memory/range.rs`; devices without shared memory have `memory/mirror.rs`.

mod mirror;
mod range;
mod state;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use vkarray_driver::Stream;

use self::range::MemoryRange;
use crate::allocator::{Allocator, Block};
use crate::error::{Error, Result};
use crate::memory::MemoryKind;

pub use self::mirror::MirroredMemory;
pub use self::state::MemoryState;

/// Where memory objects are made, and the stream that their work goes to.
pub trait MemoryContext {
    /// The memory.
    fn allocator(&self) -> &Arc<Allocator>;
    /// The stream.
    fn stream(&self) -> &Stream;
}

impl MemoryContext for (Arc<Allocator>, Stream) {
    fn allocator(&self) -> &Arc<Allocator> {
        &self.0
    }

    fn stream(&self) -> &Stream {
        &self.1
    }
}

/// The kind of a memory object: who addresses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsmType {
    /// The device alone.
    Device,
    /// Host memory that the device reaches too.
    Host,
    /// Device memory that the host addresses too. Nothing migrates.
    Shared,
}

impl UsmType {
    fn memory_kind(self) -> MemoryKind {
        match self {
            Self::Device => MemoryKind::Device,
            Self::Host => MemoryKind::Pinned,
            Self::Shared => MemoryKind::Shared,
        }
    }
}

impl fmt::Display for UsmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Shared => "shared",
        })
    }
}

/// Whoever foreign memory belongs to: held, never looked at.
pub type Reference = Arc<dyn Any + Send + Sync>;

/// A memory object of any kind.
pub trait MemoryObject: sealed::AsMemoryRange {
    /// Its kind.
    fn usm_type(&self) -> UsmType;
}

mod sealed {
    /// Shows what is behind an object.
    pub trait AsMemoryRange {
        #[doc(hidden)]
        fn memory_range(&self) -> &super::MemoryRange;
    }
}

/// How a memory object is to be made.
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is allocated before `allocate`"]
pub struct MemoryBuilder<M> {
    nbytes: u64,
    alignment: u64,
    kind: std::marker::PhantomData<fn() -> M>,
}

impl<M> MemoryBuilder<M> {
    /// Starts the memory at a multiple of `bytes`, a power of two: of the address where the host has one, else of the
    /// place in the buffer. Zero, the default, leaves it at 256 at least.
    pub fn alignment(mut self, bytes: u64) -> Self {
        self.alignment = bytes;
        self
    }
}

macro_rules! memory_objects {
    ($($(#[$doc:meta])* $name:ident, $usm:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Clones and views share the allocation, and see it freed.
        #[derive(Clone)]
        pub struct $name(MemoryRange);

        impl $name {
            /// Allocates `nbytes` bytes, uninitialised.
            ///
            /// # Errors
            ///
            /// [`Error::InvalidSize`] for no bytes at all; those of [`Allocator::allocate`].
            pub fn new(context: &impl MemoryContext, nbytes: u64) -> Result<Self> {
                Self::builder(nbytes).allocate(context)
            }

            /// Starts to describe `nbytes` bytes.
            pub fn builder(nbytes: u64) -> MemoryBuilder<Self> {
                MemoryBuilder { nbytes, alignment: 0, kind: std::marker::PhantomData }
            }

            /// Shares the memory of another object of the same kind. Copies nothing.
            ///
            /// # Errors
            ///
            /// [`Error::OtherUsmType`]: only a copy changes the kind; see `copy_of`.
            pub fn from_memory(other: &impl MemoryObject) -> Result<Self> {
                let (held, wanted) = (other.usm_type(), UsmType::$usm);
                if held == wanted { Ok(Self(other.memory_range().clone())) } else { Err(Error::OtherUsmType { held, wanted }) }
            }

            /// Allocates as many bytes as `other` has and copies them, whatever its kind and device.
            ///
            /// # Errors
            ///
            /// As `new` and `copy_from_device`.
            pub fn copy_of(context: &impl MemoryContext, other: &impl MemoryObject) -> Result<Self> {
                let copy = Self::builder(other.memory_range().nbytes()).alignment(other.memory_range().alignment()).allocate(context)?;
                copy.copy_from_device(other)?;
                Ok(copy)
            }

            /// Takes bytes of a block of this kind, kept alive with `reference`, for memory that somebody else made.
            ///
            /// # Errors
            ///
            /// [`Error::NotOnHost`] or [`Error::NoSuchMemory`] for a block of another kind; [`Error::OutOfBounds`],
            /// [`Error::ReversedRange`], [`Error::ForeignDevice`].
            pub fn from_block(
                context: &impl MemoryContext,
                block: &Arc<Block>,
                range: Range<u64>,
                reference: Reference,
            ) -> Result<Self> {
                Ok(Self(MemoryRange::of_block(context, UsmType::$usm.memory_kind(), block, range, reference)?))
            }

            /// How many bytes there are, as asked for. Freed memory keeps its size.
            #[must_use]
            pub fn nbytes(&self) -> u64 {
                self.0.nbytes()
            }

            /// The same as `nbytes`.
            #[must_use]
            pub fn size(&self) -> u64 {
                self.0.nbytes()
            }

            /// Its kind.
            #[must_use]
            pub fn usm_type(&self) -> UsmType {
                UsmType::$usm
            }

            /// Its kind in `context`: none where that is on another device, which does not know this memory.
            #[must_use]
            pub fn usm_type_in(&self, context: &impl MemoryContext) -> Option<UsmType> {
                self.0.is_known_to(context).then_some(UsmType::$usm)
            }

            /// Whoever the memory belongs to: none for memory that was allocated here, and what shares it.
            #[must_use]
            pub fn reference(&self) -> Option<&Reference> {
                self.0.reference()
            }

            /// The bytes `range`, shared.
            ///
            /// # Errors
            ///
            /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::UsedAfterFree`].
            pub fn view(&self, range: Range<u64>) -> Result<Self> {
                Ok(Self(self.0.view(range)?))
            }

            /// Copies everything to the host. Blocks until it is there.
            ///
            /// # Errors
            ///
            /// [`Error::UsedAfterFree`]; those of [`Block::copy_to_host`].
            pub fn copy_to_host(&self) -> Result<Vec<u8>> {
                self.0.to_bytes()
            }

            /// The same as `copy_to_host`.
            ///
            /// # Errors
            ///
            /// As `copy_to_host`.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                self.0.to_bytes()
            }

            /// Copies everything to the beginning of `target`. Blocks until it is there.
            ///
            /// # Errors
            ///
            /// [`Error::SizeMismatch`] if `target` is smaller; as `copy_to_host`.
            pub fn copy_to_host_into(&self, target: &mut [u8]) -> Result<()> {
                self.0.copy_to_host_into(target)
            }

            /// Copies `source` to the beginning. Returns when it has been read.
            ///
            /// # Errors
            ///
            /// [`Error::SizeMismatch`] if `source` is larger; [`Error::UsedAfterFree`]; those of
            /// [`Block::copy_from_host`].
            pub fn copy_from_host(&self, source: &[u8]) -> Result<()> {
                self.0.copy_from_host(source)
            }

            /// Copies all of `source` to the beginning, whatever its kind. Returns at once on the same device; memory of
            /// another device goes through the host. Overlapping bytes of one allocation arrive as they were.
            ///
            /// # Errors
            ///
            /// [`Error::SizeMismatch`] if `source` is larger; [`Error::UsedAfterFree`]; those of copying.
            pub fn copy_from_device(&self, source: &impl MemoryObject) -> Result<()> {
                self.0.copy_from(source.memory_range())
            }

            /// Writes `value` into every byte. Returns at once.
            ///
            /// # Errors
            ///
            /// [`Error::UsedAfterFree`]; those of recording.
            pub fn memset(&self, value: u8) -> Result<()> {
                self.0.fill(&[value])
            }

            /// Writes `pattern`, of any length, over and over. Returns at once.
            ///
            /// # Errors
            ///
            /// [`Error::BadPattern`] if it is empty or does not fit a whole number of times; as `memset`.
            pub fn fill(&self, pattern: &[u8]) -> Result<()> {
                self.0.fill(pattern)
            }

            /// Frees the allocation now, for every clone and view of it, when work under way is done with it. Never
            /// blocks. Dropping the last of them does the same.
            ///
            /// # Errors
            ///
            /// [`Error::FreedTwice`].
            pub fn free(&self) -> Result<()> {
                self.0.free()
            }

            /// The block and the bytes of it that this is.
            ///
            /// # Errors
            ///
            /// [`Error::UsedAfterFree`].
            pub fn block(&self) -> Result<(Arc<Block>, Range<u64>)> {
                self.0.block()
            }

            /// What it takes to make the same memory again, here or in another process. Blocks until it is copied.
            ///
            /// # Errors
            ///
            /// As `copy_to_host`.
            pub fn state(&self) -> Result<MemoryState> {
                MemoryState::of(&self.0, UsmType::$usm)
            }
        }

        impl MemoryBuilder<$name> {
            /// Allocates the memory, uninitialised.
            ///
            /// # Errors
            ///
            /// [`Error::InvalidSize`], [`Error::InvalidAlignment`]; those of [`Allocator::allocate`].
            pub fn allocate(self, context: &impl MemoryContext) -> Result<$name> {
                let kind = UsmType::$usm.memory_kind();
                Ok($name(MemoryRange::allocate(context, kind, self.nbytes, self.alignment)?))
            }
        }

        impl MemoryObject for $name {
            fn usm_type(&self) -> UsmType {
                UsmType::$usm
            }
        }

        impl sealed::AsMemoryRange for $name {
            fn memory_range(&self) -> &MemoryRange {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("nbytes", &self.nbytes()).finish_non_exhaustive()
            }
        }
    )*};
}

memory_objects! {
    /// Bytes that the device addresses. The host copies them.
    DeviceMemory, Device;
    /// Bytes of host memory that the device reaches over the bus.
    HostMemory, Host;
    /// Bytes of device memory that the host addresses, over the bus. Not every device has such; none migrates them.
    SharedMemory, Shared;
}

macro_rules! host_access {
    ($($name:ident),*) => {$(
        impl $name {
            /// Shows the bytes to `look`. Blocks until no work writes them; work that would is refused meanwhile.
            ///
            /// # Errors
            ///
            /// [`Error::UsedAfterFree`]; those of [`Block::read_on_host`].
            pub fn read<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R> {
                let (block, range) = self.0.block()?;
                let guard = block.read_on_host(range)?;
                Ok(look(&guard))
            }

            /// Shows the bytes to `change`. Blocks until no work uses them; work that would is refused meanwhile.
            ///
            /// # Errors
            ///
            /// [`Error::UsedAfterFree`]; those of [`Block::write_on_host`].
            pub fn write<R>(&self, change: impl FnOnce(&mut [u8]) -> R) -> Result<R> {
                let (block, range) = self.0.block()?;
                let mut guard = block.write_on_host(range)?;
                Ok(change(&mut guard))
            }
        }
    )*};
}
host_access!(HostMemory, SharedMemory);
