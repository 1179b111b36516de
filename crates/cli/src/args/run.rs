//! The flags of `vkarray run` and `vkarray eval`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::EXIT_CODES;

const VALUES: &str = "\
Values of --arg:
  @x.npy                        an array from a NumPy file
  @photo.png, @photo.jpg        an image, as f32 in 0..1: height x width if it is grey, else height x width x 4;
                                four channels also if the shader's elements are vec4<f32>; for an image of the
                                shader as u8, or as the format that the shader declares
  @photo.png,channels=3         the same with 1 channel (height x width), 3 or 4
  @photo.png,dtype=u32          the same as integers; also i32, u8 and u16, to which other images are scaled
  @x.npz:a                      the array `a` of a NumPy archive
  @-                            a .npy file or an image from standard input
  zeros:f32[512,512,4]          zeros
  full:f32[100],value=2.5       one value everywhere
  arange:u32[1000]              0, 1, 2, ...
  linspace:f32[5],start=0,stop=1
                                floats in even steps, with both ends
  random:f32[64,64],seed=7      uniform: 0 <= x < 1 for floats, the full range for integers; the seed is 0 if left out
  normal:f32[64,64],seed=7      floats of the normal distribution with mean 0 and standard deviation 1
  sampler:linear,repeat         a sampler, or that of an image that has its own: nearest or linear, and clamp, repeat,
                                mirror or border beyond the edges; unnormalized, if coordinates count texels
  padded:@x.npy                 any of these arrays, filled up with zeros to the length of constant memory
  @x.npy,zeros:f32[9]           several of these arrays, for an array of bindings: those of b are called b[0], b[1], ...
  2.5                           a number, for a push constant
  0.5,1,2                       the numbers of a push constant that is a vector
Element types: bool i8 u8 i16 u16 f16 i32 u32 f32 i64 u64 f64

An array that the shader only writes needs no --arg with --covering: it has an element for each invocation.

Outputs of --out are .npy or .npz:NAME (any array), - (a .npy file on standard output) or .png (bool, u8, u16, i32, u32
and f32 of shape h x w or h x w x 1, 3 or 4; f32 clamped to 0..1; `,bits=16` for 16 bits instead of 8).
They are written only after everything has succeeded.

A pipeline file lists arrays, and the dispatches that take them. --arg NAME=VALUE gives one of its arrays another value.
  [arrays]
  now = \"random:f32[512,512]\"
  next = \"zeros:f32[512,512]\"

  [[step]]                      # Or, for a group of steps: repeat, and a [[step.step]] for each
  shader = \"heat.wgsl\"         # Then lib, entry, const = { NAME = VALUE }, covering or groups, allow-small as the flags
  covering = [512, 512]
  arg = { now = \"now\", next = \"next\", width = 512, height = 512, rate = 0.2 }

Example:
  vkarray run heat.toml --out next=next.npy
  vkarray run julia.wgsl --arg image=zeros:f32[512,768,4] --arg width=768 --arg height=512 --arg c_re=-0.8 \\
      --arg c_im=0.156 --arg scale=1.2 --covering 768,512 --out image=julia.png
";

/// Flags of `vkarray run`.
#[derive(Debug, Args)]
#[command(after_help = format!("{VALUES}\n{EXIT_CODES}"))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) dispatch: DispatchArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Find out-of-range indices, divisions by zero and data races; the first one ends the run and names its line
    #[arg(long)]
    pub(crate) sanitize: bool,
    /// Run shaders that reach memory by its address (GLSL's `buffer_reference`); one that leaves the arrays given for its
    /// addresses may crash the process or the machine
    #[arg(long, conflicts_with = "sanitize")]
    pub(crate) unsafe_addresses: bool,
    /// End with an error if a kernel takes longer to build, or to run the first time, when drivers of CPUs compile; a line
    /// on standard error says every five seconds what is built or runs
    #[arg(long, value_name = "SECONDS")]
    pub(crate) build_limit: Option<NonZeroU64>,
    /// Record a timeline of host and device for Perfetto or chrome://tracing; VKARRAY_TRACE is the default
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// One dispatch without its arguments. The keys of a step of a pipeline file become the same values.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("grid").args(["covering", "groups"])))]
pub(crate) struct DispatchArgs {
    /// Shader: WGSL (.wgsl), GLSL (.comp, .glsl) or SPIR-V (.spv); `-` is standard input. Or a pipeline file (.toml)
    pub(crate) shader: PathBuf,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Entry point; may be left out where the shader has only one
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Value of a constant of the shader: WGSL's `override`, GLSL's and SPIR-V's specialisation constant
    #[arg(long = "const", value_name = "NAME=VALUE")]
    pub(crate) constants: Vec<String>,
    /// Invocations wanted along x, y, z; rounded up to whole workgroups
    #[arg(long, value_name = "N[,M[,K]]")]
    pub(crate) covering: Option<String>,
    /// Workgroups to dispatch along x, y, z
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) groups: Option<String>,
    /// Allow written arrays with fewer elements than --covering has invocations
    #[arg(long)]
    pub(crate) allow_small: bool,
    /// Whether a launch may have no invocations, as tests at size 0 have.
    #[arg(skip)]
    pub(crate) allow_empty: bool,
}

/// What is added to the text of a shader.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SourceArgs {
    /// File of WGSL that the shader uses; may be given several times
    #[arg(long = "lib", value_name = "FILE")]
    pub(crate) libraries: Vec<PathBuf>,
    /// Macro of a shader in GLSL; may be given several times
    #[arg(long = "define", value_name = "NAME=VALUE")]
    pub(crate) defines: Vec<String>,
    /// Folder where `#include` of GLSL finds files, after the folder of the shader; may be given several times
    #[arg(short = 'I', long = "include-dir", value_name = "DIR")]
    pub(crate) include_dirs: Vec<PathBuf>,
}

/// What goes in and comes out, and the device: flags that `vkarray run` and `vkarray eval` share.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Value of an argument, by its name in the shader, the pipeline file or the text
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
    /// File (.npy, .npz:NAME, .png, -) to write an array to after the run
    #[arg(long = "out", value_name = "NAME=FILE")]
    pub(crate) outputs: Vec<String>,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
    /// Run this many times and report the spread; arrays are not reset in between
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) repeat: NonZeroU32,
    /// Device: an index, a part of its name, `gpu`, `cpu`, `discrete`, `uuid:...`; `vkarray devices` lists them
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) device: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no report
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

/// Flags of comparisons.
#[derive(Debug, Args)]
pub(crate) struct ComparisonArgs {
    /// Compare a result with a file (.npy, .npz:NAME, .png); if they differ, nothing is written, and the exit code is 4
    #[arg(long = "compare", value_name = "NAME=FILE")]
    pub(crate) expected: Vec<String>,
    /// Allowed difference from each expected element, as a part of it
    #[arg(long, value_name = "X", default_value = "0")]
    pub(crate) rtol: f64,
    /// Allowed difference from each expected element, added to that of --rtol
    #[arg(long, value_name = "X", default_value = "0")]
    pub(crate) atol: f64,
    /// Take NaN as equal to NaN in comparisons, as NumPy's option of this name; otherwise it differs from everything
    #[arg(long)]
    pub(crate) equal_nan: bool,
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
    #[command(flatten)]
    pub(crate) data: DataArgs,
}
