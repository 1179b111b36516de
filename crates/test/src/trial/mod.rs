//! One trial: a test on a device under a profile, run, judged and recorded.
//!
//! A trial has a thread of its own. If it does not end, the run goes on without it and names it. `panics.rs` catches
//! panics, so that a device is closed and checked after each test. `supervise.rs` judges the process that all trials
//! run in.

pub(crate) mod panics;
pub(crate) mod supervise;

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Failed};

use crate::compare;
use crate::context::{Settings, TestContext};
use crate::expectations::{Behaviour, Expectations, Verdict, judge};
use crate::matrix::Target;
use crate::profile::Profile;
use crate::report::Record;
use crate::test::Test;

use panics::Running;
use supervise::Notes;

/// The state that the trials of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    /// The folder of the run's files.
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) expectations: Expectations,
    /// How long a trial may take.
    pub(crate) time_limit: Duration,
    /// The file that says which trials run.
    pub(crate) notes: Option<Notes>,
    pub(crate) log: Mutex<Log>,
}

/// The record of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    /// The indices of the expectations that trials used.
    pub(crate) used: Vec<usize>,
    /// The names of the trials that have begun and not ended.
    running: Vec<String>,
    /// Whether the thread of a trial still runs after its limit.
    pub(crate) has_late: bool,
}

/// The label that stands for a device in the reports of a machine without devices.
pub(crate) const NO_DEVICE: &str = "no-device";

/// The name of a trial.
pub(crate) fn name(test: &str, device: &str, profile: &Profile) -> String {
    match profile {
        Profile::Plain => format!("{test}::{device}"),
        profile => format!("{test}::{device}::{profile}"),
    }
}

impl Run {
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        // A panic under the lock leaves both lists valid.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a test, records how it ended, and prints the result in the form of the harness of Rust tests.
    pub(crate) fn trial(
        self: &Arc<Self>,
        test: &Test,
        target: &Target,
        profile: &Profile,
    ) -> Result<Completion, Failed> {
        match self.record(test, target, profile).verdict {
            Verdict::Failed(message) => Err(message.into()),
            Verdict::Skipped(reason) => Ok(Completion::ignored_with(reason)),
            Verdict::Passed | Verdict::FailedAsExpected(_) | Verdict::Flaky(_) => Ok(Completion::Completed),
        }
    }

    /// Records a test that is not run because there is no device.
    pub(crate) fn skip(&self, test: &Test, reason: &str) -> Completion {
        let verdict = Verdict::Skipped(reason.to_owned());
        let (device, profile) = (NO_DEVICE.to_owned(), Profile::Plain.to_string());
        self.log().records.push(Record { test: test.name.clone(), device, profile, verdict, seconds: 0.0 });
        Completion::ignored_with(reason)
    }

    /// Runs a test and records how it ended.
    pub(crate) fn record(self: &Arc<Self>, test: &Test, target: &Target, profile: &Profile) -> Record {
        let begun = Instant::now();
        let name = name(&test.name, &target.label, profile);
        self.note(|running| running.push(name.clone()));
        let expected = self.expectations.find(&test.name, target, profile);
        let verdict = self.limited(&name, test, target, profile);
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
        self.note(|running| running.retain(|other| *other != name));
        let mut log = self.log();
        log.used.extend(expected);
        log.records.push(record.clone());
        record
    }

    /// Changes the list of trials that run, and notes it.
    fn note(&self, change: impl FnOnce(&mut Vec<String>)) {
        let mut log = self.log();
        change(&mut log.running);
        if let Some(notes) = &self.notes {
            notes.write_running(&log.running);
        }
    }

    /// Runs a test on a thread of its own. A test that takes longer than the limit has failed, and its thread keeps
    /// running.
    fn limited(self: &Arc<Self>, name: &str, test: &Test, target: &Target, profile: &Profile) -> Verdict {
        let (sender, receiver) = mpsc::channel();
        let (run, of) = (Arc::clone(self), (name.to_owned(), test.clone(), target.clone(), profile.clone()));
        let work = move || {
            let (name, test, target, profile) = of;
            // Nobody receives the verdict after the limit.
            sender.send(run.verdict(&Running::new(name), &test, &target, &profile)).ok();
        };
        let thread = match thread::Builder::new().name(name.to_owned()).spawn(work) {
            Ok(thread) => thread,
            Err(error) => return Verdict::Failed(format!("no thread can be started for it: {error}")),
        };
        match receiver.recv_timeout(self.time_limit) {
            Err(RecvTimeoutError::Timeout) => {
                self.log().has_late = true;
                let seconds = self.time_limit.as_secs_f64();
                let subject = &test.subject;
                Verdict::Failed(format!(
                    "{subject} has not ended within its time limit of {seconds} s; it is left behind"
                ))
            }
            received => {
                if let Err(payload) = thread.join() {
                    std::mem::forget(payload); // Dropping the payload may panic again.
                }
                received.unwrap_or_else(|_| Verdict::Failed("its thread panicked outside of the test".to_owned()))
            }
        }
    }

    fn verdict(&self, running: &Running, test: &Test, target: &Target, profile: &Profile) -> Verdict {
        if let Some(missing) = test.missing_from(&target.info) {
            return Verdict::Skipped(format!("the device lacks {missing}"));
        }
        let expected = self.expectations.find(&test.name, target, profile);
        let expected = expected.map(|index| self.expectations.get(index));
        if let Some(entry) = expected.filter(|entry| entry.behaviour == Behaviour::Skip) {
            return Verdict::Skipped(format!("{} ({})", entry.reason, entry.link));
        }
        compare::set_folder(self.folder.join(name(&test.name, &target.label, profile).replace("::", "--")));
        let mut attempts = Vec::new();
        for _ in 0..expected.map_or(1, |entry| entry.n_attempts()) {
            match self.attempt(running, test, target, profile) {
                Ok(outcome) => attempts.push(outcome),
                Err(reason) => return Verdict::Skipped(reason),
            }
            if attempts.last().is_some_and(Result::is_ok) {
                break;
            }
        }
        judge(expected, &attempts)
    }

    /// Opens the device, runs the test and closes the device. The inner error is the message of a failure; the outer
    /// error is the reason why the test cannot be judged under the profile.
    fn attempt(
        &self,
        running: &Running,
        test: &Test,
        target: &Target,
        profile: &Profile,
    ) -> Result<Result<(), String>, String> {
        let ctx = match TestContext::open(target, profile, self.settings) {
            Ok(ctx) => ctx,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let outcome = panics::catch(|| (test.body)(&ctx));
        let failure = outcome.unwrap_or_else(|message| Some(format!("panicked: {message}")));
        let is_idle = failure.is_none() && !test.may_be_idle && !ctx.was_used();
        let refused = (*profile == Profile::Sanitized).then(|| ctx.refused_checks()).flatten();
        let mut problems = ctx.close();
        if test.threads_may_panic {
            running.forgive_strays();
        } else {
            problems.extend(running.take_strays());
        }
        // The layer says at the opening of a device that it adds no checks there.
        let uninstrumented =
            problems.iter().find(|problem| *profile == Profile::GpuAv && problem.contains("Setup Error"));
        if let Some(reason) = refused.or(uninstrumented.cloned()) {
            return Err(reason);
        }
        if let Some(message) = failure {
            // Problems that are found when the device is closed may follow from the failure.
            return Ok(Err(problems.iter().fold(message, |message, problem| format!("{message}\nalso: {problem}"))));
        }
        if is_idle {
            let message =
                "it created no array and built no kernel, so it checked nothing; `Test::may_be_idle` allows that";
            return Ok(Err(message.to_owned()));
        }
        Ok(if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) })
    }
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
        let run = Arc::new(Run {
            folder: PathBuf::new(),
            settings: Settings { cpu_scale: 1.0, is_validated: true },
            expectations,
            time_limit: Duration::from_secs(60),
            notes: None,
            log: Mutex::new(Log::default()),
        });
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
