//! The cost of making a buffer and dropping it.
//!
//! wgpu frees a destroyed buffer at its next poll, which is part of the measured time, as vkarray's frees are.

use anyhow::Result;

use crate::peer::Peer;

const IN_A_ROW: u32 = 50;

pub(crate) fn measure(peer: &Peer) -> Result<()> {
    for (bytes, size) in [(1_u64 << 20, "1MiB"), (64 << 20, "64MiB"), (1 << 30, "1GiB")] {
        let name = format!("alloc_{size}");
        if bytes > peer.limits.max_buffer_size {
            peer.report.skipped(&name, "wgpu's largest buffer is smaller");
            continue;
        }
        let run = || {
            (0..IN_A_ROW).for_each(|_| peer.buffer(bytes).destroy());
            Ok(())
        };
        peer.report.micros(&name, &peer.runs(run)?, IN_A_ROW);
    }
    Ok(())
}
