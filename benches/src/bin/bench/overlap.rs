//! Whether an upload, a kernel and a download on three streams run at the same time.
//!
//! Thirty-two chunks are uploaded, changed by a kernel and downloaded, in two measurements. In the first, the kernel
//! takes longer than both copies together; `overlap_ratio` is the time of all stages divided by the time of the kernel
//! alone, and 1 is perfect. In the second, the kernel is shorter than a copy, so the link to the host is the
//! bottleneck; `overlap_link_ratio` is the time of all stages divided by the time of simultaneous uploads and downloads
//! without the kernel, since on many machines both directions share one link. Nothing overlaps the first upload and the
//! last download, which adds a few hundredths to both ratios.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use vkarray::memory::{Block, MemoryKind};
use vkarray::{DeviceNDArray, Groups, Kernel, Stream};
use vkarray_benches::timed;

use crate::{Bench, kernels};

const CHUNKS: usize = 32;
const CHUNK_BYTES: u64 = 8 << 20;
const CHUNK_WORDS: u64 = CHUNK_BYTES / 4;

/// The most iterations of the kernel: some drivers end a loop after 65,535.
const MAX_ROUNDS: u32 = 60_000;

/// The kernel's time divided by the time of both copies, in the first measurement.
const LONGEST: f64 = 1.4;
/// This ratio in the second measurement: the kernel is shorter than either copy.
const SHORTEST: f64 = 0.25;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let mut pipeline = Pipeline::new(bench)?;
    let up = median(bench, || pipeline.all(Pipeline::up))?;
    let down = median(bench, || pipeline.all(Pipeline::down))?;
    let link = median(bench, || pipeline.all(Pipeline::copies))?;
    pipeline.fit_kernel(link.max(up + down).mul_f64(LONGEST))?;
    let kernel = median(bench, || pipeline.all(Pipeline::work))?;
    for (name, time) in [("overlap_up", up), ("overlap_kernel", kernel), ("overlap_down", down)] {
        bench.report.micros(name, &[time], 1);
    }
    together(bench, &pipeline, "overlap", up.max(kernel).max(down))?;
    pipeline.fit_kernel(link.mul_f64(SHORTEST))?;
    let kernel = median(bench, || pipeline.all(Pipeline::work))?;
    bench.report.micros("overlap_link", &[link], 1);
    bench.report.micros("overlap_link_kernel", &[kernel], 1);
    if kernel >= link {
        let reason = "even the shortest kernel takes longer than the copies";
        bench.report.skipped("overlap_link_together", reason);
        bench.report.skipped("overlap_link_ratio", reason);
        return Ok(());
    }
    together(bench, &pipeline, "overlap_link", link)
}

/// Prints the time of the three stages together, and its ratio to `least`, the shortest possible time.
fn together(bench: Bench<'_>, pipeline: &Pipeline, name: &str, least: Duration) -> Result<()> {
    let times = bench.report.runs(|| pipeline.all(Pipeline::stages))?;
    bench.report.micros(&format!("{name}_together"), &times, 1);
    let ratios = times.iter().map(|time| time.as_secs_f64() / least.as_secs_f64());
    bench.report.figure(&format!("{name}_ratio"), "ratio", ratios);
    Ok(())
}

fn median(bench: Bench<'_>, run: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut times = bench.report.runs(run)?;
    times.sort();
    Ok(times[times.len() / 2])
}

struct Pipeline {
    streams: [Stream; 3],
    sources: Vec<Arc<Block>>,
    arrays: Vec<DeviceNDArray<u32>>,
    targets: Vec<Arc<Block>>,
    kernel: Kernel,
    groups: Groups<'static>,
    rounds: u32,
}

impl Pipeline {
    fn new(bench: Bench<'_>) -> Result<Self> {
        let ctx = bench.ctx;
        let n_words = usize::try_from(CHUNK_WORDS).expect("a size that fits every host");
        let blocks = || {
            (0..CHUNKS).map(|_| Ok(ctx.allocator().allocate(CHUNK_BYTES, MemoryKind::Pinned)?)).collect::<Result<_>>()
        };
        Ok(Self {
            streams: [ctx.stream()?, ctx.stream()?, ctx.stream()?],
            sources: blocks()?,
            arrays: (0..CHUNKS).map(|_| Ok(ctx.full([n_words], 7_u32)?)).collect::<Result<_>>()?,
            targets: blocks()?,
            kernel: kernels::spin(ctx)?,
            groups: kernels::covering(CHUNK_WORDS),
            rounds: 1,
        })
    }

    fn up(&self, i: usize) -> Result<()> {
        Ok(self.arrays[i].block().copy_from_block(&self.streams[0], 0, &self.sources[i], 0..CHUNK_BYTES)?)
    }

    fn work(&self, i: usize) -> Result<()> {
        Ok(self.kernel.dispatch(&self.streams[1], self.groups, (&self.arrays[i], self.rounds))?)
    }

    fn down(&self, i: usize) -> Result<()> {
        Ok(self.targets[i].copy_from_block(&self.streams[2], 0, self.arrays[i].block(), 0..CHUNK_BYTES)?)
    }

    /// The upload of one chunk, and the download of another at the same time.
    fn copies(&self, i: usize) -> Result<()> {
        self.up(i)?;
        self.down((i + CHUNKS / 2) % CHUNKS)
    }

    fn stages(&self, i: usize) -> Result<()> {
        self.up(i)?;
        self.work(i)?;
        self.down(i)
    }

    /// The time of a stage for all chunks, with the wait for all streams.
    fn all(&self, stage: impl Fn(&Self, usize) -> Result<()>) -> Result<Duration> {
        timed(|| {
            (0..CHUNKS).try_for_each(|i| stage(self, i))?;
            Ok(self.streams.iter().try_for_each(Stream::synchronize)?)
        })
    }

    /// Sets the kernel's iterations so that all chunks take about `wanted`.
    fn fit_kernel(&mut self, wanted: Duration) -> Result<()> {
        self.rounds = 1;
        loop {
            self.all(Self::work)?;
            let took = self.all(Self::work)?;
            if took >= wanted / 2 || self.rounds >= MAX_ROUNDS {
                let scale = (wanted.as_secs_f64() / took.as_secs_f64()).clamp(0.25, 2.0);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and clamped")]
                let rounds = (f64::from(self.rounds) * scale) as u32;
                self.rounds = rounds.clamp(1, MAX_ROUNDS);
                return Ok(());
            }
            self.rounds *= 2;
        }
    }
}
