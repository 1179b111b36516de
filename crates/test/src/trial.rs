//! One trial: a test on a device under a profile, run, judged and recorded.
//!
//! Panics are caught here, with the line that they came from, so that a device is closed and checked after each test.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use libtest_mimic::{Completion, Failed};

use crate::compare;
use crate::context::{Settings, TestContext};
use crate::expectations::{Behaviour, Expectations, Verdict, judge};
use crate::matrix::Target;
use crate::profile::Profile;
use crate::report::Record;
use crate::test::Test;

/// What the trials of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    /// Where the files of the run are kept.
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) expectations: Expectations,
    pub(crate) log: Mutex<Log>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    /// The indices of the expectations that trials had.
    pub(crate) used: Vec<usize>,
}

/// The name of a trial.
pub(crate) fn name(test: &str, device: &str, profile: &Profile) -> String {
    match profile {
        Profile::Plain => format!("{test}::{device}"),
        profile => format!("{test}::{device}::{profile}"),
    }
}

impl Run {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        // A panic under the lock leaves both lists whole.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a test, records how it ended, and says it as the harness of other Rust tests does.
    pub(crate) fn trial(&self, test: &Test, target: &Target, profile: &Profile) -> Result<Completion, Failed> {
        match self.record(test, target, profile).verdict {
            Verdict::Failed(message) => Err(message.into()),
            Verdict::Skipped(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Passed | Verdict::FailedAsExpected(_) | Verdict::Flaky(_) => Ok(Completion::Completed),
        }
    }

    /// Runs a test and records how it ended.
    pub(crate) fn record(&self, test: &Test, target: &Target, profile: &Profile) -> Record {
        let begun = Instant::now();
        let expected = self.expectations.find(&test.name, target, profile);
        let verdict = self.verdict(test, target, profile, expected);
        let verdict = match verdict {
            Verdict::Failed(message) => {
                Verdict::Failed(format!("on {}, {}: {message}", target.info.name, target.driver()))
            }
            other => other,
        };
        let record = Record {
            test: test.name.clone(),
            device: target.label.clone(),
            profile: profile.to_string(),
            verdict,
            seconds: begun.elapsed().as_secs_f64(),
        };
        let mut log = self.log();
        log.used.extend(expected);
        log.records.push(record.clone());
        record
    }

    fn verdict(&self, test: &Test, target: &Target, profile: &Profile, expected: Option<usize>) -> Verdict {
        if let Some(missing) = test.missing_from(&target.info) {
            return Verdict::Skipped(format!("the device lacks {missing}"));
        }
        let expected = expected.map(|index| self.expectations.get(index));
        if let Some(entry) = expected.filter(|entry| entry.behaviour == Behaviour::Skip) {
            return Verdict::Skipped(format!("{} ({})", entry.reason, entry.link));
        }
        compare::set_folder(self.folder.join(name(&test.name, &target.label, profile).replace("::", "--")));
        let mut attempts = Vec::new();
        for _ in 0..expected.map_or(1, |entry| entry.n_attempts()) {
            attempts.push(self.attempt(test, target, profile));
            if attempts.last().is_some_and(Result::is_ok) {
                break;
            }
        }
        judge(expected, &attempts)
    }

    /// Opens the device, runs the test and closes the device.
    fn attempt(&self, test: &Test, target: &Target, profile: &Profile) -> Result<(), String> {
        let ctx = TestContext::open(target, profile, self.settings).map_err(|error| error.to_string())?;
        PANIC.set(Some(String::new()));
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| (test.body)(&ctx)));
        let panicked = PANIC.take().unwrap_or_default();
        let failure = outcome.unwrap_or(Some(format!("panicked: {panicked}")));
        let is_idle = failure.is_none() && !test.may_be_idle && !ctx.was_used();
        let problems = ctx.close();
        if let Some(message) = failure {
            // What is found when the device is closed may follow from the failure.
            return Err(problems.iter().fold(message, |message, problem| format!("{message}\nalso: {problem}")));
        }
        if is_idle {
            return Err("it created no array and built no kernel, so it checked nothing; \
                        `Test::may_be_idle` allows that"
                .to_owned());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
    }
}

thread_local! {
    /// On a thread that runs a test: the message of its last panic.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the messages of panics in tests for the reports, instead of printing them at once.
pub(crate) fn keep_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_kept = PANIC.with_borrow_mut(|kept| {
            let Some(kept) = kept else { return false };
            let place = info.location().map(|location| format!(" ({location})")).unwrap_or_default();
            *kept = format!("{}{place}", info.payload_as_str().unwrap_or("no message"));
            true
        });
        if !is_kept {
            print(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use vkarray::device::Features;

    use super::*;
    use crate::matrix::recorded;

    #[test]
    fn names_have_the_device_and_all_profiles_but_the_plain_one() {
        assert_eq!(name("a", "nvidia", &Profile::Plain), "a::nvidia");
        assert_eq!(name("a", "nvidia", &Profile::Sanitized), "a::nvidia::sanitized");
        assert_eq!(name("a", "nvidia", &Profile::Limits("mobile".to_owned())), "a::nvidia::limits-mobile");
    }

    #[test]
    fn a_missing_feature_and_an_entry_skip_a_test_with_their_reasons() {
        let text = "count = 1\n[[expect]]\ntest = \"b\"\ndriver = \"swiftshader\"\nbehaviour = \"skip\"\nreason = \"slow\"\n\
                    link = \"https://example.org\"\nuntil = \"2026-06-30\"\n";
        let expectations = Expectations::parse(text).unwrap();
        let run = Run {
            folder: PathBuf::new(),
            settings: Settings { cpu_scale: 1.0, is_validated: true },
            expectations,
            log: Mutex::new(Log::default()),
        };
        let target = recorded("swiftshader_5.0.0", "swiftshader");
        let halves = Features { shader_float16: true, ..Features::default() };
        let never = |_: &TestContext| -> Result<(), String> { Err("it ran".to_owned()) };
        for (test, reason) in [
            (Test::new("a", never).needs(halves), "the device lacks shader_float16"),
            (Test::new("a", never).needs_that("wings", |_| false), "the device lacks wings"),
            (Test::new("b", never), "slow (https://example.org)"),
        ] {
            assert!(matches!(run.trial(&test, &target, &Profile::Plain), Ok(Completion::Ignored { .. })));
            assert_eq!(run.log().records.last().unwrap().verdict, Verdict::Skipped(reason.to_owned()));
        }
        assert_eq!(run.log().used, [0]);
    }
}
