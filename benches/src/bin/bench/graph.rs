//! The cost of a graph: a thousand small dispatches recorded once, replayed back to back, then a wait.
//!
//! The nodes are the dispatches of `launch.rs`: a chain on one pair of arrays, or 64 pairs in turn. Replays of one
//! graph use the same arrays, so they run one after the other; within a replay, nodes of different pairs may overlap.

use anyhow::Result;
use vkarray::kernel::Error as KernelError;
use vkarray::stream::GraphRecorder;
use vkarray::{Graph, Groups, Kernel, Stream};

use crate::Bench;
use crate::kernels::{N, Pair, pairs, small};
use crate::launch::{Burst, PAIRS, chain};

/// Dispatches of a graph.
const NODES: u32 = 1000;

/// Replays in flight before the wait.
const REPLAYS: u32 = 50;

pub(crate) fn measure(bench: Bench<'_>) -> Result<()> {
    let stream = bench.ctx.stream()?;
    let kernel = small(bench.ctx, "axpy")?;
    for (what, n_pairs) in [("dependent", 1), ("independent", PAIRS)] {
        let graph = record(&stream, &kernel, &pairs(bench.ctx, n_pairs)?)?;
        let times = bench.report.runs(|| chain(&stream, REPLAYS, |_| Ok(graph.replay(&stream)?)))?;
        let (totals, hosts): (Vec<_>, Vec<_>) = times.iter().map(|&Burst { host, total }| (total, host)).unzip();
        bench.report.micros(&format!("graph_{what}_axpy16"), &totals, NODES * REPLAYS);
        bench.report.micros(&format!("host_graph_{what}_axpy16"), &hosts, REPLAYS);
    }
    Ok(())
}

/// A graph of dispatches that use the pairs in turn.
fn record(stream: &Stream, kernel: &Kernel, pairs: &[Pair]) -> Result<Graph> {
    let nodes = |graph: &mut GraphRecorder| -> Result<(), KernelError> {
        for Pair { x, y } in pairs.iter().cycle().take(NODES as usize) {
            kernel.record(graph, Groups::exact([16, 1, 1]), (x, y, N, 0.5_f32))?;
        }
        Ok(())
    };
    Ok(Graph::record(stream, nodes)?.0)
}
