//! How fast do bytes go up, down, and from place to place on the device?
//!
//! wgpu's users write `write_buffer`, and copy to a mapped buffer and out of it: both are pageable copies. It has no
//! pinned memory of the user's own to compare with.

use anyhow::{Context as _, Result};
use vkarray_benches::{Peer, Report, ours};
use wgpu::{BufferUsages, MapMode};

const SIZES: [(u64, &str); 5] =
    [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB"), (16 << 20, "16MiB"), (256 << 20, "256MiB")];
const RUN_BYTES: u64 = 256 << 20;
const MAX_COPIES: u64 = 100;
const IN_A_ROW: u64 = 10;

const SHADER: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec4<u32>>;
@compute @workgroup_size(128)
fn copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.x + id.y * groups.x * 128u;
    if i < arrayLength(&target_) { target_[i] = source[i]; }
}";

fn main() -> Result<()> {
    let (header, ours) = ours("copy")?;
    let peer = Peer::open(&header)?;
    let mut report = Report::default();
    for (bytes, size) in SIZES {
        pageable(&peer, &mut report, bytes, size)?;
    }
    // Ours says how large the device's copies are.
    for figure in &ours {
        if let Some(size) = figure.name.strip_prefix("copy_device_kernel_") {
            let mib = size.strip_suffix("MiB").map(|n| n.parse::<u64>());
            let bytes = mib.transpose()?.map_or(1 << 30, |mib| mib << 20);
            on_device(&peer, &mut report, bytes, size)?;
        }
    }
    report.print_beside(&header, &ours);
    Ok(())
}

fn pageable(peer: &Peer, report: &mut Report, bytes: u64, size: &str) -> Result<()> {
    let n = (RUN_BYTES / bytes).clamp(3, MAX_COPIES);
    let device = peer.buffer(bytes);
    let staging = peer.buffer_for(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let mut host = vec![7_u8; usize::try_from(bytes)?];
    let up = || {
        peer.queue.write_buffer(&device, 0, &host);
        peer.queue.submit([]);
        peer.wait()
    };
    report.rate(&format!("copy_up_pageable_{size}"), &peer.runs(|| (0..n).try_for_each(|_| up()))?, bytes * n);
    let mut down = || {
        peer.submit(|encoder| encoder.copy_buffer_to_buffer(&device, 0, &staging, 0, bytes));
        staging.slice(..).map_async(MapMode::Read, |mapped| mapped.expect("nothing else maps it"));
        peer.wait()?;
        host.copy_from_slice(&staging.slice(..).get_mapped_range().context("mapping the buffer")?);
        staging.unmap();
        anyhow::Ok(())
    };
    let times = peer.runs(|| (0..n).try_for_each(|_| down()))?;
    report.rate(&format!("copy_down_pageable_{size}"), &times, bytes * n);
    Ok(())
}

fn on_device(peer: &Peer, report: &mut Report, bytes: u64, size: &str) -> Result<()> {
    let (source, target) = (peer.buffer(bytes), peer.buffer(bytes));
    let pipeline = peer.pipeline(SHADER, "copy");
    let pair = peer.bind(&pipeline, &source, &target);
    let groups = u32::try_from((bytes / 16).div_ceil(128))?;
    let by_kernel = || {
        peer.submit_pass(|pass| {
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &pair, &[]);
            for _ in 0..IN_A_ROW {
                pass.dispatch_workgroups(groups.min(32_768), groups.div_ceil(32_768), 1);
            }
        });
        Ok(())
    };
    report.rate(&format!("copy_device_kernel_{size}"), &peer.runs(by_kernel)?, 2 * bytes * IN_A_ROW);
    let by_command = || {
        peer.submit(|encoder| {
            for _ in 0..IN_A_ROW {
                encoder.copy_buffer_to_buffer(&source, 0, &target, 0, bytes);
            }
        });
        Ok(())
    };
    report.rate(&format!("copy_device_command_{size}"), &peer.runs(by_command)?, 2 * bytes * IN_A_ROW);
    Ok(())
}
