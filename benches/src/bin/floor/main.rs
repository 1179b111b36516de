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

use std::num::NonZeroU32;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use vkarray_benches::Report;

use crate::gpu::Gpu;

/// What the driver allows: the floor under `vkarray bench`, a JSON object a line.
#[derive(Parser)]
struct Args {
    /// What to measure
    suite: Suite,
    /// The device's whole name; else the first
    #[arg(long)]
    device: Option<String>,
    /// Runs of which each figure is the median
    #[arg(long, value_name = "N", default_value = "9")]
    runs: NonZeroU32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Suite {
    /// Small dispatches
    Launch,
    /// Copies between host and device
    Copy,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let gpu = Gpu::open(args.device.as_deref())?;
    let report = Report { runs: args.runs.get() };
    report.header(&gpu.name(), "Vulkan");
    match args.suite {
        Suite::Launch => launch::measure(&gpu, report),
        Suite::Copy => copy::measure(&gpu, report),
    }
}
