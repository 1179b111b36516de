//! Constant memory: host data that kernels read through `var<uniform>`.
//!
//! A snapshot is taken when the constant is made, as numba's `const.array_like` takes it; [`ConstArray::update`] replaces
//! it for all who share it. A shader declares constant memory with a fixed size. A shorter snapshot is refused, unless the
//! caller says `padded`: then zeros follow it. Each declared size has a block, made once and shared by every kernel that
//! declares it. Where the numbers go in it is decided in `placement.rs`.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use vkarray_allocator::{Allocator, Block, MemoryKind};
use vkarray_driver::Stream;

use crate::args::constant_shape;
use crate::check::ArrayShape;
use crate::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::placement::Placement;

/// Read-only data for kernels, of any size: what is too long for the device's constant memory (64 KiB on most) is bound
/// as storage.
///
/// Clones share the data and its memory, between kernels and threads. Elements are packed: rows of three floats fit an
/// `array<vec3<f32>>`, a `#[repr(C)]` struct without padding fits the shader's struct with it, single numbers fit an
/// array that the shader spreads over 16 bytes each. Where the last axes already have the padding, as rows of four floats
/// for `vec3`, it lies as it is. One that is shorter than the shader declares is refused, unless it is
/// [padded](ConstArray::padded).
#[derive(Clone)]
pub struct ConstArray {
    snapshot: Arc<Snapshot>,
    is_padded: bool,
}

struct Snapshot {
    dtype: DType,
    shape: SmallVec<[usize; 4]>,
    is_column_major: bool,
    nbytes: u64,
    allocator: Arc<Allocator>,
    held: Mutex<Held>,
}

/// The data, on the host and on the device.
struct Held {
    bytes: Vec<u8>,
    /// One block for each form that a kernel has asked for.
    blocks: SmallVec<[Placed; 1]>,
}

/// The data on the device, in one form.
struct Placed {
    block: Arc<Block>,
    placement: Option<Placement>,
}

impl ConstArray {
    /// Takes a snapshot of `values`, in C order with that shape. Nothing is sent to the device yet.
    ///
    /// # Panics
    ///
    /// If the shape's product is not the number of values: the caller holds both.
    #[must_use]
    pub fn new<T: Element>(allocator: &Arc<Allocator>, values: &[T], shape: &[usize]) -> Self {
        Self::with_order(allocator, values, shape, false)
    }

    /// Takes a snapshot of `values`, in F order with that shape: the first axis runs fastest, and kernels find the values
    /// in that order.
    ///
    /// # Panics
    ///
    /// As [`ConstArray::new`].
    #[must_use]
    pub fn column_major<T: Element>(allocator: &Arc<Allocator>, values: &[T], shape: &[usize]) -> Self {
        Self::with_order(allocator, values, shape, true)
    }

    fn with_order<T: Element>(
        allocator: &Arc<Allocator>,
        values: &[T],
        shape: &[usize],
        is_column_major: bool,
    ) -> Self {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "values for shape {shape:?}");
        let bytes = bytemuck::cast_slice(values).to_vec();
        // Checks look at axes in the order of memory.
        let shape = if is_column_major { shape.iter().rev().copied().collect() } else { shape.into() };
        let (dtype, nbytes) = (DType::of::<T>(), bytes.len() as u64);
        let held = Mutex::new(Held { bytes, blocks: SmallVec::new() });
        let allocator = Arc::clone(allocator);
        let snapshot = Arc::new(Snapshot { dtype, shape, is_column_major, nbytes, allocator, held });
        Self { snapshot, is_padded: false }
    }

    /// The same constant, which kernels may take that declare more: they read zeros behind its values. Otherwise a
    /// constant that is shorter than the kernel declares is refused. Shares the values and their memory with this one.
    #[must_use]
    pub fn padded(mut self) -> Self {
        self.is_padded = true;
        self
    }

    /// Its shape.
    #[must_use]
    pub fn dims(&self) -> SmallVec<[usize; 4]> {
        let shape = &self.snapshot.shape;
        if self.snapshot.is_column_major { shape.iter().rev().copied().collect() } else { shape.clone() }
    }

    /// Whether its first axis runs fastest in memory.
    #[must_use]
    pub fn is_column_major(&self) -> bool {
        self.snapshot.is_column_major
    }

    /// Its bytes on the host, without padding, and without the zeros behind them if it is padded.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.snapshot.nbytes
    }

    /// Replaces the values, for all who share the constant, in the order of `stream`: what was dispatched before this call
    /// reads the old values, what is dispatched after it the new ones, on whatever stream, without a new build. Replays of
    /// a graph that holds the constant read the new values too. In C order, or F order where the constant is.
    ///
    /// Returns when `values` has been read; blocks no longer than it takes to hand the bytes over.
    ///
    /// # Errors
    ///
    /// [`Error::ConstantUpdate`] unless type and number of the values are the same; [`Error::Memory`] for a stream of
    /// another device, and if sending fails. Kernels that are dispatched later then read the old values.
    pub fn update<T: Element>(&self, stream: &Stream, values: &[T]) -> Result<()> {
        let Snapshot { dtype, nbytes, allocator, .. } = &*self.snapshot;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if DType::of::<T>() != *dtype || bytes.len() as u64 != *nbytes {
            let len = *nbytes / u64::from(dtype.itemsize()).max(1);
            let (expected, given) = (format!("{len} of {dtype}"), format!("{} of {}", values.len(), DType::of::<T>()));
            return Err(Error::ConstantUpdate { expected, given });
        }
        if !Arc::ptr_eq(stream.device(), allocator.device()) {
            let name = |device: &Arc<vkarray_driver::Device>| device.info().name.clone();
            let (left, right) = (name(stream.device()), name(allocator.device()));
            return Err(vkarray_allocator::Error::ForeignDevice { left, right }.into());
        }
        let mut held = self.lock();
        held.blocks.retain(|placed| placed.block.is_alive());
        let sent = held.blocks.iter().try_for_each(|placed| placed.send(stream, bytes));
        match sent {
            Ok(()) => held.bytes.copy_from_slice(bytes),
            Err(_) => held.blocks.clear(), // Some may have the new values: the next to ask gets the old ones.
        }
        sent
    }

    pub(crate) fn allocator(&self) -> &Arc<Allocator> {
        &self.snapshot.allocator
    }

    /// As checks see it: the axes in the order of memory.
    pub(crate) fn shape(&self) -> ArrayShape<'_> {
        constant_shape(self.snapshot.dtype, &self.snapshot.shape, self.nbytes(), self.is_padded)
    }

    /// The data on the device, laid out so, and zero from its last value to `size` bytes.
    pub(crate) fn block(&self, stream: &Stream, size: u64, placement: Option<Placement>) -> Result<Arc<Block>> {
        let mut held = self.lock();
        held.blocks.retain(|placed| placed.block.is_alive()); // What a reset ended is sent anew.
        let is_it = |placed: &&Placed| placed.block.size() == size && placed.placement == placement;
        if let Some(placed) = held.blocks.iter().find(is_it) {
            return Ok(Arc::clone(&placed.block));
        }
        let block = self.snapshot.allocator.allocate(size, MemoryKind::Device)?;
        let placed = Placed { block: Arc::clone(&block), placement };
        placed.send(stream, &held.bytes)?;
        held.blocks.push(placed);
        Ok(block)
    }

    /// Copies between host and device go on under the lock: whoever asks meanwhile waits for whole values.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.snapshot.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Placed {
    /// Sends the values to the block, in the order of `stream`.
    fn send(&self, stream: &Stream, values: &[u8]) -> Result<()> {
        let laid = self.placement.as_ref().map_or_else(|| values.to_vec(), |placement| placement.lay_out(values));
        let mut laid = laid;
        laid.resize(usize::try_from(self.block.size()).unwrap_or(usize::MAX).max(laid.len()), 0);
        Ok(self.block.copy_from_host(stream, 0, &laid)?)
    }
}

impl fmt::Debug for ConstArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, shape) = (self.snapshot.dtype, self.dims());
        f.debug_struct("ConstArray").field("dtype", &dtype).field("shape", &shape).finish_non_exhaustive()
    }
}
