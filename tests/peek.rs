//! [`Peek`]: the bytes of a block as they are at this moment, after nothing that is still to come.

use std::sync::Arc;

use vkarray::interop::{Tensor, TensorShape};
use vkarray::memory::Block;

/// A look at a block through the host's own mapping, which waits for no work and is ordered with none.
pub(crate) struct Peek {
    tensor: Tensor,
    len: usize,
}

impl Peek {
    /// Blocks until nothing uses the block. Nothing if the host does not address it, or only by copies of its bytes.
    pub(crate) fn at(block: &Arc<Block>) -> Option<Self> {
        if !block.is_coherent() {
            return None;
        }
        let len = usize::try_from(block.size()).unwrap();
        let shape = vec![i64::try_from(len).unwrap()];
        let shape = TensorShape { shape, strides: vec![1], code: 1, bits: 8, offset: 0, read_only: true };
        Some(Self { tensor: block.to_host_tensor(&shape, ()).unwrap(), len })
    }

    /// The words of the block now. The caller ensures that nothing writes them meanwhile.
    pub(crate) fn words(&self) -> Vec<u32> {
        // SAFETY: the descriptor is read, and not written.
        let first: *const u32 = unsafe { self.tensor.tensor() }.data.cast_const().cast();
        // SAFETY: the tensor holds the block, whose mapping is as long as the block and starts at a multiple of 256.
        (0..self.len / 4).map(|at| unsafe { first.wrapping_add(at).read_volatile() }).collect()
    }
}
