//! Figures of ranks on the devices of a machine: `mpiexec -n 4 target/release/examples/figures`, each a line of JSON.
//!
//! The arguments are the figures to measure: `exchange`, `heat`, `sum`, `sort`, `matmul`; without any, all of them.
//! `small` before them measures small arrays, to try the program. A time is that of the slowest rank, and a figure is the
//! median of several rounds.

use std::env;
use std::time::Instant;

use vkarray::prelude::*;
use vkarray::primitives::Rng;
use vkarray_dist::{
    Border, Decomposition, DistArray, DistError, MpiRank, Place, Region, Report, Transport, TransportError,
    open_context,
};

/// Rounds of each figure.
const ROUNDS: usize = 9;

/// Elements along the two axes of a face, which has 0.1 to 256 MiB of `f32`.
const FACES: [usize; 6] = [160, 512, 1024, 2048, 4096, 8192];

/// Layers of the array behind a face, but for its ghost zones.
const LAYERS: usize = 8;

/// Elements along each axis of a rank's cube of heat.
const CUBES: [usize; 3] = [128, 256, 512];

/// Steps of heat in a round.
const STEPS: usize = 20;

fn main() -> Result<(), TransportError> {
    MpiRank::run(|rank| -> anyhow::Result<()> {
        let mut names: Vec<String> = env::args().skip(1).collect();
        let is_small = names.first().is_some_and(|name| name == "small");
        names.drain(..usize::from(is_small));
        let ctx = open_context(rank)?;
        if let Some(report) = Report::gather(rank, &ctx, &Decomposition::over([rank.size()], rank.size())?)? {
            report.to_string().lines().for_each(|line| println!("# {line}"));
        }
        let run = Run { rank, ctx, is_small };
        let asked = |name: &str| names.is_empty() || names.iter().any(|own| own == name);
        let figure = |name: &str, figure: fn(&Run<'_>) -> anyhow::Result<()>| {
            if asked(name) { figure(&run) } else { Ok(()) }
        };
        figure("exchange", exchange)?;
        figure("heat", heat)?;
        figure("sum", sum)?;
        figure("sort", sort)?;
        figure("matmul", matmul)
    })
}

/// The only rank of a program within the program.
#[derive(Debug)]
struct Alone;

impl Transport for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn exchange(&self, outgoing: &[(usize, &[u8])], _: &mut [(usize, &mut [u8])]) -> Result<(), TransportError> {
        outgoing.first().map_or(Ok(()), |&(rank, _)| Err(TransportError::Rank { rank, size: 1 }))
    }

    fn barrier(&self) -> Result<(), TransportError> {
        Ok(())
    }

    fn place(&self) -> Place {
        Place { transport: "nothing".to_owned(), host: String::new(), host_rank: 0, local_rank: 0 }
    }

    fn checks_calls(&self) -> Result<bool, TransportError> {
        Ok(false)
    }
}

struct Run<'t> {
    rank: &'t dyn Transport,
    ctx: Context,
    is_small: bool,
}

impl Run<'_> {
    /// A size, or a part of it in a trial.
    fn size(&self, size: usize, divisor: usize) -> usize {
        if self.is_small { size / divisor } else { size }
    }

    /// The median time of some rounds on the slowest rank, in seconds, the same on each rank.
    fn median(&self, mut round: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for nth in 0..=ROUNDS {
            self.ctx.synchronize()?;
            self.rank.barrier()?;
            let start = Instant::now();
            round()?;
            self.ctx.synchronize()?;
            let slowest = self.each(start.elapsed().as_secs_f64())?.into_iter().fold(0.0, f64::max);
            // The first round makes kernels and memory.
            times.extend((nth > 0).then_some(slowest));
        }
        times.sort_by(f64::total_cmp);
        Ok(times[ROUNDS / 2])
    }

    /// The numbers of all ranks.
    fn each(&self, number: f64) -> anyhow::Result<Vec<f64>> {
        let (bytes, all) = (number.to_ne_bytes(), 0..self.rank.size());
        let outgoing: Vec<_> = all.clone().map(|rank| (rank, bytes.as_slice())).collect();
        let mut numbers = vec![[0; 8]; self.rank.size()];
        let mut incoming: Vec<_> = all.zip(&mut numbers).map(|(rank, bytes)| (rank, bytes.as_mut_slice())).collect();
        self.rank.exchange(&outgoing, &mut incoming)?;
        Ok(numbers.into_iter().map(f64::from_ne_bytes).collect())
    }

    /// Prints a figure, on rank 0.
    fn print(&self, figure: &str, numbers: &[(&str, f64)]) {
        if self.rank.rank() == 0 {
            let numbers: String = numbers.iter().map(|(name, number)| format!(", \"{name}\": {number:.6e}")).collect();
            let (ranks, device) = (self.rank.size(), &self.ctx.info().name);
            println!("{{\"figure\": \"{figure}\", \"ranks\": {ranks}, \"device\": \"{device}\"{numbers}}}");
        }
    }
}

/// The least GB/s of a pinned copy down and of one up over all ranks, each of which copies alone.
fn pinned(run: &Run<'_>) -> anyhow::Result<[f64; 2]> {
    let len = run.size(64 << 20, 64);
    let (array, pinned) = (run.ctx.zeros::<f32>(len)?, run.ctx.pinned_array::<f32>(len)?);
    let mut least = [f64::INFINITY; 2];
    for (slowest, (target, source)) in least.iter_mut().zip([(&pinned, &array), (&array, &pinned)]) {
        for alone in 0..run.rank.size() {
            let copy = || if run.rank.rank() == alone { Ok(target.copy_from_device(source)?) } else { Ok(()) };
            *slowest = slowest.min(array.nbytes() as f64 / run.median(copy)? / 1e9);
        }
    }
    Ok(least)
}

/// An exchange of two faces of each rank, along the first or the last of three axes, beside copies of pinned memory.
fn exchange(run: &Run<'_>) -> anyhow::Result<()> {
    let ranks = run.rank.size();
    let [down, up] = pinned(run)?;
    run.print("pinned", &[("down_gb_s", down), ("up_gb_s", up)]);
    for (axis, len) in [0, 2].into_iter().flat_map(|axis| FACES.map(|len| (axis, run.size(len, 16)))) {
        let (mut shape, mut grid, mut borders) = ([len; 3], [1; 3], [Border::Fixed; 3]);
        (shape[axis], grid[axis], borders[axis]) = (LAYERS * ranks, ranks, Border::Periodic);
        let parts = Decomposition::with_grid(shape, grid)?.ghosts([(1, 1); 3])?.borders(borders)?;
        let array = DistArray::full(&run.ctx, run.rank, &parts, 1.0_f32)?;
        let seconds = run.median(|| Ok(array.halo()?))?;
        let sharing = array.sharing().len() as f64;
        let face = (len * len * 4) as f64;
        let rate = 2.0 * face / seconds / 1e9;
        run.print(
            "exchange",
            &[
                ("axis", axis as f64),
                ("neighbours_sharing_memory", sharing),
                ("face_bytes", face),
                ("sent_bytes_per_rank", 2.0 * face),
                ("seconds", seconds),
                ("gb_s_each_direction", rate),
                ("gb_s_both_directions", 2.0 * rate),
                ("share_each_direction", rate / down.min(up)),
                ("share_both_directions", 2.0 * rate / down.min(up)),
            ],
        );
    }
    Ok(())
}

/// Steps of heat on a cube of each rank, beside a cube on rank 0 alone.
fn heat(run: &Run<'_>) -> anyhow::Result<()> {
    for len in CUBES.map(|len| run.size(len, 8)) {
        // The other ranks wait for the rounds of rank 0.
        let alone =
            if run.rank.rank() == 0 { cube_seconds(run, &Alone, len)? } else { run.median(|| Ok(()))? / STEPS as f64 };
        let together = cube_seconds(run, run.rank, len)?;
        let cells = (len * len * len) as f64;
        run.print(
            "heat",
            &[
                ("cells_per_rank", cells),
                ("seconds_per_step_alone", alone),
                ("seconds_per_step", together),
                ("gcells_s_per_rank", cells / together / 1e9),
                ("weak_scaling", alone / together),
            ],
        );
    }
    Ok(())
}

/// The seconds of a step on cubes of this length, one for each rank of `rank`.
fn cube_seconds(run: &Run<'_>, rank: &dyn Transport, len: usize) -> anyhow::Result<f64> {
    let grid = Decomposition::over([1 << 16; 3], rank.size())?.grid().to_vec();
    let shape: Vec<usize> = grid.iter().map(|parts| parts * len).collect();
    let cubes = Decomposition::with_grid(shape, grid)?.ghosts([(1, 1); 3])?.borders([Border::Periodic; 3])?;
    let mut now = DistArray::from_fn(&run.ctx, rank, &cubes, |at| (at[0] % 7 + at[1] % 5 + at[2] % 3) as f32)?;
    let mut next = DistArray::full(&run.ctx, rank, &cubes, 0.0_f32)?;
    let seconds = run.median(|| {
        for _ in 0..STEPS {
            let step = |piece: &Region| -> Result<(), DistError> {
                let beside = |axis: usize, distance| {
                    let mut shift = [0; 3];
                    shift[axis] = distance;
                    now.window(piece, &shift)
                };
                let center = now.window(piece, &[0; 3])?;
                let around =
                    beside(0, -1)? + beside(0, 1)? + beside(1, -1)? + beside(1, 1)? + beside(2, -1)? + beside(2, 1)?;
                Ok((&center + (around - &center * 6.0) * 0.1).assign_to(&next.window(piece, &[0; 3])?)?)
            };
            now.overlap(step, step)?;
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    })?;
    Ok(seconds / STEPS as f64)
}

/// Sums of an array, in bytes of elements.
fn sum(run: &Run<'_>) -> anyhow::Result<()> {
    let len = run.size(1 << 28, 1 << 10) * run.rank.size();
    let array = DistArray::full(&run.ctx, run.rank, &Decomposition::over([len], run.rank.size())?, 0.5_f32)?;
    for (name, is_reproducible) in [("sum", false), ("reproducible_sum", true)] {
        let seconds = run.median(|| {
            let sum = if is_reproducible { array.reproducible_sum()? } else { array.sum()? };
            anyhow::ensure!(f64::from(sum) == 0.5 * len as f64, "the sum is {sum}");
            Ok(())
        })?;
        run.print(name, &[("elements", len as f64), ("seconds", seconds), ("gb_s", len as f64 * 4.0 / seconds / 1e9)]);
    }
    Ok(())
}

/// A sort of random keys.
fn sort(run: &Run<'_>) -> anyhow::Result<()> {
    let len = run.size(1 << 26, 1 << 10) * run.rank.size();
    let parts = Decomposition::over([len], run.rank.size())?;
    let keys = DistArray::random(&run.ctx, run.rank, &parts, &Rng::philox(3), |rng, ctx, n| rng.bits::<u32>(ctx, n))?;
    let seconds = run.median(|| Ok(keys.sort(0).map(drop)?))?;
    run.print("sort", &[("keys", len as f64), ("seconds", seconds), ("gkeys_s", len as f64 / seconds / 1e9)]);
    Ok(())
}

/// A product of two matrices of `f32`.
fn matmul(run: &Run<'_>) -> anyhow::Result<()> {
    // Each rank has the same number of elements.
    let len = (run.size(8192, 64).pow(2) * run.rank.size()).isqrt();
    let parts = Decomposition::over([len; 2], run.rank.size())?;
    let draw = |rng: &mut Rng, ctx: &Context, n| rng.uniform::<f32>(ctx, n);
    let [left, right] = [4, 5].map(|seed| DistArray::random(&run.ctx, run.rank, &parts, &Rng::philox(seed), draw));
    let (left, right) = (left?, right?);
    let seconds = run.median(|| Ok(left.matmul(&right).map(drop)?))?;
    let operations = 2.0 * (len as f64).powi(3);
    run.print("matmul", &[("n", len as f64), ("seconds", seconds), ("tflop_s", operations / seconds / 1e12)]);
    Ok(())
}
