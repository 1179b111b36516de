//! [`Suite`]: the tests of a program, the devices and profiles they run on, and what holds for the run as a whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use libtest_mimic::{Arguments, Completion, Trial};
use vkarray::device::Instance;

use crate::compare::target_folder;
use crate::context::{Settings, TestContext};
use crate::expectations::{Expectations, Verdict};
use crate::matrix::{Target, targets};
use crate::profile::Profile;
use crate::report::{Record, Results};
use crate::test::{Outcome, Test};
use crate::trial::{self, Log, Run};

/// What a run does on a machine without a device.
const MODE: &str = "VKARRAY_TEST";
/// Selectors of devices, with commas between.
const DEVICES: &str = "VKARRAY_TEST_DEVICES";
/// Profiles, with commas between.
const PROFILES: &str = "VKARRAY_TEST_PROFILES";

const SKIP_WITHOUT_DEVICE: &str = "skip-without-device";

/// The exit code of a run with failures, as libtest has it.
const FAILED: u8 = 101;

/// Tests, and how they run. [`suite!`](crate::suite) makes one of functions.
#[derive(Debug)]
#[must_use = "a suite runs when `run` is called"]
pub struct Suite {
    name: String,
    folder: PathBuf,
    tests: Vec<Test>,
    profiles: Vec<Profile>,
    expectations: Option<PathBuf>,
    min_tests: usize,
    require_devices: usize,
    cpu_scale: f64,
}

/// A [`Suite`] of functions, each a test with the name of the function. The compiler warns of functions that are in no
/// list, since nothing uses them.
#[macro_export]
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        $crate::Suite::new(::core::env!("CARGO_CRATE_NAME"), ::core::env!("CARGO_MANIFEST_DIR"))
            $(.test($crate::Test::new(::core::stringify!($test), $test)))*
    };
}

impl Suite {
    /// A suite without tests, which runs them plainly and with the sanitizer. `folder` is that of the package, to which paths
    /// are relative.
    pub fn new(name: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            folder: folder.into(),
            tests: Vec::new(),
            profiles: vec![Profile::Plain, Profile::Sanitized],
            expectations: None,
            min_tests: 0,
            require_devices: 0,
            cpu_scale: 1.0,
        }
    }

    /// Adds a test.
    pub fn test(mut self, test: Test) -> Self {
        self.tests.push(test);
        self
    }

    /// Adds a function as a test.
    pub fn function<R: Outcome>(self, name: &str, body: impl Fn(&TestContext) -> R + Send + Sync + 'static) -> Self {
        self.test(Test::new(name, body))
    }

    /// The profiles under which each test runs; `VKARRAY_TEST_PROFILES` has precedence.
    pub fn profiles(mut self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        self.profiles = profiles.into_iter().collect();
        self
    }

    /// The file of known failures, relative to the folder of the package. The guide has its format.
    pub fn expectations(mut self, path: impl Into<PathBuf>) -> Self {
        self.expectations = Some(path.into());
        self
    }

    /// The least number of tests that must run on each device, so that a test that is left out or skipped is noticed. A run
    /// with a filter is not counted.
    pub fn min_tests(mut self, n: usize) -> Self {
        self.min_tests = n;
        self
    }

    /// The least number of devices that the tests must run on.
    pub fn require_devices(mut self, n: usize) -> Self {
        self.require_devices = n;
        self
    }

    /// The part of a size that [`TestContext::scaled`] leaves on CPU drivers: more than 0, and 1 at most.
    pub fn cpu_scale(mut self, scale: f64) -> Self {
        self.cpu_scale = scale;
        self
    }

    /// Runs the tests as the arguments of the program and the environment say, and writes the reports. Takes the arguments
    /// of libtest, and runs under cargo-nextest too.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let results = target_folder().join(&self.name);
        match Plan::new(self, results.clone()) {
            Ok(plan) => plan.run(&arguments),
            Err((suite, problem)) => {
                eprintln!("error: {suite}: {problem}");
                let failed = Results { suite, devices: Vec::new(), trials: Vec::new(), problems: vec![problem] };
                report(&failed, &results);
                ExitCode::from(FAILED)
            }
        }
    }
}

impl Suite {
    /// Runs the tests one after the other for a program that has its own arguments and prints its own report: plainly, on the
    /// devices that `devices` selects (`all` for every visible one, nothing for the one that a program would open), under
    /// the validation layer only if `VKARRAY_VALIDATION` is set. `ended` gets each trial as it ends. Of the settings of the
    /// suite, only [`Suite::cpu_scale`] matters.
    ///
    /// ```
    /// use vkarray_test::{Suite, Test, Verdict};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let zeros = Test::new("zeros", |ctx| {
    ///     assert_eq!(ctx.zeros::<u32>(3)?.to_vec()?, [0; 3]);
    ///     Ok::<_, vkarray::Error>(())
    /// });
    /// let mut n_ended = 0;
    /// let results = Suite::new("machine", ".").test(zeros).run_on(&[], |_| n_ended += 1)?;
    /// assert_eq!((n_ended, results.trials.len()), (1, 1));
    /// assert!(matches!(results.trials[0].verdict, Verdict::Passed));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// No device, or a selector that matches none.
    pub fn run_on(self, devices: &[String], mut ended: impl FnMut(&Record)) -> Result<Results, vkarray::device::Error> {
        // Open until all trials have ended, so that drivers stay loaded: NVIDIA's can be loaded some thirty times a process.
        let instance = Instance::new()?;
        let targets = targets(&instance, devices)?;
        let settings = Settings { cpu_scale: self.cpu_scale, is_validated: false };
        let folder = target_folder().join(&self.name);
        let run = Run { folder, settings, expectations: Expectations::default(), log: Mutex::new(Log::default()) };
        trial::keep_panics();
        let mut trials = Vec::new();
        for target in &targets {
            for test in &self.tests {
                let record = run.record(test, target, &Profile::Plain);
                ended(&record);
                trials.push(record);
            }
        }
        drop(instance);
        Ok(Results { suite: self.name, devices: targets, trials, problems: Vec::new() })
    }
}

/// A suite whose settings are checked, with the devices of the run.
struct Plan {
    suite: Suite,
    run: Arc<Run>,
    /// Why nothing runs: there is no device, and that is allowed.
    skipped: Option<String>,
    targets: Vec<Target>,
    /// Keeps drivers loaded between trials, as in [`Suite::run_on`].
    _instance: Option<Arc<Instance>>,
}

impl Plan {
    /// Checks the settings and finds the devices. The error has the name of the suite.
    fn new(mut suite: Suite, folder: PathBuf) -> Result<Self, (String, String)> {
        let name = suite.name.clone();
        let named = |problem| (name.clone(), problem);
        check_names(&suite.tests).map_err(named)?;
        if !(suite.cpu_scale > 0.0 && suite.cpu_scale <= 1.0) {
            return Err(named(format!("cpu_scale is {}, which is not in (0, 1]", suite.cpu_scale)));
        }
        let profiles = list(PROFILES).iter().map(|text| text.parse()).collect::<Result<Vec<Profile>, _>>();
        let profiles = profiles.map_err(|error| named(format!("{PROFILES}: {error}")))?;
        if !profiles.is_empty() {
            suite.profiles = profiles;
        }
        for profile in &suite.profiles {
            profile.limits().map_err(|error| named(error.to_string()))?;
        }
        let expectations = read_expectations(&suite).map_err(named)?;
        let may_skip = may_skip(std::env::var(MODE).ok().as_deref()).map_err(named)?;
        // The layer is asked for here too, so that a missing one is reported once.
        let selectors = list(DEVICES);
        let instance = Instance::builder().validation(true).build();
        let found = instance.as_ref().map_err(Clone::clone).and_then(|instance| targets(instance, &selectors));
        let (targets, skipped) = match found {
            Ok(targets) => (targets, None),
            Err(error) if error.is_no_device() && may_skip => (Vec::new(), Some(error.to_string())),
            Err(error) if error.is_no_device() => {
                return Err(named(format!("{error}; {MODE}={SKIP_WITHOUT_DEVICE} skips the tests on such a machine")));
            }
            Err(error) if selectors.is_empty() => return Err(named(error.to_string())),
            Err(error) => return Err(named(format!("{DEVICES}={}: {error}", selectors.join(",")))),
        };
        if skipped.is_none() && targets.len() < suite.require_devices {
            let labels: Vec<&str> = targets.iter().map(|target| target.label.as_str()).collect();
            let (needed, devices) = (suite.require_devices, labels.join(", "));
            return Err(named(format!(
                "{needed} devices are required; {DEVICES} selects {}: {devices}",
                targets.len()
            )));
        }
        let settings = Settings { cpu_scale: suite.cpu_scale, is_validated: true };
        let run = Run { folder, settings, expectations, log: Mutex::new(Log::default()) };
        Ok(Self { suite, run: Arc::new(run), skipped, targets, _instance: instance.ok() })
    }

    fn trials(&self) -> Vec<Trial> {
        if let Some(reason) = &self.skipped {
            let ignored = |test: &Test| {
                let reason = reason.clone();
                Trial::ignorable_test(format!("{}::no-device", test.name), || Ok(Completion::ignored_with(reason)))
            };
            return self.suite.tests.iter().map(ignored).collect();
        }
        let mut trials = Vec::new();
        for target in &self.targets {
            for test in &self.suite.tests {
                for profile in self.suite.profiles.iter().filter(|profile| !test.without.contains(profile)) {
                    let name = trial::name(&test.name, &target.label, profile);
                    let (run, test, target, profile) =
                        (Arc::clone(&self.run), test.clone(), target.clone(), profile.clone());
                    trials.push(Trial::ignorable_test(name, move || run.trial(&test, &target, &profile)));
                }
            }
        }
        trials
    }

    fn run(self, arguments: &Arguments) -> ExitCode {
        let trials = self.trials();
        if arguments.list {
            return libtest_mimic::run(arguments, trials).exit_code();
        }
        trial::keep_panics();
        let conclusion = libtest_mimic::run(arguments, trials);
        let Log { mut records, used } = std::mem::take(&mut *self.run.log());
        records.sort_by(|a, b| (&a.device, &a.profile, &a.test).cmp(&(&b.device, &b.profile, &b.test)));
        let is_whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.ignored;
        let mut problems: Vec<String> = self.run.expectations.expired(today()).collect();
        if is_whole && self.skipped.is_none() {
            problems.extend(self.run.expectations.unused(&self.targets, &used));
            problems.extend(too_few(&self.targets, &records, self.suite.min_tests));
        }
        let results = Results { suite: self.suite.name, devices: self.targets, trials: records, problems };
        results.trials.iter().filter_map(note).for_each(|line| println!("{line}"));
        results.problems.iter().for_each(|problem| println!("FAILED: {}: {problem}", results.suite));
        let is_written = report(&results, &self.run.folder);
        if results.problems.is_empty() && is_written { conclusion.exit_code() } else { ExitCode::from(FAILED) }
    }
}

/// Writes the reports. Returns whether that worked.
fn report(results: &Results, folder: &std::path::Path) -> bool {
    let written = results.write(folder);
    match &written {
        Ok(()) => println!("reports: {}", folder.join("{junit.xml,report.json}").display()),
        Err(error) => eprintln!("error: the reports could not be written: {error}"),
    }
    written.is_ok()
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

/// The parts of a variable that has commas between; none if it is not set or empty.
fn list(variable: &str) -> Vec<String> {
    let text = std::env::var(variable).unwrap_or_default();
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Whether `VKARRAY_TEST` allows a machine without a device.
fn may_skip(mode: Option<&str>) -> Result<bool, String> {
    match mode.map(str::trim) {
        None | Some("") => Ok(false),
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

/// Two tests of one name would have the same line in reports.
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
        assert_eq!(may_skip(Some("")), Ok(false));
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
