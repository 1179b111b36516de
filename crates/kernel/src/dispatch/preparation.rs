//! What comes before a launch: [`Preparation`].

use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;

use crate::call::args::ArrayArg;
use crate::call::constant::ConstArray;
use crate::call::packing::Packing;
use crate::dispatch::launch::Launch;
use crate::error::Result;
use crate::pipeline::kernel::Kernel;

/// Work that must come before a launch, for arguments that a kernel cannot bind as they are: a stream records it, a graph adds
/// it as steps. `length` is what the shader declares, in bytes.
pub(crate) trait Preparation {
    /// Whether the copies and the launch are ordered as one operation, so that no other work comes between them.
    const IS_ONE_OPERATION: bool;

    /// Constant memory on the device, with that padding.
    fn constant(&mut self, constant: &ConstArray, length: u64, packing: Option<Packing>) -> Result<Arc<Block>>;

    /// A copy of an array whose offset the device cannot bind.
    fn copy(&mut self, array: &ArrayArg<'_>) -> Result<Arc<Block>>;

    /// A copy of an array that is shorter than the constant memory it is for, followed by zeros.
    fn pad(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>>;

    /// Runs another kernel first.
    fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()>;
}

impl Preparation for &Stream {
    const IS_ONE_OPERATION: bool = false;

    fn constant(&mut self, constant: &ConstArray, length: u64, packing: Option<Packing>) -> Result<Arc<Block>> {
        constant.block(self, length, packing)
    }

    fn copy(&mut self, array: &ArrayArg<'_>) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(array.shape.nbytes, MemoryKind::Device)?;
        block.copy_from_block(self, 0, array.block, array.bytes())?;
        Ok(block)
    }

    fn pad(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(length, MemoryKind::Device)?;
        block.fill(self, 0)?;
        block.copy_from_block(self, 0, array.block, array.bytes())?;
        Ok(block)
    }

    fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()> {
        kernel.submit(self, &launch)
    }
}
