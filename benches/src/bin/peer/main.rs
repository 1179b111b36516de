//! What does vkarray's work cost with wgpu?
//!
//! The work and the names are the ones of `bench`, written as wgpu's users write it. `peer.rs` opens the device;
//! `launch.rs`, `copy.rs`, `memory.rs`, `jobs.rs` and `startup.rs` measure.

mod copy;
mod jobs;
mod launch;
mod memory;
mod peer;
mod startup;

use anyhow::Result;
use clap::Parser;
use vkarray_benches::{Opening, Report, Settings, Suite};

use crate::peer::Peer;

/// wgpu's side of `bench`, a JSON object a line.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    settings: Settings,
}

fn main() -> Result<()> {
    let Settings { suite, device, runs } = CommandLine::parse().settings;
    let (peer, opening) = Opening::of(|| Peer::open(device.as_deref(), Report { runs: runs.get() }))?;
    peer.report.header(&peer.name, "wgpu 30");
    match suite {
        Suite::Launch => launch::measure(&peer),
        Suite::Copy => copy::measure(&peer),
        Suite::Memory => memory::measure(&peer),
        Suite::Jobs => jobs::measure(&peer),
        Suite::Startup => startup::measure(&peer, opening),
        Suite::Threads => jobs::threads(&peer.sleeping()), // Polls would take the locks that recording threads need.
    }
}
