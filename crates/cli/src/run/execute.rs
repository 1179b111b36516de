//! Runs a [`Plan`]: opens the device, uploads, dispatches, downloads, and measures times.
//!
//! The only file of `vkarray run` that uses a device. Limits are checked before the first array is loaded. Results are
//! written by `output.rs`, when all of them are complete.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use vkarray::device::Error as DriverError;
use vkarray::kernel::{Arg, AsArg, Limits, ScalarValue};
use vkarray::{Context, DeviceNDArray, Event, Kernel};

use super::plan::Plan;
use super::report::{Clock, Dispatches, Report, Step, Written, bytes_accessed};
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
/// [`Error::Array`] for errors of the device; those of [`Input::load`](super::input::Input::load) and of writing a trace;
/// [`Error::Validation`].
pub(crate) fn execute(plan: &Plan, is_quiet: bool) -> Result<Outcome> {
    let progress = progress(plan, is_quiet);
    let ctx = open(plan)?;
    let trace = plan.trace.clone().map(|path| TraceFile::start(&ctx, path)).transpose()?;
    let kernel = build(plan, &ctx)?;
    let workgroups = plan.check_limits(&Limits::from(ctx.info()))?;
    let (arrays, upload) = upload(plan, &ctx, &progress)?;
    let (clock, times) = Run { ctx: &ctx, kernel: &kernel, plan, arrays: &arrays }.repeat(&progress)?;
    let (results, download) = download(plan, &arrays, &progress)?;
    progress.finish_and_clear();
    trace.map_or(Ok(()), TraceFile::finish)?;
    check_validation(&ctx)?;

    let bytes = plan.signature.params.iter().filter_map(|param| {
        let array = plan.arrays.iter().find(|array| array.name == param.name)?;
        Some(bytes_accessed(param, array.input.nbytes()))
    });
    let outputs = plan.outputs.iter().filter_map(|output| {
        let input = &plan.arrays.iter().find(|array| array.name == output.name)?.input;
        let (name, path) = (output.name.clone(), output.path.clone());
        Some(Written { name, path, dtype: input.dtype(), shape: input.shape().to_vec() })
    });
    let report = Report {
        device: ctx.info().name.clone(),
        driver: format!("{} {}", ctx.info().driver.name, ctx.info().driver.info).trim().to_owned(),
        kernel: kernel.signature().clone(),
        workgroups,
        upload,
        dispatch: Dispatches::new(clock, bytes.sum(), &times),
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

/// In the order of the plan's arrays.
type DeviceArrays = Vec<Box<dyn DeviceArray>>;

/// A bar on standard error, with one step for each upload, dispatch and download. Shown only on a terminal.
fn progress(plan: &Plan, is_quiet: bool) -> ProgressBar {
    if is_quiet {
        return ProgressBar::hidden();
    }
    let n_steps = plan.arrays.len() + plan.repeat as usize + plan.outputs.len();
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

fn build(plan: &Plan, ctx: &Context) -> Result<Kernel> {
    let builder = ctx.kernel(plan.source.clone()).entry(&plan.signature.entry);
    let builder = plan.constants.iter().fold(builder, |builder, (name, value)| builder.constant(name, *value));
    let builder = match plan.sanitize {
        Some(on) => builder.sanitize(on),
        None => builder,
    };
    Ok(builder.build()?)
}

/// Loads and uploads one array after the other. Only the uploads are timed, to the end of the last.
fn upload(plan: &Plan, ctx: &Context, progress: &ProgressBar) -> Result<(DeviceArrays, Step)> {
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
    Ok((arrays, Step { bytes, seconds: time.as_secs_f64() }))
}

/// Downloads each array that has an output, once.
fn download(
    plan: &Plan,
    arrays: &[Box<dyn DeviceArray>],
    progress: &ProgressBar,
) -> Result<(Vec<(String, HostArray)>, Step)> {
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
    Ok((results, Step { bytes, seconds: time.as_secs_f64() }))
}

/// The dispatches.
struct Run<'a> {
    ctx: &'a Context,
    kernel: &'a Kernel,
    plan: &'a Plan,
    arrays: &'a [Box<dyn DeviceArray>],
}

impl Run<'_> {
    /// Dispatches as often as asked for, and waits each time, so that the times of dispatches do not overlap.
    fn repeat(&self, progress: &ProgressBar) -> Result<(Clock, Vec<Duration>)> {
        progress.set_message(format!("running {}", self.plan.signature.entry));
        let arguments = self.arguments();
        let events = self.events()?;
        let mut times = Vec::new();
        for _ in 0..self.plan.repeat {
            let start = Instant::now();
            if let Some((before, _)) = &events {
                before.record(self.ctx.default_stream())?;
            }
            self.kernel.dispatch(self.ctx.default_stream(), self.plan.grid, &arguments)?;
            if let Some((_, after)) = &events {
                after.record(self.ctx.default_stream())?;
            }
            self.ctx.synchronize()?;
            times.push(match &events {
                Some((before, after)) => before.elapsed(after)?,
                None => start.elapsed(),
            });
            progress.inc(1);
        }
        Ok((if events.is_some() { Clock::Device } else { Clock::Host }, times))
    }

    /// Two events on the device's clock, or `None` if the device has no timestamps.
    fn events(&self) -> Result<Option<(Event, Event)>> {
        match (self.ctx.timed_event(), self.ctx.timed_event()) {
            (Ok(before), Ok(after)) => Ok(Some((before, after))),
            (Err(vkarray::Error::Driver(DriverError::Unsuitable { .. })), _) => Ok(None),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    fn arguments(&self) -> Vec<(&str, Arg<'_>)> {
        let arrays = self.plan.arrays.iter().zip(self.arrays);
        let arrays = arrays.map(|(argument, array)| {
            let arg = match array.as_arg() {
                Arg::Array(array) if argument.is_padded => Arg::Array(array.padded()),
                arg => arg,
            };
            (argument.name.as_str(), arg)
        });
        let scalars = self.plan.scalars.iter().map(|scalar| (scalar.name.as_str(), scalar_arg(&scalar.values)));
        arrays.chain(scalars).collect()
    }
}

fn scalar_arg(values: &[ScalarValue]) -> Arg<'static> {
    match values {
        [value] => Arg::Scalar(*value),
        values => Arg::Scalars(values.iter().copied().collect()),
    }
}
