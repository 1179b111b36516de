//! `vkarray bench`: the cost of the runtime on a device, in figures that can be compared with those of other libraries.
//!
//! `launch.rs`, `graph.rs`, `pingpong.rs`, `jobs.rs`, `threads.rs`, `copy.rs`, `arrays.rs`, `views.rs`, `overlap.rs`,
//! `memory.rs`, `connections.rs`, `replay.rs` and `startup.rs` each define measurements. Times are measured on the host,
//! around bursts of work that end with a wait. `figure.rs` prints figures, `kernels.rs` has the kernels. The programs that
//! measure other libraries in the same way, and compare runs, are in `benches/`.

mod arrays;
mod connections;
mod copy;
mod figure;
mod graph;
mod jobs;
mod kernels;
mod launch;
mod memory;
mod overlap;
mod pingpong;
mod replay;
mod startup;
mod threads;
mod views;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use vkarray::Context;
use vkarray::memory::{LogStep, ManagerFactory};

use self::figure::{Header, Printer, Unit};
use crate::args::{BenchArgs, Suite};
use crate::error::{Error, Result};

/// Measures and prints, each figure as soon as it is known.
///
/// # Errors
///
/// [`Error::Array`] for errors of the device; [`Error::Validation`]; [`Error::Report`]; [`Error::Start`] for a process that
/// cannot be started; [`Error::Read`], [`Error::Log`] and [`Error::UnwantedLog`] for the log, before a device is opened.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    if let Some(folder) = &args.one_start {
        return startup::one(args, folder);
    }
    let log = match (&args.log, args.suite) {
        (Some(path), Suite::Replay) => replay::read(path)?,
        (Some(path), _) => return Err(Error::UnwantedLog { path: path.clone() }),
        (None, _) => Vec::new(),
    };
    let mut builder = Context::builder();
    if let Some(selector) = &args.device {
        builder = builder.device(selector);
    }
    if let Some(name) = &args.manager {
        builder = builder.memory_manager(ManagerFactory::named(name)?);
    }
    let ctx = builder.open()?;
    let printer = Printer::new(args.json);
    printer.header(&Header::new(ctx.info()))?;
    let bench = Bench { ctx: &ctx, runs: args.runs.get(), printer: &printer };
    measure(&bench, args, &log)?;
    let messages = ctx.device().physical().instance().take_messages();
    if messages.is_empty() { Ok(()) } else { Err(Error::Validation { messages }) }
}

/// Measures and prints the figures of a suite.
fn measure(bench: &Bench<'_>, args: &BenchArgs, log: &[LogStep]) -> Result<()> {
    match args.suite {
        Suite::Launch => {
            launch::measure(bench)?;
            graph::measure(bench)?;
            pingpong::measure(bench)?;
        }
        Suite::Copy => {
            copy::measure(bench)?;
            views::measure(bench)?;
            overlap::measure(bench)?;
        }
        Suite::Connections => connections::measure(bench, u64::from(args.mib.get()) << 20)?,
        Suite::Jobs => jobs::measure(bench)?,
        Suite::Threads => threads::measure(bench)?,
        Suite::Arrays => arrays::measure(bench)?,
        Suite::Memory => memory::measure(bench)?,
        Suite::Replay => replay::measure(bench, log)?,
        Suite::Startup => startup::measure(bench, args)?,
    }
    Ok(())
}

/// What every measurement uses.
#[derive(Debug, Clone, Copy)]
struct Bench<'a> {
    ctx: &'a Context,
    runs: u32,
    printer: &'a Printer,
}

impl Bench<'_> {
    /// Runs once to warm up, then as often as asked for, and returns the results of those runs.
    fn runs<R>(&self, run: impl FnMut() -> Result<R>) -> Result<Vec<R>> {
        self.samples(self.runs, run)
    }

    /// [`Bench::runs`], with `n` runs.
    fn samples<R>(&self, n: u32, mut run: impl FnMut() -> Result<R>) -> Result<Vec<R>> {
        run()?;
        (0..n).map(|_| run()).collect()
    }

    /// Prints the microseconds of one of `n` operations. `times` are of all `n`.
    fn micros(&self, name: &str, times: &[Duration], n: u32) -> Result<()> {
        self.printer.figure(name, Unit::Micros, times.iter().map(|time| time.as_secs_f64() * 1e6 / f64::from(n)))
    }

    /// Prints a rate. `bytes` were moved in each of the times.
    fn rate(&self, name: &str, times: &[Duration], bytes: u64) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "a rate is printed with four digits")]
        let giga = bytes as f64 / 1e9;
        self.printer.figure(name, Unit::GigabytesPerSecond, times.iter().map(|time| giga / time.as_secs_f64()))
    }
}

/// The time that `work` takes.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// The longest time that one of `n` threads takes for `work`. All begin it together, each with what it has prepared.
fn at_once<P>(
    n: u32,
    prepare: impl Fn() -> Result<P> + Sync,
    work: impl Fn(&P) -> Result<()> + Sync,
) -> Result<Duration> {
    let start = Barrier::new(n as usize);
    let one = || {
        let prepared = prepare();
        start.wait(); // Also after a failure, since the others wait for this thread.
        let prepared = prepared?;
        timed(|| work(&prepared))
    };
    let times = thread::scope(|scope| {
        let threads: Vec<_> = (0..n).map(|_| scope.spawn(one)).collect();
        let times = threads.into_iter().map(|thread| thread.join().expect("the threads do not panic"));
        times.collect::<Result<Vec<_>>>()
    });
    Ok(times?.into_iter().max().unwrap_or_default())
}

/// `4KiB`, `64MiB`, `1GiB`.
fn size_text(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 30) => format!("{}GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MiB", bytes >> 20),
        _ => format!("{}KiB", bytes >> 10),
    }
}
