//! The cost of making an array and dropping it, when the pool has memory from the driver already.
//!
//! Figures are the time of one array: alone, with a small copy in between (whose own time is `use_small`), and for each
//! of several threads at once.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use vkarray::memory::{Block, MemoryKind};

use super::{Bench, size_text, timed};
use crate::error::Result;

/// Allocations of a run.
const IN_A_ROW: u32 = 2000;

/// Allocations of a run with a use in between. Few, since memory in flight is not free.
const USED_IN_A_ROW: u32 = 200;

/// Number of threads.
const N_THREADS: usize = 8;

pub(super) fn measure(bench: &Bench<'_>) -> Result<()> {
    let ctx = bench.ctx;
    let source = ctx.zeros::<u8>([4])?;
    let target = ctx.zeros::<u8>([4])?;
    let use_small = |block: &Arc<Block>| block.copy_from_block(ctx.default_stream(), 0, source.block(), 0..4);
    let use_alone = || use_small(target.block()).map_err(vkarray::Error::from);
    each(bench, "use_small", USED_IN_A_ROW, use_alone)?;
    for bytes in [1 << 20, 64 << 20, 1 << 30] {
        let array = || ctx.device_array::<u8>([bytes]);
        let name = format!("alloc_{}", size_text(bytes as u64));
        each(bench, &name, IN_A_ROW, || array().map(drop))?;
        each(bench, &format!("{name}_used"), USED_IN_A_ROW, || Ok(use_small(array()?.block())?))?;
        at_once(bench, &format!("{name}_{N_THREADS}_threads"), || array().map(drop))?;
    }
    let pinned = || ctx.allocator().allocate(64 << 20, MemoryKind::Pinned).map(drop).map_err(vkarray::Error::from);
    each(bench, "alloc_pinned_64MiB", IN_A_ROW, pinned)
}

/// Prints the time of one allocation, or that the device has too little memory for it.
fn each(bench: &Bench<'_>, name: &str, n: u32, allocate: impl Fn() -> vkarray::Result<()>) -> Result<()> {
    if let Err(vkarray::Error::Memory(error)) = allocate() {
        return bench.printer.skipped(name, &error.to_string());
    }
    let run = || {
        let time = timed(|| Ok((0..n).try_for_each(|_| allocate())?))?;
        bench.ctx.synchronize()?;
        Ok(time)
    };
    bench.micros(name, &bench.runs(run)?, n)
}

/// Prints the time of one allocation while several threads allocate.
fn at_once(bench: &Bench<'_>, name: &str, allocate: impl Fn() -> vkarray::Result<()> + Sync) -> Result<()> {
    let run = || {
        let start = Barrier::new(N_THREADS);
        let one = || -> vkarray::Result<Duration> {
            let warm = (0..IN_A_ROW / 10).try_for_each(|_| allocate());
            start.wait(); // Also after a failure, since the others wait for this thread.
            warm?;
            let begun = Instant::now();
            (0..IN_A_ROW).try_for_each(|_| allocate())?;
            Ok(begun.elapsed())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..N_THREADS).map(|_| scope.spawn(one)).collect();
            let times = threads.into_iter().map(|thread| thread.join().expect("the threads do not panic"));
            times.collect::<vkarray::Result<Vec<_>>>()
        })
    };
    let longest = |times: Vec<Duration>| times.into_iter().max().unwrap_or_default();
    match run() {
        Err(vkarray::Error::Memory(error)) => bench.printer.skipped(name, &error.to_string()),
        Err(error) => Err(error.into()),
        Ok(_) => bench.micros(name, &bench.runs(|| Ok(longest(run()?)))?, IN_A_ROW),
    }
}
