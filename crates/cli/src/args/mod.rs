//! The command line: flags with their text, and the help page.
//!
//! Only clap's own checks are made here. `run/value.rs` parses the text of arguments, and `run/plan.rs` compares
//! arguments with the shader. The flags of `run` and `eval` are in `run.rs`, those of `test` in
//! `test.rs`.

mod run;
mod test;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use run::{ComparisonArgs, DataArgs, DispatchArgs, EvalArgs, RunArgs, SourceArgs};
pub(crate) use test::TestArgs;

/// Device arrays and compute kernels on any Vulkan driver.
#[derive(Debug, Parser)]
#[command(name = "vkarray", version, about, after_help = format!("{START}\n{EXIT_CODES}"))]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const START: &str = "\
Example:
  vkarray eval 'y = x * x' --arg x=arange:f32[5] --out y=y.npy
";

/// The end of every help page. A test compares it with the table in `docs/command.md`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the device, the driver, the memory, the disk or this program failed; or a test of `vkarray test`
  2  the input is wrong: flags, files, shaders, arguments, or the choice of a device; no output was written
  3  no device: this machine has no Vulkan loader or no driver
  4  a comparison failed: results differ from those expected";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the Vulkan devices of this machine
    Devices(DevicesArgs),
    /// Run a compute shader on arrays, images and numbers
    Run(RunArgs),
    /// Compute arrays by an expression in WGSL, and print their statistics
    Eval(EvalArgs),
    /// Show the arguments and requirements of a compute shader; no device is opened
    Inspect(InspectArgs),
    /// Run the tests of pipeline files, on each device and under each profile
    Test(TestArgs),
    /// Compare every primitive and sample shader with the host, on the devices of this machine
    Check(CheckArgs),
    /// List or remove the compiled kernels that are kept on disk
    Cache(CacheArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Man(ManArgs),
}

const DEVICES: &str = "\
A star marks the device that is used if none is named.

Example:
  vkarray devices --json
";

/// Flags of `vkarray devices`.
#[derive(Debug, Args)]
#[command(after_help = format!("{DEVICES}\n{EXIT_CODES}"))]
pub(crate) struct DevicesArgs {
    /// Print everything known about each device, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const INSPECTION: &str = "\
Example:
  vkarray inspect saxpy.wgsl --const WORKGROUP=64
";

/// Flags of `vkarray inspect`.
#[derive(Debug, Args)]
#[command(after_help = format!("{INSPECTION}\n{EXIT_CODES}"))]
pub(crate) struct InspectArgs {
    /// Shader: WGSL (.wgsl), GLSL (.comp, .glsl) or SPIR-V (.spv); `-` is standard input
    #[arg(required_unless_present = "copy")]
    pub(crate) shader: Option<PathBuf>,
    /// In place of a shader, say how so many bytes are copied between the host and the device, and why
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["shader", "libraries", "defines", "include_dirs", "entry", "constants", "json"])]
    pub(crate) copy: Option<u64>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Entry point; all of them if left out
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Value of a constant; sizes of arrays and workgroups may depend on it
    #[arg(long = "const", value_name = "NAME=VALUE")]
    pub(crate) constants: Vec<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const CHECKS: &str = "\
Each check runs on a device of its own and compares with a computation on the host. It prints a line: `ok`, `skip` with
the feature that the device lacks, or `FAIL` with what differs. VKARRAY_VALIDATION=1 runs them under the validation layer.

Example:
  vkarray check --device all --junit check.xml
";

/// Flags of `vkarray check`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CHECKS}\n{EXIT_CODES}"))]
pub(crate) struct CheckArgs {
    /// Device, by a selector as `vkarray run` takes it, or `all`; may be given several times
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Vec<String>,
    /// Run only checks with this text in their names
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Print the names of the checks, and what each needs, in place of running them; no device is opened
    #[arg(long, conflicts_with_all = ["device", "junit", "json"])]
    pub(crate) list: bool,
    /// Write a report for CI services to this file, also if a check fails
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print the results and all that is known about the devices as JSON, instead of lines
    #[arg(long)]
    pub(crate) json: bool,
}

const CACHE: &str = "\
The folder is that of VKARRAY_CACHE_DIR, else `vkarray` in the user's cache folder. What is removed is compiled again when
it is needed.

Example:
  vkarray cache list
";

/// Flags of `vkarray cache`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CACHE}\n{EXIT_CODES}"))]
pub(crate) struct CacheArgs {
    /// What to do
    pub(crate) action: CacheAction,
}

/// What `vkarray cache` does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CacheAction {
    /// Print each file with its last use, its size and its kernel, and the sum
    List,
    /// Remove them all
    Clear,
}

const COMPLETIONS: &str = "\
Example:
  vkarray completions bash > ~/.local/share/bash-completion/completions/vkarray
";

/// Flags of `vkarray completions`.
#[derive(Debug, Args)]
#[command(after_help = format!("{COMPLETIONS}\n{EXIT_CODES}"))]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

const MAN: &str = "\
Example:
  vkarray man ~/.local/share/man/man1
";

/// Flags of `vkarray man`.
#[derive(Debug, Args)]
#[command(after_help = format!("{MAN}\n{EXIT_CODES}"))]
pub(crate) struct ManArgs {
    /// The folder, which exists: `vkarray.1` and a page for each command are written to it
    pub(crate) folder: PathBuf,
}
