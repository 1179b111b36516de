//! `vkarray check`: every primitive and sample shader against a computation on the host, on the devices of this machine.
//!
//! `vkarray-checks` has the checks, which the project's own tests run too. `vkarray-test` opens the devices, judges and
//! reports. This file selects the checks, and prints each when it has ended.

use std::time::Instant;

use vkarray_checks::{CHECKS, Check};
use vkarray_test::{Profile, Suite, Test};

use super::report;
use crate::args::CheckArgs;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::stdio::{json, print};

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
    let suite = tests.into_iter().fold(Suite::new("check", ".").profiles([Profile::Plain]), Suite::test);
    let results = report::run(suite, &args.device, args.json)?;
    report::write_junit(junit, &results)?;
    if args.json {
        print(&json(&results))?;
    } else {
        print(&report::summary(&results, begun.elapsed().as_secs_f64()))?;
    }
    report::judge(&results, |n_failed, n_checks, _| Error::Checks { n_failed, n_checks })
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
