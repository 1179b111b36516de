//! The cost of a small dispatch: in a chain of dependent ones, among independent ones, and with a wait.
//!
//! The CUDA and wgpu programs in `benches/` measure the same: 16 workgroups of 64 invocations, 1,024 numbers. Graphs of the
//! same dispatches are in `graph.rs`.

use std::time::{Duration, Instant};

use vkarray::Stream;

use super::kernels::{Pair, pairs, small};
use super::{Bench, timed};
use crate::error::Result;

/// Dispatches of a chain.
const CHAIN: u32 = 2000;

/// Dispatches that are waited for one by one.
const WAITS: u32 = 301;

/// Pairs of arrays that the independent dispatches use in turn.
pub(super) const PAIRS: u32 = 64;

pub(super) fn measure(bench: &Bench<'_>) -> Result<()> {
    let stream = bench.ctx.stream()?;
    for (entry, n_groups) in [("nop", 1), ("nop", 16), ("axpy", 1), ("axpy", 16)] {
        let kernel = small(bench.ctx, entry)?;
        let pair = Pair::new(bench.ctx)?;
        let times = bench.runs(|| chain(&stream, CHAIN, |_| pair.launch(&kernel, &stream, n_groups)))?;
        report(bench, "stream", "host", &format!("{entry}{n_groups}"), &times)?;
        let wait = || timed(|| pair.launch(&kernel, &stream, n_groups).and_then(|()| Ok(stream.synchronize()?)));
        bench.micros(&format!("sync_{entry}{n_groups}"), &bench.samples(WAITS, wait)?, 1)?;
    }
    let kernel = small(bench.ctx, "axpy")?;
    let pairs = pairs(bench.ctx, PAIRS)?;
    let launch = |i: u32| pairs[(i % PAIRS) as usize].launch(&kernel, &stream, 16);
    let times = bench.runs(|| chain(&stream, CHAIN, launch))?;
    report(bench, "independent", "host_independent", "axpy16", &times)?;
    // A dispatch of no workgroups is checked by the same code as any other, and then not recorded. So this measures what a
    // dispatch does before it takes the stream's lock: two arrays and two numbers are described, checked against the signature
    // and each other, and listed as bindings and accesses.
    let times = bench.runs(|| timed(|| (0..CHAIN).try_for_each(|_| pairs[0].launch(&kernel, &stream, 0))))?;
    bench.micros("host_checks", &times, CHAIN)
}

/// The times of a burst of operations.
pub(super) struct Burst {
    /// Until all are recorded.
    pub(super) host: Duration,
    /// Until all are complete.
    pub(super) total: Duration,
}

/// Records `n` operations, then waits.
pub(super) fn chain(stream: &Stream, n: u32, mut operation: impl FnMut(u32) -> Result<()>) -> Result<Burst> {
    stream.synchronize()?;
    let start = Instant::now();
    for i in 0..n {
        operation(i)?;
    }
    let host = start.elapsed();
    stream.synchronize()?;
    Ok(Burst { host, total: start.elapsed() })
}

fn report(bench: &Bench<'_>, total: &str, host: &str, what: &str, times: &[Burst]) -> Result<()> {
    let totals: Vec<_> = times.iter().map(|burst| burst.total).collect();
    let hosts: Vec<_> = times.iter().map(|burst| burst.host).collect();
    bench.micros(&format!("{total}_{what}"), &totals, CHAIN)?;
    bench.micros(&format!("{host}_{what}"), &hosts, CHAIN)
}
