//! The cost of a copy: to the device and back, from pinned, pageable and registered memory, and on the device.
//!
//! A copy between host and device is timed alone, with the wait for it. Copies on the device are timed in a row without
//! waits, and count each byte twice: read and written.

use std::sync::Arc;

use anyhow::Result;
use vkarray::Stream;
use vkarray::kernel::signature::limits_of;
use vkarray::memory::{Block, MemoryKind};
use vkarray_benches::timed;

use crate::{Bench, kernels, size_text};

/// Bytes of the copies between host and device.
const SIZES: [u64; 5] = [4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20];

/// Bytes that the copies of one size move in a run, and the most copies of a run.
const RUN_BYTES: u64 = 256 << 20;
const MAX_COPIES: u64 = 100;

/// Bytes of a copy on the device, if it has enough memory.
const DEVICE_BYTES: u64 = 1 << 30;
/// Copies on the device in a row.
const IN_A_ROW: u64 = 10;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let stream = bench.ctx.stream()?;
    for bytes in SIZES {
        pinned(bench, &stream, bytes, "")?;
        pageable(bench, &stream, bytes)?;
        registered(bench, &stream, bytes)?;
    }
    on_device(bench, &stream)
}

/// Copies from and to pinned memory. The names of the figures begin with `prefix`.
pub(crate) fn pinned(bench: Bench<'_>, stream: &Stream, bytes: u64, prefix: &str) -> Result<()> {
    let allocate = |kind| bench.ctx.allocator().allocate(bytes, kind);
    let (device, size) = (allocate(MemoryKind::Device)?, size_text(bytes));
    let copy = |to: &Arc<Block>, from: &Arc<Block>| Ok(to.copy_from_block(stream, 0, from, 0..bytes)?);
    for (kind, name) in [(MemoryKind::Pinned, "pinned"), (MemoryKind::WriteCombined, "combined")] {
        let host = allocate(kind)?;
        each(bench, &format!("{prefix}copy_up_{name}_{size}"), stream, bytes, || copy(&device, &host))?;
        if kind == MemoryKind::Pinned {
            each(bench, &format!("{prefix}copy_down_{name}_{size}"), stream, bytes, || copy(&host, &device))?;
        }
    }
    Ok(())
}

fn pageable(bench: Bench<'_>, stream: &Stream, bytes: u64) -> Result<()> {
    let device = bench.ctx.allocator().allocate(bytes, MemoryKind::Device)?;
    let size = size_text(bytes);
    let mut host = vec![7_u8; usize::try_from(bytes).expect("a size that fits every host")];
    let up = || Ok(device.copy_from_host(stream, 0, &host)?);
    each(bench, &format!("copy_up_pageable_{size}"), stream, bytes, up)?;
    let down = || Ok(device.copy_to_host(stream, 0, &mut host)?);
    each(bench, &format!("copy_down_pageable_{size}"), stream, bytes, down)
}

/// Memory of the program: first the registration alone, with its end; then copies of memory that is registered once.
fn registered(bench: Bench<'_>, stream: &Stream, bytes: u64) -> Result<()> {
    let (size, len) = (size_text(bytes), usize::try_from(bytes).expect("a size that fits every host"));
    let device = bench.ctx.zeros::<u8>([len])?;
    let mut host = vec![7_u8; len];
    let times = bench.report.runs(|| timed(|| Ok(bench.ctx.register(&mut host, |_| ())?)))?;
    bench.report.micros(&format!("register_{size}"), &times, 1);
    bench.ctx.register(&mut host, |mut registered| {
        let up = || Ok(registered.on(stream).copy_to(0, &device)?);
        each(bench, &format!("copy_up_registered_{size}"), stream, bytes, up)?;
        let down = || {
            registered.on(stream).copy_from(0, &device)?;
            registered.read()?; // Waits, and copies staged bytes.
            Ok(())
        };
        each(bench, &format!("copy_down_registered_{size}"), stream, bytes, down)
    })?
}

/// Prints the rate of copies that are waited for one by one.
fn each(bench: Bench<'_>, name: &str, stream: &Stream, bytes: u64, mut copy: impl FnMut() -> Result<()>) -> Result<()> {
    let n = (RUN_BYTES / bytes).clamp(3, MAX_COPIES);
    let mut run = || (0..n).try_for_each(|_| copy().and_then(|()| Ok(stream.synchronize()?)));
    bench.report.rate(name, &bench.report.runs(|| timed(&mut run))?, bytes * n);
    Ok(())
}

/// Copies on the device: between arrays, by a kernel, and by `vkCmdCopyBuffer`.
pub(crate) fn on_device(bench: Bench<'_>, stream: &Stream) -> Result<()> {
    let bytes = device_bytes(bench);
    let n_words = usize::try_from(bytes / 4).expect("a size that fits every host");
    let source = bench.ctx.full([n_words], 7_u32)?;
    let target = bench.ctx.zeros::<u32>([n_words])?;
    let (kernel, groups, size) = (kernels::copy(bench.ctx)?, kernels::covering(bytes / 16), size_text(bytes));
    let by_array = || Ok(target.on(stream).copy_from_device(&source)?);
    let by_kernel = || Ok(kernel.dispatch(stream, groups, (&source, &target))?);
    let by_command = || Ok(target.block().copy_from_block(stream, 0, source.block(), 0..bytes)?);
    in_a_row(bench, &format!("copy_device_array_{size}"), stream, bytes, by_array)?;
    in_a_row(bench, &format!("copy_device_kernel_{size}"), stream, bytes, by_kernel)?;
    in_a_row(bench, &format!("copy_device_command_{size}"), stream, bytes, by_command)
}

/// The largest power of two that a kernel can bind, if two such arrays take at most half of the device's memory.
fn device_bytes(bench: Bench<'_>) -> u64 {
    let info = bench.ctx.info();
    let limit = limits_of(info).max_storage_buffer_range.min(info.device_memory_bytes() / 4);
    DEVICE_BYTES.min((limit / 2 + 1).next_power_of_two())
}

/// Prints the rate of copies that follow each other without a wait.
pub(crate) fn in_a_row(
    bench: Bench<'_>,
    name: &str,
    stream: &Stream,
    bytes: u64,
    mut copy: impl FnMut() -> Result<()>,
) -> Result<()> {
    stream.synchronize()?;
    let mut run = || (0..IN_A_ROW).try_for_each(|_| copy()).and_then(|()| Ok(stream.synchronize()?));
    bench.report.rate(name, &bench.report.runs(|| timed(&mut run))?, 2 * bytes * IN_A_ROW);
    Ok(())
}
