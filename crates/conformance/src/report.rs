//! What came of the checks.

use std::fmt;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The manager keeps it.
    Passed,
    /// It could not be checked here, and why.
    Skipped(String),
    /// The manager does not keep it: what was expected, and what came.
    Failed(String),
}

/// What came of all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Name and outcome, in the order in which they ran.
    pub checks: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// The names of the checks that failed, and why.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.checks.iter().filter_map(|(name, outcome)| match outcome {
            Outcome::Failed(reason) => Some((*name, reason.as_str())),
            _ => None,
        })
    }

    /// Whether nothing failed.
    #[must_use]
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
