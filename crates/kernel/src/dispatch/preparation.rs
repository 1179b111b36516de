//! What comes before a launch: [`Preparation`].

use std::sync::Arc;

use smallvec::SmallVec;
use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::{Step, Stream};

use crate::call::args::ArrayArg;
use crate::dispatch::graph::step;
use crate::dispatch::launch::Launch;
use crate::error::Result;
use crate::pipeline::kernel::Kernel;

/// Work that must come before a launch, for arguments that a kernel cannot bind as they are.
pub(crate) struct Preparation<'a> {
    /// The stream that sends constant memory, once, also for a graph.
    pub(crate) stream: &'a Stream,
    /// The steps of a graph, to which copies and other kernels are added. Without them the stream records both at once.
    pub(crate) steps: Option<&'a mut SmallVec<[Step; 1]>>,
}

impl Preparation<'_> {
    /// Whether the copies and the launch are ordered as one operation, so that no other work comes between them.
    pub(crate) fn is_one_operation(&self) -> bool {
        self.steps.is_some()
    }

    /// A copy of an array that the kernel cannot bind where it lies, followed by zeros up to `length` bytes.
    pub(crate) fn copy(&mut self, array: &ArrayArg<'_>, length: u64) -> Result<Arc<Block>> {
        let block = array.block.allocator().allocate(length, MemoryKind::Device)?;
        let (stream, has_rest) = (self.stream, length > array.shape.nbytes);
        if let Some(steps) = &mut self.steps {
            if has_rest {
                steps.extend(block.fill_step(stream.device(), 0)?);
            }
            steps.extend(block.copy_step(stream.device(), 0, array.block, array.bytes())?);
        } else {
            if has_rest {
                block.fill(stream, 0)?;
            }
            block.copy_from_block(stream, 0, array.block, array.bytes())?;
        }
        Ok(block)
    }

    /// Runs another kernel first.
    pub(crate) fn run(&mut self, kernel: &Kernel, launch: Launch) -> Result<()> {
        if let Some(steps) = &mut self.steps {
            steps.push(step(kernel.clone(), launch));
            return Ok(());
        }
        kernel.submit(self.stream, &launch)
    }
}
