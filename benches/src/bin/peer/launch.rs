//! The cost of a small dispatch: in a chain of dependent dispatches, among independent dispatches, and with a wait.
//!
//! wgpu's chains are recorded into one pass, and into batches, so that the device starts before all is recorded; the
//! better is the figure. `stream_each_*` submits every dispatch, as vkarray's streams let the user do. wgpu's barriers are
//! global to a pass, so that independent dispatches cost as much as dependent ones. It has no graphs: a command buffer is
//! spent when it is submitted.

use anyhow::Result;
use vkarray_benches::print_best;
use wgpu::{BindGroup, ComputePipeline};

use crate::peer::Peer;

const CHAIN: u32 = 2000;
/// The ways to submit a chain: the ends of their names, and the dispatches of a submission.
const WAYS: [(&str, u32); 2] = [("one_pass", CHAIN), ("batches", 128)];
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
        let one = || chain(peer, &pipeline, &pair, (1, n_groups));
        chains(peer, &pipeline, &pair, n_groups, [format!("stream_{name}"), format!("host_{name}")])?;
        for (peer, end) in [(peer, ""), (&peer.sleeping(), "_sleeping")] {
            let waits = report.waits(WAITS, || one().and_then(|()| peer.wait()))?;
            report.wait(&format!("sync_{name}{end}"), &waits);
        }
        let each = || (0..CHAIN).try_for_each(|_| one());
        report.micros(&format!("stream_each_{name}"), &peer.runs(each)?, CHAIN);
        report.micros(&format!("host_each_{name}"), &peer.host_runs(each)?, CHAIN);
    }
    let pipeline = peer.pipeline(SHADER, "axpy");
    let pairs: Vec<_> = (0..PAIRS).map(|_| peer.bind(&pipeline, &peer.buffer(BYTES), &peer.buffer(BYTES))).collect();
    chains(peer, &pipeline, &pairs, 16, ["independent_axpy16", "host_independent_axpy16"].map(str::to_owned))
}

/// Reports the time of one dispatch of a chain until all are complete, and until all are sent.
fn chains(
    peer: &Peer,
    pipeline: &ComputePipeline,
    pairs: &[BindGroup],
    n_groups: u32,
    names: [String; 2],
) -> Result<()> {
    let all = |batch: u32| {
        (0..CHAIN)
            .step_by(batch as usize)
            .try_for_each(|begin| chain(peer, pipeline, pairs, (batch.min(CHAIN - begin), n_groups)))
    };
    let [total, host] = names;
    let totals = WAYS.map(|(way, batch)| Ok((format!("{total}_{way}"), peer.runs(|| all(batch))?)));
    let hosts = WAYS.map(|(way, batch)| Ok((format!("{host}_{way}"), peer.host_runs(|| all(batch))?)));
    for (name, ways) in [(total, totals), (host, hosts)] {
        let ways = ways.into_iter().collect::<Result<Vec<_>>>()?;
        print_best(&name, &ways, |name, times| peer.report.micros(name, times, CHAIN));
    }
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
