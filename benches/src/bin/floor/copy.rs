//! The cost of copies between pinned memory and the device in raw Vulkan: a recorded copy is submitted and polled.
//!
//! The copies run on the compute queue, in the sizes and the numbers of `bench copy`.

use anyhow::Result;
use vkarray_benches::{Report, timed};

use crate::commands::{Between, Commands};
use crate::gpu::{Gpu, Place};

const SIZES: [(u64, &str); 5] =
    [(4 << 10, "4KiB"), (64 << 10, "64KiB"), (1 << 20, "1MiB"), (16 << 20, "16MiB"), (256 << 20, "256MiB")];
const RUN_BYTES: u64 = 256 << 20;
const MAX_COPIES: u64 = 100;

pub(crate) fn measure(gpu: &Gpu, report: Report) -> Result<()> {
    let largest = SIZES[SIZES.len() - 1].0;
    let (device, host) = (gpu.buffer(largest, Place::Device)?, gpu.buffer(largest, Place::Pinned)?);
    let mut timeline = gpu.timeline()?;
    for (bytes, size) in SIZES {
        let n = (RUN_BYTES / bytes).clamp(3, MAX_COPIES);
        for (way, to, from) in [("up", device, host), ("down", host, device)] {
            let commands = Commands::record(gpu, |commands| {
                commands.barrier(Between::Copies);
                commands.copy(to, from, bytes);
            })?;
            let mut copy = || {
                gpu.submit(gpu.queues[0], Some(commands.buffer), None, &mut timeline)?;
                gpu.poll(&timeline)
            };
            let times = report.runs(|| timed(|| (0..n).try_for_each(|_| copy())))?;
            report.rate(&format!("copy_{way}_pinned_{size}"), &times, bytes * n);
        }
    }
    Ok(())
}
