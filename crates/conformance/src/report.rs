//! The outcomes of the checks.

use std::fmt;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The manager conforms.
    Passed,
    /// The check could not run here, with the reason.
    Skipped(String),
    /// The manager does not conform: what was expected, and what happened.
    Failed(String),
}

/// The outcomes of all checks.
///
/// ```
/// use vkarray_conformance::{Outcome, Report};
///
/// let report = Report { checks: vec![("usage", Outcome::Failed("expected nothing in use".to_owned()))] };
/// assert!(!report.is_conforming());
/// assert_eq!(report.to_string(), "FAILED   usage: expected nothing in use\n");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Names and outcomes, in the order of the checks.
    pub checks: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// The names of the checks that failed, with the reasons.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.checks.iter().filter_map(|(name, outcome)| match outcome {
            Outcome::Failed(reason) => Some((*name, reason.as_str())),
            _ => None,
        })
    }

    /// Whether no check failed.
    pub fn is_conforming(&self) -> bool {
        self.failures().next().is_none()
    }
}

/// A line for each check.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, outcome) in &self.checks {
            match outcome {
                Outcome::Passed => writeln!(f, "passed   {name}")?,
                Outcome::Skipped(reason) => writeln!(f, "skipped  {name}: {reason}")?,
                Outcome::Failed(reason) => writeln!(f, "FAILED   {name}: {reason}")?,
            }
        }
        Ok(())
    }
}
