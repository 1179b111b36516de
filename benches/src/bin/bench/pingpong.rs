//! Two streams in turn: a kernel on one, a copy of its result on the other.
//!
//! The runtime orders the two streams on the device. The number of waits of the host while the steps are recorded is
//! counted; it must be zero.

use anyhow::Result;

use crate::Bench;
use crate::kernels::{N, Pair, small};
use crate::launch::chain;

/// A step is a kernel and a copy.
const STEPS: u32 = 1000;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let (compute, copy) = (bench.ctx.stream()?, bench.ctx.stream()?);
    let kernel = small(bench.ctx, "axpy")?;
    let pair = Pair::new(bench.ctx)?;
    let (x, y) = (pair.x.block(), pair.y.block());
    let waits = || bench.ctx.device().host_waits();
    let mut n_waits = Vec::new();
    let runs = bench.report.runs(|| {
        compute.synchronize()?;
        copy.synchronize()?;
        let before = waits();
        let mut after = before;
        let burst = chain(&copy, STEPS, |i| {
            pair.launch(&kernel, &compute, 16)?;
            y.copy_from_block(&copy, 0, x, 0..u64::from(N) * 4)?;
            if i + 1 == STEPS {
                after = waits();
            }
            Ok(())
        })?;
        n_waits.push(after - before);
        Ok(burst)
    })?;
    let (totals, hosts): (Vec<_>, Vec<_>) = runs.iter().map(|burst| (burst.total, burst.host)).unzip();
    bench.report.micros("pingpong", &totals, STEPS);
    bench.report.micros("host_pingpong", &hosts, STEPS);
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    bench.report.figure("pingpong_host_waits", "count", n_waits.iter().map(|&n| n as f64));
    Ok(())
}
