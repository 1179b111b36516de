//! Runs a [`Plan`]: opens the device, uploads, dispatches, downloads, and measures times.
//!
//! This is the only file of `vkarray run` that uses a device. Limits are checked before the first array is loaded.
//! `output.rs` writes the results when all of them are complete.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use vkarray::device::Error as DriverError;
use vkarray::kernel::{Arg, AsArg, Error as KernelError, ScalarValue, ShaderError, limits_of};
use vkarray::stream::Graph;
use vkarray::{Context, DeviceNDArray, Event, Kernel};

use super::pipeline::Group;
use super::plan::Plan;
use super::report::{Clock, Copied, Dispatches, Launched, Ran, Report, Written, bytes_accessed};
use super::step::Step;
use super::trace::TraceFile;
use crate::array::{HostArray, HostElement, with_array};
use crate::error::{Error, Result};

/// The result of a run: arrays by name, for the outputs, and the report.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) arrays: Vec<(String, HostArray)>,
    pub(crate) report: Report,
}

/// Runs the plan.
///
/// # Errors
///
/// [`Error::Array`] for errors of the device; [`Error::Validation`]; and the errors of
/// [`Input::load`](super::input::Input::load) and of writing a trace.
pub(crate) fn execute(plan: &Plan, is_quiet: bool) -> Result<Outcome> {
    let progress = progress(plan, is_quiet);
    let ctx = open(plan)?;
    let trace = plan.trace.clone().map(|target| TraceFile::start(&ctx, target)).transpose()?;
    let mut runs = plan.groups.iter().map(|group| Run::new(plan, group, &ctx)).collect::<Result<Vec<_>>>()?;
    let (arrays, upload) = upload(plan, &ctx, &progress)?;
    runs.iter_mut().try_for_each(|run| run.record(&ctx, &arrays))?;
    for _ in 0..plan.repeat {
        for run in &mut runs {
            progress.set_message(format!("running {}", run.kernels[0].signature().entry));
            run.run(&ctx, &arrays)?;
            progress.inc(1);
        }
    }
    let (results, download) = download(plan, &arrays, &progress)?;
    progress.finish_and_clear();
    trace.map_or(Ok(()), TraceFile::finish)?;
    check_validation(&ctx)?;

    let outputs = plan.outputs.iter().filter_map(|output| {
        let input = &plan.arrays.iter().find(|array| array.name == output.name)?.input;
        let (name, path) = (output.name.clone(), output.path().to_owned());
        Some(Written { name, path, dtype: input.dtype(), shape: input.shape().to_vec() })
    });
    let report = Report {
        device: ctx.info().name.clone(),
        driver: format!("{} {}", ctx.info().driver.name, ctx.info().driver.info).trim().to_owned(),
        upload,
        steps: runs.into_iter().map(Run::report).collect(),
        download,
        outputs: outputs.collect(),
    };
    Ok(Outcome { arrays: results, report })
}

/// Fails if the validation layer was loaded (`VKARRAY_VALIDATION=1`) and reported anything.
fn check_validation(ctx: &Context) -> Result<()> {
    let messages = ctx.device().physical().instance().take_messages();
    if messages.is_empty() { Ok(()) } else { Err(Error::Validation { messages }) }
}

/// An array on the device of any element type.
trait DeviceArray: AsArg {
    fn download(&self) -> vkarray::Result<HostArray>;
}

impl<T: HostElement> DeviceArray for DeviceNDArray<T> {
    fn download(&self) -> vkarray::Result<HostArray> {
        Ok(HostArray::new(self.copy_to_host()?))
    }
}

/// The arrays on the device, in the order of the plan's arrays.
type DeviceArrays = Vec<Box<dyn DeviceArray>>;

/// A bar on standard error, with one step for each upload, dispatch and download. Shown only on a terminal.
fn progress(plan: &Plan, is_quiet: bool) -> ProgressBar {
    if is_quiet {
        return ProgressBar::hidden();
    }
    let n_steps = plan.arrays.len() + plan.repeat as usize * plan.groups.len() + plan.outputs.len();
    let style = ProgressStyle::with_template("{spinner} {elapsed} [{bar:24}] {msg}").expect("a valid template");
    let progress = ProgressBar::new(n_steps as u64).with_style(style).with_message("opening the device");
    progress.enable_steady_tick(Duration::from_millis(100));
    progress
}

fn open(plan: &Plan) -> Result<Context> {
    let builder = Context::builder();
    let builder = match &plan.device {
        Some(selector) => builder.device(selector),
        None => builder,
    };
    Ok(builder.open()?)
}

fn build(plan: &Plan, step: &Step, ctx: &Context) -> Result<Kernel> {
    let builder = ctx.kernel(step.source.clone()).entry(&step.signature.entry);
    let builder = step.constants.iter().fold(builder, |builder, (name, value)| builder.constant(name, *value));
    let builder = match plan.sanitize {
        Some(on) => builder.sanitize(on),
        None => builder,
    };
    Ok(builder.build()?)
}

/// Loads and uploads one array after the other. Only the uploads are timed, to the end of the last.
fn upload(plan: &Plan, ctx: &Context, progress: &ProgressBar) -> Result<(DeviceArrays, Copied)> {
    let mut arrays = DeviceArrays::new();
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for argument in &plan.arrays {
        progress.set_message(format!("uploading {}", argument.name));
        let host = argument.input.load()?;
        bytes += argument.input.nbytes();
        let start = Instant::now();
        arrays.push(with_array!(&host, host => Box::new(ctx.to_device(host)?)));
        ctx.synchronize()?;
        time += start.elapsed();
        progress.inc(1);
    }
    Ok((arrays, Copied { bytes, seconds: time.as_secs_f64() }))
}

/// Downloads each array that has an output, once.
fn download(
    plan: &Plan,
    arrays: &[Box<dyn DeviceArray>],
    progress: &ProgressBar,
) -> Result<(Vec<(String, HostArray)>, Copied)> {
    let mut results = Vec::new();
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for (argument, array) in plan.arrays.iter().zip(arrays) {
        if !plan.is_result(&argument.name) {
            continue;
        }
        progress.set_message(format!("downloading {}", argument.name));
        let start = Instant::now();
        results.push((argument.name.clone(), array.download()?));
        time += start.elapsed();
        bytes += argument.input.nbytes();
        progress.inc(1);
    }
    Ok((results, Copied { bytes, seconds: time.as_secs_f64() }))
}

/// A group of steps on the device.
struct Run<'a> {
    plan: &'a Plan,
    group: &'a Group<Step>,
    /// The kernel of each step.
    kernels: Vec<Kernel>,
    workgroups: Vec<[u32; 3]>,
    /// The steps recorded once, if they run several times and a graph can hold them.
    graph: Option<Graph>,
    /// Two events on the device's clock, or `None` if the device has no timestamps.
    events: Option<(Event, Event)>,
    times: Vec<Duration>,
}

impl<'a> Run<'a> {
    /// Builds the kernels and checks the limits of the device.
    fn new(plan: &'a Plan, group: &'a Group<Step>, ctx: &Context) -> Result<Self> {
        let kernels = group.steps.iter().map(|step| plan.located(step, build(plan, step, ctx)));
        let kernels = kernels.collect::<Result<_>>()?;
        let limits = limits_of(ctx.info());
        let workgroups = group.steps.iter().map(|step| plan.located(step, step.check_limits(&plan.arrays, &limits)));
        let workgroups = workgroups.collect::<Result<_>>()?;
        Ok(Self { plan, group, kernels, workgroups, graph: None, events: events(ctx)?, times: Vec::new() })
    }

    /// Records a graph for steps that run several times. A graph does not hold kernels with checks, so these are
    /// dispatched.
    fn record(&mut self, ctx: &Context, arrays: &[Box<dyn DeviceArray>]) -> Result<()> {
        if self.group.repeat == 1 {
            return Ok(());
        }
        let recorded = ctx.graph(|graph| {
            for (kernel, step) in self.kernels.iter().zip(&self.group.steps) {
                kernel.record(graph, step.grid, self.arguments(step, arrays))?;
            }
            Ok(())
        });
        self.graph = match recorded {
            Ok((graph, ())) => Some(graph),
            Err(vkarray::Error::Kernel(KernelError::Shader(ShaderError::Sanitize { .. }))) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    /// Runs the group as often as its plan says, and waits, so that the times of groups do not overlap.
    fn run(&mut self, ctx: &Context, arrays: &[Box<dyn DeviceArray>]) -> Result<()> {
        let stream = ctx.default_stream();
        let start = Instant::now();
        if let Some((before, _)) = &self.events {
            before.record(stream)?;
        }
        for _ in 0..self.group.repeat {
            match &self.graph {
                Some(graph) => graph.replay(stream)?,
                None => self.dispatch(ctx, arrays)?,
            }
        }
        if let Some((_, after)) = &self.events {
            after.record(stream)?;
        }
        ctx.synchronize()?;
        self.times.push(match &self.events {
            Some((before, after)) => before.elapsed(after)?,
            None => start.elapsed(),
        });
        Ok(())
    }

    fn dispatch(&self, ctx: &Context, arrays: &[Box<dyn DeviceArray>]) -> Result<()> {
        for (kernel, step) in self.kernels.iter().zip(&self.group.steps) {
            let result = kernel.dispatch(ctx.default_stream(), step.grid, self.arguments(step, arrays));
            self.plan.located(step, result.map_err(Into::into))?;
        }
        Ok(())
    }

    fn arguments<'b>(&'b self, step: &'b Step, arrays: &'b [Box<dyn DeviceArray>]) -> Vec<(&'b str, Arg<'b>)> {
        let taken = step.arrays.iter().map(|(name, place)| {
            let own = step.samplers.iter().find(|(sampler, _)| sampler == name);
            let arg = match (arrays[*place].as_arg(), own) {
                (Arg::Array(array), Some((_, sampler))) => Arg::Sampled(array, *sampler),
                (Arg::Array(array), None) if self.plan.arrays[*place].is_padded => Arg::Array(array.padded()),
                (arg, _) => arg,
            };
            (name.as_str(), arg)
        });
        let scalars = step.scalars.iter().map(|scalar| (scalar.name.as_str(), scalar_arg(&scalar.values)));
        let is_alone = |(name, _): &&(String, _)| step.arrays.iter().all(|(array, _)| array != name);
        let samplers = step.samplers.iter().filter(is_alone);
        let samplers = samplers.map(|(name, sampler)| (name.as_str(), Arg::Sampler(*sampler)));
        taken.chain(scalars).chain(samplers).collect()
    }

    fn report(self) -> Ran {
        let nbytes = |step: &Step, name: &str| {
            let (_, place) = step.arrays.iter().find(|(param, _)| param == name)?;
            Some(self.plan.arrays[*place].input.nbytes())
        };
        let of_step = |step: &Step| -> u64 {
            let params = step.signature.params.iter();
            params.filter_map(|param| Some(bytes_accessed(param, nbytes(step, &param.name)?))).sum()
        };
        let bytes = u64::from(self.group.repeat) * self.group.steps.iter().map(of_step).sum::<u64>();
        let clock = if self.events.is_some() { Clock::Device } else { Clock::Host };
        let kernels = self.kernels.iter().zip(self.workgroups);
        let launched = |(kernel, workgroups): (&Kernel, _)| Launched { kernel: kernel.signature().clone(), workgroups };
        Ran {
            repeat: self.group.repeat,
            kernels: kernels.map(launched).collect(),
            dispatch: Dispatches::new(clock, bytes, &self.times),
        }
    }
}

/// Two events on the device's clock, or `None` if the device has no timestamps.
pub(super) fn events(ctx: &Context) -> Result<Option<(Event, Event)>> {
    match (ctx.timed_event(), ctx.timed_event()) {
        (Ok(before), Ok(after)) => Ok(Some((before, after))),
        (Err(vkarray::Error::Driver(DriverError::Unsuitable { .. })), _) => Ok(None),
        (Err(error), _) | (_, Err(error)) => Err(error.into()),
    }
}

fn scalar_arg(values: &[ScalarValue]) -> Arg<'static> {
    match values {
        [value] => Arg::Scalar(*value),
        values => Arg::Scalars(values.iter().copied().collect()),
    }
}
