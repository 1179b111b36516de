//! Dispatches and nothing else, for counting the instructions that one dispatch costs the host.
//!
//! Times on a shared machine say little about a path of a few hundred instructions; counts repeat to the instruction.
//! `benches/README.md` says how they are taken. The first argument is what to run, the second how often: `chain` runs
//! one kernel again and again with the same arguments, `independent` uses 64 pairs of arrays in turn, `wait` waits for
//! each dispatch, `replay` replays a graph of ten; `allocate` makes an array of 1 MiB and drops it. `checks` dispatches
//! no workgroups, which is checked like any other dispatch and then not recorded. `assign` and `eval` compute an
//! expression whose kernel is built, into an array and into a new one. `job` uploads 4 KiB, dispatches and downloads 4
//! KiB; `pinned_job` does so from and to pinned memory. What one call took the host, without the wait at the end, is
//! printed: `crates/python/benches/calls.py` shows it beside the calls of Python.

use std::env;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use vkarray::kernel::Error as KernelError;
use vkarray::ndarray::Array1;
use vkarray::prelude::*;

const AXPY: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
struct Params { n: u32, a: f32 }
var<immediate> params: Params;
@compute @workgroup_size(64) fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < params.n { x[i] = params.a * y[i] + x[i]; }
}";

const CHOICES: &str = "chain, independent, wait, replay, allocate, checks, assign, eval, job or pinned_job";

/// Elements of an array.
const N: u32 = 64;

const PAIRS: usize = 64;

const GROUPS: Groups<'static> = Groups::exact([1, 1, 1]);

/// Dispatches before the counted ones: the first dispatches make batches and grow lists.
const WARM_UP: usize = 1000;

struct Pair {
    x: DeviceNDArray<f32>,
    y: DeviceNDArray<f32>,
}

impl Pair {
    fn new(ctx: &Context) -> Result<Self> {
        Ok(Self { x: ctx.zeros([N as usize])?, y: ctx.full([N as usize], 1.0)? })
    }

    #[inline(never)] // Not inlined, so that a profile names it.
    fn launch(&self, kernel: &Kernel, stream: &Stream) -> Result<()> {
        Ok(kernel.dispatch(stream, GROUPS, (&self.x, &self.y, N, 0.5_f32))?)
    }

    #[inline(never)] // Not inlined, so that a profile names it.
    fn check(&self, kernel: &Kernel, stream: &Stream) -> Result<()> {
        Ok(kernel.dispatch(stream, Groups::exact([0, 1, 1]), (&self.x, &self.y, N, 0.5_f32))?)
    }
}

#[inline(never)] // Not inlined, so that a profile names it.
fn assign(pair: &Pair, stream: &Stream) -> Result<()> {
    Ok((&pair.y * 0.5 + &pair.x).on(stream).assign_to(&pair.x)?)
}

#[inline(never)] // Not inlined, so that a profile names it.
fn eval(pair: &Pair, stream: &Stream) -> Result<()> {
    Ok((&pair.y * 0.5 + &pair.x).on(stream).eval().map(drop)?)
}

#[inline(never)] // Not inlined, so that a profile names it.
fn allocate(ctx: &Context) -> Result<()> {
    Ok(ctx.device_array::<u8>([1 << 20]).map(drop)?)
}

/// A job: an upload of an array's elements, a dispatch, and a download of the result.
struct Job {
    pair: Pair,
    host: Array1<f32>,
    answer: Array1<f32>,
    up: DeviceNDArray<f32>,
    down: DeviceNDArray<f32>,
}

impl Job {
    fn new(ctx: &Context) -> Result<Self> {
        let n = 1024;
        let pair = Pair { x: ctx.zeros([n])?, y: ctx.zeros([n])? };
        let (up, down) = (ctx.pinned_array([n])?, ctx.pinned_array([n])?);
        up.fill(1.0)?;
        Ok(Self { pair, host: Array1::ones(n), answer: Array1::zeros(n), up, down })
    }

    #[inline(never)] // Not inlined, so that a profile names it.
    fn plain(&mut self, kernel: &Kernel, stream: &Stream) -> Result<()> {
        self.pair.y.copy_from_host(&self.host)?;
        self.pair.launch(kernel, stream)?;
        Ok(self.pair.x.copy_to_host_into(&mut self.answer)?)
    }

    #[inline(never)] // Not inlined, so that a profile names it.
    fn pinned(&self, kernel: &Kernel, stream: &Stream) -> Result<()> {
        self.pair.y.assign(&self.up)?;
        self.pair.launch(kernel, stream)?;
        self.down.assign(&self.pair.x)?;
        self.down.read_on_host()?;
        Ok(())
    }
}

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let what = args.next().context(format!("what to run: {CHOICES}"))?;
    let n: usize = args.next().context("how often to run it")?.parse()?;
    let ctx = Context::builder().open()?;
    let stream = ctx.stream()?;
    let kernel = ctx.kernel(Source::wgsl(AXPY)).entry("axpy").build()?;
    let pairs = (0..PAIRS).map(|_| Pair::new(&ctx)).collect::<Result<Vec<_>>>()?;
    let record = |graph: &mut GraphRecorder| -> Result<(), KernelError> {
        let launch = |_| kernel.record(graph, GROUPS, (&pairs[0].x, &pairs[0].y, N, 0.5_f32)).map(drop);
        (0..10).try_for_each(launch)
    };
    let (graph, ()) = Graph::record(&stream, record)?;
    let mut job = Job::new(&ctx)?;
    let default = ctx.default_stream();
    let mut run = |n: usize| -> Result<Duration> {
        let start = Instant::now();
        match what.as_str() {
            "chain" => (0..n).try_for_each(|_| pairs[0].launch(&kernel, &stream))?,
            "independent" => (0..n).try_for_each(|i| pairs[i % PAIRS].launch(&kernel, &stream))?,
            "wait" => (0..n).try_for_each(|_| {
                pairs[0].launch(&kernel, &stream)?;
                anyhow::Ok(stream.synchronize()?)
            })?,
            "replay" => (0..n).try_for_each(|_| graph.replay(&stream))?,
            "allocate" => (0..n).try_for_each(|_| allocate(&ctx))?,
            "checks" => (0..n).try_for_each(|_| pairs[0].check(&kernel, &stream))?,
            "assign" => (0..n).try_for_each(|_| assign(&pairs[0], &stream))?,
            "eval" => (0..n).try_for_each(|_| eval(&pairs[0], &stream))?,
            "job" => (0..n).try_for_each(|_| job.plain(&kernel, default))?,
            "pinned_job" => (0..n).try_for_each(|_| job.pinned(&kernel, default))?,
            _ => bail!("{CHOICES}, not {what}"),
        }
        let taken = start.elapsed();
        stream.synchronize()?;
        Ok(taken)
    };
    run(WARM_UP)?;
    println!("{what}: {:.3} µs a call", run(n)?.as_secs_f64() * 1e6 / n as f64);
    Ok(())
}
