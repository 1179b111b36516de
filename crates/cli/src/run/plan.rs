//! [`Plan`]: a run that has passed every check that needs no device. Its [`Work`] is what a test has too.
//!
//! [`Work::new`] reads the shaders and the headers of the input files; `step.rs` compares each dispatch with its shader.
//! Whether the device exists, and its limits, are checked when it is open. `execute.rs` runs the plan.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vkarray::kernel::signature::Names;

use super::arrays::{ArrayArgument, Arrays, Described};
use super::compare::Comparison;
use super::output::Output;
use super::pipeline::{DispatchText, Group, Job, in_file};
use super::step::{Shaders, Step};
use super::value::PictureOptions;
use crate::args::RunArgs;
use crate::error::{Error, Result};
use crate::files::{Files, Target};

/// The arrays and dispatches to run.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) arrays: Vec<ArrayArgument>,
    pub(crate) groups: Vec<Group<Step>>,
    /// The pipeline file, for messages.
    file: Option<PathBuf>,
}

/// How kernels are built.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BuildArgs {
    /// Whether they have checks; `None` if the environment decides.
    pub(crate) sanitize: Option<bool>,
    /// How long each build may take.
    pub(crate) limit: Option<Duration>,
    /// Whether the user answers for what they reach by an address.
    pub(crate) unsafe_addresses: bool,
}

/// What a run does, and the files of its results.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) work: Work,
    pub(crate) outputs: Vec<Output>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) device: Option<String>,
    pub(crate) repeat: u32,
    pub(crate) build: BuildArgs,
    /// The file of the run's trace.
    pub(crate) trace: Option<Target>,
}

impl Work {
    /// Checks everything that needs no device. `read` are arrays that are used beside the steps. `shaders` keeps the
    /// shaders that are read.
    ///
    /// # Errors
    ///
    /// The first error in the steps, in the order of the pipeline file.
    pub(crate) fn new(job: Job, read: &[&str], shaders: &mut Shaders) -> Result<Self> {
        let Job { arrays, groups, file } = job;
        let mut arrays = Arrays::new(arrays);
        let mut planned = Vec::new();
        for Group { repeat, steps } in groups {
            let mut step = |text: &DispatchText| {
                let step = Step::new(text, &mut arrays, shaders);
                step.map_err(|reason| in_file(file.as_ref(), &text.place, reason))
            };
            let steps = steps.iter().map(&mut step).collect::<Result<_>>()?;
            planned.push(Group { repeat, steps });
        }
        let of_arrays = |reason| in_file(file.as_ref(), "arrays", reason);
        for name in read {
            arrays.take(name, PictureOptions::default(), None).map_err(of_arrays)?;
        }
        let arrays = arrays.finish().map_err(of_arrays)?;
        Ok(Self { arrays, groups: planned, file })
    }

    /// Adds the step's place in the pipeline file to an error of `result`.
    ///
    /// # Errors
    ///
    /// The error of `result`.
    pub(crate) fn located<T>(&self, step: &Step, result: Result<T>) -> Result<T> {
        result.map_err(|reason| in_file(self.file.as_ref(), &step.place, reason))
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.groups.iter().flat_map(|group| &group.steps)
    }

    /// Checks that `name` is an array that a kernel may write. `path` is where it would be written, for messages.
    ///
    /// # Errors
    ///
    /// [`Error::OutputReadOnly`], [`Error::OutputNotArray`], [`Error::OutputUnknown`].
    pub(crate) fn check_output(&self, name: &str, path: PathBuf) -> Result<()> {
        let written = || self.steps().flat_map(Step::written).map(|place| self.arrays[place].name.as_str());
        if written().any(|written| written == name) {
            return Ok(());
        }
        let name = name.to_owned();
        if self.arrays.iter().any(|array| array.name == name) {
            return Err(Error::OutputReadOnly { name, path });
        }
        if self.steps().any(|step| step.numbers(&name).is_some()) {
            return Err(Error::OutputNotArray { name, path });
        }
        let names: std::collections::BTreeSet<_> = written().collect();
        Err(Error::OutputUnknown { name, path, names: names.into_iter().collect::<Names>() })
    }
}

impl Plan {
    /// Checks everything that needs no device.
    ///
    /// # Errors
    ///
    /// The first error in the steps, in the order of the pipeline file, or in the outputs.
    pub(crate) fn new(args: &RunArgs) -> Result<Self> {
        let job = Job::new(args)?;
        let mut files = inputs(&args.dispatch.shader, &job.arrays, &job.groups);
        let work = Work::new(job, &[], &mut Shaders::default())?;
        let shape_of = |name: &str| {
            let array = work.arrays.iter().find(|array| array.name == name)?;
            Some((array.input.dtype(), array.input.shape()))
        };
        let is_output = |name: &str, path: &str| work.check_output(name, path.into());
        let comparisons = Comparison::parse_all(&args.data.comparison, is_output, &mut files)?;
        let outputs = Output::parse_all(&args.data.outputs, is_output, shape_of, &mut files)?;
        let trace = trace_target(args.trace.as_ref(), &mut files)?;
        let (device, repeat) = (args.data.device.clone(), args.data.repeat.get());
        let limit = args.build_limit.map(|seconds| Duration::from_secs(seconds.get()));
        let unsafe_addresses = args.unsafe_addresses;
        let build = BuildArgs { sanitize: args.sanitize.then_some(true), limit, unsafe_addresses };
        Ok(Self { work, outputs, comparisons, device, repeat, build, trace })
    }

    /// Whether an array is read back after the run.
    pub(crate) fn is_result(&self, name: &str) -> bool {
        self.outputs.iter().any(|output| output.name == name)
            || self.comparisons.iter().any(|comparison| comparison.name == name)
    }
}

/// The variable that names the file of the trace if the command line does not.
const TRACE: &str = "VKARRAY_TRACE";

/// The trace's file: the file of the flag, else of the environment. `files` are the files of the call.
///
/// # Errors
///
/// The errors of [`Files::target`], in [`Error::Variable`] if the environment names the file.
fn trace_target(flag: Option<&PathBuf>, files: &mut Files) -> Result<Option<Target>> {
    if let Some(path) = flag {
        return files.target(path).map(Some);
    }
    let path = env::var_os(TRACE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = |reason| Error::Variable { variable: TRACE, reason: Box::new(reason) };
    path.map(|path| files.target(&path).map_err(named)).transpose()
}

/// The files that the run reads, except the files of `--compare`. `shader` is the shader or the pipeline file.
fn inputs(shader: &Path, arrays: &[Described], groups: &[Group<DispatchText>]) -> Files {
    let mut files = Files::default();
    files.read(shader, None);
    for text in groups.iter().flat_map(|group| &group.steps) {
        files.read(&text.dispatch.shader, None);
        text.dispatch.source.libraries.iter().for_each(|path| files.read(path, None));
    }
    arrays.iter().for_each(|array| array.value.note_file(&array.name, &mut files));
    files
}

#[cfg(test)]
mod tests;
