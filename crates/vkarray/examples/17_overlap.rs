//! Overlap: chunks are uploaded, computed and downloaded on three streams, and a trace shows what ran when.
//!
//! `cargo run -p vkarray --features trace --example 17_overlap -- trace.json` saves the trace; open it in Perfetto
//! (<https://ui.perfetto.dev>) or `chrome://tracing`.

use std::fs::File;
use std::io;

use vkarray::ndarray::ArrayView1;
use vkarray::prelude::*;
use vkarray::stream::Trace;

const CHUNK: usize = 1 << 16;

const WORK: &str = "
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn work(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= arrayLength(&x) { return; }
        var value = x[id.x];
        for (var i = 0u; i < 100u; i++) { value = 0.5 * value + 1.0; }
        x[id.x] = value;
    }";

fn main() -> anyhow::Result<()> {
    let ctx = Context::open_default()?;
    let work = ctx.kernel(Source::wgsl(WORK)).build()?;
    let source: Vec<f32> = (0..12 * CHUNK).map(|i| i as f32).collect();
    let streams = [ctx.stream()?, ctx.stream()?, ctx.stream()?];
    let trace = Trace::start(ctx.device())?;

    // Chunks take turns on the streams. Each stream is in order; chunks of different streams share nothing, so one
    // chunk may be computed while the next is uploaded and the one before is downloaded.
    let mut results = Vec::new();
    for (i, chunk) in source.chunks(CHUNK).enumerate() {
        let stream = &streams[i % streams.len()];
        let x = ctx.to_device_on(stream, &ArrayView1::from(chunk))?;
        work.dispatch(stream, Groups::covering(CHUNK), (&x,))?;
        results.push(x.on(stream).copy_to_host_async()?); // Returns at once; `x` lives until the copy is complete.
    }

    // The program waits only here.
    for result in results {
        assert!(result.wait()?.iter().all(|value| (value - 2.0).abs() < 1e-5), "every number ends at 2");
    }
    match std::env::args_os().nth(1) {
        Some(path) => trace.finish(File::create(path)?)?,
        None => trace.finish(io::sink())?,
    };
    Ok(())
}
