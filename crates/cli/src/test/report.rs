//! Results as lines, as JSON and as a file for CI services.

use std::io::Write;

use vkarray_test::{Record, Results, Suite, Verdict};

use crate::error::{Error, Result};
use crate::files::Target;
use crate::stdio::print;

/// The line of a trial, and the lines that differ.
pub(crate) fn line(record: &Record) -> String {
    let Record { test, device, profile, seconds, verdict, .. } = record;
    let place = if profile == "plain" { device.clone() } else { format!("{device}::{profile}") };
    let first = |message: &str| message.lines().next().unwrap_or_default().to_owned();
    match verdict {
        Verdict::Skipped(reason) => format!("skip  {place}  {test}: {}\n", first(reason)),
        Verdict::Failed(message) => {
            format!("FAIL  {place}  {test}  {seconds:.2} s\n      {}\n", message.replace('\n', "\n      "))
        }
        Verdict::FailedAsExpected(message) => format!("xfail {place}  {test}: {}\n", first(message)),
        Verdict::Flaky(message) => format!("flaky {place}  {test}: {}\n", first(message)),
        _ => format!("ok    {place}  {test}  {seconds:.2} s\n"),
    }
}

/// How many trials passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    pub(crate) fn of<'a>(trials: impl IntoIterator<Item = &'a Record>) -> Self {
        trials.into_iter().fold(Self::default(), |mut counts, record| {
            match record.verdict {
                Verdict::Failed(_) => counts.failed += 1,
                Verdict::Skipped(_) => counts.skipped += 1,
                _ => counts.passed += 1,
            }
            counts
        })
    }
}

/// The devices, and how many trials passed.
pub(crate) fn summary(results: &Results, seconds: f64) -> String {
    let device = |label: &str, name: &str, driver: &str| format!("{label}: {name}, {driver}\n");
    let devices = results.devices.iter().map(|target| {
        let faults = crate::info::faults(&target.info);
        device(&target.label, &target.info.name, &target.driver()) + &faults
    });
    let Counts { passed, failed, skipped } = Counts::of(&results.trials);
    format!("{}{passed} passed, {failed} failed, {skipped} skipped in {seconds:.1} s\n", devices.collect::<String>())
}

/// Runs a suite. Each trial is printed when it has ended, unless all are to be printed as JSON.
///
/// # Errors
///
/// The errors of [`Suite::run_on`], and [`Error::Report`].
pub(crate) fn run(suite: Suite, devices: &[String], is_json: bool) -> Result<Results> {
    let mut printed = Ok(());
    let results = suite.run_on(devices, |record| {
        if printed.is_ok() && !is_json {
            printed = print(&line(record));
        }
    })?;
    printed.map(|()| results)
}

/// Writes the file for CI services.
///
/// # Errors
///
/// [`Error::Write`].
pub(crate) fn write_junit(target: Option<Target>, results: &Results) -> Result<()> {
    target.map_or(Ok(()), |target| target.write(|file| Ok(file.write_all(results.junit()?.as_bytes())?)))
}

/// The error of a run that failed. `error` makes it of the numbers of failed trials, trials, and problems of the run.
///
/// # Errors
///
/// What `error` makes, if a trial failed or the run has a problem.
pub(crate) fn judge(results: &Results, error: impl Fn(usize, usize, usize) -> Error) -> Result<()> {
    let (n_failed, n_problems) = (Counts::of(&results.trials).failed, results.problems.len());
    if n_failed + n_problems == 0 { Ok(()) } else { Err(error(n_failed, results.trials.len(), n_problems)) }
}
