//! The cost of a small dispatch: in a chain of dependent dispatches, among independent dispatches, and with a wait.
//!
//! The CUDA and wgpu programs in `benches/` measure the same work: 16 workgroups of 64 invocations, 1,024 numbers.
//! Graphs of these dispatches are in `graph.rs`.

use std::time::{Duration, Instant};

use anyhow::Result;
use vkarray::Stream;
use vkarray_benches::timed;

use crate::Bench;
use crate::kernels::{Pair, pairs, small};

/// Dispatches of a chain.
const CHAIN: u32 = 2000;

/// Dispatches that are waited for one by one.
const WAITS: u32 = 301;

/// Pairs of arrays that the independent dispatches use in turn.
pub(crate) const PAIRS: u32 = 64;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let stream = bench.ctx.stream()?;
    for (entry, n_groups) in [("nop", 1), ("nop", 16), ("axpy", 1), ("axpy", 16)] {
        let kernel = small(bench.ctx, entry)?;
        let pair = Pair::new(bench.ctx)?;
        let times = bench.report.runs(|| chain(&stream, CHAIN, |_| pair.launch(&kernel, &stream, n_groups)))?;
        report(bench, "stream", "host", &format!("{entry}{n_groups}"), &times)?;
        let wait = || pair.launch(&kernel, &stream, n_groups).and_then(|()| Ok(stream.synchronize()?));
        bench.report.wait(&format!("sync_{entry}{n_groups}"), &bench.report.waits(WAITS, wait)?);
    }
    let kernel = small(bench.ctx, "axpy")?;
    let pairs = pairs(bench.ctx, PAIRS)?;
    let launch = |i: u32| pairs[(i % PAIRS) as usize].launch(&kernel, &stream, 16);
    let times = bench.report.runs(|| chain(&stream, CHAIN, launch))?;
    report(bench, "independent", "host_independent", "axpy16", &times)?;
    // A dispatch of no workgroups is checked by the same code as any other, and then not recorded. The time is
    // therefore the work before the dispatch takes the stream's lock: two arrays and two numbers are described, checked
    // against the signature and each other, and listed as bindings and accesses.
    let times = bench.report.runs(|| timed(|| (0..CHAIN).try_for_each(|_| pairs[0].launch(&kernel, &stream, 0))))?;
    bench.report.micros("host_checks", &times, CHAIN);
    Ok(())
}

/// The times of a burst of operations.
pub(crate) struct Burst {
    /// The time until all operations are recorded.
    pub(crate) host: Duration,
    /// The time until all operations are complete.
    pub(crate) total: Duration,
}

/// Records `n` operations, then waits.
pub(crate) fn chain(stream: &Stream, n: u32, mut operation: impl FnMut(u32) -> Result<()>) -> Result<Burst> {
    stream.synchronize()?;
    let start = Instant::now();
    for i in 0..n {
        operation(i)?;
    }
    let host = start.elapsed();
    stream.synchronize()?;
    Ok(Burst { host, total: start.elapsed() })
}

fn report(bench: Bench<'_>, total: &str, host: &str, what: &str, times: &[Burst]) -> Result<()> {
    let totals: Vec<_> = times.iter().map(|burst| burst.total).collect();
    let hosts: Vec<_> = times.iter().map(|burst| burst.host).collect();
    bench.report.micros(&format!("{total}_{what}"), &totals, CHAIN);
    bench.report.micros(&format!("{host}_{what}"), &hosts, CHAIN);
    Ok(())
}
