//! The cost of a small dispatch: in a chain of dependent dispatches, among independent dispatches, and with a wait.
//!
//! wgpu's chains are recorded into one pass, its fastest method; `stream_each_*` submits every dispatch, as vkarray's
//! streams let the user do. wgpu's barriers are global to a pass, so that independent dispatches cost as much as
//! dependent ones. It has no graphs: a command buffer is spent when it is submitted.

use anyhow::Result;
use wgpu::{BindGroup, ComputePipeline};

use crate::peer::Peer;

const CHAIN: u32 = 2000;
const WAITS: u32 = 301;
const PAIRS: u32 = 64;
const BYTES: u64 = 4096;

pub(crate) const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@compute @workgroup_size(64) fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { x[id.x] = 0.5 * y[id.x] + x[id.x]; }
}
@compute @workgroup_size(64) fn nop(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x == 0xffffffffu { x[0] = y[0]; }
}";

pub(crate) fn measure(peer: &Peer) -> Result<()> {
    let report = peer.report;
    for (entry, n_groups) in [("nop", 1), ("nop", 16), ("axpy", 1), ("axpy", 16)] {
        let pipeline = peer.pipeline(SHADER, entry);
        let pair = [peer.bind(&pipeline, &peer.buffer(BYTES), &peer.buffer(BYTES))];
        let name = format!("{entry}{n_groups}");
        let all = || chain(peer, &pipeline, &pair, (CHAIN, n_groups));
        let one = || chain(peer, &pipeline, &pair, (1, n_groups));
        report.micros(&format!("stream_{name}"), &peer.runs(all)?, CHAIN);
        report.micros(&format!("host_{name}"), &peer.host_runs(all)?, CHAIN);
        report.micros(&format!("sync_{name}"), &peer.samples(WAITS, one)?, 1);
        let each = || (0..CHAIN).try_for_each(|_| one());
        report.micros(&format!("stream_each_{name}"), &peer.runs(each)?, CHAIN);
        report.micros(&format!("host_each_{name}"), &peer.host_runs(each)?, CHAIN);
    }
    let pipeline = peer.pipeline(SHADER, "axpy");
    let pairs: Vec<_> = (0..PAIRS).map(|_| peer.bind(&pipeline, &peer.buffer(BYTES), &peer.buffer(BYTES))).collect();
    let all = || chain(peer, &pipeline, &pairs, (CHAIN, 16));
    report.micros("independent_axpy16", &peer.runs(all)?, CHAIN);
    report.micros("host_independent_axpy16", &peer.host_runs(all)?, CHAIN);
    Ok(())
}

/// Records dispatches, each of `n_groups` workgroups, that use the groups of buffers in turn, and submits them at once.
pub(crate) fn chain(
    peer: &Peer,
    pipeline: &ComputePipeline,
    pairs: &[BindGroup],
    (n, n_groups): (u32, u32),
) -> Result<()> {
    peer.submit_pass(|pass| {
        pass.set_pipeline(pipeline);
        for pair in pairs.iter().cycle().take(n as usize) {
            pass.set_bind_group(0, pair, &[]);
            pass.dispatch_workgroups(n_groups, 1, 1);
        }
    });
    Ok(())
}
