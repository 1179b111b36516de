//! Decides how bytes are copied: as one block, as a few regions, or by kernels.
//!
//! Pure. A plan is a list of steps that touch different bytes of the target, in any order. What may share a block with
//! what is decided in `overlap.rs`; `run.rs` carries steps out.

use std::ops::Range;

use vkarray_allocator::Region;

use super::channels::split;
use super::launch::Launch;
use super::machine::Machine;
use super::walk::{Axis, Walk, largest_unit};

/// One command of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The driver's copy of regions.
    Regions(Vec<Region>),
    /// A dispatch.
    Launch(Box<Launch>),
}

/// Plans a walk in bytes between two blocks, or inside one.
pub(crate) fn plan(walk: Walk, machine: &Machine) -> Vec<Step> {
    let run = walk.run_bytes();
    let n_runs = walk.size() / run;
    if n_runs == 1 {
        return one_run(walk, machine);
    }
    let (most, least_bytes) = machine.regions;
    if n_runs <= most && run >= least_bytes && n_runs * run < machine.kernel_bytes {
        return vec![Step::Regions(walk.regions())];
    }
    launches(walk.in_units(), machine)
}

/// Plans a walk in units, by kernels alone.
pub(crate) fn launches(walk: Walk, machine: &Machine) -> Vec<Step> {
    let launch = |piece: &Walk| Step::Launch(Box::new(Launch::new(piece, machine)));
    walk.pieces(machine).into_iter().flat_map(|piece| split(piece, machine)).map(|piece| launch(&piece)).collect()
}

/// A large run goes by a kernel as far as its sides are aligned to each other, the rest as a region.
fn one_run(walk: Walk, machine: &Machine) -> Vec<Step> {
    let unit = largest_unit([walk.source, walk.target].into_iter());
    let size = walk.run_bytes();
    if size < machine.kernel_bytes.max(unit) || unit < 4 {
        return vec![Step::Regions(walk.regions())];
    }
    let (body, tail) = (size / unit * unit, size % unit);
    let whole = Walk { axes: [Axis { len: body, source: 1, target: 1 }].into_iter().collect(), ..walk };
    let (source, target) = (whole.source + body, whole.target + body);
    let mut steps = launches(whole.in_units(), machine);
    if tail > 0 {
        steps.push(Step::Regions(vec![Region { source, target, size: tail }]));
    }
    steps
}

/// Whether two ranges share bytes.
pub(crate) fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}
