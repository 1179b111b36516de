//! The cost of copying views: packed, transposed, every other element, reversed, channels; and of a conversion.
//!
//! Copies are timed in a row, as in `copy.rs`. Each byte of an element counts twice, read and written; gaps between
//! elements do not count.

use anyhow::Result;
use vkarray::device::DeviceType;
use vkarray::{DeviceNDArray, Element, Index, Stream};

use crate::copy::in_a_row;
use crate::{Bench, size_text};

/// Elements along an edge of the square that is copied: 1 GiB of `f32`.
const EDGE: usize = 16_384;

/// The edge of the square on a CPU driver, whose rates do not grow with the size.
const CPU_EDGE: usize = 1024;

/// Channels of a picture.
const CHANNELS: usize = 4;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let info = bench.ctx.info();
    let is_cpu = info.device_type == DeviceType::Cpu;
    let fits = |edge: &usize| (*edge as u64).pow(2) * 16 <= info.device_memory_bytes();
    let edge = std::iter::successors(Some(if is_cpu { CPU_EDGE } else { EDGE }), |edge| Some(edge / 2)).find(fits);
    let (edge, stream) = (edge.unwrap_or(CPU_EDGE), bench.ctx.stream()?);
    let (source, target) = (square(bench, edge)?, square(bench, edge)?);
    let back = Index::stepped(.., -1);
    let every_other = [(..).into(), Index::stepped(.., 2)];
    copied(bench, "packed", &stream, &source, &target)?;
    copied(bench, "transpose_f32", &stream, &source.transpose(None)?, &target)?;
    copied(bench, "step2_f32", &stream, &source.slice(every_other)?, &bench.ctx.zeros([edge, edge / 2])?)?;
    copied(bench, "into_step2_f32", &stream, &bench.ctx.zeros([edge, edge / 2])?, &target.slice(every_other)?)?;
    copied(bench, "reversed_f32", &stream, &source.slice([back, back])?, &target)?;
    channels::<f32>(bench, "f32", &stream, edge / 4)?;
    channels::<u8>(bench, "u8", &stream, edge / 4)?;
    drop(target);
    cast(bench, &stream, &source)
}

fn square(bench: Bench<'_>, edge: usize) -> Result<DeviceNDArray<f32>> {
    Ok(bench.ctx.full([edge, edge], 1.5)?)
}

/// Copies a picture whose channels come last to a picture whose channels come first, and back.
fn channels<T: Element>(bench: Bench<'_>, name: &str, stream: &Stream, edge: usize) -> Result<()> {
    let last = bench.ctx.zeros::<T>([edge, edge, CHANNELS])?;
    let first = bench.ctx.zeros::<T>([CHANNELS, edge, edge])?;
    let to_first = last.transpose(Some(&[2, 0, 1]))?;
    copied(bench, &format!("channels_first_{name}"), stream, &to_first, &first)?;
    copied(bench, &format!("channels_last_{name}"), stream, &first, &to_first)
}

/// Prints the rate of a copy from one view to another.
fn copied<T: Element>(
    bench: Bench<'_>,
    name: &str,
    stream: &Stream,
    source: &DeviceNDArray<T>,
    target: &DeviceNDArray<T>,
) -> Result<()> {
    let name = format!("view_{name}_{}", size_text(source.nbytes()));
    in_a_row(bench, &name, stream, source.nbytes(), || Ok(target.on(stream).copy_from_device(source)?))
}

/// Prints the rate of a conversion, which allocates its result.
fn cast(bench: Bench<'_>, stream: &Stream, source: &DeviceNDArray<f32>) -> Result<()> {
    let (from, size) = (source.nbytes(), size_text(source.nbytes()));
    // `in_a_row` counts a byte twice. Here one byte is written for four that are read.
    let narrow = || source.on(stream).astype::<u8>().map(drop).map_err(Into::into);
    in_a_row(bench, &format!("view_cast_f32_u8_{size}"), stream, (from + from / 4) / 2, narrow)?;
    let half = || source.on(stream).astype::<half::f16>().map(drop).map_err(Into::into);
    in_a_row(bench, &format!("view_cast_f32_f16_{size}"), stream, (from + from / 2) / 2, half)
}
