//! `cargo xtask`: sets up a machine, runs the demo, the tests, the gate and the check of the source tree.
//!
//! This file has only the command line. Each task has a file of its own: `setup.rs`, `suite.rs` and `shares.rs` (the
//! tests), `downstream.rs`, `demo.rs`, `dist.rs`, `gallery.rs`, `guide.rs`, `ci.rs`, `structure.rs`, `package.rs`,
//! `archive.rs` and `python.rs`. The decisions of a task are plain data made by pure functions (`plan.rs`, `demo.rs`);
//! running them is a loop. xtask does not link to vkarray, so it still builds when the library does not. Read `plan.rs`
//! next.

mod archive;
mod ci;
mod command;
mod demo;
mod dist;
mod downstream;
#[expect(unreachable_pub, reason = "the file is public in the driver crate")]
#[path = "../../crates/driver/src/instance/driver_fault.rs"]
mod driver_fault;
mod found;
mod gallery;
mod guide;
mod package;
mod plan;
mod probe;
mod python;
mod setup;
mod shares;
mod structure;
mod suite;
mod weights;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::command::exit_code;
use crate::plan::Purpose;

/// Sets up, demonstrates and tests vkarray.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Looks for a Vulkan loader and a device; installs the CPU driver if there is none
    Setup {
        /// Also requires what the tests use: the Khronos validation layer, spirv-val and glslangValidator
        #[arg(long)]
        tests: bool,
    },
    /// Sets up, then runs every test under the validation layer (VKARRAY_VALIDATION=1)
    Test {
        /// Arguments for `cargo test`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Sets up, builds the `vkarray` command and filters a picture with it; results are written to demo-out/
    Demo {
        /// A PNG or JPEG picture; without one, a Julia set is drawn
        image: Option<PathBuf>,
    },
    /// Runs the tests of examples/downstream/, plants faults there, and checks that each is found
    Downstream,
    /// Makes the pictures of docs/samples.md again, by running its commands and examples
    Gallery,
    /// Builds the guide of docs/ into target/guide/, and checks the links of all Markdown files
    Guide,
    /// Runs the gate that every change must pass: format, structure, clippy, documentation, guide, tests
    Ci,
    /// Checks the source tree: no cycles between folders, no two types of one name, `//!` at the head of files, their length
    Structure,
    /// Checks that the packages can be published: descriptions, licences, versions of dependencies
    Package {
        /// Makes an archive of the command and of ci/setup.sh instead, for CI jobs without Rust
        #[arg(long)]
        archive: bool,
    },
    /// Builds the Python package into target/python/, and runs its tests there
    Python {
        /// Runs the tests of another project in place of the package's
        #[arg(long, num_args = 1..=2, value_names = ["NAME", "PATH"])]
        judge: Option<Vec<String>>,
        /// Arguments for pytest
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Installs MPI, runs the tests of distributed arrays, then programs of 1 to 7 processes, some of which fail on purpose
    Dist {
        /// How many processes are killed at random times
        #[arg(long, default_value_t = 5)]
        kills: usize,
        /// The MPI library, as Debian names it in `mpicc.openmpi`, if it is not that of `mpicc`
        #[arg(long, value_name = "NAME")]
        mpi: Option<String>,
    },
    /// Starts a program of tests for `test`, the long ones as several processes
    #[command(hide = true)]
    Shares {
        program: String,
        /// Arguments for the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Reports which devices and layers this process finds; `setup` runs it as a child, since a driver may crash
    #[command(hide = true)]
    Probe {
        /// Prints one line of JSON for `setup`
        #[arg(long)]
        json: bool,
    },
}

fn main() -> ExitCode {
    run(Cli::parse().task).unwrap_or_else(|error| {
        // `main` does not return a `Result`, because its backtrace would hide the instructions for a missing package.
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::Setup { tests } => {
            setup::run(if tests { Purpose::Tests } else { Purpose::Programs }).map(|_| ExitCode::SUCCESS)
        }
        Task::Test { args } => suite::run(&args),
        Task::Demo { image } => demo::run(image.as_deref()).map(|()| ExitCode::SUCCESS),
        Task::Downstream => downstream::run().map(|()| ExitCode::SUCCESS),
        Task::Gallery => gallery::run().map(|()| ExitCode::SUCCESS),
        Task::Guide => guide::build().run().map(exit_code),
        Task::Ci => ci::run(),
        Task::Structure => structure::run(),
        Task::Package { archive: false } => package::run(),
        Task::Package { archive: true } => archive::make().map(|()| ExitCode::SUCCESS),
        Task::Python { judge, args } => python::run(judge.as_deref(), &args),
        Task::Dist { kills, mpi } => dist::run(kills, mpi.as_deref()),
        Task::Shares { program, args } => shares::run(&program, &args),
        Task::Probe { json } => probe::report(json).map(|()| ExitCode::SUCCESS),
    }
}

/// The folder of the workspace, in which `cargo` runs and `demo-out/` lies; on a machine without it, to which
/// `package --archive` brings this program, the current folder.
fn workspace_root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the workspace");
    if root.exists() { root } else { Path::new(".") }
}
