//! What does a small dispatch cost: in a chain of dependent ones, among independent ones, and with a wait?
//!
//! wgpu's chains are recorded into one pass, its fastest way; `stream_each_*` submits every dispatch, as our streams let
//! the user do. Its barriers are global to a pass, so that independent dispatches cost what dependent ones do.

use anyhow::Result;
use vkarray_benches::{Peer, Report, ours};
use wgpu::{BindGroup, ComputePipeline};

const CHAIN: u32 = 2000;
const WAITS: u32 = 301;
const PAIRS: u32 = 64;
const BYTES: u64 = 4096;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@compute @workgroup_size(64) fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { x[id.x] = 0.5 * y[id.x] + x[id.x]; }
}
@compute @workgroup_size(64) fn nop(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x == 0xffffffffu { x[0] = y[0]; }
}";

fn main() -> Result<()> {
    let (header, ours) = ours("launch")?;
    let peer = Peer::open(&header)?;
    let mut report = Report::default();
    for (entry, n_groups) in [("nop", 1), ("nop", 16), ("axpy", 1), ("axpy", 16)] {
        let pipeline = peer.pipeline(SHADER, entry);
        let pair = peer.bind(&pipeline, &peer.buffer(BYTES), &peer.buffer(BYTES));
        let name = format!("{entry}{n_groups}");
        let pair = std::slice::from_ref(&pair);
        let one = || chain(&peer, &pipeline, pair, (1, n_groups));
        report.micros(
            &format!("stream_{name}"),
            &peer.runs(|| chain(&peer, &pipeline, pair, (CHAIN, n_groups)))?,
            CHAIN,
        );
        report.micros(&format!("stream_each_{name}"), &peer.runs(|| (0..CHAIN).try_for_each(|_| one()))?, CHAIN);
        report.micros(&format!("sync_{name}"), &peer.samples(WAITS, one)?, 1);
    }
    let pipeline = peer.pipeline(SHADER, "axpy");
    let pairs: Vec<_> = (0..PAIRS).map(|_| peer.bind(&pipeline, &peer.buffer(BYTES), &peer.buffer(BYTES))).collect();
    let times = peer.runs(|| chain(&peer, &pipeline, &pairs, (CHAIN, 16)))?;
    report.micros("independent_axpy16", &times, CHAIN);
    report.print_beside(&header, &ours);
    Ok(())
}

/// Records dispatches, each of so many workgroups, that go round the groups of buffers, and submits them at once.
fn chain(peer: &Peer, pipeline: &ComputePipeline, pairs: &[BindGroup], (n, n_groups): (u32, u32)) -> Result<()> {
    peer.submit_pass(|pass| {
        pass.set_pipeline(pipeline);
        for pair in pairs.iter().cycle().take(n as usize) {
            pass.set_bind_group(0, pair, &[]);
            pass.dispatch_workgroups(n_groups, 1, 1);
        }
    });
    Ok(())
}
