//! The cost of making an array and dropping it, when the pool has memory from the driver already.
//!
//! Figures are the time of one array: alone, with a small copy in between (whose own time is `use_small`), and for each
//! of several threads at once.

use std::sync::Arc;

use anyhow::Result;
use vkarray::memory::{Block, MemoryKind};
use vkarray_benches::{at_once, timed};

use crate::{Bench, size_text};

/// Allocations of a run.
const IN_A_ROW: u32 = 2000;

/// Allocations of a run with a use in between. Few, since memory in flight is not free.
const USED_IN_A_ROW: u32 = 200;

/// Number of threads.
const N_THREADS: u32 = 8;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
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
        on_threads(bench, &format!("{name}_{N_THREADS}_threads"), || array().map(drop))?;
    }
    let pinned = || ctx.allocator().allocate(64 << 20, MemoryKind::Pinned).map(drop).map_err(vkarray::Error::from);
    each(bench, "alloc_pinned_64MiB", IN_A_ROW, pinned)
}

/// Prints the time of one allocation, or that the device has too little memory for it.
fn each(bench: Bench<'_>, name: &str, n: u32, allocate: impl Fn() -> vkarray::Result<()>) -> Result<()> {
    if let Err(vkarray::Error::Memory(error)) = allocate() {
        bench.report.skipped(name, &error.to_string());
        return Ok(());
    }
    let run = || {
        let time = timed(|| Ok((0..n).try_for_each(|_| allocate())?))?;
        bench.ctx.synchronize()?;
        Ok(time)
    };
    bench.report.micros(name, &bench.report.runs(run)?, n);
    Ok(())
}

/// Prints the time of one allocation while several threads allocate.
fn on_threads(bench: Bench<'_>, name: &str, allocate: impl Fn() -> vkarray::Result<()> + Sync) -> Result<()> {
    let row = |n: u32| Ok((0..n).try_for_each(|_| allocate())?);
    let run = || at_once(N_THREADS, |_| row(IN_A_ROW / 10), |()| row(IN_A_ROW));
    match run() {
        Err(error) if matches!(error.downcast_ref(), Some(vkarray::Error::Memory(_))) => {
            bench.report.skipped(name, &error.to_string());
        }
        Err(error) => return Err(error),
        Ok(_) => bench.report.micros(name, &bench.report.runs(run)?, IN_A_ROW),
    }
    Ok(())
}
