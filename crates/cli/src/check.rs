//! `vkarray check`: every primitive and sample shader against a computation on the host, on the devices of this machine.
//!
//! `vkarray-checks` has the checks, which the project's own tests run too. `vkarray-test` opens the devices, judges and
//! reports. This file selects the checks, and prints each when it has ended.

use std::io::Write;
use std::time::Instant;

use vkarray_checks::{CHECKS, Check};
use vkarray_test::{Record, Results, Suite, Test, Verdict};

use crate::args::CheckArgs;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::stdio::print;

/// Runs the checks and prints a line for each.
///
/// # Errors
///
/// [`Error::NoCheck`] and the errors of [`Files::target`] before anything runs; [`Error::Array`] for the choice of
/// devices; [`Error::Write`] for the report; [`Error::Checks`] if a check fails.
pub(crate) fn check(args: &CheckArgs) -> Result<()> {
    let begun = Instant::now();
    let junit = args.junit.as_ref().map(|path| Files::default().target(path)).transpose()?;
    let filter = args.filter.as_deref().unwrap_or_default();
    let tests: Vec<Test> =
        CHECKS.iter().map(test).filter(|(name, _)| name.contains(filter)).map(|(_, test)| test).collect();
    if tests.is_empty() {
        return Err(Error::NoCheck { filter: filter.to_owned() });
    }
    if args.list {
        return print(&names(filter));
    }
    let suite = tests.into_iter().fold(Suite::new("check", "."), Suite::test);
    let mut printed = Ok(());
    let results = suite.run_on(&args.device, |record| {
        if printed.is_ok() && !args.json {
            printed = print(&line(record));
        }
    })?;
    printed?;
    if let Some(target) = junit {
        target.write(|file| Ok(file.write_all(results.junit()?.as_bytes())?))?;
    }
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&results).expect("plain numbers and texts")))?;
    } else {
        print(&summary(&results, begun.elapsed().as_secs_f64()))?;
    }
    let n_failed = count(&results, |verdict| matches!(verdict, Verdict::Failed(_)));
    if n_failed == 0 { Ok(()) } else { Err(Error::Checks { n_failed, n_checks: results.trials.len() }) }
}

/// A line for each check, with the feature that it needs.
fn names(filter: &str) -> String {
    let named = CHECKS.iter().map(|check| (format!("{}::{}", check.room, check.name), check.need));
    let line = |(name, need): (String, Option<(&str, _)>)| match need {
        Some((feature, _)) => format!("{name}  needs {feature}\n"),
        None => format!("{name}\n"),
    };
    named.filter(|(name, _)| name.contains(filter)).map(line).collect()
}

/// A check as a test, with its full name.
fn test(check: &Check) -> (String, Test) {
    let name = format!("{}::{}", check.room, check.name);
    let run = check.run;
    let test = Test::new(name.clone(), move |ctx| run(ctx));
    (name, check.need.iter().fold(test, |test, (feature, has)| test.needs_that(feature, *has)))
}

fn count(results: &Results, is_counted: impl Fn(&Verdict) -> bool) -> usize {
    results.trials.iter().filter(|record| is_counted(&record.verdict)).count()
}

/// The line of a check, and the lines that differ.
fn line(record: &Record) -> String {
    let Record { test, device, seconds, verdict, .. } = record;
    match verdict {
        Verdict::Skipped(reason) => format!("skip  {device}  {test}: {reason}\n"),
        Verdict::Failed(message) => {
            format!("FAIL  {device}  {test}  {seconds:.2} s\n      {}\n", message.replace('\n', "\n      "))
        }
        _ => format!("ok    {device}  {test}  {seconds:.2} s\n"),
    }
}

/// The devices, and how many checks passed.
fn summary(results: &Results, seconds: f64) -> String {
    let device = |label: &str, name: &str, driver: &str| format!("{label}: {name}, {driver}\n");
    let devices = results.devices.iter().map(|target| {
        let faults = crate::info::faults(&target.info);
        device(&target.label, &target.info.name, &target.driver()) + &faults
    });
    let n_failed = count(results, |verdict| matches!(verdict, Verdict::Failed(_)));
    let n_skipped = count(results, |verdict| matches!(verdict, Verdict::Skipped(_)));
    let n_passed = results.trials.len() - n_failed - n_skipped;
    format!(
        "{}{n_passed} passed, {n_failed} failed, {n_skipped} skipped in {seconds:.1} s\n",
        devices.collect::<String>()
    )
}
