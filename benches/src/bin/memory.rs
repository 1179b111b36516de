//! What does it cost to make a buffer and drop it again?
//!
//! wgpu frees a destroyed buffer at its next poll, which is inside the time, as our frees are inside ours.

use anyhow::Result;
use vkarray_benches::{Peer, Report, ours};

const IN_A_ROW: u32 = 50;

fn main() -> Result<()> {
    let (header, ours) = ours("memory")?;
    let peer = Peer::open(&header)?;
    let mut report = Report::default();
    for (bytes, size) in [(1_u64 << 20, "1MiB"), (64 << 20, "64MiB"), (1 << 30, "1GiB")] {
        if bytes > peer.limits.max_buffer_size {
            continue;
        }
        let run = || {
            (0..IN_A_ROW).for_each(|_| peer.buffer(bytes).destroy());
            Ok(())
        };
        report.micros(&format!("alloc_{size}"), &peer.runs(run)?, IN_A_ROW);
    }
    report.print_beside(&header, &ours);
    Ok(())
}
