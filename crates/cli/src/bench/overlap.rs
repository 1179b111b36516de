//! Do an upload, a kernel and a download on three streams go on at once?
//!
//! Thirty-two chunks go up, through a kernel that takes about as long as the copy, and down. The ratio is the time of
//! all over that of the slowest of the three alone: 1 is perfect, 3 is none.

use std::sync::Arc;
use std::time::Duration;

use vkarray::{Block, DeviceNDArray, Groups, Kernel, MemoryKind, Stream};

use super::{Bench, Unit, kernels, timed};
use crate::error::Result;

const CHUNKS: usize = 32;
const CHUNK_BYTES: u64 = 8 << 20;
const CHUNK_WORDS: u64 = CHUNK_BYTES / 4;

/// Rounds of the kernel at most: some drivers end an invocation's loop after 65,535.
const MAX_ROUNDS: u32 = 60_000;

pub(super) fn measure(bench: &Bench<'_>) -> Result<()> {
    let mut pipeline = Pipeline::new(bench)?;
    let up = median(bench, || pipeline.all(Pipeline::up))?;
    pipeline.fit_kernel(up / 32)?;
    let kernel = median(bench, || pipeline.all(Pipeline::work))?;
    let down = median(bench, || pipeline.all(Pipeline::down))?;
    let longest = up.max(kernel).max(down);
    let stages = |i: usize| Pipeline::STAGES.iter().try_for_each(|stage| stage(&pipeline, i));
    let together = bench.runs(|| pipeline.all(|_, i| stages(i)))?;
    for (name, time) in [("overlap_up", up), ("overlap_kernel", kernel), ("overlap_down", down)] {
        bench.micros(name, &[time], 1)?;
    }
    bench.micros("overlap_together", &together, 1)?;
    let ratios = together.iter().map(|time| time.as_secs_f64() / longest.as_secs_f64());
    bench.printer.figure("overlap_ratio", Unit::Ratio, ratios)
}

fn median(bench: &Bench<'_>, run: impl FnMut() -> Result<Duration>) -> Result<Duration> {
    let mut times = bench.runs(run)?;
    times.sort();
    Ok(times[times.len() / 2])
}

/// A stage's part of one chunk.
type Stage = fn(&Pipeline, usize) -> Result<()>;

struct Pipeline {
    streams: [Stream; 3],
    sources: Vec<Arc<Block>>,
    arrays: Vec<DeviceNDArray<u32>>,
    targets: Vec<Arc<Block>>,
    kernel: Kernel,
    groups: Groups,
    rounds: u32,
}

impl Pipeline {
    const STAGES: [Stage; 3] = [Self::up, Self::work, Self::down];

    fn new(bench: &Bench<'_>) -> Result<Self> {
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

    /// The time until all streams are done with the stage's part of every chunk.
    fn all(&self, stage: impl Fn(&Self, usize) -> Result<()>) -> Result<Duration> {
        timed(|| {
            (0..CHUNKS).try_for_each(|i| stage(self, i))?;
            Ok(self.streams.iter().try_for_each(Stream::synchronize)?)
        })
    }

    /// Sets the kernel's rounds so that it takes about `wanted` a chunk.
    fn fit_kernel(&mut self, wanted: Duration) -> Result<()> {
        loop {
            let chunks = u32::try_from(CHUNKS).expect("a small count");
            self.all(Self::work)?;
            let took = self.all(Self::work)? / chunks;
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
