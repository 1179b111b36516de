//! A graph: heat flows along a rod in two steps, there and back, which are recorded once and replayed 1,500 times.
//!
//! Recording checks and orders the steps; a replay is one submission. Between replays the conductivity changes.

use vkarray::ndarray::Array1;
use vkarray::prelude::*;

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

fn main() -> vkarray::Result<()> {
    let ctx = Context::open_default()?;
    let heat = ctx.kernel(Source::wgsl(HEAT)).build()?;
    let mut rod = Array1::<f32>::zeros(32);
    rod[31] = 100.0;
    let (a, b) = (ctx.to_device(&rod)?, ctx.to_device(&rod)?);

    let groups = Groups::covering([32]);
    let (mut graph, nodes) = ctx.graph(|graph| {
        let there = heat.record(graph, groups, (&a, &b, 0.1_f32))?;
        let back = heat.record(graph, groups, (&b, &a, 0.1_f32))?;
        Ok([there, back])
    })?;

    for conductivity in [0.1_f32, 0.25, 0.5] {
        for node in nodes {
            node.set(&mut graph, "conductivity", conductivity)?;
        }
        for _ in 0..500 {
            graph.replay(ctx.default_stream())?;
        }
        println!("{conductivity:4}: the middle is at {:.3} degrees", a.get([16])?);
    }
    assert!((a.get([16])? - 100.0 * 16.0 / 31.0).abs() < 1.0, "a straight line from cold to hot");

    // A change that does not fit is refused, and the graph keeps its arguments.
    let refused = nodes[0].set(&mut graph, "now", &ctx.zeros::<u32>([32])?);
    println!("refused: {}", refused.expect_err("what does not fit is refused"));
    Ok(())
}
