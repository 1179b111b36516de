//! What do calls of vkarray cost on this machine?
//!
//! `launch.rs`, `graph.rs`, `pingpong.rs`, `jobs.rs`, `threads.rs`, `copy.rs`, `arrays.rs`, `views.rs`, `overlap.rs`,
//! `primitives.rs`, `memory.rs`, `connections.rs`, `replay.rs` and `startup.rs` each define measurements. Times are
//! measured on the host, around bursts of work that end with a wait; in `primitives.rs` on the device. `kernels.rs` has
//! the kernels.

mod arrays;
mod connections;
mod copy;
mod graph;
mod jobs;
mod kernels;
mod launch;
mod memory;
mod overlap;
mod pingpong;
mod primitives;
mod replay;
mod startup;
mod threads;
mod views;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use serde_json::json;
use vkarray::Context;
use vkarray::memory::managers::{LogStep, ManagerFactory};
use vkarray_benches::Report;

/// The cost of vkarray's calls, a JSON object a line: the device, then one figure each. `benches/README.md` defines them.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    suite: Suite,
    /// Memory manager by name, such as `pool` or `passthrough`; else the one that VKARRAY_MEMORY_MANAGER names
    #[arg(long, value_name = "NAME", global = true)]
    manager: Option<String>,
    /// Device: an index, a part of its name, `gpu`, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR", global = true)]
    device: Option<String>,
    /// Number of runs; each figure is their median
    #[arg(long, value_name = "N", default_value = "9", global = true)]
    runs: NonZeroU32,
}

/// What is measured.
#[derive(Debug, Subcommand)]
enum Suite {
    /// Dispatches: recording, running, waiting
    Launch,
    /// Copies between host and device, and on the device
    Copy,
    /// Copies between all devices of the machine, each way forced and its bytes checked, and all devices busy at once
    Connections {
        /// Size of the copies, in MiB
        #[arg(long, value_name = "N", default_value = "64")]
        mib: NonZeroU32,
    },
    /// Small jobs: an upload, a kernel and a download; many small arrays, streams and nodes
    Jobs,
    /// Dispatches of several threads at once
    Threads,
    /// Expressions and reductions of arrays
    Arrays,
    /// Scans, sorts, histograms, products, indexing and random numbers, in device time
    Primitives {
        /// Divides the sizes by 2^N, and edges of matrices by 2^(N / 3)
        #[arg(long, value_name = "N", default_value = "0")]
        shrink: u32,
    },
    /// Allocations
    Memory,
    /// Allocations and frees that a program logged
    Replay {
        /// The log, a CSV file
        log: PathBuf,
    },
    /// Kernels built by a new process, with an empty and with a filled cache on disk
    Startup {
        /// Run as the process that is measured, with this folder as the kernel cache
        #[arg(long, value_name = "FOLDER", hide = true)]
        one_start: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    let args = CommandLine::parse();
    if let Suite::Startup { one_start: Some(folder) } = &args.suite {
        return startup::one(args.device.as_deref(), folder);
    }
    let log = if let Suite::Replay { log } = &args.suite { replay::read(log)? } else { Vec::new() };
    let mut builder = Context::builder();
    if let Some(selector) = &args.device {
        builder = builder.device(selector);
    }
    if let Some(name) = &args.manager {
        builder = builder.memory_manager(ManagerFactory::named(name)?);
    }
    let ctx = builder.open()?;
    println!("{}", header(&ctx));
    measure(Bench { ctx: &ctx, report: Report { runs: args.runs.get() } }, &args, &log)?;
    let messages = ctx.device().physical().instance().take_messages();
    ensure!(messages.is_empty(), "the validation layer objects: {messages:?}");
    Ok(())
}

/// The first line: the device, and the time of the measurements.
fn header(ctx: &Context) -> serde_json::Value {
    let info = ctx.info();
    let driver = format!("{} {}", info.driver.name, info.driver.info);
    json!({
        "device": info.name,
        "driver": driver.trim(),
        "vulkan": info.api_version.to_string(),
        "version": env!("CARGO_PKG_VERSION"),
        "date": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    })
}

/// Measures a suite, and prints each figure as soon as it is known.
fn measure(bench: Bench<'_>, args: &CommandLine, log: &[LogStep]) -> Result<()> {
    match args.suite {
        Suite::Launch => {
            launch::measure(bench)?;
            graph::measure(bench)?;
            pingpong::measure(bench)
        }
        Suite::Copy => {
            copy::measure(bench)?;
            views::measure(bench)?;
            overlap::measure(bench)
        }
        Suite::Connections { mib } => connections::measure(bench, u64::from(mib.get()) << 20),
        Suite::Jobs => jobs::measure(bench),
        Suite::Threads => threads::measure(bench),
        Suite::Arrays => arrays::measure(bench),
        Suite::Primitives { shrink } => primitives::measure(bench, shrink),
        Suite::Memory => memory::measure(bench),
        Suite::Replay { .. } => replay::measure(bench, log),
        Suite::Startup { .. } => startup::measure(bench, args.device.as_deref()),
    }
}

/// The state that every measurement uses.
#[derive(Debug, Clone, Copy)]
struct Bench<'a> {
    ctx: &'a Context,
    report: Report,
}

/// `4KiB`, `64MiB`, `1GiB`.
fn size_text(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ => format!("{}KiB", bytes >> 10),
    }
}
