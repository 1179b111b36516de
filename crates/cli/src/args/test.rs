//! The flags of `vkarray test`.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::Args;

use super::EXIT_CODES;

const TESTS: &str = "\
A test has a dispatch as a step of a pipeline file has, or steps, or it runs the steps of its file:
  [[test]]
  name = \"saxpy\"                     # Without it, the name of the shader
  shader = \"../kernels/saxpy.wgsl\"   # And lib, entry, const, covering, groups, arg as in a step
  sizes = [0, 1, \"workgroup\", \"workgroup+1\", \"prime\"]   # Or \"planted\"; each is {n} in the values
  arrays = { x = \"random:f32[{n}]\", y = \"normal:f32[{n}]\" }
  covering = \"{n}\"
  arg = { x = \"x\", y = \"y\", a = 0.5 }
  expect.y = { text = \"a * x + y\", rtol = 1e-6 }   # Of the arrays before the run

An expectation has one of text (WGSL, as in `vkarray eval`), golden (a .npy file that --bless writes), value (an array as
in --arg), array (another result), device (a selector: the result there), and rtol, atol, ulp, equal-nan.
Other keys: needs = [\"shader_float16\"], without = [\"sanitized\"]; for the whole file skips = 2, the most trials that may
be skipped on a device.

Each test runs on each device under each profile, under the validation layer unless VKARRAY_VALIDATION=0.

Example:
  vkarray test --init kernels
  vkarray test tests/*.toml --device all --profile plain,sanitized --junit out.xml
";

/// Flags of `vkarray test`.
#[derive(Debug, Args)]
#[command(after_help = format!("{TESTS}\n{EXIT_CODES}"))]
pub(crate) struct TestArgs {
    /// Pipeline files with tests
    #[arg(required_unless_present = "init", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Device, by a selector as `vkarray run` takes it, or `all`; may be given several times
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Vec<String>,
    /// Profiles: `plain`, `sanitized`, `gpu-av`, `limits-` and a profile of limits
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "plain,sanitized")]
    pub(crate) profile: Vec<String>,
    /// Run only tests with this text in their names
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// File of known failures
    #[arg(long, value_name = "FILE")]
    pub(crate) expectations: Option<PathBuf>,
    /// Write golden files in place of comparing with them
    #[arg(long)]
    pub(crate) bless: bool,
    /// How long a trial may take; the others run nevertheless
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub(crate) time_limit: NonZeroU64,
    /// Run shaders that reach memory by its address, as `vkarray run` does; a fault of theirs may end the process
    #[arg(long)]
    pub(crate) unsafe_addresses: bool,
    /// How long the build of a kernel may take, and its first run, when drivers of CPUs compile; a line on standard error
    /// says every five seconds what is built or runs
    #[arg(long, value_name = "SECONDS")]
    pub(crate) build_limit: Option<NonZeroU64>,
    /// Print the names of the tests in place of running them; no device is opened
    #[arg(long, conflicts_with_all = ["device", "junit", "json", "bless"])]
    pub(crate) list: bool,
    /// Write a report for CI services to this file, also if a test fails
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print the results and all that is known about the devices as JSON, instead of lines
    #[arg(long)]
    pub(crate) json: bool,
    /// In place of running tests, write DIR/tests.toml with a test of each shader below the folder
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub(crate) init: Option<PathBuf>,
}
