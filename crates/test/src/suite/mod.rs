//! [`Suite`]: the tests of a program, the devices and profiles they run on, and the rules for the run as a whole.
//! `plan.rs` checks the settings and runs the suite.

mod plan;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::Arguments;

use crate::compare::target_folder;
use crate::context::TestContext;
use crate::profile::Profile;
use crate::report::{Record, Results};
use crate::test::{Outcome, Test};
use crate::trial::supervise::{FAILED, Notes, Supervised, supervise};

use plan::Plan;

/// How long a trial may take if the suite does not say.
const TIME_LIMIT: Duration = Duration::from_secs(600);

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
    time_limit: Duration,
    is_validated: bool,
    filter: String,
}

/// A [`Suite`] of functions, each a test with the name of the function. The compiler warns of a function that is in no
/// list, since nothing uses it.
#[macro_export]
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        $crate::Suite::new(::core::env!("CARGO_CRATE_NAME"), ::core::env!("CARGO_MANIFEST_DIR"))
            $(.test($crate::Test::new(::core::stringify!($test), $test)))*
    };
}

impl Suite {
    /// A suite without tests, which runs tests plainly and with the sanitizer. `folder` is the folder of the package,
    /// to which paths are relative.
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
            time_limit: TIME_LIMIT,
            is_validated: false,
            filter: String::new(),
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

    /// The least number of tests that must run on each device, so that a test that is left out or skipped is noticed.
    /// The number is not checked in a run with a filter.
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

    /// How long a trial may take, with opening its device and building its kernels; ten minutes without this call. A
    /// trial that takes longer has failed. Its thread keeps running, and the other trials run.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use vkarray_test::Suite;
    ///
    /// let suite = Suite::new("kernels", ".").time_limit(Duration::from_secs(60));
    /// # drop(suite);
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Whether [`Suite::run_on`] opens devices under the validation layer; without this call `VKARRAY_VALIDATION`
    /// decides. [`Suite::run`] always does.
    pub fn validated(mut self, is_validated: bool) -> Self {
        self.is_validated = is_validated;
        self
    }

    /// Lets [`Suite::run_on`] run only the tests with this text in their names. Rules about the run as a whole, such as
    /// [`Suite::min_tests`], do not hold then.
    ///
    /// ```
    /// let suite = vkarray_test::Suite::new("kernels", ".").validated(true).filter("saxpy");
    /// # drop(suite);
    /// ```
    pub fn filter(mut self, text: impl Into<String>) -> Self {
        self.filter = text.into();
        self
    }

    /// Runs the tests as the arguments of the program and the environment say, and writes the reports. Takes the
    /// arguments of libtest, and runs under cargo-nextest too.
    ///
    /// The tests run in another process of the same program, so that a run is a failure also if a test or a driver ends that
    /// process. `main` should do nothing else.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let (suite, folder) = (self.name.clone(), target_folder().join(&self.name));
        let notes = Notes::of_environment(&suite);
        if notes.is_none() && !arguments.list {
            return match supervise(&suite, &folder, &[]) {
                Supervised::Died(results) => {
                    results.problems.iter().for_each(|problem| eprintln!("error: {suite}: {problem}"));
                    results.report(&folder);
                    ExitCode::from(FAILED)
                }
                Supervised::Ended(code) => ExitCode::from(code.unwrap_or(FAILED)),
                Supervised::Inside(_) => unreachable!("this process has no notes"),
            };
        }
        let code = match Plan::of_environment(self.validated(true), folder.clone(), notes.clone()) {
            Ok(plan) => plan.run(&arguments),
            Err(problem) => {
                eprintln!("error: {suite}: {problem}");
                Results::of_problem(&suite, problem).report(&folder);
                ExitCode::from(FAILED)
            }
        };
        notes.iter().for_each(Notes::write_end);
        code
    }
}

impl Suite {
    /// Runs the tests one after the other, under each profile, for a program that has its own arguments and prints its
    /// own report. `devices` selects the devices: `all` is every visible device, and an empty list is the device that a
    /// program would open. `ended` gets each trial as it ends. The variables of [`Suite::run`] are not read. A program
    /// that calls [`supervise`](crate::supervise) first is judged also if a driver ends it.
    ///
    /// ```
    /// use vkarray_test::{Profile, Suite, Test, Verdict};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let zeros = Test::new("zeros", |ctx| {
    ///     assert_eq!(ctx.zeros::<u32>(3)?.to_vec()?, [0; 3]);
    ///     Ok::<_, vkarray::Error>(())
    /// });
    /// let mut n_ended = 0;
    /// let suite = Suite::new("machine", ".").profiles([Profile::Plain]).test(zeros);
    /// let results = suite.run_on(&[], |_| n_ended += 1)?;
    /// assert_eq!((n_ended, results.trials.len()), (1, 1));
    /// assert!(matches!(results.trials[0].verdict, Verdict::Passed));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotRun`], before any trial.
    pub fn run_on(self, devices: &[String], ended: impl FnMut(&Record)) -> Result<Results, NotRun> {
        let folder = target_folder().join(&self.name);
        let notes = Notes::of_environment(&self.name);
        Ok(Plan::new(self, folder, notes, devices)?.run_each(ended))
    }
}

/// Why the tests of a suite do not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotRun {
    /// There is no device, a selector matches none, or the validation layer is missing.
    #[error(transparent)]
    Device(#[from] vkarray::device::Error),
    /// A setting of the suite is wrong.
    #[error("{0}")]
    Setting(String),
}
