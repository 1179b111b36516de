//! The command line: flags with their text, and the help page.
//!
//! Nothing is checked here but what clap checks. `run/value.rs` parses the text of arguments, and `run/plan.rs` compares
//! them with the shader.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

/// Device arrays and compute kernels on any Vulkan driver.
#[derive(Debug, Parser)]
#[command(name = "vkarray", version, about, after_help = EXIT_CODES)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The end of every help page. A test compares it with the table in `docs/command.md`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the device, the driver, the memory, the disk or this program failed
  2  the input is wrong: flags, files, shaders, arguments, or the choice of a device; no output was written
  3  no device: this machine has no Vulkan loader or no driver";

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
    /// Measure the cost of launches, copies and allocations on a device
    Bench(BenchArgs),
}

/// Flags of `vkarray devices`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct DevicesArgs {
    /// Print everything known about each device, as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

const VALUES: &str = "\
Values of --arg:
  @x.npy                        an array from a NumPy file
  @photo.png, @photo.jpg        an image, as f32 in 0..1: height x width if it is grey, else height x width x 4;
                                four channels also if the shader's elements are vec4<f32>
  @photo.png,channels=3         the same with 1 channel (height x width), 3 or 4
  zeros:f32[512,512,4]          zeros
  full:f32[100],value=2.5       one value everywhere
  arange:u32[1000]              0, 1, 2, ...
  random:f32[64,64],seed=7      uniform: 0 <= x < 1 for floats, the full range for integers; the seed is 0 if left out
  padded:@x.npy                 any of these arrays, filled up with zeros to the length of constant memory
  2.5                           a number, for a push constant
  0.5,1,2                       the numbers of a push constant that is a vector
Element types: bool i8 u8 i16 u16 f16 i32 u32 f32 i64 u64 f64

Outputs of --out are .npy (any array) or .png (f32 of shape h x w or h x w x 1, 3 or 4; clamped to 0..1).
They are written only after everything has succeeded.

Example:
  vkarray run julia.wgsl --arg image=zeros:f32[512,768,4] --arg width=768 --arg height=512 --arg c_re=-0.8 \\
      --arg c_im=0.156 --arg scale=1.2 --covering 768,512 --out image=julia.png
";

/// Flags of `vkarray run`.
#[derive(Debug, Args)]
#[command(after_help = format!("{VALUES}\n{EXIT_CODES}"), group(ArgGroup::new("grid").required(true).args(["covering", "groups"])))]
pub(crate) struct RunArgs {
    /// Shader: WGSL (.wgsl), GLSL (.comp, .glsl) or SPIR-V (.spv)
    pub(crate) shader: PathBuf,
    /// Entry point; may be left out where the shader has only one
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Value of a shader parameter, by its name in the shader
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
    /// File (.npy, .png) to write a parameter to after the run
    #[arg(long = "out", value_name = "NAME=FILE")]
    pub(crate) outputs: Vec<String>,
    /// Invocations wanted along x, y, z; rounded up to whole workgroups
    #[arg(long, value_name = "N[,M[,K]]")]
    pub(crate) covering: Option<String>,
    /// Workgroups to dispatch along x, y, z
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) groups: Option<String>,
    /// Value of a constant of the shader: WGSL's `override`, GLSL's and SPIR-V's specialisation constant
    #[arg(long = "const", value_name = "NAME=VALUE")]
    pub(crate) constants: Vec<String>,
    /// Device: an index, a part of its name, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Option<String>,
    /// Dispatch this many times and report the spread; arrays are not reset in between
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroU32,
    /// Allow written arrays with fewer elements than --covering has invocations
    #[arg(long)]
    pub(crate) allow_small: bool,
    /// Find out-of-range indices, divisions by zero and data races; the first one ends the run and names its line
    #[arg(long)]
    pub(crate) sanitize: bool,
    /// Record a timeline of host and device for Perfetto or chrome://tracing; VKARRAY_TRACE is the default
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no report
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

const EVALUATION: &str = "\
The text has statements in WGSL, separated by `;`. Names that they assign are results, other names are arguments, which
broadcast as in NumPy. Values of --arg and files of --out are those of `vkarray run`; a number has the type of the first
array, or f32 without one.

Example:
  vkarray eval 'z = sqrt(x*x + y*y)' --arg x=random:f32[480,640] --arg y=arange:f32[640] --out z=z.npy
";

/// Flags of `vkarray eval`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EVALUATION}\n{EXIT_CODES}"))]
pub(crate) struct EvalArgs {
    /// Statements, such as 'z = a * x + y; w = z * z'
    pub(crate) text: String,
    /// Value of an argument of the text, by its name
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
    /// File (.npy, .png) to write a result to
    #[arg(long = "out", value_name = "NAME=FILE")]
    pub(crate) outputs: Vec<String>,
    /// Device: an index, a part of its name, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Option<String>,
    /// Print the statistics as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Flags of `vkarray inspect`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct InspectArgs {
    /// Shader: WGSL (.wgsl), GLSL (.comp, .glsl) or SPIR-V (.spv)
    pub(crate) shader: PathBuf,
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

const FIGURES: &str = "\
A figure is the median of several runs after one that is not counted, with the least and the largest beside it.

launch: stream_* is a chain of dependent dispatches, each; host_* its recording alone; independent_* one without
        dependences; host_checks the checks of a dispatch alone; sync_* one dispatch and a wait; graph_* a graph of
        1,000 replayed back to back, each dispatch; host_graph_* the call that replays it; pingpong a kernel and a
        copy on two streams that take turns
copy:   to the device and back, pinned and pageable, and on the device; overlap_ratio is the time of 32 uploads,
        kernels and downloads on three streams over that of the kernels alone, which are the longest stage;
        overlap_link_ratio the same with short kernels, over uploads and downloads at once
connections:
        0>1 is a copy from the first device to the second, beside the pinned copies of each device; the last device is
        the first one, opened again; busy_* is the sum of the throughputs of all devices at once, over that of the
        first alone, from one thread and from one thread each
memory: an array made and dropped
replay: the allocations and frees of a log, as the Logging manager and RMM write it, in its order on one thread, each:
        replay_first from nothing, replay_step when memory has been taken; replay_live is the most that the log has
        live, replay_reserved the most that the manager took for it, replay_fragmentation the largest part of free
        device memory that was not in one piece, replay_refused the allocations that failed
startup: twenty different kernels built in a fresh process: cold with nothing on disk, warm with what that left there,
        startup_ratio the one over the other; startup_open is the device opened. Drivers' own caches are off
";

/// Flags of `vkarray bench`.
#[derive(Debug, Args)]
#[command(after_help = format!("{FIGURES}\n{EXIT_CODES}"))]
pub(crate) struct BenchArgs {
    /// What to measure
    pub(crate) suite: Suite,
    /// Log to replay, a CSV file
    #[arg(required_if_eq("suite", "replay"))]
    pub(crate) log: Option<PathBuf>,
    /// Memory manager by name, such as `pool` or `passthrough`; else the one that VKARRAY_MEMORY_MANAGER names
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<String>,
    /// Print JSON lines: the device, then one figure in each line
    #[arg(long)]
    pub(crate) json: bool,
    /// Device: an index, a part of its name, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Option<String>,
    /// Run as the process that `bench startup` measures, with this folder as the kernel cache
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) one_start: Option<PathBuf>,
    /// Size of the copies of `bench connections`, in MiB
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) mib: NonZeroU32,
    /// Number of runs; each figure is their median
    #[arg(long, value_name = "N", default_value = "9")]
    pub(crate) runs: NonZeroU32,
}

/// What `vkarray bench` measures.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Suite {
    /// Dispatches: recording, running, waiting
    Launch,
    /// Copies between host and device, and on the device
    Copy,
    /// Copies between all devices of the machine, each way forced and its bytes checked, and all devices busy at once
    Connections,
    /// Small jobs: an upload, a kernel and a download; many small arrays, streams and nodes
    Jobs,
    /// Dispatches of several threads at once
    Threads,
    /// Expressions and reductions of arrays
    Arrays,
    /// Allocations
    Memory,
    /// Allocations and frees that a program logged
    Replay,
    /// Kernels built by a new process, with an empty and with a filled cache on disk
    Startup,
}
