//! Heat flows along a rod: a graph of two steps, there and back, replayed five thousand times.
//!
//! Recording checks and orders the steps once; a replay is one submission. Between replays the conductivity changes.

use ndarray::Array1;
use vkarray::kernel::Error as KernelError;
use vkarray::prelude::*;
use vkarray::stream::GraphRecorder;

const HEAT: &str = "
    @group(0) @binding(0) var<storage, read> now: array<f32>;
    @group(0) @binding(1) var<storage, read_write> next: array<f32>;
    var<immediate> conductivity: f32;
    @compute @workgroup_size(64) fn heat(@builtin(global_invocation_id) id: vec3<u32>) {
        let i = id.x;
        let n = arrayLength(&next);
        if i >= n { return; }
        // The ends of the rod are held at their temperature.
        let is_end = i == 0u || i == n - 1u;
        let left = now[max(i, 1u) - 1u];
        let right = now[min(i + 1u, n - 1u)];
        next[i] = now[i] + select(conductivity * (left - 2.0 * now[i] + right), 0.0, is_end);
    }";

fn main() -> anyhow::Result<()> {
    let ctx = Context::open_default()?;
    let stream = ctx.default_stream();
    let heat = ctx.kernel(Source::wgsl(HEAT)).build()?;

    let mut rod = Array1::<f32>::zeros(128);
    rod[127] = 100.0;
    let (a, b) = (ctx.to_device(&rod)?, ctx.to_device(&rod)?);

    let groups = Groups::covering([128]);
    let record = |graph: &mut GraphRecorder| -> Result<_, KernelError> {
        let there = heat.record(graph, groups, (&a, &b, 0.1_f32))?;
        let back = heat.record(graph, groups, (&b, &a, 0.1_f32))?;
        Ok([there, back])
    };
    let (mut graph, nodes) = Graph::record(stream, record)?;

    for conductivity in [0.1_f32, 0.25, 0.5] {
        for node in nodes {
            node.set(&mut graph, "conductivity", conductivity)?;
        }
        for _ in 0..5000 {
            graph.replay(stream)?;
        }
        println!("{conductivity:4}: the middle is at {:.3} degrees", a.copy_to_host()?[64]);
    }
    // A change that does not fit is refused, and changes nothing.
    if let Err(refused) = nodes[0].set(&mut graph, "now", &ctx.zeros::<f32>([64])?) {
        println!("refused: {refused}");
    }
    Ok(())
}
