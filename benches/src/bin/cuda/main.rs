//! What does vkarray's work cost with CUDA?
//!
//! The work and the names are the ones of `bench`, with calls of the CUDA driver. The driver is loaded when the program
//! runs; without a driver the program prints that it is absent and exits with 2. `functions.rs` is the driver's
//! interface, `gpu.rs` opens the device; `launch.rs`, `copy.rs`, `memory.rs`, `jobs.rs` and `startup.rs` measure.

#![expect(unsafe_code, reason = "the CUDA driver is a C library")]

mod copy;
mod functions;
mod gpu;
mod graph;
mod jobs;
mod launch;
mod memory;
mod startup;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use vkarray_benches::{ABSENT, Opening, Report, Settings, Suite};

use crate::gpu::{Gpu, Opened};

/// CUDA's side of `bench`, a JSON object a line.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    settings: Settings,
}

fn main() -> Result<ExitCode> {
    let Settings { suite, device, runs } = CommandLine::parse().settings;
    let report = Report { runs: runs.get() };
    let (gpu, opening) = Opening::of(|| Gpu::open(device.as_deref()))?;
    let gpu = match gpu {
        Opened::Gpu(gpu) => gpu,
        Opened::Absent(reason) => {
            report.absent(&reason);
            return Ok(ExitCode::from(ABSENT));
        }
    };
    report.header(&gpu.name, "CUDA driver");
    match suite {
        Suite::Launch => launch::measure(&gpu, report)?,
        Suite::Copy => copy::measure(&gpu, report)?,
        Suite::Memory => memory::measure(&gpu, report)?,
        Suite::Jobs => jobs::measure(&gpu, report)?,
        Suite::Startup => startup::measure(&gpu, report, opening)?,
        Suite::Threads => jobs::threads(&gpu, report)?,
    }
    Ok(ExitCode::SUCCESS)
}
