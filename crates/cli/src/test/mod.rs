//! `vkarray test` and `vkarray check`: tests of shaders without Rust, and the project's own checks of a machine.
//!
//! `file.rs` plans the tests of a file, `sizes.rs` and `expected.rs` have two of their keys, and `place.rs` finds the line
//! of a fault; `case.rs` runs a test. `vkarray-test` opens the devices, judges the trials and writes the reports.
//! `report.rs` prints them, `github.rs` for GitHub's jobs, and `skips.rs` counts what was not run. `init.rs` writes a
//! first file. `check.rs` is `vkarray check`.

mod case;
mod check;
mod expected;
mod file;
mod github;
mod init;
mod place;
mod report;
mod sizes;
mod skips;

use std::sync::Arc;
use std::time::{Duration, Instant};

use vkarray::device::environment::switch;
use vkarray_test::{Profile, Results, Suite, Supervised, supervise};

pub(crate) use check::check;

use crate::args::TestArgs;
use crate::error::{Error, Result};
use crate::files::{Files, Target};
use crate::run::plan::BuildArgs;
use crate::run::step::Shaders;
use crate::stdio::{json, print};
use case::Case;
use file::TestFile;

/// The name of the suite in reports.
const SUITE: &str = "vkarray-test";

/// Runs the tests in a process of their own, and reports them; or lists them, or writes a first file.
///
/// # Errors
///
/// The first fault of the flags and the files, before a device is opened; [`Error::Tests`] if a trial failed.
pub(crate) fn test(args: &TestArgs) -> Result<()> {
    if let Some(folder) = &args.init {
        return init::write(folder);
    }
    if args.list {
        let files = read(args)?;
        let names = files.iter().flat_map(|file| &file.cases).map(|case| format!("{}\n", case.name));
        return print(&names.collect::<String>());
    }
    let folder =
        tempfile::tempdir().map_err(|reason| Error::Write { path: std::env::temp_dir(), reason: reason.into() })?;
    // The second process reads the switch, as the tests in Rust do.
    let bless: &[_] = if args.bless { &[("VKARRAY_BLESS", "1")] } else { &[] };
    match supervise(SUITE, folder.path(), bless) {
        Supervised::Inside(ending) => {
            let mut has_late = false;
            let outcome = run(args, &mut has_late);
            if let (true, Err(error)) = (has_late, &outcome) {
                eprintln!("error: {error}"); // The process ends here.
            }
            ending.end(has_late);
            outcome
        }
        Supervised::Ended(Some(0)) => Ok(()),
        Supervised::Ended(code) => Err(Error::Reported { code: code.unwrap_or(1) }),
        Supervised::Died(results) => report(args, junit(args)?, &[], &results, Instant::now()),
    }
}

/// Runs the tests in this process.
fn run(args: &TestArgs, has_late: &mut bool) -> Result<()> {
    let begun = Instant::now();
    let junit = junit(args)?;
    let profiles: Vec<Profile> =
        args.profile.iter().map(|text| text.parse()).collect::<std::result::Result<_, _>>().map_err(Error::Setting)?;
    let files = read(args)?;
    let is_validated = switch("VKARRAY_VALIDATION")?.unwrap_or(true);
    let suite = Suite::new(SUITE, "").profiles(profiles).validated(is_validated);
    let suite =
        suite.filter(args.filter.clone().unwrap_or_default()).time_limit(Duration::from_secs(args.time_limit.get()));
    let limit = args.build_limit.map(|seconds| Duration::from_secs(seconds.get()));
    let how = BuildArgs { sanitize: None, limit, unsafe_addresses: args.unsafe_addresses };
    let suite = args.expectations.iter().fold(suite, Suite::expectations);
    let suite = files.iter().flat_map(|file| &file.cases).fold(suite, |suite, case| suite.test(case.test(how)));
    let mut results = report::run(suite, &args.device, args.json)?;
    *has_late = results.has_late;
    let is_whole = args.filter.is_none() && args.profile.iter().any(|profile| profile == "sanitized");
    for file in &files {
        match skips::judge(file, &results, is_whole) {
            Ok(note) => note.iter().for_each(|note| eprintln!("note: {note}")),
            Err(problem) => results.problems.push(problem),
        }
    }
    report(args, junit, &files, &results, begun)
}

/// Reads the files of the tests.
fn read(args: &TestArgs) -> Result<Vec<TestFile>> {
    let mut shaders = Shaders::default();
    let files: Vec<_> = args.files.iter().map(|path| TestFile::read(path, &mut shaders)).collect::<Result<_>>()?;
    let filter = args.filter.as_deref().unwrap_or_default();
    if files.iter().flat_map(|file| &file.cases).any(|case| case.name.contains(filter)) {
        return Ok(files);
    }
    Err(Error::NoTest { filter: filter.to_owned() })
}

fn junit(args: &TestArgs) -> Result<Option<Target>> {
    let mut files = Files::default();
    args.files.iter().for_each(|path| files.read(path, None));
    args.junit.as_ref().map(|path| files.target(path)).transpose()
}

/// Writes the reports. The error says how many trials failed.
fn report(args: &TestArgs, junit: Option<Target>, files: &[TestFile], results: &Results, begun: Instant) -> Result<()> {
    report::write_junit(junit, results)?;
    let cases: Vec<&Arc<Case>> = files.iter().flat_map(|file| &file.cases).collect();
    if args.json {
        print(&json(results))?;
    } else {
        print(&report::summary(results, begun.elapsed().as_secs_f64()))?;
        print(&results.problems.iter().map(|problem| format!("FAIL  {problem}\n")).collect::<String>())?;
        print(&github::annotations(results, &cases))?;
    }
    github::write_summary(results)?;
    report::judge(results, |n_failed, n_trials, n_problems| Error::Tests { n_failed, n_trials, n_problems })
}
