//! Constant memory: host data that kernels read through `var<uniform>` ([`ConstArray`]).
//!
//! The values are copied when the constant is made, as numba's `const.array_like` does; [`ConstArray::update`] replaces them
//! for everything that shares the constant. A shader declares constant memory with a fixed size. Fewer values are an error,
//! unless the constant is `padded`: then zeros follow them. Each declared size and layout has one block on the device, shared
//! by all kernels that declare it. `packing.rs` adds the padding of the layout.

use std::mem;
use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::internal::check_same_device;
use vkarray_allocator::{Allocator, Block, MemoryKind};
use vkarray_driver::lock::{Mutex, Rank};
use vkarray_driver::{DeferDrops, Stream};
use vkarray_shader::{DType, Element};

use crate::call::packing::Packing;
use crate::call::shape::ArrayShape;
use crate::error::{Error, Result};

/// Read-only data for kernels, of any size: what is too long for the device's constant memory (64 KiB on most) is bound
/// as storage.
///
/// Clones share the data and its memory, between kernels and threads. Elements are given without padding: rows of three
/// floats fit an `array<vec3<f32>>`, a `#[repr(C)]` struct without padding fits the shader's struct with it, single numbers
/// fit an array whose elements are 16 bytes apart. Values whose last axes already have the padding, as rows of four floats for
/// `vec3`, are copied unchanged. A constant that is shorter than the shader declares is refused, unless it is
/// [padded](ConstArray::padded).
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
/// # fn main() -> anyhow::Result<()> {
/// use vkarray_kernel::{ConstArray, Groups, Source};
///
/// let ctx = Context::open_default()?;
/// let convolve = ctx
///     .kernel(Source::wgsl(
///         "@group(0) @binding(0) var<uniform> taps: array<vec3<f32>, 2>;
///          @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
///          @compute @workgroup_size(2) fn convolve(@builtin(local_invocation_index) i: u32) {
///              sums[i] = taps[i].x + taps[i].y + taps[i].z;
///          }",
///     ))
///     .build()?;
/// let taps = ConstArray::new(ctx.allocator(), &[1.0_f32, 2.0, 3.0, 10.0, 20.0, 30.0], &[2, 3]);
/// let sums = ctx.zeros::<f32>(2)?;
/// convolve.launch(Groups::exact([1, 1, 1]), (&taps, &sums))?;
/// assert_eq!(sums.to_vec()?, [6.0, 60.0]);
/// taps.update(ctx.default_stream(), &[0.5_f32; 6])?;
/// convolve.launch(Groups::exact([1, 1, 1]), (&taps, &sums))?;
/// assert_eq!(sums.to_vec()?, [1.5, 1.5]);
/// # Ok(())
/// # }
/// ```
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
    /// Each change is whole: a block is added when its copy is recorded, and the values are replaced last.
    state: Mutex<ConstantState>,
}

/// The data, on the host and on the device. Its lock is held while copies are recorded. Memory is allocated and dropped without
/// the lock: that may call code of the program, which may use the constant.
struct ConstantState {
    /// The values. Each update brings others, also if they are equal.
    bytes: Arc<[u8]>,
    /// One block for each layout that a kernel declares.
    blocks: LayoutBlocks,
}

/// The size and padding of the data on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ConstantLayout {
    size: u64,
    packing: Option<Packing>,
}

/// Blocks with the data, each in another layout.
type LayoutBlocks = SmallVec<[(ConstantLayout, Arc<Block>); 1]>;

impl ConstArray {
    /// Copies `values`, in C order with that shape. Nothing is sent to the device before a kernel takes the constant.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::ConstArray;
    ///
    /// let ctx = Context::open_default()?;
    /// let taps = ConstArray::new(ctx.allocator(), &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    /// assert_eq!((&taps.dims()[..], taps.nbytes(), taps.is_column_major()), (&[2, 3][..], 24, false));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// If the shape's product is not the number of values.
    #[must_use]
    pub fn new<T: Element>(allocator: &Arc<Allocator>, values: &[T], shape: &[usize]) -> Self {
        Self::with_order(allocator, values, shape, false)
    }

    /// Copies `values`, in F order with that shape: the first axis runs fastest, and kernels read the values in that order.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::ConstArray;
    ///
    /// let ctx = Context::open_default()?;
    /// let matrix = ConstArray::column_major(ctx.allocator(), &[1.0_f32, 3.0, 2.0, 4.0], &[2, 2]);
    /// assert!(matrix.is_column_major());
    /// # Ok(())
    /// # }
    /// ```
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
        let state = ConstantState { bytes, blocks: SmallVec::new() };
        let state = Mutex::new(Rank::Constant, state);
        let allocator = Arc::clone(allocator);
        let snapshot = Arc::new(Snapshot { dtype, shape, is_column_major, nbytes, allocator, state });
        Self { snapshot, is_padded: false }
    }

    /// This constant as one that may be given to kernels that declare more: they read zeros behind its values. Otherwise a
    /// constant that is shorter than the kernel declares is refused. Shares the values and their memory with this one.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/include/context.rs"));
    /// # fn main() -> anyhow::Result<()> {
    /// use vkarray_kernel::{ConstArray, Groups, Source};
    ///
    /// let ctx = Context::open_default()?;
    /// let last = ctx
    ///     .kernel(Source::wgsl(
    ///         "@group(0) @binding(0) var<uniform> table: array<vec4<u32>, 4>;
    ///          @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    ///          @compute @workgroup_size(1) fn last() { out[0] = table[0].x; out[1] = table[3].w; }",
    ///     ))
    ///     .build()?;
    /// let (table, out) = (ConstArray::new(ctx.allocator(), &[7_u32; 4], &[4]), ctx.full(2, 1_u32)?);
    /// assert!(last.launch(Groups::exact([1, 1, 1]), (&table, &out)).is_err());
    /// last.launch(Groups::exact([1, 1, 1]), (&table.padded(), &out))?;
    /// assert_eq!(out.to_vec()?, [7, 0]);
    /// # Ok(())
    /// # }
    /// ```
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

    /// Replaces the values for all clones, in the order of `stream`: what was dispatched before this call reads the old values,
    /// what is dispatched after it the new ones, on any stream, without a new build. Replays of a graph that holds the constant
    /// read the new values too. The values are in the order of the constant: C, or F for [`ConstArray::column_major`].
    ///
    /// Copies `values` on the host and returns; does not wait for the device. [`ConstArray`] has an example.
    ///
    /// # Errors
    ///
    /// [`Error::ConstantUpdate`] unless type and number of the values are the same; [`Error::Memory`] for a stream of
    /// another device, if there is no memory, and if recording fails. Kernels that are dispatched later then read the old
    /// values.
    pub fn update<T: Element>(&self, stream: &Stream, values: &[T]) -> Result<()> {
        let Snapshot { dtype, nbytes, allocator, .. } = &*self.snapshot;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        if DType::of::<T>() != *dtype || bytes.len() as u64 != *nbytes {
            let len = *nbytes / u64::from(dtype.itemsize()).max(1);
            let (expected, given) = (format!("{len} of {dtype}"), format!("{} of {}", values.len(), DType::of::<T>()));
            return Err(Error::ConstantUpdate { expected, given });
        }
        check_same_device(stream.device(), allocator.device())?;
        allocator.device().check_process()?;
        let mut staged = LayoutBlocks::new();
        loop {
            let later = DeferDrops::begin(); // Ends after the lock is released.
            let ended; // Dropped without the lock.
            let mut state = self.snapshot.state.lock();
            ended = state.take_ended();
            let is_missing = |(layout, _): &&(ConstantLayout, _)| staged.iter().all(|(staged, _)| staged != layout);
            if let Some((layout, _)) = state.blocks.iter().find(is_missing).cloned() {
                drop((state, ended, later)); // In this order.
                let memory = self.stage(bytes, &layout)?;
                staged.push((layout, memory));
                continue;
            }
            let sent = staged.iter().try_for_each(|(layout, memory)| match state.find(layout) {
                Some(block) => send(stream, memory, &block),
                None => Ok(()),
            });
            if sent.is_err() {
                // Some blocks may have the new values: without them, the next dispatch sends the old ones again.
                let dropped = mem::take(&mut state.blocks);
                drop(state);
                drop(dropped);
                return sent;
            }
            state.bytes = Arc::from(bytes);
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

    /// The data on the device with that padding, and zeros from its last value to `size` bytes.
    pub(crate) fn block(&self, stream: &Stream, size: u64, packing: Option<Packing>) -> Result<Arc<Block>> {
        let allocator = &self.snapshot.allocator;
        allocator.device().check_process()?;
        let layout = ConstantLayout { size, packing };
        loop {
            let bytes = {
                let state = self.snapshot.state.lock();
                match state.find(&layout) {
                    Some(block) => return Ok(block),
                    None => Arc::clone(&state.bytes),
                }
            };
            let block = allocator.allocate(size, MemoryKind::Device)?;
            let memory = self.stage(&bytes, &layout)?;
            let _later = DeferDrops::begin(); // Until the lock is given back: it ends last.
            let ended; // Dropped without the lock.
            let mut state = self.snapshot.state.lock();
            ended = state.take_ended();
            if state.find(&layout).is_none() && Arc::ptr_eq(&state.bytes, &bytes) {
                send(stream, &memory, &block)?;
                state.blocks.push((layout, Arc::clone(&block)));
                return Ok(block);
            }
            // Another thread added the block first, or the values were replaced meanwhile.
            drop(state);
            drop(ended);
        }
    }

    /// Writes values in that layout to host memory that the device copies from.
    fn stage(&self, values: &[u8], layout: &ConstantLayout) -> Result<Arc<Block>> {
        let mut padded = layout.packing.as_ref().map_or_else(|| values.to_vec(), |packing| packing.pad(values));
        padded.resize(usize::try_from(layout.size).unwrap_or(usize::MAX).max(padded.len()), 0);
        let memory = self.snapshot.allocator.allocate(padded.len() as u64, MemoryKind::WriteCombined)?;
        memory.write_on_host(0..padded.len() as u64)?.copy_from_slice(&padded);
        Ok(memory)
    }
}

/// Copies staged values to a block, in the order of `stream`.
fn send(stream: &Stream, memory: &Arc<Block>, block: &Arc<Block>) -> Result<()> {
    Ok(block.copy_from_block(stream, 0, memory, 0..memory.size())?)
}

impl ConstantState {
    /// The block of that layout. One that a reset ended is not found, so the data is sent again.
    fn find(&self, layout: &ConstantLayout) -> Option<Arc<Block>> {
        let (_, block) = self.blocks.iter().find(|(own, block)| own == layout && block.is_alive())?;
        Some(Arc::clone(block))
    }

    /// Removes the blocks that a reset ended, to be dropped without the lock.
    fn take_ended(&mut self) -> LayoutBlocks {
        let (alive, ended) = mem::take(&mut self.blocks).into_iter().partition(|(_, block)| block.is_alive());
        self.blocks = alive;
        ended
    }
}

/// The description of constant memory that is checked.
pub(crate) fn constant_shape(dtype: DType, shape: &[usize], nbytes: u64, is_padded: bool) -> ArrayShape<'_> {
    ArrayShape { is_writable: false, is_padded, ..ArrayShape::new(dtype, shape, nbytes) }
}

vkarray_driver::debug_fields!(ConstArray, this => dtype: this.snapshot.dtype, shape: this.dims());
