//! The cost of allocating and freeing memory with CUDA.
//!
//! `alloc_…` is the device's stream-ordered pool, set to keep freed memory, which is CUDA's fastest allocation.
//! `alloc_plain_…` allocates from the driver each time. Each of several threads has its own stream.

use anyhow::Result;
use vkarray_benches::{Report, at_once, timed};

use crate::gpu::{Gpu, Stream};

/// Allocations of a run.
const IN_A_ROW: u32 = 2000;
/// Allocations of a run with a use in between, and of a run that takes memory from the driver.
const USED_IN_A_ROW: u32 = 200;
const PLAIN_IN_A_ROW: u32 = 20;
/// Threads at once, where more than one is measured.
const N_THREADS: u32 = 8;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    gpu.keep_freed()?;
    let stream = gpu.stream()?;
    let (source, target) = (gpu.zeros(4)?, gpu.zeros(4)?);
    let use_small = |to| {
        // SAFETY: both sides have four bytes, and the target is not freed before the stream has used it.
        let code = unsafe { (gpu.functions.copy_in_order)(to, source, 4, stream.0) };
        gpu.functions.check("cuMemcpyDtoDAsync", code)
    };
    each(gpu, report, "use_small", USED_IN_A_ROW, || use_small(target))?;
    for (bytes, size) in [(1 << 20, "1MiB"), (64 << 20, "64MiB"), (1 << 30, "1GiB")] {
        each(gpu, report, &format!("alloc_{size}"), IN_A_ROW, || allocate(gpu, stream, bytes))?;
        each(gpu, report, &format!("alloc_{size}_used"), USED_IN_A_ROW, || {
            let address = gpu.allocate_in_order(stream, bytes)?;
            use_small(address)?;
            // SAFETY: the address was allocated above, and only the stream uses it.
            unsafe { gpu.free_in_order(stream, address) }
        })?;
        let prepare = |_| {
            gpu.enter()?;
            let stream = gpu.stream()?;
            (0..IN_A_ROW / 10).try_for_each(|_| allocate(gpu, stream, bytes))?;
            Ok(stream)
        };
        let work = |stream: &mut Stream| (0..IN_A_ROW).try_for_each(|_| allocate(gpu, *stream, bytes));
        let times = report.runs(|| at_once(N_THREADS, prepare, work))?;
        report.micros(&format!("alloc_{size}_{N_THREADS}_threads"), &times, IN_A_ROW);
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

fn allocate(gpu: &Gpu, stream: Stream, bytes: usize) -> Result<()> {
    let address = gpu.allocate_in_order(stream, bytes)?;
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
