//! Executes the plans of `copy/`: regions with the driver's copy, dispatches with kernels.
//!
//! The plans decide; the functions here record the work. The callers are the methods of arrays in `array/assign.rs`.

use std::ops::Range;
use std::sync::Arc;

use vkarray_allocator::internal::is_by_rows;
use vkarray_allocator::{Block, BlockRange, MemoryKind};
use vkarray_driver::Stream;
use vkarray_kernel::{Arg, ArrayArg, ArrayShape, DType, Groups};
use vkarray_layout::{Layout, Order};
use vkarray_shaders::library;

use super::Context;
use crate::copy::{CopyDispatch, CopyStep, LibraryKernel, StridedCopy, dispatches, plan, plan_within_block};
use crate::error::Result;

/// The elements of a block that a layout names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockElements<'a> {
    pub(crate) block: &'a Arc<Block>,
    pub(crate) layout: &'a Layout,
}

impl Context {
    /// Copies elements of `itemsize` bytes, as if all elements were read before the first is written. Returns at once.
    ///
    /// The layouts have the same shape, and no two elements of the target share memory.
    pub(crate) fn copy_elements(
        &self,
        stream: &Stream,
        source: BlockElements<'_>,
        target: BlockElements<'_>,
        itemsize: usize,
    ) -> Result<()> {
        let limits = &self.copies().limits;
        if !Arc::ptr_eq(source.block, target.block) {
            let Some(copy) = StridedCopy::new(source.layout, target.layout, itemsize)? else { return Ok(()) };
            if source.block.is_in_host_memory() == target.block.is_in_host_memory() {
                return self.execute(stream, source.block, target.block, &plan(copy, limits));
            }
            return self.copy_over_bus(stream, source.block, target.block, copy);
        }
        if let Some(steps) = plan_within_block(source.layout, target.layout, itemsize, limits)? {
            return self.execute(stream, source.block, target.block, &steps);
        }
        let packed = Layout::contiguous(source.layout.shape(), Order::C)?;
        let block = self.allocator().allocate(packed.nbytes(itemsize)?, MemoryKind::Device)?;
        let temporary = BlockElements { block: &block, layout: &packed };
        self.copy_elements(stream, source, temporary, itemsize)?;
        self.copy_elements(stream, temporary, target, itemsize)
    }

    /// Copies between host and device memory.
    fn copy_over_bus(
        &self,
        stream: &Stream,
        source: &Arc<Block>,
        target: &Arc<Block>,
        copy: StridedCopy,
    ) -> Result<()> {
        let (limits, size, run) = (&self.copies().limits, copy.size(), copy.run_bytes());
        if is_by_rows(size / run, run) {
            return self.execute(stream, source, target, &dispatches(copy.in_units(), limits));
        }
        if size > run {
            return Ok(target.copy_regions(stream, source, &copy.regions())?);
        }
        let (range, to) = (copy.source..copy.source + size, copy.target..copy.target + size);
        let unit = limits.unit_of_run([range.start, to.start], size);
        let from = BlockRange { block: source, range, stream };
        match target.copy_run_from(to.start, &from, unit)? {
            Some(unit) => self.copy_run(stream, (source, &from.range), (target, &to), unit),
            None => Ok(()),
        }
    }

    /// Copies the bytes of a block from `offset` on to the host. Blocks until they are there.
    pub(crate) fn copy_to_host(
        &self,
        stream: &Stream,
        block: &Arc<Block>,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<()> {
        let size = bytes.len() as u64;
        let unit = self.copies().limits.unit_of_run([offset, 0], size);
        let Some(unit) = block.copy_run_to_host(stream, offset, bytes, unit)? else { return Ok(()) };
        let pinned = self.allocator().allocate(size, MemoryKind::Pinned)?;
        self.copy_run(stream, (block, &(offset..offset + size)), (&pinned, &(0..size)), unit)?;
        Ok(pinned.copy_to_host_in_place(0, bytes)?)
    }

    /// Fills a target with a pattern of 16 bytes, which are repetitions of an element of `itemsize` bytes.
    pub(crate) fn repeat_pattern(
        &self,
        stream: &Stream,
        pattern: &Arc<Block>,
        target: BlockElements<'_>,
        itemsize: usize,
    ) -> Result<()> {
        let Some(copy) = StridedCopy::of_pattern(target.layout, itemsize) else { return Ok(()) };
        self.execute(stream, pattern, target.block, &dispatches(copy, &self.copies().limits))
    }

    fn execute(&self, stream: &Stream, source: &Arc<Block>, target: &Arc<Block>, steps: &[CopyStep]) -> Result<()> {
        steps.iter().try_for_each(|step| match step {
            CopyStep::Regions(regions) => Ok(target.copy_regions(stream, source, regions)?),
            CopyStep::Dispatch(dispatch) => self.record_dispatch(stream, source, target, dispatch),
        })
    }

    /// Copies a small run of bytes in units of `unit` bytes.
    fn copy_run(
        &self,
        stream: &Stream,
        (source, from): (&Arc<Block>, &Range<u64>),
        (target, to): (&Arc<Block>, &Range<u64>),
        unit: u32,
    ) -> Result<()> {
        let kernel = self.library_kernel(LibraryKernel::Run(unit))?;
        let n_groups = ((to.end - to.start) / u64::from(unit)).div_ceil(u64::from(library::RUN_GROUP));
        let n_groups = u32::try_from(n_groups).expect("a small run has few units");
        Ok(kernel.dispatch(stream, Groups::exact([n_groups, 1, 1]), (words(source, from), words(target, to)))?)
    }

    fn record_dispatch(
        &self,
        stream: &Stream,
        source: &Arc<Block>,
        target: &Arc<Block>,
        dispatch: &CopyDispatch,
    ) -> Result<()> {
        let kernel = self.library_kernel(LibraryKernel::Copy(dispatch.kernel))?;
        let (params, [x, y]) = (&dispatch.params, dispatch.groups);
        let args = (
            words(source, &dispatch.source),
            words(target, &dispatch.target),
            params.source_base,
            params.target_base,
            params.n_rows,
            params.n_tiles,
            params.n_axes,
            params.n_run,
            params.run_length,
            params.lengths,
            params.source_strides,
            params.target_strides,
        );
        Ok(kernel.dispatch(stream, Groups::exact([x, y, 1]), args)?)
    }
}

/// Bytes of a block as an argument of words. A block's memory ends at a whole word, so the argument's range may be
/// extended to a whole word.
pub(crate) fn words<'a>(block: &'a Arc<Block>, bytes: &Range<u64>) -> Arg<'a> {
    let shape = ArrayShape { offset: bytes.start, ..ArrayShape::new(DType::U32, &[], bytes.end - bytes.start) };
    Arg::Array(ArrayArg::new(block, shape))
}
