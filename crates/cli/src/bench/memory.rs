//! What it costs to make an array and drop it again, once memory has been taken from the driver.

use vkarray::MemoryKind;

use super::{Bench, size_text, timed};
use crate::error::Result;

/// Allocations of a run.
const IN_A_ROW: u32 = 50;

pub(super) fn measure(bench: &Bench<'_>) -> Result<()> {
    let ctx = bench.ctx;
    for bytes in [1 << 20, 64 << 20, 1 << 30] {
        let array = || ctx.device_array::<u8>([bytes]).map(drop);
        each(bench, &format!("alloc_{}", size_text(bytes as u64)), array)?;
    }
    let pinned = || ctx.allocator().allocate(64 << 20, MemoryKind::Pinned).map(drop).map_err(vkarray::Error::from);
    each(bench, "alloc_pinned_64MiB", pinned)
}

/// Reports the time of one allocation, or that the device has no room for it.
fn each(bench: &Bench<'_>, name: &str, allocate: impl Fn() -> vkarray::Result<()>) -> Result<()> {
    if let Err(vkarray::Error::Memory(error)) = allocate() {
        return bench.printer.skipped(name, &error.to_string());
    }
    let run = || timed(|| Ok((0..IN_A_ROW).try_for_each(|_| allocate())?));
    bench.micros(name, &bench.runs(run)?, IN_A_ROW)
}
