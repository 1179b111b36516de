//! The speed of uploads, downloads and copies on the device with wgpu.
//!
//! wgpu's users write `write_buffer`, and a copy to a mapped buffer and out of it: both are pageable copies. wgpu's
//! nearest to pinned memory is a mapped buffer whose bytes are made and used in place. The device must not have it
//! mapped meanwhile, so that each copy pays for one `unmap` and one `map_async`.

use anyhow::{Context as _, Result};
use wgpu::{Buffer, BufferUsages, MapMode};

use crate::peer::Peer;

const SIZES: [(u64, &str); 5] =
    [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB"), (16 << 20, "16MiB"), (256 << 20, "256MiB")];
const RUN_BYTES: u64 = 256 << 20;
const MAX_COPIES: u64 = 100;
const DEVICE_BYTES: u64 = 1 << 30;
const IN_A_ROW: u64 = 10;

const SHADER: &str = include_str!("../bench/copy.wgsl");

pub(crate) fn measure(peer: &Peer) -> Result<()> {
    for (bytes, size) in SIZES {
        pageable(peer, bytes, size)?;
        mapped(peer, bytes, size)?;
    }
    // The arrays have the size of vkarray's, which leave half of the device's memory free.
    let limit = peer.limits.max_storage_buffer_binding_size.min(peer.limits.max_buffer_size);
    on_device(peer, DEVICE_BYTES.min((limit / 2 + 1).next_power_of_two()))
}

fn pageable(peer: &Peer, bytes: u64, size: &str) -> Result<()> {
    let device = peer.buffer(bytes);
    let staging = peer.buffer_for(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let mut host = vec![7_u8; usize::try_from(bytes)?];
    each(peer, &format!("copy_up_pageable_{size}"), bytes, || {
        peer.queue.write_buffer(&device, 0, &host);
        peer.queue.submit([]);
        peer.wait()
    })?;
    each(peer, &format!("copy_down_pageable_{size}"), bytes, || {
        peer.submit(|encoder| encoder.copy_buffer_to_buffer(&device, 0, &staging, 0, bytes));
        map(peer, &staging, MapMode::Read)?;
        host.copy_from_slice(&staging.slice(..).get_mapped_range().context("mapping the buffer")?);
        staging.unmap();
        Ok(())
    })
}

/// The bytes are in the mapped buffer before an upload, and stay in it after a download.
fn mapped(peer: &Peer, bytes: u64, size: &str) -> Result<()> {
    let device = peer.buffer(bytes);
    let upload = peer.buffer_for(bytes, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC);
    map(peer, &upload, MapMode::Write)?;
    each(peer, &format!("copy_up_pinned_{size}"), bytes, || {
        upload.unmap();
        peer.submit(|encoder| encoder.copy_buffer_to_buffer(&upload, 0, &device, 0, bytes));
        map(peer, &upload, MapMode::Write)
    })?;
    let download = peer.buffer_for(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    map(peer, &download, MapMode::Read)?;
    each(peer, &format!("copy_down_pinned_{size}"), bytes, || {
        download.unmap();
        peer.submit(|encoder| encoder.copy_buffer_to_buffer(&device, 0, &download, 0, bytes));
        map(peer, &download, MapMode::Read)
    })
}

/// Maps a buffer and waits for the mapping, and therefore for the copies before.
pub(crate) fn map(peer: &Peer, buffer: &Buffer, mode: MapMode) -> Result<()> {
    buffer.slice(..).map_async(mode, |mapped| mapped.expect("nothing else maps it"));
    peer.wait()
}

/// Reports the rate of copies that are waited for one by one.
fn each(peer: &Peer, name: &str, bytes: u64, mut copy: impl FnMut() -> Result<()>) -> Result<()> {
    let n = (RUN_BYTES / bytes).clamp(3, MAX_COPIES);
    peer.report.rate(name, &peer.runs(|| (0..n).try_for_each(|_| copy()))?, bytes * n);
    Ok(())
}

fn on_device(peer: &Peer, bytes: u64) -> Result<()> {
    let size = if bytes >= 1 << 30 { format!("{}GiB", bytes >> 30) } else { format!("{}MiB", bytes >> 20) };
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
    peer.report.rate(&format!("copy_device_kernel_{size}"), &peer.runs(by_kernel)?, 2 * bytes * IN_A_ROW);
    let by_command = || {
        peer.submit(|encoder| {
            for _ in 0..IN_A_ROW {
                encoder.copy_buffer_to_buffer(&source, 0, &target, 0, bytes);
            }
        });
        Ok(())
    };
    peer.report.rate(&format!("copy_device_command_{size}"), &peer.runs(by_command)?, 2 * bytes * IN_A_ROW);
    Ok(())
}
