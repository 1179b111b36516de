//! `cargo xtask`: set up a machine, run the demo, run the tests, run the gate.
//!
//! Here is only the command line.
//! Each task is a file of its own: `setup.rs`, `suite.rs` (the tests), `demo.rs`, `guide.rs` and `ci.rs`.
//! What a task decides is plain data made by a pure function (`plan.rs`, `demo.rs`); running it is a loop.
//! Nothing here links to vkarray, so that a broken library cannot break the way to mend it.
//! Read `plan.rs` next.

mod ci;
mod command;
mod demo;
mod found;
mod guide;
mod plan;
mod probe;
mod setup;
mod structure;
mod suite;
mod weights;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::command::exit_code;

/// Sets up, shows and tests vkarray.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Looks for a Vulkan loader and a device; installs the CPU driver where there is none
    Setup {
        /// Also wants what the tests judge by: the Khronos validation layer and spirv-val
        #[arg(long)]
        tests: bool,
    },
    /// Sets up, then runs every test under the validation layer (VKARRAY_VALIDATION=1)
    Test {
        /// Arguments for `cargo test`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Sets up, builds the `vkarray` command and filters a picture with it; results go to demo-out/
    Demo {
        /// A PNG or JPEG picture; a Julia set is drawn where none is given
        image: Option<PathBuf>,
    },
    /// Builds the guide of docs/ into target/guide/, and checks the links of all Markdown files
    Guide,
    /// Runs the gate of every change: format, clippy, documentation, guide, tests
    Ci,
    /// Checks the source tree: rooms without circles, one type a name, files that introduce themselves
    Structure,
    /// Reports what Vulkan offers in this process; a process of its own, since drivers can crash
    #[command(hide = true)]
    Probe {
        /// One line for `setup` to read, not text for people
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    run(Cli::parse().task).unwrap_or_else(|error| {
        // Not `Result` from `main`: a missing package is no bug here, and a backtrace would bury the instructions.
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::Setup { tests } => setup::run(tests).map(|_| ExitCode::SUCCESS),
        Task::Test { args } => suite::run(&args),
        Task::Demo { image } => demo::run(image.as_deref()).map(|()| ExitCode::SUCCESS),
        Task::Guide => guide::build().run().map(exit_code),
        Task::Ci => ci::run(),
        Task::Structure => structure::run(),
        Task::Probe { json } => probe::report(json).map(|()| ExitCode::SUCCESS),
    }
}

/// The folder of the workspace: where `cargo` runs and where `demo-out/` is.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace")
}
