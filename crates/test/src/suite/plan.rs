//! [`Plan`]: a suite whose settings are checked, and its run.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use libtest_mimic::{Arguments, Trial};
use vkarray::device::{Error as DriverError, Instance, environment};

use super::{NotRun, Suite};
use crate::context::Settings;
use crate::expectations::{Expectations, Verdict};
use crate::matrix::{Target, targets};
use crate::profile::Profile;
use crate::report::{Record, Results};
use crate::test::Test;
use crate::trial::supervise::{Ending, FAILED, Notes};
use crate::trial::{self, Log, NO_DEVICE, Run, panics};

/// The variable that says what a run does on a machine without a device.
const MODE: &str = "VKARRAY_TEST";
/// The variable with selectors of devices, separated by commas.
const DEVICES: &str = "VKARRAY_TEST_DEVICES";
/// The variable with profiles, separated by commas.
const PROFILES: &str = "VKARRAY_TEST_PROFILES";

const SKIP_WITHOUT_DEVICE: &str = "skip-without-device";

/// A suite whose settings are checked, with the devices of the run.
pub(super) struct Plan {
    suite: Suite,
    run: Arc<Run>,
    /// Why no test runs: there is no device, and that is allowed.
    skipped: Option<String>,
    targets: Vec<Target>,
    /// Keeps drivers loaded between trials; see [`Plan::find`].
    _instance: Option<Arc<Instance>>,
}

impl Plan {
    /// Applies the environment to the suite, checks it and finds the devices.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the suite, the environment or the machine.
    pub(super) fn of_environment(mut suite: Suite, folder: PathBuf, notes: Option<Notes>) -> Result<Self, String> {
        let profiles = list(PROFILES).iter().map(|text| text.parse()).collect::<Result<Vec<Profile>, _>>();
        let profiles = profiles.map_err(|error| format!("{PROFILES}: {error}"))?;
        if !profiles.is_empty() {
            suite.profiles = profiles;
        }
        let may_skip = may_skip(environment::text(MODE).as_deref())?;
        let selectors = list(DEVICES);
        let (run, required) = (Self::check(&mut suite, folder, notes)?, suite.require_devices);
        let (instance, found) = Self::find(&suite, &selectors);
        let (targets, skipped) = match found {
            Ok(targets) => (targets, None),
            Err(error) if error.is_no_device() && may_skip => (Vec::new(), Some(error.to_string())),
            Err(error) if error.is_no_device() => {
                return Err(format!("{error}; {MODE}={SKIP_WITHOUT_DEVICE} skips the tests on such a machine"));
            }
            Err(error) if selectors.is_empty() => return Err(error.to_string()),
            Err(error) => return Err(format!("{DEVICES}={}: {error}", selectors.join(","))),
        };
        if skipped.is_none() && targets.len() < required {
            let devices = labels(&targets);
            return Err(format!("{required} devices are required; {DEVICES} selects {}: {devices}", targets.len()));
        }
        Ok(Self { suite, run, skipped, targets, _instance: instance })
    }

    /// Checks the suite and finds the devices that the selectors name.
    ///
    /// # Errors
    ///
    /// [`NotRun`].
    pub(super) fn new(
        mut suite: Suite,
        folder: PathBuf,
        notes: Option<Notes>,
        selectors: &[String],
    ) -> Result<Self, NotRun> {
        let run = Self::check(&mut suite, folder, notes).map_err(NotRun::Setting)?;
        let (instance, found) = Self::find(&suite, selectors);
        let targets = found?;
        if targets.len() < suite.require_devices {
            let (required, devices) = (suite.require_devices, labels(&targets));
            return Err(NotRun::Setting(format!("{required} devices are required, and there is {devices}")));
        }
        Ok(Self { suite, run, skipped: None, targets, _instance: instance })
    }

    /// Checks the settings, and leaves out the tests that the filter does not name.
    fn check(suite: &mut Suite, folder: PathBuf, notes: Option<Notes>) -> Result<Arc<Run>, String> {
        check_names(&suite.tests)?;
        suite.tests.retain(|test| test.name.contains(&suite.filter));
        if !(suite.cpu_scale > 0.0 && suite.cpu_scale <= 1.0) {
            return Err(format!("cpu_scale is {}, which is not in (0, 1]", suite.cpu_scale));
        }
        for profile in &suite.profiles {
            profile.limits().map_err(|error| error.to_string())?;
        }
        let settings = Settings { cpu_scale: suite.cpu_scale, is_validated: suite.is_validated };
        let (expectations, time_limit) = (read_expectations(suite)?, suite.time_limit);
        let log = Mutex::new(Log::default());
        Ok(Arc::new(Run { folder, settings, expectations, time_limit, notes, log }))
    }

    /// The devices. The validation layer is loaded here too, so that a missing layer is reported once. The instance
    /// stays open until all trials have ended, so that drivers stay loaded: NVIDIA's can be loaded some thirty times a
    /// process.
    fn find(suite: &Suite, selectors: &[String]) -> (Option<Arc<Instance>>, Result<Vec<Target>, DriverError>) {
        let builder = Instance::builder();
        let builder = if suite.is_validated { builder.validation(true) } else { builder };
        let instance = builder.build();
        let found = instance.as_ref().map_err(Clone::clone).and_then(|instance| targets(instance, selectors));
        (instance.ok(), found)
    }

    fn trials(&self) -> Vec<Trial> {
        if let Some(reason) = &self.skipped {
            let ignored = |test: &Test| {
                let (run, test, reason) = (Arc::clone(&self.run), test.clone(), reason.clone());
                let name = format!("{}::{NO_DEVICE}", test.name);
                Trial::ignorable_test(name, move || Ok(run.skip(&test, &reason)))
            };
            return self.suite.tests.iter().map(ignored).collect();
        }
        let mut trials = Vec::new();
        for target in &self.targets {
            for test in &self.suite.tests {
                for profile in self.profiles_of(test) {
                    let name = trial::name(&test.name, &target.label, profile);
                    let (run, test, target, profile) =
                        (Arc::clone(&self.run), test.clone(), target.clone(), profile.clone());
                    trials.push(Trial::ignorable_test(name, move || run.trial(&test, &target, &profile)));
                }
            }
        }
        trials
    }

    fn profiles_of<'a>(&'a self, test: &'a Test) -> impl Iterator<Item = &'a Profile> {
        self.suite.profiles.iter().filter(|profile| !test.without.contains(profile))
    }

    /// Runs every trial, one after the other.
    pub(super) fn run_each(self, mut ended: impl FnMut(&Record)) -> Results {
        panics::keep();
        for target in &self.targets {
            for test in &self.suite.tests {
                for profile in self.profiles_of(test) {
                    ended(&self.run.record(test, target, profile));
                }
            }
        }
        let is_whole = self.suite.filter.is_empty();
        self.results(is_whole)
    }

    /// The trials that have ended, and the problems of the run. `is_whole` says that no trial was left out.
    fn results(self, is_whole: bool) -> Results {
        let Log { records, used, has_late, .. } = std::mem::take(&mut *self.run.log());
        let mut problems: Vec<String> = self.run.expectations.expired(today()).collect();
        problems.extend(panics::take_strays());
        if is_whole && self.skipped.is_none() {
            problems.extend(self.run.expectations.unused(&self.targets, &used));
            problems.extend(too_few(&self.targets, &records, self.suite.min_tests));
        }
        Results { suite: self.suite.name, devices: self.targets, trials: records, problems, has_late }
    }

    /// Runs the trials that the arguments choose, and writes the reports. Does not return if the thread of a trial
    /// still runs.
    pub(super) fn run(self, arguments: &Arguments) -> ExitCode {
        let trials = self.trials();
        if arguments.list {
            return libtest_mimic::run(arguments, trials).exit_code();
        }
        panics::keep();
        let conclusion = libtest_mimic::run(arguments, trials);
        let is_whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.ignored;
        let run = Arc::clone(&self.run);
        let mut results = self.results(is_whole);
        results.trials.sort_by(|a, b| (&a.device, &a.profile, &a.test).cmp(&(&b.device, &b.profile, &b.test)));
        results.trials.iter().filter_map(note).for_each(|line| println!("{line}"));
        results.problems.iter().for_each(|problem| println!("FAILED: {}: {problem}", results.suite));
        let is_written = results.report(&run.folder);
        if let Some(notes) = &run.notes {
            Ending::new(notes).end(results.has_late);
        }
        if results.problems.is_empty() && is_written { conclusion.exit_code() } else { ExitCode::from(FAILED) }
    }
}

/// A line about a trial that neither passed nor failed as usual.
fn note(record: &Record) -> Option<String> {
    let (word, reason) = match &record.verdict {
        Verdict::Passed | Verdict::Failed(_) => return None,
        Verdict::Skipped(reason) => ("skipped", reason),
        Verdict::FailedAsExpected(message) => ("failed as expected", message),
        Verdict::Flaky(message) => ("flaky", message),
    };
    let first_line = reason.lines().next().unwrap_or_default();
    Some(format!("{word}: {} on {} ({}): {first_line}", record.test, record.device, record.profile))
}

/// The labels of devices, for messages.
fn labels(targets: &[Target]) -> String {
    targets.iter().map(|target| target.label.as_str()).collect::<Vec<_>>().join(", ")
}

/// The parts of a variable, separated by commas; no parts if it is not set or empty.
fn list(variable: &str) -> Vec<String> {
    let text = environment::text(variable).unwrap_or_default();
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Whether `VKARRAY_TEST` allows a machine without a device.
fn may_skip(mode: Option<&str>) -> Result<bool, String> {
    match mode {
        None => Ok(false),
        Some(SKIP_WITHOUT_DEVICE) => Ok(true),
        Some(other) => Err(format!("{MODE} is \"{other}\"; it can only be {SKIP_WITHOUT_DEVICE}")),
    }
}

fn read_expectations(suite: &Suite) -> Result<Expectations, String> {
    let Some(path) = suite.expectations.as_ref().map(|path| suite.folder.join(path)) else {
        return Ok(Expectations::default());
    };
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Expectations::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Refuses two tests of one name, which would have the same line in reports.
fn check_names(tests: &[Test]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    let twice = tests.iter().find(|test| !names.insert(&test.name));
    twice.map_or(Ok(()), |test| Err(format!("two tests are called `{}`", test.name)))
}

/// A line for each device on which fewer than `min` tests ran under some profile.
fn too_few(targets: &[Target], records: &[Record], min: usize) -> Vec<String> {
    let has_run = |record: &&Record| !matches!(record.verdict, Verdict::Skipped(_));
    let tests = |label: &str| -> BTreeSet<&str> {
        let of_device = records.iter().filter(has_run).filter(|record| record.device == label);
        of_device.map(|record| record.test.as_str()).collect()
    };
    let counts = targets.iter().map(|target| (&target.label, tests(&target.label).len()));
    let few = counts.filter(|(_, n)| *n < min);
    few.map(|(label, n)| format!("{n} tests ran on {label}, and min_tests is {min}")).collect()
}

fn today() -> NaiveDate {
    DateTime::<Utc>::from(SystemTime::now()).date_naive()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::recorded;

    #[test]
    fn only_one_value_skips_without_a_device() {
        assert_eq!(may_skip(None), Ok(false));
        assert_eq!(may_skip(Some("skip-without-device")), Ok(true));
        let message = "VKARRAY_TEST is \"skip\"; it can only be skip-without-device";
        assert_eq!(may_skip(Some("skip")), Err(message.to_owned()));
    }

    #[test]
    fn two_tests_of_one_name_are_refused() {
        let test = |name: &str| Test::new(name, |_| ());
        assert_eq!(check_names(&[test("a"), test("b")]), Ok(()));
        assert_eq!(check_names(&[test("a"), test("b"), test("a")]), Err("two tests are called `a`".to_owned()));
    }

    #[test]
    fn a_test_counts_once_for_each_device_and_not_if_it_is_skipped() {
        let record = |test: &str, device: &str, profile: &str, verdict| Record {
            test: test.to_owned(),
            device: device.to_owned(),
            profile: profile.to_owned(),
            verdict,
            seconds: 0.0,
        };
        let records = [
            record("a", "lavapipe", "plain", Verdict::Passed),
            record("a", "lavapipe", "sanitized", Verdict::Passed),
            record("b", "lavapipe", "plain", Verdict::Skipped("f16".to_owned())),
            record("c", "lavapipe", "sanitized", Verdict::Failed(String::new())),
            record("d", "nvidia", "plain", Verdict::Passed),
        ];
        let targets = [recorded("lavapipe_22.3.6", "lavapipe"), recorded("h100_580.159", "nvidia")];
        assert_eq!(too_few(&targets, &records, 1), [] as [String; 0]);
        assert_eq!(too_few(&targets, &records, 2), ["1 tests ran on nvidia, and min_tests is 2"]);
        assert_eq!(too_few(&targets, &records, 3).len(), 2);
    }
}
