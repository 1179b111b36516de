//! The file of known failures: which test may fail or be skipped on which driver, why, and until when. Pure.
//!
//! A file states how many entries it has, so that adding an entry is a change of a number that a reviewer sees. Entries
//! that have expired, and entries that no longer describe what happens, fail the run.

use std::fmt;

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use crate::matrix::Target;
use crate::profile::Profile;

/// How often a flaky test is tried.
const FLAKY_ATTEMPTS: u32 = 3;

/// What is expected of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Behaviour {
    /// The test fails. Passing is a failure.
    Fail,
    /// The test is not run.
    Skip,
    /// The test passes in one of several attempts.
    Flaky,
}

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// The name of the test.
    pub(crate) test: String,
    /// The device's label, or the start of the driver's name.
    pub(crate) driver: String,
    /// The start of the driver's version; empty for all versions.
    #[serde(default)]
    pub(crate) version: String,
    /// The profile; `None` for all profiles.
    pub(crate) profile: Option<String>,
    pub(crate) behaviour: Behaviour,
    /// A part of the message of the failure: another failure is not the expected one.
    #[serde(default)]
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) link: String,
    /// The last day on which the entry holds.
    pub(crate) until: NaiveDate,
}

impl Expectation {
    fn is_about(&self, test: &str, target: &Target, profile: &Profile) -> bool {
        self.test == test && self.is_of(target) && self.profile.as_ref().is_none_or(|name| *name == profile.to_string())
    }

    /// Whether the entry is about this device.
    pub(crate) fn is_of(&self, target: &Target) -> bool {
        (self.driver == target.label || target.info.driver.name.starts_with(&self.driver))
            && target.info.driver.info.starts_with(&self.version)
    }

    /// How often the test is run at most.
    pub(crate) fn n_attempts(&self) -> u32 {
        if self.behaviour == Behaviour::Flaky { FLAKY_ATTEMPTS } else { 1 }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({}, {})", self.test, self.driver, self.reason, self.link)
    }
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectations {
    /// The number of entries.
    count: usize,
    #[serde(default, rename = "expect")]
    entries: Vec<Expectation>,
}

impl Expectations {
    /// Reads the text of a file.
    ///
    /// # Errors
    ///
    /// The error says what is wrong with the text, or that the count is not the number of entries.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let read: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let n = read.entries.len();
        if read.count > n {
            return Err(format!("`count` is {}, and there are {n} entries: lower it", read.count));
        }
        if read.count < n {
            return Err(format!(
                "`count` is {}, and there are {n} entries: repair a test and remove its entry",
                read.count
            ));
        }
        for (index, entry) in read.entries.iter().enumerate() {
            let texts =
                [("test", &entry.test), ("driver", &entry.driver), ("reason", &entry.reason), ("link", &entry.link)];
            if let Some((field, _)) = texts.iter().find(|(_, text)| text.trim().is_empty()) {
                return Err(format!("entry {index}: `{field}` is empty"));
            }
        }
        Ok(read)
    }

    /// The index of the entry about a trial.
    pub(crate) fn find(&self, test: &str, target: &Target, profile: &Profile) -> Option<usize> {
        self.entries.iter().position(|entry| entry.is_about(test, target, profile))
    }

    pub(crate) fn get(&self, index: usize) -> &Expectation {
        &self.entries[index]
    }

    /// A line for each entry that has expired.
    pub(crate) fn expired(&self, today: NaiveDate) -> impl Iterator<Item = String> {
        let expired = self.entries.iter().filter(move |entry| entry.until < today);
        expired.map(|entry| format!("expectation expired on {}: {entry}; repair it or renew the date", entry.until))
    }

    /// A line for each entry about one of these devices that no trial used.
    pub(crate) fn unused(&self, targets: &[Target], used: &[usize]) -> impl Iterator<Item = String> {
        let is_unused = |(index, entry): &(usize, &Expectation)| {
            targets.iter().any(|target| entry.is_of(target)) && !used.contains(index)
        };
        let unused = self.entries.iter().enumerate().filter(is_unused).map(|(_, entry)| entry);
        unused.map(|entry| format!("expectation without a test: {entry}; remove it")).collect::<Vec<_>>().into_iter()
    }
}

/// How a trial ended, for the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "message")]
#[non_exhaustive]
pub enum Verdict {
    /// The test passed.
    Passed,
    /// The test failed, with this message.
    Failed(String),
    /// The test was not run, for this reason.
    Skipped(String),
    /// The test failed as the file expects, with this message.
    FailedAsExpected(String),
    /// The test passed after failures, as the file expects; the message is the first failure's.
    Flaky(String),
}

/// Judges the attempts of a trial, each with the message of its failure. Attempts after the first success are not made.
pub(crate) fn judge(expectation: Option<&Expectation>, attempts: &[Result<(), String>]) -> Verdict {
    let first_failure = attempts.iter().find_map(|attempt| attempt.as_ref().err()).cloned();
    let has_passed = attempts.iter().any(Result::is_ok);
    match (expectation.map(|entry| (entry, entry.behaviour)), first_failure) {
        (Some((entry, Behaviour::Fail)), None) => {
            Verdict::Failed(format!("passed unexpectedly; remove the expectation: {entry}"))
        }
        (Some((entry, Behaviour::Fail)), Some(message)) if !message.contains(&entry.message) => Verdict::Failed(
            format!("the expected failure has \"{}\" in its message; this is another: {message}", entry.message),
        ),
        (Some((_, Behaviour::Fail)), Some(message)) => Verdict::FailedAsExpected(message),
        (Some((_, Behaviour::Flaky)), Some(message)) if has_passed => Verdict::Flaky(message),
        (_, None) => Verdict::Passed,
        (_, Some(message)) => Verdict::Failed(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::recorded;

    fn entry(test: &str, driver: &str, behaviour: &str, more: &str) -> String {
        format!(
            "[[expect]]\ntest = \"{test}\"\ndriver = \"{driver}\"\nbehaviour = \"{behaviour}\"\nreason = \"why\"\n\
             link = \"https://example.org\"\nuntil = \"2026-06-30\"\n{more}\n"
        )
    }

    fn file(count: usize, entries: &[String]) -> Result<Expectations, String> {
        Expectations::parse(&format!("count = {count}\n{}", entries.concat()))
    }

    #[test]
    fn the_number_of_entries_is_stated_in_the_file() {
        let one = || entry("a", "llvmpipe", "fail", "");
        assert!(file(1, &[one()]).is_ok());
        assert_eq!(file(2, &[one()]).unwrap_err(), "`count` is 2, and there are 1 entries: lower it");
        let grown = file(1, &[one(), entry("b", "llvmpipe", "skip", "")]).unwrap_err();
        assert_eq!(grown, "`count` is 1, and there are 2 entries: repair a test and remove its entry");
    }

    #[test]
    fn malformed_files_are_refused() {
        for (text, part) in [
            (entry("a", "", "fail", ""), "entry 0: `driver` is empty"),
            (entry("a", "b", "sometimes", ""), "unknown variant `sometimes`"),
            (entry("a", "b", "fail", "colour = 1"), "unknown field `colour`"),
            (entry("a", "b", "fail", "").replace("2026-06-30", "soon"), "invalid characters"),
            (entry("a", "b", "fail", "").replace("until", "# until"), "missing field `until`"),
        ] {
            let error = file(1, &[text]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_entry_is_about_a_test_a_driver_a_version_and_a_profile() {
        let lavapipe = recorded("lavapipe_22.3.6", "lavapipe");
        // The driver, more fields, the profile of the trial, and whether the entry is about it.
        for (driver, more, profile, is_about) in [
            ("llvmpipe", "", Profile::Plain, true),
            ("lavapipe", "", Profile::Plain, true), // By the label.
            ("NVIDIA", "", Profile::Plain, false),
            ("llvmpipe", "version = \"Mesa 22\"", Profile::Plain, true),
            ("llvmpipe", "version = \"Mesa 25\"", Profile::Plain, false),
            ("llvmpipe", "", Profile::Sanitized, true), // An entry without a profile is about all profiles.
            ("llvmpipe", "profile = \"sanitized\"", Profile::Sanitized, true),
            ("llvmpipe", "profile = \"sanitized\"", Profile::Plain, false),
        ] {
            let read = file(1, &[entry("a", driver, "fail", more)]).unwrap();
            assert_eq!(read.find("a", &lavapipe, &profile).is_some(), is_about, "{driver} {more} {profile}");
            assert_eq!(read.find("ab", &lavapipe, &profile), None);
        }
    }

    #[test]
    fn expired_and_unused_entries_are_listed() {
        let read = file(2, &[entry("a", "llvmpipe", "fail", ""), entry("b", "NVIDIA", "skip", "")]).unwrap();
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        assert_eq!(read.expired(day("2026-06-30")).count(), 0);
        let expired: Vec<String> = read.expired(day("2026-07-01")).collect();
        let line =
            "expectation expired on 2026-06-30: a on llvmpipe (why, https://example.org); repair it or renew the date";
        assert_eq!(expired[0], line);
        let targets = [recorded("lavapipe_22.3.6", "lavapipe")];
        assert_eq!(read.unused(&targets, &[0]).count(), 0); // The other entry is about a driver that is not here.
        assert!(
            read.unused(&targets, &[])
                .eq(["expectation without a test: a on llvmpipe (why, https://example.org); remove it".to_owned()])
        );
    }

    #[test]
    fn attempts_are_judged_by_the_entry() {
        let (pass, fail) = (|| Ok(()), |text: &str| Err(text.to_owned()));
        let read = |behaviour, more| file(1, &[entry("a", "d", behaviour, more)]).unwrap().get(0).clone();
        let (fails, flaky) = (read("fail", "message = \"wrong\""), read("flaky", ""));
        let text = str::to_owned;
        assert_eq!(judge(None, &[pass()]), Verdict::Passed);
        assert_eq!(judge(None, &[fail("wrong")]), Verdict::Failed(text("wrong")));
        assert_eq!(judge(Some(&fails), &[fail("all wrong")]), Verdict::FailedAsExpected(text("all wrong")));
        let unexpected = judge(Some(&fails), &[pass()]);
        assert!(matches!(&unexpected, Verdict::Failed(message) if message.starts_with("passed unexpectedly")));
        let another = judge(Some(&fails), &[fail("lost")]);
        assert!(matches!(&another, Verdict::Failed(message) if message.ends_with("this is another: lost")));
        assert_eq!(judge(Some(&flaky), &[pass()]), Verdict::Passed);
        assert_eq!(judge(Some(&flaky), &[fail("x"), pass()]), Verdict::Flaky(text("x")));
        assert_eq!(judge(Some(&flaky), &[fail("x"), fail("y"), fail("z")]), Verdict::Failed(text("x")));
    }
}
