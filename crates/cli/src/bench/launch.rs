//! What a small dispatch costs: in a chain of dependent ones, among independent ones, and with a wait.
//!
//! The same definitions as the CUDA and wgpu programs that the figures are compared with: 16 workgroups of 64, 1,024
//! numbers. Graphs of the same dispatches are in `graph.rs`.

use std::time::{Duration, Instant};

use vkarray::Stream;

use super::kernels::{Pair, pairs, small};
use super::{Bench, timed};
use crate::error::Result;

/// Dispatches of a chain.
const CHAIN: u32 = 2000;

/// Dispatches that are waited for, one by one.
const WAITS: u32 = 301;

/// Pairs of arrays between which the independent dispatches go round.
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
    // A dispatch of no workgroups is checked like any other, by the same code, and then not recorded. So this is all that a
    // dispatch does before it takes the stream's lock: the arguments described, checked against the signature and against
    // each other, and put down as they are bound and ordered. Two arrays and two numbers.
    let times = bench.runs(|| timed(|| (0..CHAIN).try_for_each(|_| pairs[0].launch(&kernel, &stream, 0))))?;
    bench.micros("host_checks", &times, CHAIN)
}

/// What a burst of dispatches took.
pub(super) struct Burst {
    /// Until all were recorded.
    pub(super) host: Duration,
    /// Until all were done.
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
