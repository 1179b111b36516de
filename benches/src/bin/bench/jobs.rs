//! The cost of small jobs: a few bytes up, one kernel, a few bytes down; and of many small objects at once.
//!
//! A job begins at its first call and ends when its result is on the host. `job_plain_…` copies from and to plain
//! memory, `job_pinned_…` from and to pinned memory, `job_fresh_…` also makes its arrays and its result; `job_down_…`
//! has no upload.

use anyhow::Result;
use vkarray::kernel::Error as KernelError;
use vkarray::ndarray::Array1;
use vkarray::stream::GraphRecorder;
use vkarray::{Context, DeviceNDArray, Graph, Groups, Kernel, Stream};
use vkarray_benches::timed;

use crate::kernels::{N, Pair, small};
use crate::{Bench, size_text};

/// Elements of the arrays.
const SIZES: [usize; 3] = [1 << 10, 16 << 10, 256 << 10];

/// Jobs, timed one by one.
const JOBS: u32 = 301;

/// Arrays that live at once. The cost of one array, stream or node must not grow with their number.
const ARRAYS: [u32; 2] = [1_000, 100_000];
/// Streams that live at once.
const STREAMS: [u32; 3] = [1, 30, 1_000];
/// Dispatches of a graph.
const NODES: [u32; 3] = [10, 1_000, 100_000];

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let (stream, kernel) = (bench.ctx.default_stream(), small(bench.ctx, "axpy")?);
    for n in SIZES {
        Jobs::new(bench, stream, &kernel, n)?.measure()?;
    }
    for n in ARRAYS {
        let pair = Pair::new(bench.ctx)?;
        let arrays = || timed(|| made_used_and_dropped(bench.ctx, &kernel, &pair.y, n));
        bench.report.micros(&format!("arrays_1KiB_{n}"), &bench.report.runs(arrays)?, n);
    }
    let pair = Pair::new(bench.ctx)?;
    for n in STREAMS {
        let streams = || timed(|| used_streams(bench.ctx, &kernel, &pair, n));
        bench.report.micros(&format!("streams_{n}"), &bench.report.runs(streams)?, n);
    }
    for n in NODES {
        let graph = || timed(|| graph(stream, &kernel, &pair, n));
        bench.report.micros(&format!("graph_record_{n}"), &bench.report.runs(graph)?, n);
    }
    Ok(())
}

/// The jobs of one size.
struct Jobs<'a> {
    bench: Bench<'a>,
    stream: &'a Stream,
    kernel: &'a Kernel,
    n: usize,
    size: String,
    y: DeviceNDArray<f32>,
    x: DeviceNDArray<f32>,
}

impl<'a> Jobs<'a> {
    fn new(bench: Bench<'a>, stream: &'a Stream, kernel: &'a Kernel, n: usize) -> Result<Self> {
        let (y, x) = (bench.ctx.zeros([n])?, bench.ctx.zeros([n])?);
        Ok(Self { bench, stream, kernel, n, size: size_text(4 * n as u64), y, x })
    }

    fn measure(&self) -> Result<()> {
        let (ctx, host, mut answer) = (self.bench.ctx, Array1::<f32>::ones(self.n), Array1::<f32>::zeros(self.n));
        self.each("plain", || {
            self.y.copy_from_host(&host)?;
            self.launch(&self.x, &self.y)?;
            Ok(self.x.copy_to_host_into(&mut answer)?)
        })?;
        let (up, down) = (ctx.pinned_array::<f32>([self.n])?, ctx.pinned_array::<f32>([self.n])?);
        up.fill(1.0)?;
        self.each("pinned", || {
            self.y.assign(&up)?;
            self.launch(&self.x, &self.y)?;
            down.assign(&self.x)?;
            down.read_on_host()?;
            Ok(())
        })?;
        self.each("fresh", || {
            let (x, y) = (ctx.zeros([self.n])?, ctx.to_device(&host)?);
            self.launch(&x, &y)?;
            x.copy_to_host()?;
            Ok(())
        })?;
        self.each("down", || {
            self.launch(&self.x, &self.y)?;
            Ok(self.x.copy_to_host_into(&mut answer)?)
        })
    }

    fn launch(&self, x: &DeviceNDArray<f32>, y: &DeviceNDArray<f32>) -> Result<()> {
        let n = u32::try_from(self.n).expect("the sizes are small");
        Ok(self.kernel.dispatch(self.stream, Groups::covering([self.n]), (x, y, n, 0.5_f32))?)
    }

    fn each(&self, name: &str, job: impl FnMut() -> Result<()>) -> Result<()> {
        self.stream.synchronize()?;
        let waits = self.bench.report.waits(JOBS, job)?;
        self.bench.report.wait(&format!("job_{name}_{}", self.size), &waits);
        Ok(())
    }
}

/// Makes `n` arrays of 1 KiB, uses each in a dispatch, waits, and drops all of them.
fn made_used_and_dropped(ctx: &Context, kernel: &Kernel, y: &DeviceNDArray<f32>, n: u32) -> Result<()> {
    let stream = ctx.default_stream();
    let made = (0..n).map(|_| {
        let x = ctx.device_array::<f32>([256])?;
        kernel.dispatch(stream, Groups::exact([4, 1, 1]), (&x, y, 256_u32, 0.5_f32))?;
        Ok(x)
    });
    let arrays = made.collect::<Result<Vec<_>>>()?;
    stream.synchronize()?;
    drop(arrays);
    Ok(())
}

/// Makes streams, uses each in a dispatch, waits for all, and drops them.
fn used_streams(ctx: &Context, kernel: &Kernel, pair: &Pair, n: u32) -> Result<()> {
    let streams = (0..n).map(|_| Ok(ctx.stream()?)).collect::<Result<Vec<Stream>>>()?;
    streams.iter().try_for_each(|stream| pair.launch(kernel, stream, 16))?;
    streams.iter().try_for_each(|stream| Ok(stream.synchronize()?))
}

fn graph(stream: &Stream, kernel: &Kernel, Pair { x, y }: &Pair, n: u32) -> Result<()> {
    let nodes = |graph: &mut GraphRecorder| -> Result<(), KernelError> {
        (0..n).try_for_each(|_| kernel.record(graph, Groups::exact([16, 1, 1]), (x, y, N, 0.5_f32)).map(drop))
    };
    Graph::record(stream, nodes)?;
    Ok(())
}
