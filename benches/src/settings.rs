//! The command line of the programs beside vkarray's own: the suite, the device, the number of runs.

use std::num::NonZeroU32;

use clap::{Args, ValueEnum};

/// The suites that are compared. `bench` measures these and more.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Suite {
    /// Small dispatches
    Launch,
    /// Copies between host and device, and on the device
    Copy,
    /// Allocations
    Memory,
    /// Small jobs: an upload, a kernel and a download
    Jobs,
    /// Dispatches of several threads at once
    Threads,
    /// The device opened, and kernels built from text
    Startup,
}

impl Suite {
    /// The name of the suite on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Copy => "copy",
            Self::Memory => "memory",
            Self::Jobs => "jobs",
            Self::Threads => "threads",
            Self::Startup => "startup",
        }
    }
}

/// How a program measures.
#[derive(Debug, Args)]
pub struct Settings {
    /// What to measure
    pub suite: Suite,
    /// The device's whole name; else the first
    #[arg(long)]
    pub device: Option<String>,
    /// Runs of which each figure is the median
    #[arg(long, value_name = "N", default_value = "9")]
    pub runs: NonZeroU32,
}
