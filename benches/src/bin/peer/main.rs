//! What does a Rust programmer pay who picks wgpu?
//!
//! The same work as `vkarray bench`, with the same names, the way wgpu's users write it. `peer.rs` opens the device;
//! `launch.rs`, `copy.rs` and `memory.rs` measure.

mod copy;
mod launch;
mod memory;
mod peer;

use std::num::NonZeroU32;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use vkarray_benches::Report;

use crate::peer::Peer;

/// wgpu's side of `vkarray bench`, a JSON object a line.
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
    /// Copies between host and device, and on the device
    Copy,
    /// Allocations
    Memory,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let peer = Peer::open(args.device.as_deref(), Report { runs: args.runs.get() })?;
    peer.report.header(&peer.name, "wgpu 30");
    match args.suite {
        Suite::Launch => launch::measure(&peer),
        Suite::Copy => copy::measure(&peer),
        Suite::Memory => memory::measure(&peer),
    }
}
