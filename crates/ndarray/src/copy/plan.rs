//! Decides whether a copy is regions of `vkCmdCopyBuffer` or dispatches of kernels.
//!
//! A plan is a list of steps that write different bytes of the target and may run in any order. Copies inside one block
//! are planned in `within_block.rs`, the next file to read; `context/copies.rs` executes the steps.

use std::ops::Range;

use vkarray_allocator::Region;

use super::channels::split;
use super::dispatch::CopyDispatch;
use super::limits::CopyLimits;
use super::strided::{CopyAxis, StridedCopy, largest_unit};

/// One command of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopyStep {
    /// A copy of regions by the driver.
    Regions(Vec<Region>),
    /// A dispatch of a copying kernel.
    Dispatch(Box<CopyDispatch>),
}

/// Plans a copy in bytes whose source and target share no bytes.
pub(crate) fn plan(copy: StridedCopy, limits: &CopyLimits) -> Vec<CopyStep> {
    let run = copy.run_bytes();
    let n_runs = copy.size() / run;
    if n_runs == 1 {
        return one_run(copy, limits);
    }
    let (most, least_bytes) = limits.regions;
    if n_runs <= most && run >= least_bytes && n_runs * run < limits.kernel_bytes {
        return vec![CopyStep::Regions(copy.regions())];
    }
    dispatches(copy.in_units(), limits)
}

/// Plans a copy in units, with kernels alone.
pub(crate) fn dispatches(copy: StridedCopy, limits: &CopyLimits) -> Vec<CopyStep> {
    let pieces = copy.pieces(limits).into_iter().flat_map(|piece| split(piece, limits));
    pieces.map(|piece| CopyStep::Dispatch(Box::new(CopyDispatch::new(&piece, limits)))).collect()
}

/// Plans a copy of contiguous bytes. A kernel copies a large run in the largest unit that both offsets allow; the
/// remaining bytes are a region.
fn one_run(copy: StridedCopy, limits: &CopyLimits) -> Vec<CopyStep> {
    let unit = largest_unit([copy.source, copy.target].into_iter());
    let size = copy.run_bytes();
    if size < limits.kernel_bytes.max(unit) {
        return vec![CopyStep::Regions(copy.regions())];
    }
    let (body, tail) = (size / unit * unit, size % unit);
    let whole = StridedCopy { axes: [CopyAxis { len: body, source: 1, target: 1 }].into_iter().collect(), ..copy };
    let (source, target) = (whole.source + body, whole.target + body);
    let mut steps = dispatches(whole.in_units(), limits);
    if tail > 0 {
        steps.push(CopyStep::Regions(vec![Region { source, target, size: tail }]));
    }
    steps
}

/// Whether two ranges of bytes overlap.
pub(crate) fn ranges_overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
