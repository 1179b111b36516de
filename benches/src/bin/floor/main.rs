//! What does the driver itself allow, without a runtime of ours?
//!
//! The floor under `vkarray bench`: the same work by raw Vulkan, as little of it as can be. No runtime above this driver
//! is faster by the same means. `gpu.rs` opens the device, `commands.rs` records, `launch.rs` and `copy.rs` measure.

#![expect(unsafe_code, reason = "raw Vulkan is what is measured")]

mod commands;
mod copy;
mod gpu;
mod launch;
mod shader;

use anyhow::{Result, bail};
use clap::Parser;
use vkarray_benches::{Report, Settings, Suite};

use crate::gpu::Gpu;

/// What the driver allows: the floor under `vkarray bench`, a JSON object a line.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    settings: Settings,
}

fn main() -> Result<()> {
    let Settings { suite, device, runs } = CommandLine::parse().settings;
    let gpu = Gpu::open(device.as_deref())?;
    let report = Report { runs: runs.get() };
    report.header(&gpu.name(), "Vulkan");
    match suite {
        Suite::Launch => launch::measure(&gpu, report),
        Suite::Copy => copy::measure(&gpu, report),
        Suite::Memory => bail!("the driver's own allocations are no floor: ours are kept and used again"),
    }
}
