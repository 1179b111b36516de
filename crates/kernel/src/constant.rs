//! Constant memory: a snapshot of host data that kernels read through `var<uniform>`.
//!
//! The snapshot is taken when the constant is made, as numba's `const.array_like` takes it. A shader declares constant
//! memory with a fixed size; a shorter snapshot is continued with zeros up to it, in a block of that size, which is
//! made once and shared by every kernel that asks for the same size.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use vkarray_allocator::{Allocator, Block, MemoryKind};
use vkarray_driver::Stream;

use crate::args::constant_shape;
use crate::check::ArrayShape;
use crate::dtype::Element;
use crate::error::Result;

/// Read-only data for kernels, at most as large as the device's constant memory (64 KiB on most).
///
/// Clones share the snapshot and its memory.
#[derive(Clone)]
pub struct ConstArray {
    snapshot: Arc<Snapshot>,
}

struct Snapshot {
    bytes: Vec<u8>,
    dtype: crate::DType,
    shape: SmallVec<[usize; 4]>,
    allocator: Arc<Allocator>,
    /// One block for each size that a kernel has asked for.
    blocks: Mutex<SmallVec<[Arc<Block>; 1]>>,
}

impl ConstArray {
    /// Takes a snapshot of `values`, in C order with that shape. Nothing is sent to the device yet.
    ///
    /// # Panics
    ///
    /// If the shape's product is not the number of values: the caller holds both.
    #[must_use]
    pub fn new<T: Element>(allocator: &Arc<Allocator>, values: &[T], shape: &[usize]) -> Self {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "values for shape {shape:?}");
        let snapshot = Snapshot {
            bytes: bytemuck::cast_slice(values).to_vec(),
            dtype: T::DTYPE,
            shape: shape.into(),
            allocator: Arc::clone(allocator),
            blocks: Mutex::default(),
        };
        Self { snapshot: Arc::new(snapshot) }
    }

    /// Its shape.
    #[must_use]
    pub fn dims(&self) -> &[usize] {
        &self.snapshot.shape
    }

    /// Its bytes, before they are continued with zeros.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.snapshot.bytes.len() as u64
    }

    pub(crate) fn allocator(&self) -> &Arc<Allocator> {
        &self.snapshot.allocator
    }

    pub(crate) fn shape(&self) -> ArrayShape<'_> {
        constant_shape(self.snapshot.dtype, &self.snapshot.shape, self.nbytes())
    }

    /// The snapshot on the device, continued with zeros to `size` bytes.
    pub(crate) fn block(&self, stream: &Stream, size: u64) -> Result<Arc<Block>> {
        let mut blocks = self.snapshot.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.retain(|block| block.is_alive()); // What a reset ended is sent anew.
        if let Some(block) = blocks.iter().find(|block| block.size() == size) {
            return Ok(Arc::clone(block));
        }
        let mut padded = self.snapshot.bytes.clone();
        padded.resize(usize::try_from(size).unwrap_or(usize::MAX).max(padded.len()), 0);
        let block = self.snapshot.allocator.allocate(size, MemoryKind::Device)?;
        block.copy_from_host(stream, 0, &padded)?;
        blocks.push(Arc::clone(&block));
        Ok(block)
    }
}

impl fmt::Debug for ConstArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, shape) = (self.snapshot.dtype, &self.snapshot.shape);
        f.debug_struct("ConstArray").field("dtype", &dtype).field("shape", shape).finish_non_exhaustive()
    }
}
