//! Constant memory: host data that kernels read through `var<uniform>`.
//!
//! A snapshot is taken when the constant is made, as numba's `const.array_like` takes it; [`ConstArray::update`] replaces
//! it for all who share it. A shader declares constant memory with a fixed size. A shorter snapshot is refused, unless the
//! caller says `padded`: then zeros follow it. Each declared size has a block, made once and shared by every kernel that
//! declares it. Where the numbers go in it is decided in `packing.rs`.

use std::fmt;
use std::mem;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::{Allocator, Block, MemoryKind};
use vkarray_driver::lock::{Mutex, MutexGuard, Rank};
use vkarray_driver::{DeferDrops, Stream};

use crate::call::packing::Placement;
use crate::call::shape::ArrayShape;
use crate::error::{Error, Result};
use crate::signature::{DType, Element};

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
    held: Mutex<ConstantState>,
}

/// The data, on the host and on the device. Locked for as long as it takes to record copies: memory is taken and dropped
/// without the lock, since that may call the program, which may use the constant.
struct ConstantState {
    values: ConstantValues,
    /// One block for each form that a kernel has asked for.
    blocks: SmallVec<[Placed; 1]>,
}

/// The values, and how often they were replaced.
#[derive(Clone)]
struct ConstantValues {
    bytes: Arc<[u8]>,
    version: u64,
}

/// How the data lies on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConstantLayout {
    size: u64,
    placement: Option<Placement>,
}

/// The data on the device, in one form.
struct Placed {
    block: Arc<Block>,
    form: ConstantLayout,
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
        let bytes: Arc<[u8]> = Arc::from(bytemuck::cast_slice(values));
        // Checks look at axes in the order of memory.
        let shape = if is_column_major { shape.iter().rev().copied().collect() } else { shape.into() };
        let (dtype, nbytes) = (DType::of::<T>(), bytes.len() as u64);
        let held = ConstantState { values: ConstantValues { bytes, version: 0 }, blocks: SmallVec::new() };
        let held = Mutex::new(Rank::Constant, held);
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
    /// Returns when `values` has been read. Takes host memory for a copy of them, and blocks no longer than that needs.
    ///
    /// # Errors
    ///
    /// [`Error::ConstantUpdate`] unless type and number of the values are the same; [`Error::Memory`] for a stream of
    /// another device, and if there is no memory or sending fails. Kernels that are dispatched later then read the old
    /// values.
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
        allocator.device().check_process()?;
        let mut staged: SmallVec<[(ConstantLayout, Arc<Block>); 1]> = SmallVec::new();
        loop {
            let later = DeferDrops::begin(); // Ends after the lock is released.
            let dead; // Dropped without the lock.
            let mut held = self.lock();
            dead = held.take_dead();
            let missing = held.forms().find(|form| staged.iter().all(|(staged, _)| staged != *form)).cloned();
            if let Some(form) = missing {
                drop((held, dead, later)); // In this order.
                let memory = self.stage(bytes, &form)?;
                staged.push((form, memory));
                continue;
            }
            let sent = staged.iter().try_for_each(|(form, memory)| match held.find(form) {
                Some(block) => send(stream, memory, &block),
                None => Ok(()),
            });
            if sent.is_err() {
                // Some may have the new values: the next to ask gets the old ones.
                let dropped = mem::take(&mut held.blocks);
                drop(held);
                drop(dropped);
                return sent;
            }
            held.values = ConstantValues { bytes: Arc::from(bytes), version: held.values.version + 1 };
            return Ok(());
        }
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
        let allocator = &self.snapshot.allocator;
        allocator.device().check_process()?;
        let form = ConstantLayout { size, placement };
        loop {
            let values = {
                let held = self.lock();
                match held.find(&form) {
                    Some(block) => return Ok(block),
                    None => held.values.clone(),
                }
            };
            let block = allocator.allocate(size, MemoryKind::Device)?;
            let memory = self.stage(&values.bytes, &form)?;
            let _later = DeferDrops::begin(); // Until the lock is given back: it ends last.
            let dead; // Dropped without the lock.
            let mut held = self.lock();
            dead = held.take_dead();
            if held.find(&form).is_none() && held.values.version == values.version {
                send(stream, &memory, &block)?;
                held.blocks.push(Placed { block: Arc::clone(&block), form });
                return Ok(block);
            }
            // Another thread added the block first, or the values were replaced meanwhile.
            drop(held);
            drop(dead);
        }
    }

    /// Puts values, laid out so, into host memory that the device copies from.
    fn stage(&self, values: &[u8], form: &ConstantLayout) -> Result<Arc<Block>> {
        let mut laid = form.placement.as_ref().map_or_else(|| values.to_vec(), |placement| placement.lay_out(values));
        laid.resize(usize::try_from(form.size).unwrap_or(usize::MAX).max(laid.len()), 0);
        let memory = self.snapshot.allocator.allocate(laid.len() as u64, MemoryKind::WriteCombined)?;
        memory.write_on_host(0..laid.len() as u64)?.copy_from_slice(&laid);
        Ok(memory)
    }

    fn lock(&self) -> MutexGuard<'_, ConstantState> {
        // Each change is whole: a block is added when its copy is recorded, and the values are replaced last.
        self.snapshot.held.lock()
    }
}

/// Copies staged values to a block, in the order of `stream`.
fn send(stream: &Stream, memory: &Arc<Block>, block: &Arc<Block>) -> Result<()> {
    Ok(block.copy_from_block(stream, 0, memory, 0..memory.size())?)
}

impl ConstantState {
    /// The forms that live on the device.
    fn forms(&self) -> impl Iterator<Item = &ConstantLayout> {
        self.blocks.iter().filter(|placed| placed.block.is_alive()).map(|placed| &placed.form)
    }

    /// The data in that form. What a reset ended is not found, so it is sent anew.
    fn find(&self, form: &ConstantLayout) -> Option<Arc<Block>> {
        let placed = self.blocks.iter().find(|placed| placed.form == *form && placed.block.is_alive())?;
        Some(Arc::clone(&placed.block))
    }

    /// Takes out what a reset ended, to be dropped without the lock.
    fn take_dead(&mut self) -> SmallVec<[Placed; 1]> {
        let (alive, dead) = mem::take(&mut self.blocks).into_iter().partition(|placed| placed.block.is_alive());
        self.blocks = alive;
        dead
    }
}

/// What is said of constant memory in checks.
pub(crate) fn constant_shape(dtype: DType, shape: &[usize], nbytes: u64, is_padded: bool) -> ArrayShape<'_> {
    ArrayShape { is_writable: false, is_padded, ..ArrayShape::new(dtype, shape, nbytes) }
}

impl fmt::Debug for ConstArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, shape) = (self.snapshot.dtype, self.dims());
        f.debug_struct("ConstArray").field("dtype", &dtype).field("shape", &shape).finish_non_exhaustive()
    }
}
