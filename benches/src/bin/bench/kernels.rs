//! The kernels that are measured, and the arrays of small launches.

use anyhow::Result;
use vkarray::{Context, DeviceNDArray, Groups, Kernel, Source, Stream};

/// Elements of the arrays of small launches.
pub(crate) const N: u32 = 1024;

/// Two kernels. `axpy` computes `x = a y + x`. `nop` does nothing, but its signature says that it writes `x`.
const SMALL: &str = include_str!("small.wgsl");

/// Copies sixteen bytes in each invocation. Workgroups are in rows.
const COPY: &str = include_str!("copy.wgsl");

/// A kernel of `n` xorshift iterations on each element, so that `n` chooses how long it runs.
const SPIN: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<immediate> n: u32;
@compute @workgroup_size(128)
fn spin(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.x + id.y * groups.x * 128u;
    if i >= arrayLength(&x) { return; }
    var value = x[i];
    for (var round = 0u; round < n; round++) {
        value ^= value << 13u;
        value ^= value >> 17u;
        value ^= value << 5u;
    }
    x[i] = value;
}";

/// Workgroups on the x axis of a large launch; every device allows twice as many.
const ROW: u64 = 32_768;

/// A kernel of [`SMALL`] by its name.
pub(crate) fn small(ctx: &Context, entry: &str) -> Result<Kernel> {
    Ok(ctx.kernel(Source::wgsl(SMALL)).entry(entry).build()?)
}

pub(crate) fn copy(ctx: &Context) -> Result<Kernel> {
    Ok(ctx.kernel(Source::wgsl(COPY)).build()?)
}

pub(crate) fn spin(ctx: &Context) -> Result<Kernel> {
    Ok(ctx.kernel(Source::wgsl(SPIN)).build()?)
}

/// Groups with one invocation of [`copy`] or [`spin`] for each item, in rows if there are many.
pub(crate) fn covering(items: u64) -> Groups<'static> {
    let groups = items.div_ceil(128);
    let row = groups.min(ROW);
    Groups::covering([row * 128, groups.div_ceil(row)].map(|items| usize::try_from(items).unwrap_or(usize::MAX)))
}

/// The two arrays of a small launch.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) x: DeviceNDArray<f32>,
    pub(crate) y: DeviceNDArray<f32>,
}

impl Pair {
    pub(crate) fn new(ctx: &Context) -> Result<Self> {
        Ok(Self { x: ctx.zeros([N as usize])?, y: ctx.full([N as usize], 1.0)? })
    }

    /// Launches a kernel of [`SMALL`] on `n_groups` workgroups.
    pub(crate) fn launch(&self, kernel: &Kernel, stream: &Stream, n_groups: u32) -> Result<()> {
        Ok(kernel.dispatch(stream, Groups::exact([n_groups, 1, 1]), (&self.x, &self.y, N, 0.5_f32))?)
    }
}

/// Makes `n` pairs.
pub(crate) fn pairs(ctx: &Context, n: u32) -> Result<Vec<Pair>> {
    (0..n).map(|_| Pair::new(ctx)).collect()
}

#[cfg(test)]
mod tests {
    use vkarray::kernel::signature::Limits;

    use super::*;

    #[test]
    fn a_covering_launch_has_enough_invocations_on_any_device() {
        for items in [1, 127, 128, 129, 1 << 20, (1 << 22) - 1, (1 << 22) + 1, 1 << 26] {
            let [x, y, z] = covering(items).resolve([128, 1, 1], &Limits::MINIMUM).unwrap().unwrap();
            let invocations = u64::from(x) * u64::from(y) * u64::from(z) * 128;
            assert!((items..items + ROW * 128).contains(&invocations), "{items} items, {invocations} invocations");
        }
    }
}
