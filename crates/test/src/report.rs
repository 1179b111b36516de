//! The files that are written after a run: JUnit for CI services, and JSON with the descriptions of the devices.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};
use serde::Serialize;

use crate::expectations::Verdict;
use crate::matrix::Target;

/// The files that a run writes.
const REPORTS: [&str; 2] = ["junit.xml", "report.json"];

/// Removes the reports of an earlier run, so that a run that is cut off leaves none.
///
/// # Errors
///
/// The error names the report that cannot be removed, and says why.
pub(crate) fn remove_reports(folder: &Path) -> Result<(), String> {
    REPORTS.iter().map(|report| folder.join(report)).try_for_each(|path| match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: the report of an earlier run stays: {error}", path.display()))
        }
        _ => Ok(()),
    })
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// The name of the test.
    pub test: String,
    /// The device's label.
    pub device: String,
    /// The profile, as [`Profile`](crate::Profile) prints it.
    pub profile: String,
    /// Whether the trial passed.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// How long the trial took.
    pub seconds: f64,
}

/// A finished run. `report.json` is its JSON.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Results {
    /// The name of the suite.
    pub suite: String,
    /// The devices that the tests ran on.
    pub devices: Vec<Target>,
    /// The trials.
    pub trials: Vec<Record>,
    /// What is wrong with the run as a whole.
    pub problems: Vec<String>,
    /// Whether the thread of a trial still runs after its time limit.
    #[serde(skip)]
    pub has_late: bool,
}

impl Results {
    /// A run that failed before any trial, with the reason.
    pub(crate) fn of_problem(suite: &str, problem: String) -> Self {
        Self { suite: suite.to_owned(), problems: vec![problem], ..Self::default() }
    }

    /// Writes the reports, and prints where they are. Returns whether both were written.
    pub(crate) fn report(&self, folder: &Path) -> bool {
        let written = self.write(folder);
        match &written {
            Ok(()) => println!("reports: {}", folder.join("{junit.xml,report.json}").display()),
            Err(error) => eprintln!("error: the reports could not be written: {error}"),
        }
        written.is_ok()
    }

    /// Writes `junit.xml` and `report.json`.
    ///
    /// # Errors
    ///
    /// The error names the file that could not be written, and says why.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        let json = serde_json::to_string_pretty(self).map_err(|error| failed(&error))?;
        fs::write(folder.join("report.json"), json).map_err(|error| failed(&error))?;
        let junit = self.junit().map_err(|error| failed(&error))?;
        fs::write(folder.join("junit.xml"), junit).map_err(|error| failed(&error))
    }

    /// The results as JUnit, which CI services read.
    ///
    /// ```
    /// use vkarray_test::{Profile, Suite, Test};
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let wrong = Test::new("wrong", |ctx| {
    ///     assert_eq!(ctx.zeros::<u32>(1)?.to_vec()?, [1]);
    ///     Ok::<_, vkarray::Error>(())
    /// });
    /// let results = Suite::new("machine", ".").profiles([Profile::Plain]).test(wrong).run_on(&[], |_| ())?;
    /// let junit = results.junit().expect("plain text");
    /// assert!(junit.contains("<testsuites name=\"machine\" tests=\"1\" failures=\"1\""));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of the writer.
    pub fn junit(&self) -> Result<String, String> {
        let report = self.junit_report();
        let text = report.to_string().map_err(|error| error.to_string())?;
        // The schema of Jenkins has a number of skipped tests for each suite, and no number for all suites.
        let text = text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1);
        // XML has no form for these characters.
        Ok(text.replace(|c| !is_of_xml(c), "\u{fffd}"))
    }

    /// One suite for each device and profile, and one for the problems of the run.
    fn junit_report(&self) -> Report {
        let mut report = Report::new(self.suite.as_str());
        let mut groups: BTreeMap<(&str, &str), Vec<&Record>> = BTreeMap::new();
        self.trials.iter().for_each(|trial| groups.entry((&trial.device, &trial.profile)).or_default().push(trial));
        for ((device, profile), trials) in groups {
            let mut suite = TestSuite::new(format!("{}::{device}::{profile}", self.suite));
            // A machine without a device has trials that were skipped.
            if let Some(target) = self.devices.iter().find(|target| target.label == device) {
                suite
                    .add_property(("device", target.info.name.as_str()))
                    .add_property(("driver", target.driver().as_str()));
            }
            suite.add_property(("profile", profile));
            suite.set_time(Duration::from_secs_f64(trials.iter().map(|trial| trial.seconds).sum()));
            suite.add_test_cases(trials.into_iter().map(|trial| self.case(trial)));
            report.add_test_suite(suite);
        }
        if !self.problems.is_empty() {
            let mut suite = TestSuite::new(format!("{}::run", self.suite));
            let cases = self.problems.iter().map(|problem| TestCase::new("run", failure(problem)));
            suite.add_test_cases(cases);
            report.add_test_suite(suite);
        }
        report
    }

    fn case(&self, trial: &Record) -> TestCase {
        let mut status = match &trial.verdict {
            Verdict::Passed | Verdict::FailedAsExpected(_) | Verdict::Flaky(_) => TestCaseStatus::success(),
            Verdict::Failed(message) => failure(message),
            Verdict::Skipped(_) => TestCaseStatus::skipped(),
        };
        match &trial.verdict {
            Verdict::Skipped(reason) => {
                status.set_message(reason.as_str());
            }
            Verdict::Flaky(message) => {
                let mut rerun = TestRerun::new(NonSuccessKind::Failure);
                rerun.set_type("flaky").set_description(message.as_str());
                status.add_rerun(rerun);
            }
            Verdict::Passed | Verdict::Failed(_) | Verdict::FailedAsExpected(_) => {}
        }
        let mut case = TestCase::new(trial.test.as_str(), status);
        case.set_classname(format!("{}::{}", self.suite, trial.device));
        case.set_time(Duration::from_secs_f64(trial.seconds));
        if let Verdict::FailedAsExpected(message) = &trial.verdict {
            case.set_system_out(format!("failed, as expected: {message}"));
        }
        case
    }
}

/// Whether XML 1.0 allows the character.
fn is_of_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// A failure, with the first line of its message as the summary.
fn failure(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(message.lines().next().unwrap_or_default()).set_description(message);
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::recorded;

    fn results(devices: &[Target]) -> Results {
        let record = |test: &str, verdict| Record {
            test: test.to_owned(),
            device: "lavapipe".to_owned(),
            profile: "plain".to_owned(),
            verdict,
            seconds: 0.5,
        };
        let failed = "on llvmpipe: `y` is not close: 1 of 2 <elements>\n[1] | 2 | 3".to_owned();
        let trials = vec![
            record("a", Verdict::Passed),
            record("b", Verdict::Failed(failed)),
            record("c", Verdict::Skipped("the device lacks shader_float16".to_owned())),
            record("d", Verdict::FailedAsExpected("wrong".to_owned())),
            record("e", Verdict::Flaky("late".to_owned())),
        ];
        let problems = vec!["2 tests ran on lavapipe".to_owned()];
        Results { suite: "kernels".to_owned(), devices: devices.to_vec(), trials, problems, has_late: false }
    }

    #[test]
    fn junit_has_the_device_and_the_first_mismatch() {
        let devices = [recorded("lavapipe_22.3.6", "lavapipe")];
        let junit = results(&devices).junit().unwrap();
        for part in [
            "<testsuites name=\"kernels\" tests=\"6\" failures=\"2\" errors=\"0\">",
            "<testsuite name=\"kernels::lavapipe::plain\" tests=\"5\" skipped=\"1\" errors=\"0\" failures=\"1\" time=\"2.500\">",
            "<property name=\"device\" value=\"llvmpipe (LLVM 15.0.6, 256 bits)\"/>",
            "<failure message=\"on llvmpipe: `y` is not close: 1 of 2 &lt;elements&gt;\">",
            "[1] | 2 | 3</failure>",
            "<skipped message=\"the device lacks shader_float16\"/>",
            "<flakyFailure type=\"flaky\">late</flakyFailure>",
            "failed, as expected: wrong",
            "<testsuite name=\"kernels::run\"",
        ] {
            assert!(junit.contains(part), "{part} is not in:\n{junit}");
        }
        // The crate reads what it writes, which has that number.
        let whole = results(&devices).junit_report().to_string().unwrap();
        assert!(Report::deserialize_from_str(&whole).is_ok());
    }

    #[test]
    fn junit_has_no_character_that_xml_lacks_and_the_tests_of_no_device() {
        let mut results = results(&[]);
        results.trials = vec![Record {
            test: "a".to_owned(),
            device: "no-device".to_owned(),
            profile: "plain".to_owned(),
            verdict: Verdict::Skipped("no\u{fffe} Vulkan\u{ffff}\u{1}\u{1b}[1m device".to_owned()),
            seconds: 0.0,
        }];
        let junit = results.junit().unwrap();
        assert!(junit.chars().all(is_of_xml), "{junit:?}");
        assert!(junit.contains("<testsuite name=\"kernels::no-device::plain\" tests=\"1\" skipped=\"1\""), "{junit}");
        assert!(junit.contains("<skipped message=\"no\u{fffd} Vulkan\u{fffd}"), "{junit}");
    }

    #[test]
    fn json_has_the_description_of_the_device() {
        let devices = [recorded("lavapipe_22.3.6", "lavapipe")];
        let json = serde_json::to_value(results(&devices)).unwrap();
        assert_eq!(json["devices"][0]["info"]["driver"]["info"], "Mesa 22.3.6 (LLVM 15.0.6)");
        assert_eq!(json["trials"][1]["outcome"], "failed");
        assert_eq!(json["trials"][2]["message"], "the device lacks shader_float16");
        assert_eq!(json["problems"][0], "2 tests ran on lavapipe");
    }

    #[test]
    fn both_files_are_written() {
        let (folder, devices) = (tempfile::tempdir().unwrap(), []);
        let folder = folder.path().join("new");
        results(&devices).write(&folder).unwrap();
        assert!(folder.join("junit.xml").is_file() && folder.join("report.json").is_file());
        assert!(results(&devices).write(&folder.join("junit.xml")).unwrap_err().contains("junit.xml"));
    }
}
