//! [`UsmMemory`]: a range of an allocation that can be freed while clones and views of it exist.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use vkarray_driver::Stream;
use vkarray_driver::lock::{Mutex, Rank};

use super::{HostVisible, MemoryContext, Reference, UsmKind, UsmType};
use crate::allocator::{Block, HostRead, HostWrite};
use crate::error::{Error, Result, check_inside};
use crate::memory::MemoryConnection;
use crate::vulkan::check_same_device;

/// The alignment of blocks in their buffers, and therefore the least alignment of an object.
const BLOCK_ALIGNMENT: u64 = 256;

/// Bytes of one kind of memory; see [`DeviceMemory`](super::DeviceMemory), [`HostMemory`](super::HostMemory) and
/// [`SharedMemory`](super::SharedMemory). Clones and views share the allocation.
///
/// ```
/// use vkarray_allocator::{Allocator, DeviceMemory, HostMemory};
/// use vkarray_driver::Stream;
/// use vkarray_driver::{Device, Instance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::open_selected(&Instance::builder().build()?, None)?;
/// let context = (Allocator::new(&device)?, Stream::new(&device)?); // Or a `Context` of the ndarray crate.
/// let memory = DeviceMemory::new(&context, 8)?;
/// memory.copy_from_host(b"somewhat")?;
/// memory.view(0..4)?.memset(b'x')?;
/// let host = HostMemory::copy_of(&context, &memory)?;
/// assert_eq!(host.copy_to_host()?, b"xxxxwhat");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct UsmMemory<K> {
    /// The block of the allocation; `None` once it was freed.
    pub(super) allocation: Arc<Mutex<Option<Arc<Block>>>>,
    pub(super) range: Range<u64>,
    pub(super) alignment: u64,
    pub(super) stream: Stream,
    pub(super) reference: Option<Reference>,
    kind: PhantomData<fn() -> K>,
}

impl<K: UsmKind> UsmMemory<K> {
    /// Allocates `nbytes` bytes, uninitialised.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidSize`] for zero bytes; and the errors of [`Allocator::allocate`](crate::Allocator::allocate).
    pub fn new(context: &impl MemoryContext, nbytes: u64) -> Result<Self> {
        Self::aligned(context, nbytes, 0)
    }

    /// Allocates `nbytes` bytes, uninitialised, that start at a multiple of `alignment`, a power of two: of the address
    /// if the host addresses the memory, else of the position in the buffer. With zero they start at a multiple of 256
    /// at least.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, HostMemory};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let context = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let memory = HostMemory::aligned(&context, 100, 4096)?;
    /// assert_eq!(memory.read_on_host::<u8>()?.as_ptr().addr() % 4096, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidSize`], [`Error::InvalidAlignment`]; and the errors of
    /// [`Allocator::allocate`](crate::Allocator::allocate).
    pub fn aligned(context: &impl MemoryContext, nbytes: u64, alignment: u64) -> Result<Self> {
        if nbytes == 0 {
            return Err(Error::InvalidSize);
        }
        if alignment != 0 && !alignment.is_power_of_two() {
            return Err(Error::InvalidAlignment { alignment });
        }
        let stream = context.stream();
        let limit = stream.device().info().limits.max_buffer_size;
        let room = if alignment > BLOCK_ALIGNMENT { alignment } else { 0 };
        let bytes = nbytes.checked_add(room).ok_or(Error::TooLarge { bytes: nbytes, limit })?;
        let block = context.allocator().allocate(bytes, K::TYPE.memory_kind())?;
        let first = block.mapped().map_or(block.buffer_offset(), |address| address.addr().get() as u64);
        let start = if room > 0 { first.next_multiple_of(alignment) - first } else { 0 };
        Ok(Self::of(stream, block, start..start + nbytes, alignment))
    }

    /// Shares the memory of another object of the same kind, without a copy.
    ///
    /// # Errors
    ///
    /// [`Error::OtherUsmType`]: only a copy changes the kind; see [`UsmMemory::copy_of`].
    pub fn from_memory<J: UsmKind>(other: &UsmMemory<J>) -> Result<Self> {
        if J::TYPE != K::TYPE {
            return Err(Error::OtherUsmType { held: J::TYPE, wanted: K::TYPE });
        }
        let UsmMemory { allocation, range, alignment, stream, reference, .. } = other.clone();
        Ok(Self { allocation, range, alignment, stream, reference, kind: PhantomData })
    }

    /// Allocates as many bytes as `other` has and copies them. `other` may be of any kind and device.
    ///
    /// # Errors
    ///
    /// The errors of [`UsmMemory::new`] and [`UsmMemory::copy_from_device`].
    pub fn copy_of<J: UsmKind>(context: &impl MemoryContext, other: &UsmMemory<J>) -> Result<Self> {
        let copy = Self::aligned(context, other.nbytes(), other.alignment)?;
        copy.copy_from_device(other)?;
        Ok(copy)
    }

    /// Refers to bytes of a block of this kind. `reference` is kept alive with them, for memory that another library owns.
    ///
    /// # Errors
    ///
    /// [`Error::OtherKind`] for a block of another kind; [`Error::OutOfBounds`], [`Error::ReversedRange`],
    /// [`Error::ForeignDevice`].
    pub fn from_block(
        context: &impl MemoryContext,
        block: &Arc<Block>,
        range: Range<u64>,
        reference: Reference,
    ) -> Result<Self> {
        let wanted = K::TYPE.memory_kind();
        if block.kind() != wanted {
            return Err(Error::OtherKind { held: block.kind(), wanted });
        }
        let stream = context.stream();
        check_same_device(block.device(), stream.device())?;
        let range = subrange(&(0..block.size()), range)?;
        Ok(Self { reference: Some(reference), ..Self::of(stream, Arc::clone(block), range, 0) })
    }

    fn of(stream: &Stream, block: Arc<Block>, range: Range<u64>, alignment: u64) -> Self {
        let allocation = Arc::new(Mutex::new(Rank::MemoryObject, Some(block)));
        Self { allocation, range, alignment, stream: stream.clone(), reference: None, kind: PhantomData }
    }

    /// The number of bytes, as requested. It stays the same after a free.
    pub fn nbytes(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The number of bytes; another name of [`UsmMemory::nbytes`].
    pub fn size(&self) -> u64 {
        self.nbytes()
    }

    /// The stream of the object's work.
    #[doc(alias = "sycl_queue")]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The kind of memory.
    #[doc(alias = "get_usm_type")]
    pub fn usm_type(&self) -> UsmType {
        K::TYPE
    }

    /// The kind of memory in `context`; `None` if the context is of another device, which cannot address the memory.
    pub fn usm_type_in(&self, context: &impl MemoryContext) -> Option<UsmType> {
        Arc::ptr_eq(self.stream.device(), context.stream().device()).then_some(K::TYPE)
    }

    /// The owner of foreign memory; `None` for memory that was allocated here.
    #[doc(alias = "reference_obj")]
    pub fn reference(&self) -> Option<&Reference> {
        self.reference.as_ref()
    }

    /// The bytes `range`, which share the allocation.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`], [`Error::ReversedRange`], [`Error::UsedAfterFree`].
    pub fn view(&self, range: Range<u64>) -> Result<Self> {
        self.block()?;
        Ok(Self { range: subrange(&self.range, range)?, alignment: 0, ..self.clone() })
    }

    /// Frees the allocation now, for every clone and view of it, when the device no longer uses it. Never blocks.
    /// Dropping the last clone or view also frees it.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, DeviceMemory, Error};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let context = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let memory = DeviceMemory::new(&context, 64)?;
    /// let view = memory.view(0..8)?;
    /// memory.free()?;
    /// assert!(matches!(view.memset(0), Err(Error::UsedAfterFree { nbytes: 8 })));
    /// assert!(matches!(memory.free(), Err(Error::FreedTwice { nbytes: 64 })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::FreedTwice`] if the allocation was freed before.
    #[doc(alias = "urUSMFree")]
    pub fn free(&self) -> Result<()> {
        self.stream.device().check_process()?;
        let taken = self.allocation.lock().take();
        // Dropped after the lock, because code of the manager runs.
        taken.map(drop).ok_or_else(|| Error::FreedTwice { nbytes: self.nbytes() })
    }

    /// How this memory reaches another context; see [`connection_between`](crate::connection_between).
    ///
    /// # Errors
    ///
    /// [`Error::UsedAfterFree`]; and the errors of [`Block::connection_to`].
    pub fn connection_to(&self, target: &impl MemoryContext) -> Result<MemoryConnection> {
        self.block()?.0.connection_to(target.stream().device())
    }

    /// The block of this memory, and the range of the memory's bytes in the block.
    ///
    /// # Errors
    ///
    /// [`Error::UsedAfterFree`] if the allocation was freed.
    pub fn block(&self) -> Result<(Arc<Block>, Range<u64>)> {
        self.stream.device().check_process()?;
        let allocation = self.allocation.lock();
        let block = allocation.as_ref().ok_or_else(|| Error::UsedAfterFree { nbytes: self.nbytes() })?;
        Ok((Arc::clone(block), self.range.clone()))
    }
}

impl<K: HostVisible> UsmMemory<K> {
    /// Gives the host read access to the bytes in place, as elements of `T`. Blocks until no work writes them; work
    /// that would write them is refused while the guard exists. The guard keeps the allocation alive, also if the
    /// memory is freed meanwhile.
    ///
    /// ```
    /// # use vkarray_allocator::{Allocator, HostMemory};
    /// # use vkarray_driver::{Device, Instance, Stream};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = Device::open_selected(&Instance::builder().build()?, None)?;
    /// # let context = (Allocator::new(&device)?, Stream::new(&device)?);
    /// let memory = HostMemory::new(&context, 8)?;
    /// memory.memset(1)?;
    /// let numbers = memory.read_on_host::<u32>()?;
    /// assert_eq!(*numbers, [0x0101_0101; 2]);
    /// assert!(memory.memset(2).is_err()); // The host is reading.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UsedAfterFree`], [`Error::NotElements`]; and the errors of [`Block::read_on_host`].
    pub fn read_on_host<T: AnyBitPattern>(&self) -> Result<HostRead<'static, T>> {
        let (block, range) = self.block()?;
        block.read_on_host_arc(range)?.cast()
    }

    /// Gives the host read and write access to the bytes in place, as elements of `T`. Blocks until no work uses them;
    /// work that would use them is refused while the guard exists. See [`UsmMemory::read_on_host`].
    ///
    /// # Errors
    ///
    /// The errors of [`UsmMemory::read_on_host`] and of [`Block::write_on_host`].
    pub fn write_on_host<T: NoUninit + AnyBitPattern>(&self) -> Result<HostWrite<'static, T>> {
        let (block, range) = self.block()?;
        block.write_on_host_arc(range)?.cast()
    }
}

vkarray_driver::debug_fields!([K: UsmKind] UsmMemory<K>, this => usm_type: K::TYPE, nbytes: this.nbytes());

/// The part `inner` of `outer`; `inner` counts from the start of `outer`.
fn subrange(outer: &Range<u64>, inner: Range<u64>) -> Result<Range<u64>> {
    check_inside(&inner, outer.end - outer.start)?;
    Ok(outer.start + inner.start..outer.start + inner.end)
}
