//! What does the driver itself allow, without a runtime?
//!
//! This is the floor for `bench`: the same work in raw Vulkan with as few calls as possible. No runtime on this driver
//! is faster with the same method. `gpu.rs` opens the device, `commands.rs` records, `bindings.rs` writes descriptors
//! beforehand; `launch.rs`, `copy.rs`, `jobs.rs` and `threads.rs` measure.

#![expect(unsafe_code, reason = "raw Vulkan is what is measured")]

mod bindings;
mod commands;
mod copy;
mod gpu;
mod jobs;
mod launch;
mod shader;
mod threads;

use anyhow::{Result, bail};
use clap::Parser;
use vkarray_benches::{Report, Settings, Suite};

use crate::gpu::Gpu;

/// What the driver allows: the floor under `bench`, a JSON object a line.
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
        Suite::Jobs => jobs::measure(&gpu, report),
        Suite::Threads => threads::measure(&gpu, report),
        Suite::Memory => bail!("the driver's own allocations are not a floor: vkarray's are cached"),
        Suite::Startup => bail!("a text is never a kernel without a compiler"),
    }
}
