//! Carries plans out: regions as the driver's copies, launches as dispatches.
//!
//! No choice is made here. The arrays' own methods, in `assign.rs`, are the callers.

use std::ops::Range;
use std::sync::Arc;

use vkarray_allocator::{Block, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, DType, Groups};

use super::Context;
use crate::copy::{Launch, Route, Step, Variant, Walk, launches, plan, route};
use crate::error::Result;
use crate::layout::{Layout, Order};

/// Elements of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) layout: &'a Layout,
}

impl Context {
    /// Copies elements of `itemsize` bytes, as if all were read before the first is written. Returns at once.
    ///
    /// The layouts have one shape, and no two elements of the target share memory.
    pub(crate) fn copy_elements(
        &self,
        stream: &Stream,
        source: Place<'_>,
        target: Place<'_>,
        itemsize: usize,
    ) -> Result<()> {
        let machine = &self.copies().machine;
        if !Arc::ptr_eq(source.block, target.block) {
            let Some(walk) = Walk::new(source.layout, target.layout, itemsize)? else { return Ok(()) };
            let is_over_the_bus = source.block.is_in_host_memory() != target.block.is_in_host_memory();
            let steps = if is_over_the_bus { plan(walk, &machine.over_the_bus()) } else { plan(walk, machine) };
            return self.carry_out(stream, source.block, target.block, &steps);
        }
        match route(source.layout, target.layout, itemsize, machine)? {
            Route::Nothing => Ok(()),
            Route::Straight(steps) => self.carry_out(stream, source.block, target.block, &steps),
            Route::InOrder(parts) => parts.iter().try_for_each(|part| {
                let bytes = part.source..part.source + part.size;
                Ok(target.block.copy_from_block(stream, part.target, source.block, bytes)?)
            }),
            Route::Twice => {
                let packed = Layout::contiguous(source.layout.shape(), Order::C)?;
                let block = self.allocator().allocate(packed.nbytes(itemsize)?, MemoryKind::Device)?;
                let between = Place { block: &block, layout: &packed };
                self.copy_elements(stream, source, between, itemsize)?;
                self.copy_elements(stream, between, target, itemsize)
            }
        }
    }

    /// Repeats a pattern of 16 bytes, itself repeats of an item, over elements of a target.
    pub(crate) fn repeat_pattern(
        &self,
        stream: &Stream,
        pattern: &Arc<Block>,
        target: Place<'_>,
        itemsize: usize,
    ) -> Result<()> {
        let Some(walk) = Walk::of_pattern(target.layout, itemsize) else { return Ok(()) };
        self.carry_out(stream, pattern, target.block, &launches(walk, &self.copies().machine))
    }

    fn carry_out(&self, stream: &Stream, source: &Arc<Block>, target: &Arc<Block>, steps: &[Step]) -> Result<()> {
        steps.iter().try_for_each(|step| match step {
            Step::Regions(regions) => Ok(target.copy_regions(stream, source, regions)?),
            Step::Launch(launch) => self.launch(stream, source, target, launch),
        })
    }

    fn launch(&self, stream: &Stream, source: &Arc<Block>, target: &Arc<Block>, launch: &Launch) -> Result<()> {
        let kernel = self.library_kernel(Variant::Copy(launch.program))?;
        let (told, [x, y]) = (&launch.told, launch.groups);
        let args = (
            words(source, &launch.source),
            words(target, &launch.target),
            told.source_base,
            told.target_base,
            told.n_rows,
            told.n_tiles,
            told.n_axes,
            told.n_run,
            told.run_length,
            told.lengths,
            told.source_strides,
            told.target_strides,
        );
        Ok(kernel.dispatch(stream, Groups::exact([x, y, 1]), args)?)
    }
}

/// Bytes of a block as words. The memory reaches past a block's last byte to a whole word, so the range may too.
pub(crate) fn words<'a>(block: &'a Arc<Block>, bytes: &Range<u64>) -> Arg<'a> {
    let shape = ArrayShape { offset: bytes.start, ..ArrayShape::new(DType::U32, &[], bytes.end - bytes.start) };
    Arg::Array(ArrayArg::new(block, shape))
}
