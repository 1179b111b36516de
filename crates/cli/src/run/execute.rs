//! Runs a [`Plan`]: opens the device, uploads, dispatches, downloads, and measures times. [`compute`] runs the work of a
//! test on a device that is open.
//!
//! This is the only file of `vkarray run` that uses a device. Limits are checked before the first array is loaded.
//! `output.rs` writes the results when all of them are complete.

use std::convert::Infallible;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use vkarray::array::{AnyArray, ContextBuilder};
use vkarray::device::Error as DriverError;
use vkarray::kernel::signature::limits_of;
use vkarray::kernel::{Arg, ArrayArg, AsArray, Error as KernelError, KernelBuilder, ShaderError, SpirvError};
use vkarray::stream::{Graph, Trace};
use vkarray::{Context, Event, Kernel};

use super::pipeline::Group;
use super::plan::{BuildArgs, Plan, Work};
use super::report::{Clock, Copied, Dispatches, Launched, Ran, Report, Written, bytes_accessed};
use super::step::{Step, Taken};
use crate::array::{HostArray, with_array};
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
    let ctx = open(plan.device.as_deref())?;
    let trace = plan.trace.as_ref().map(|_| Trace::start(ctx.device()).map_err(vkarray::Error::from)).transpose()?;
    let mut runs = plan
        .work
        .groups
        .iter()
        .map(|group| Run::new(&plan.work, group, plan.build, &ctx))
        .collect::<Result<Vec<_>>>()?;
    let (arrays, upload) = upload(&plan.work, &ctx, &progress)?;
    runs.iter_mut().try_for_each(|run| run.record(&ctx, &arrays))?;
    for _ in 0..plan.repeat {
        for run in &mut runs {
            progress.set_message(format!("running {}", run.kernels[0].signature().entry));
            run.run(plan.build.limit, &ctx, &arrays)?;
            progress.inc(1);
        }
    }
    let (results, download) = download(&plan.work, &arrays, |name| plan.is_result(name), &progress)?;
    progress.finish_and_clear();
    if let (Some(target), Some(trace)) = (&plan.trace, trace) {
        target.write(|file| Ok(trace.finish(file)?))?;
    }
    check_validation(&ctx)?;

    let outputs = plan.outputs.iter().filter_map(|output| {
        let input = &plan.work.arrays.iter().find(|array| array.name == output.name)?.input;
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

/// Runs the work once on a device, and reads back the arrays that are results.
///
/// # Errors
///
/// [`Error::Array`] for errors of the device, and the errors of [`Input::load`](super::input::Input::load).
pub(crate) fn compute(
    work: &Work,
    ctx: &Context,
    how: BuildArgs,
    is_result: impl Fn(&str) -> bool,
) -> Result<Vec<(String, HostArray)>> {
    let hidden = ProgressBar::hidden();
    let runs = work.groups.iter().map(|group| Run::new(work, group, how, ctx)).collect::<Result<Vec<_>>>()?;
    let (arrays, _) = upload(work, ctx, &hidden)?;
    for mut run in runs {
        run.record(ctx, &arrays)?;
        run.run(how.limit, ctx, &arrays)?;
    }
    Ok(download(work, &arrays, is_result, &hidden)?.0)
}

/// Fails if the validation layer was loaded (`VKARRAY_VALIDATION=1`) and reported anything.
fn check_validation(ctx: &Context) -> Result<()> {
    let messages = ctx.device().physical().instance().take_messages();
    if messages.is_empty() { Ok(()) } else { Err(Error::Validation { messages }) }
}

/// A bar on standard error, with one step for each upload, dispatch and download. Shown only on a terminal.
fn progress(plan: &Plan, is_quiet: bool) -> ProgressBar {
    if is_quiet {
        return ProgressBar::hidden();
    }
    let n_steps = plan.work.arrays.len() + plan.repeat as usize * plan.work.groups.len() + plan.outputs.len();
    let style = ProgressStyle::with_template("{spinner} {elapsed} [{bar:24}] {msg}").expect("a valid template");
    let progress = ProgressBar::new(n_steps as u64).with_style(style).with_message("opening the device");
    progress.enable_steady_tick(Duration::from_millis(100));
    progress
}

/// Opens the device that was named, or the one that is used if none is.
pub(super) fn open(device: Option<&str>) -> Result<Context> {
    Ok(device.into_iter().fold(Context::builder(), ContextBuilder::device).open()?)
}

fn build(step: &Step, how: BuildArgs, ctx: &Context) -> Result<Kernel> {
    let builder = ctx.kernel(step.source.clone()).entry(&step.signature.entry);
    let builder = step.constants.iter().fold(builder, |builder, (name, value)| builder.constant(name, *value));
    let builder = how.sanitize.into_iter().fold(builder, KernelBuilder::sanitize);
    let builder = if how.unsafe_addresses { with_addresses(builder) } else { builder };
    let Step { signature, source, .. } = step;
    let _notice = Notice::new(format!("still building `{}` of {}", signature.entry, source.name()));
    Ok(match how.limit {
        Some(limit) => builder.build_within(limit)?,
        None => builder.build()?,
    })
}

/// The kernel of a user who gave `--unsafe-addresses`.
#[expect(unsafe_code, reason = "the user of the command answers for the shader, and no code can")]
fn with_addresses(builder: KernelBuilder) -> KernelBuilder {
    // SAFETY: the shader stays inside the arrays given for its addresses. The user who gives the flag promises it, and is
    // told that breaking it may crash the process or the machine.
    unsafe { builder.assume_addresses() }
}

/// A line on standard error every few seconds, until this value is dropped.
struct Notice {
    /// Disconnected when the notices end.
    end: Option<mpsc::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

/// How long a build takes until the first notice, and between notices.
const NOTICE_INTERVAL: Duration = Duration::from_secs(5);

impl Notice {
    fn new(text: String) -> Self {
        let ((end, ended), begun) = (mpsc::channel::<Infallible>(), Instant::now());
        let notify = move || {
            while ended.recv_timeout(NOTICE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{text} after {} s", begun.elapsed().as_secs());
            }
        };
        // Without a thread there are no notices.
        let thread = thread::Builder::new().name("notices".to_owned()).spawn(notify).ok();
        Self { end: Some(end), thread }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        self.end = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Loads and uploads one array after the other. Only the uploads are timed, to the end of the last.
fn upload(work: &Work, ctx: &Context, progress: &ProgressBar) -> Result<(Vec<AnyArray>, Copied)> {
    let mut arrays = Vec::new();
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for argument in &work.arrays {
        progress.set_message(format!("uploading {}", argument.name));
        let host = argument.input.load()?;
        bytes += argument.input.nbytes();
        let start = Instant::now();
        arrays.push(with_array!(&host, host => AnyArray::from(ctx.to_device(host)?)));
        ctx.synchronize()?;
        time += start.elapsed();
        progress.inc(1);
    }
    Ok((arrays, Copied { bytes, seconds: time.as_secs_f64() }))
}

/// Downloads each array that is a result, once.
fn download(
    work: &Work,
    arrays: &[AnyArray],
    is_result: impl Fn(&str) -> bool,
    progress: &ProgressBar,
) -> Result<(Vec<(String, HostArray)>, Copied)> {
    let mut results = Vec::new();
    let (mut bytes, mut time) = (0, Duration::ZERO);
    for (argument, array) in work.arrays.iter().zip(arrays) {
        if !is_result(&argument.name) {
            continue;
        }
        progress.set_message(format!("downloading {}", argument.name));
        let start = Instant::now();
        results.push((argument.name.clone(), HostArray::of_device(array)?));
        time += start.elapsed();
        bytes += argument.input.nbytes();
        progress.inc(1);
    }
    Ok((results, Copied { bytes, seconds: time.as_secs_f64() }))
}

/// A group of steps on the device.
struct Run<'a> {
    work: &'a Work,
    group: &'a Group<Step>,
    /// The kernel of each step.
    kernels: Vec<Kernel>,
    workgroups: Vec<[u32; 3]>,
    /// The steps recorded once, if they run several times and a graph can hold them.
    graph: Option<Graph>,
    timer: Timer,
    times: Vec<Duration>,
}

impl<'a> Run<'a> {
    /// Builds the kernels and checks the limits of the device.
    fn new(work: &'a Work, group: &'a Group<Step>, how: BuildArgs, ctx: &Context) -> Result<Self> {
        let kernels = group.steps.iter().map(|step| work.located(step, build(step, how, ctx)));
        let kernels = kernels.collect::<Result<_>>()?;
        let limits = limits_of(ctx.info());
        let workgroups = group.steps.iter().map(|step| work.located(step, step.check_limits(&work.arrays, &limits)));
        let workgroups = workgroups.collect::<Result<_>>()?;
        Ok(Self { work, group, kernels, workgroups, graph: None, timer: Timer::new(ctx)?, times: Vec::new() })
    }

    /// Records a graph for steps that run several times. A graph does not hold kernels with checks, so these are
    /// dispatched.
    fn record(&mut self, ctx: &Context, arrays: &[AnyArray]) -> Result<()> {
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
            Err(vkarray::Error::Kernel(KernelError::Shader(ShaderError::Spirv(SpirvError::Sanitize { .. })))) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    /// Runs the group as often as its plan says, and waits, so that the times of groups do not overlap. The first time the
    /// wait takes no longer than `limit`, since drivers of CPUs compile a kernel when it first runs.
    fn run(&mut self, limit: Option<Duration>, ctx: &Context, arrays: &[AnyArray]) -> Result<()> {
        let run = || {
            (0..self.group.repeat).try_for_each(|_| match &self.graph {
                Some(graph) => Ok(graph.replay(ctx.default_stream())?),
                None => self.dispatch(ctx, arrays),
            })
        };
        let is_first = self.times.is_empty();
        let wait = || if is_first { self.wait_first(limit, ctx) } else { Ok(ctx.synchronize()?) };
        self.times.push(self.timer.measure(ctx, run, wait)?);
        Ok(())
    }

    fn wait_first(&self, limit: Option<Duration>, ctx: &Context) -> Result<()> {
        let entries: Vec<_> = self.kernels.iter().map(|kernel| format!("`{}`", kernel.signature().entry)).collect();
        let _notice = Notice::new(format!("still running {}", entries.join(", ")));
        let Some(limit) = limit else { return Ok(ctx.synchronize()?) };
        ctx.default_stream().synchronize_for(limit).map_err(|error| match error {
            DriverError::Timeout { .. } => Error::FirstRun { kernels: entries.join(", "), seconds: limit.as_secs() },
            error => error.into(),
        })
    }

    fn dispatch(&self, ctx: &Context, arrays: &[AnyArray]) -> Result<()> {
        for (kernel, step) in self.kernels.iter().zip(&self.group.steps) {
            let result = kernel.dispatch(ctx.default_stream(), step.grid, self.arguments(step, arrays));
            self.work.located(step, result.map_err(Into::into))?;
        }
        Ok(())
    }

    fn arguments<'b>(&'b self, step: &'b Step, arrays: &'b [AnyArray]) -> Vec<(&'b str, Arg<'b>)> {
        let array = |place: &usize| -> ArrayArg<'b> {
            let array = arrays[*place].as_array();
            if self.work.arrays[*place].is_padded { array.padded() } else { array }
        };
        let argument = |(name, taken): &'b (String, Taken)| {
            let arg = match taken {
                Taken::Arrays { places, is_list: true } => Arg::Arrays(places.iter().map(array).collect()),
                Taken::Arrays { places, .. } => Arg::Array(array(&places[0])),
                Taken::Sampled(place, sampler) => Arg::Sampled(arrays[*place].as_array(), *sampler),
                Taken::Numbers(values) => match values.as_slice() {
                    [value] => Arg::Scalar(*value),
                    values => Arg::Scalars(values.iter().copied().collect()),
                },
                Taken::Sampler(sampler) => Arg::Sampler(*sampler),
            };
            (name.as_str(), arg)
        };
        step.arguments.iter().map(argument).collect()
    }

    fn report(self) -> Ran {
        let nbytes = |step: &Step, name: &str| {
            step.places(name).map(|place| self.work.arrays[place].input.nbytes()).reduce(u64::saturating_add)
        };
        let of_step = |step: &Step| -> u64 {
            let params = step.signature.params.iter();
            params.filter_map(|param| Some(bytes_accessed(param, nbytes(step, &param.name)?))).sum()
        };
        let bytes = u64::from(self.group.repeat) * self.group.steps.iter().map(of_step).sum::<u64>();
        let kernels = self.kernels.iter().zip(self.workgroups);
        let launched = |(kernel, workgroups): (&Kernel, _)| Launched { kernel: kernel.signature().clone(), workgroups };
        Ran {
            repeat: self.group.repeat,
            kernels: kernels.map(launched).collect(),
            dispatch: Dispatches::new(self.timer.clock(), bytes, &self.times),
        }
    }
}

/// Measures work on the default stream: by two events on the device's clock, or by the host's clock if the device has no
/// timestamps.
pub(super) struct Timer(Option<(Event, Event)>);

impl Timer {
    pub(super) fn new(ctx: &Context) -> Result<Self> {
        match (ctx.timed_event(), ctx.timed_event()) {
            (Ok(before), Ok(after)) => Ok(Self(Some((before, after)))),
            (Err(vkarray::Error::Driver(DriverError::Unsuitable { .. })), _) => Ok(Self(None)),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        if self.0.is_some() { Clock::Device } else { Clock::Host }
    }

    /// How long the work takes that `record` gives to the stream. `wait` waits for its end.
    pub(super) fn measure(
        &self,
        ctx: &Context,
        record: impl FnOnce() -> Result<()>,
        wait: impl FnOnce() -> Result<()>,
    ) -> Result<Duration> {
        let (stream, begun) = (ctx.default_stream(), Instant::now());
        self.0.iter().try_for_each(|(before, _)| before.record(stream))?;
        record()?;
        self.0.iter().try_for_each(|(_, after)| after.record(stream))?;
        wait()?;
        Ok(match &self.0 {
            Some((before, after)) => before.elapsed(after)?,
            None => begun.elapsed(),
        })
    }
}
