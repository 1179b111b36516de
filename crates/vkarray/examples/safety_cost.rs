//! What bounded loops and zeroed shared memory cost on a device: six kernels, each built in several ways.
//!
//! `cargo run --release -p vkarray --example safety_cost [ROUNDS]` prints a table of device times: the median time,
//! over the rounds (9), of a kernel without both safety measures, then the ratio of each other build to it, with the
//! least and the largest ratio. A round runs all builds of a kernel in turn. These figures decided `docs/decisions/035`
//! and `docs/decisions/036`.

use std::env;
use std::time::Duration;

use anyhow::{Result, ensure};
use vkarray::device::DeviceType;
use vkarray::kernel::KernelBuilder;
use vkarray::{Context, DeviceNDArray, Event, Groups, Kernel, Source};

const WGSL: &str = include_str!("shaders/guarded.wgsl");

/// One kernel of the file, with the data it runs on.
struct Job {
    entry: &'static str,
    /// The value of `n` on a GPU, and on a CPU driver.
    n: [u32; 2],
    /// The elements of `a` and of `out`, and the workgroups, for `n`.
    size: fn(u32) -> (u32, u32, [u32; 3]),
    has_shared: bool,
}

/// Workgroups of a kernel that strides through its elements.
const STRIDING: u32 = 2048;

const JOBS: [Job; 6] = [
    Job { entry: "saxpy", n: [1 << 26, 1 << 20], size: |n| (n, n, [STRIDING, 1, 1]), has_shared: false },
    Job { entry: "matmul", n: [2048, 256], size: |n| (n * n, n * n, [n / 16, n / 16, 1]), has_shared: true },
    Job { entry: "mandelbrot", n: [4096, 256], size: |n| (1, n * n, [n / 16, n / 16, 1]), has_shared: false },
    Job { entry: "reduction", n: [1 << 26, 1 << 20], size: |n| (n, STRIDING, [STRIDING, 1, 1]), has_shared: true },
    Job {
        entry: "histogram",
        n: [1 << 26, 1 << 20],
        size: |n| (n, STRIDING * 256, [STRIDING, 1, 1]),
        has_shared: true,
    },
    Job { entry: "nbody", n: [1 << 16, 1 << 11], size: |n| (4 * n, 3 * n, [n / 256, 1, 1]), has_shared: true },
];

/// One way to build a kernel.
struct Way {
    name: &'static str,
    bounds_loops: bool,
    zeroes: Zeroing,
}

#[derive(Clone, Copy, PartialEq)]
enum Zeroing {
    None,
    /// The default options of a build.
    Default,
    /// Shared memory is zeroed by a statement of each invocation, and a barrier.
    Own,
}

const WAYS: [Way; 5] = [
    Way { name: "neither", bounds_loops: false, zeroes: Zeroing::None },
    Way { name: "bounded loops", bounds_loops: true, zeroes: Zeroing::None },
    Way { name: "zeroed", bounds_loops: false, zeroes: Zeroing::Default },
    Way { name: "zeroed by the kernel", bounds_loops: false, zeroes: Zeroing::Own },
    Way { name: "bounded and zeroed", bounds_loops: true, zeroes: Zeroing::Default },
];

impl Way {
    fn build(&self, ctx: &Context, entry: &str) -> Result<Kernel> {
        let text = if self.zeroes == Zeroing::Own { WGSL.replace("//zero ", "") } else { WGSL.to_owned() };
        let mut builder: KernelBuilder = ctx.kernel(Source::wgsl(text)).entry(entry);
        if !self.bounds_loops {
            // SAFETY: each loop of the file counts up to `n`, or a constant, or down to zero.
            builder = unsafe { builder.assume_loops_end() };
        }
        if self.zeroes != Zeroing::Default {
            // SAFETY: each kernel of the file writes its shared arrays whole before a barrier, and reads them after it.
            builder = unsafe { builder.assume_written() };
        }
        Ok(builder.build()?)
    }
}

/// The arrays of a job.
struct Arrays {
    a: DeviceNDArray<f32>,
    out: DeviceNDArray<f32>,
    groups: [u32; 3],
    n: u32,
}

impl Arrays {
    fn new(ctx: &Context, job: &Job, is_cpu: bool) -> Result<Self> {
        let n = job.n[usize::from(is_cpu)];
        let (len, out_len, groups) = (job.size)(n);
        #[expect(clippy::cast_precision_loss, reason = "17 bits are exact")]
        let values: Vec<f32> = (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 15) as f32 / 131_072.0).collect();
        Ok(Self { a: ctx.slice_to_device(&values)?, out: ctx.zeros([out_len as usize])?, groups, n })
    }

    /// The device's time for `n_dispatches` dispatches.
    fn time(&self, ctx: &Context, kernel: &Kernel, n_dispatches: u32) -> Result<Duration> {
        let (stream, [start, end]) = (ctx.default_stream(), [timed(ctx)?, timed(ctx)?]);
        start.record(stream)?;
        for _ in 0..n_dispatches {
            kernel.dispatch(stream, Groups::exact(self.groups), (&self.a, &self.out, self.n))?;
        }
        end.record(stream)?;
        end.synchronize()?;
        Ok(start.elapsed(&end)? / n_dispatches)
    }
}

fn timed(ctx: &Context) -> Result<Event> {
    Ok(ctx.timed_event()?)
}

/// Times all builds of a job in turn, and prints a row for each.
fn run(ctx: &Context, job: &Job, n_rounds: usize) -> Result<()> {
    let is_cpu = ctx.info().device_type == DeviceType::Cpu;
    let (arrays, n_dispatches) = (Arrays::new(ctx, job, is_cpu)?, if is_cpu { 1 } else { 20 });
    let ways: Vec<_> = WAYS.iter().filter(|way| job.has_shared || way.zeroes == Zeroing::None).collect();
    let kernels = ways.iter().map(|way| way.build(ctx, job.entry)).collect::<Result<Vec<_>>>()?;
    let mut first: Option<Vec<f32>> = None;
    for kernel in &kernels {
        arrays.out.fill(0.0)?;
        arrays.time(ctx, kernel, 1)?;
        let result = arrays.out.to_vec()?;
        let expected = first.get_or_insert_with(|| result.clone());
        ensure!(*expected == result, "{}: the ways differ in their results", job.entry);
    }
    let mut rounds: Vec<Vec<f64>> = Vec::new();
    for _ in 0..n_rounds {
        let time = |kernel| Ok(arrays.time(ctx, kernel, n_dispatches)?.as_secs_f64() * 1e6);
        rounds.push(kernels.iter().map(time).collect::<Result<_>>()?);
    }
    for (i, way) in ways.iter().enumerate() {
        let [least, median, largest] = spread(rounds.iter().map(|times| times[i] / times[0]).collect());
        let [_, micros, _] = spread(rounds.iter().map(|times| times[i]).collect());
        println!("| {} | {} | {micros:.1} | {median:.3} | {least:.3} to {largest:.3} |", job.entry, way.name);
    }
    Ok(())
}

/// The least value, the median and the largest value.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[0], values[values.len() / 2], values[values.len() - 1]]
}

fn main() -> Result<()> {
    let n_rounds = env::args().nth(1).map_or(Ok(9), |text| text.parse())?;
    ensure!(n_rounds > 0, "at least one round");
    let ctx = Context::open_default()?;
    println!("{}, {} {}\n", ctx.info().name, ctx.info().driver.name, ctx.info().driver.info);
    println!("| kernel | built with | µs | over neither | |\n|---|---|---|---|---|");
    JOBS.iter().try_for_each(|job| run(&ctx, job, n_rounds))
}
