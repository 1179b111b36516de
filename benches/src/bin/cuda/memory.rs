//! The cost of allocating and freeing memory with CUDA.
//!
//! `alloc_…` is the device's stream-ordered pool, set to keep freed memory, which is CUDA's fastest allocation.
//! `alloc_plain_…` allocates from the driver each time. Each of several threads has its own stream; they share the
//! device's pool, or each has a pool.

use anyhow::Result;
use vkarray_benches::{Report, at_once, print_best, timed};

use crate::functions::Address;
use crate::gpu::{Gpu, Pool, Stream};

/// Allocations of a run.
const IN_A_ROW: u32 = 2000;
/// Allocations of a run with a use in between, and of a run that takes memory from the driver.
const USED_IN_A_ROW: u32 = 200;
const PLAIN_IN_A_ROW: u32 = 20;
/// Threads at once, where more than one is measured.
const N_THREADS: u32 = 8;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    gpu.keep_freed()?;
    let (stream, pools) = (gpu.stream()?, (0..N_THREADS).map(|_| gpu.pool()).collect::<Result<Vec<_>>>()?);
    let (source, target) = (gpu.zeros(4)?, gpu.zeros(4)?);
    let use_small = |to| {
        // SAFETY: both sides have four bytes, and the target is not freed before the stream has used it.
        let code = unsafe { (gpu.functions.copy_in_order)(to, source, 4, stream.0) };
        gpu.functions.check("cuMemcpyDtoDAsync", code)
    };
    each(gpu, report, "use_small", USED_IN_A_ROW, || use_small(target))?;
    for (bytes, size) in [(1 << 20, "1MiB"), (64 << 20, "64MiB"), (1 << 30, "1GiB")] {
        each(gpu, report, &format!("alloc_{size}"), IN_A_ROW, || allocate(gpu, None, stream, bytes))?;
        each(gpu, report, &format!("alloc_{size}_used"), USED_IN_A_ROW, || {
            let address = gpu.allocate_in_order(stream, bytes)?;
            use_small(address)?;
            // SAFETY: the address was allocated above, and only the stream uses it.
            unsafe { gpu.free_in_order(stream, address) }
        })?;
        on_threads(gpu, report, &pools, (bytes, &format!("alloc_{size}_{N_THREADS}_threads")))?;
        each(gpu, report, &format!("alloc_plain_{size}"), PLAIN_IN_A_ROW, || {
            // SAFETY: the memory is allocated here, and nothing uses it.
            gpu.allocate(bytes).and_then(|address| unsafe { gpu.free(address) })
        })?;
    }
    each(gpu, report, "alloc_pinned_64MiB", 3, || {
        // SAFETY: the memory is allocated here, and nothing uses it.
        gpu.pinned(64 << 20, false).and_then(|pinned| unsafe { gpu.free_pinned(pinned) })
    })
}

/// Reports the time of one allocation while several threads allocate, from one pool and from a pool each.
fn on_threads(gpu: &Gpu, report: Report, pools: &[Pool], (bytes, name): (usize, &str)) -> Result<()> {
    let times = |pools: &[Pool]| {
        let prepare = |i: u32| {
            gpu.enter()?;
            let (pool, stream) = (pools.get(i as usize).copied(), gpu.stream()?);
            (0..IN_A_ROW / 10).try_for_each(|_| allocate(gpu, pool, stream, bytes))?;
            Ok((pool, stream))
        };
        let work =
            |own: &mut (Option<Pool>, Stream)| (0..IN_A_ROW).try_for_each(|_| allocate(gpu, own.0, own.1, bytes));
        report.runs(|| at_once(N_THREADS, prepare, work))
    };
    let ways = [(format!("{name}_one_pool"), times(&[])?), (format!("{name}_pools"), times(pools)?)];
    print_best(name, &ways, |name, times| report.micros(name, times, IN_A_ROW));
    Ok(())
}

/// Takes memory from a pool, else the device's, and gives it back.
fn allocate(gpu: &Gpu, pool: Option<Pool>, stream: Stream, bytes: usize) -> Result<()> {
    let from = |pool| gpu.allocate_from(pool, stream, bytes);
    let address: Address = pool.map_or_else(|| gpu.allocate_in_order(stream, bytes), from)?;
    // SAFETY: the memory was allocated just now, and nothing uses it.
    unsafe { gpu.free_in_order(stream, address) }
}

/// Reports the time of one allocation.
fn each(gpu: &Gpu, report: Report, name: &str, n: u32, allocate: impl Fn() -> Result<()>) -> Result<()> {
    let run = || {
        let time = timed(|| (0..n).try_for_each(|_| allocate()))?;
        gpu.wait_for_all()?;
        Ok(time)
    };
    report.micros(name, &report.runs(run)?, n);
    Ok(())
}
