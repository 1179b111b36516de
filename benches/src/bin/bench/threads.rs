//! The cost of a dispatch while several threads dispatch, each on a stream and on arrays of its own.
//!
//! A figure is the time until all threads have waited for their work, divided by the number of all dispatches: half of
//! it on twice as many threads means that the threads do not slow each other down.

use anyhow::Result;
use vkarray_benches::at_once;

use crate::Bench;
use crate::kernels::{pairs, small};

/// Threads at once.
const THREADS: [u32; 5] = [1, 2, 4, 8, 16];

/// Dispatches of a thread.
const DISPATCHES: u32 = 20_000;

/// Pairs of arrays that the dispatches of a thread use in turn.
const PAIRS: u32 = 8;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let kernel = small(bench.ctx, "axpy")?;
    for n_threads in THREADS {
        let prepare = |_| {
            let (stream, pairs) = (bench.ctx.stream()?, pairs(bench.ctx, PAIRS)?);
            bench.ctx.synchronize()?;
            Ok((stream, pairs))
        };
        let run = || {
            at_once(n_threads, prepare, |(stream, pairs)| {
                let mut in_turn = pairs.iter().cycle().take(DISPATCHES as usize);
                in_turn.try_for_each(|pair| pair.launch(&kernel, stream, 16))?;
                Ok(stream.synchronize()?)
            })
        };
        bench.report.micros(&format!("threads_{n_threads}"), &bench.report.runs(run)?, n_threads * DISPATCHES);
    }
    Ok(())
}
