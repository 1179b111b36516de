//! The cost of a small launch with CUDA: in a chain, on several streams, in a graph, and with a wait.
//!
//! Work of one CUDA stream never overlaps, so CUDA's users put independent work on several streams; more than eight
//! streams gain nothing. A graph has its dependencies as edges.

use std::ffi::{CStr, c_void};
use std::time::{Duration, Instant};

use anyhow::Result;
use vkarray_benches::Report;

use crate::functions::Address;
use crate::gpu::{Gpu, Kernel, Stream};
use crate::graph::Graph;

/// Threads of a workgroup.
pub(crate) const GROUP: u32 = 64;

/// Elements of the arrays.
const N: u32 = 1024;
/// Launches of a chain.
const CHAIN: u32 = 2000;
/// Launches of a graph, and how often the graph is launched.
const NODES: u32 = 1000;
const REPLAYS: u32 = 50;
/// Launches, each with a wait.
const WAITS: u32 = 301;
/// Pairs of arrays that the independent launches use in turn.
const PAIRS: u32 = 64;
/// Streams that the independent launches use in turn.
const STREAMS: usize = 8;

/// The arguments of a small launch.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) x: Address,
    pub(crate) y: Address,
    n: u32,
    a: f32,
}

impl Pair {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self> {
        let bytes = N as usize * 4;
        Ok(Self::of(gpu.zeros(bytes)?, gpu.zeros(bytes)?, N))
    }

    /// Two arrays of `n` numbers.
    pub(crate) const fn of(x: Address, y: Address, n: u32) -> Self {
        Self { x, y, n, a: 0.5 }
    }

    /// Other arrays of as many numbers.
    pub(crate) const fn with(self, x: Address, y: Address) -> Self {
        Self { x, y, ..self }
    }

    /// The addresses of the arguments, in the kernels' order.
    pub(crate) fn arguments(&mut self) -> [*mut c_void; 4] {
        [(&raw mut self.x).cast(), (&raw mut self.y).cast(), (&raw mut self.n).cast(), (&raw mut self.a).cast()]
    }

    pub(crate) fn launch(mut self, gpu: &Gpu, stream: Stream, kernel: Kernel, n_groups: u32) -> Result<()> {
        let mut arguments = self.arguments();
        // SAFETY: both small kernels have these arguments, and use only the first `n` elements.
        unsafe { gpu.launch(stream, kernel, [n_groups, GROUP], &mut arguments) }
    }
}

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let streams = (0..STREAMS).map(|_| gpu.stream()).collect::<Result<Vec<_>>>()?;
    let pairs = (0..PAIRS).map(|_| Pair::new(gpu)).collect::<Result<Vec<_>>>()?;
    let (stream, pair) = (streams[0], pairs[0]);
    let small: [(&CStr, &str, u32); 4] =
        [(c"nop", "nop1", 1), (c"nop", "nop16", 16), (c"axpy", "axpy1", 1), (c"axpy", "axpy16", 16)];
    for (entry, name, n_groups) in small {
        let kernel = gpu.kernel(entry)?;
        let launch = |_| pair.launch(gpu, stream, kernel, n_groups);
        chain(gpu, report, ("stream", "host"), name, launch)?;
        let one = || launch(0).and_then(|()| gpu.wait(stream));
        report.wait(&format!("sync_{name}"), &report.waits(WAITS, one)?);
    }
    let axpy = gpu.kernel(c"axpy")?;
    let launch = |i: u32| {
        let place = (i % PAIRS) as usize; // The launches of one pair are on one stream, in order.
        pairs[place].launch(gpu, streams[place % STREAMS], axpy, 16)
    };
    chain(gpu, report, ("independent", "host_independent"), "axpy16", launch)?;
    for (name, pairs) in [("dependent", &pairs[..1]), ("independent", &pairs[..])] {
        let graph = Graph::new(gpu, axpy, pairs, (NODES, 16))?;
        let times = report.runs(|| burst(gpu, REPLAYS, |_| graph.replay(stream)))?;
        let (hosts, totals): (Vec<_>, Vec<_>) = times.into_iter().unzip();
        report.micros(&format!("graph_{name}_axpy16"), &totals, NODES * REPLAYS);
        report.micros(&format!("host_graph_{name}_axpy16"), &hosts, REPLAYS);
    }
    Ok(())
}

/// Reports the time of one launch of a chain until all are complete, and until all are sent.
fn chain(
    gpu: &Gpu,
    report: Report,
    (total, host): (&str, &str),
    name: &str,
    launch: impl Fn(u32) -> Result<()>,
) -> Result<()> {
    let times = report.runs(|| burst(gpu, CHAIN, &launch))?;
    let (hosts, totals): (Vec<_>, Vec<_>) = times.into_iter().unzip();
    report.micros(&format!("{total}_{name}"), &totals, CHAIN);
    report.micros(&format!("{host}_{name}"), &hosts, CHAIN);
    Ok(())
}

/// Sends `n` times, then waits. Returns the time until all were sent, and until all were complete.
fn burst(gpu: &Gpu, n: u32, send: impl Fn(u32) -> Result<()>) -> Result<(Duration, Duration)> {
    gpu.wait_for_all()?;
    let start = Instant::now();
    (0..n).try_for_each(send)?;
    let host = start.elapsed();
    gpu.wait_for_all()?;
    Ok((host, start.elapsed()))
}
