//! How many trials of a file may be skipped: a number in the file that may only shrink. Pure.

use std::collections::BTreeMap;

use vkarray_test::{Results, Verdict};

use super::file::TestFile;

/// What is said about the skipped trials of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Skips {
    /// More were skipped than the file allows, so the run has failed.
    pub(crate) problem: Option<String>,
    /// The number of the file is not as small as it could be.
    pub(crate) notes: Option<String>,
}

/// Compares the skipped trials of a file with its number. `is_whole` says that every test ran, also under
/// the sanitizer, for which most trials are skipped.
pub(crate) fn judge(file: &TestFile, results: &Results, is_whole: bool) -> Skips {
    let is_own = |test: &str| file.cases.iter().any(|case| case.name == test);
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for record in results.trials.iter().filter(|record| is_own(&record.test)) {
        let n = usize::from(matches!(record.verdict, Verdict::Skipped(_)));
        *skipped.entry(&record.device).or_default() += n;
    }
    compare(&file.path.display().to_string(), file.skips, &skipped, is_whole)
}

/// Compares the numbers of skipped trials by device with the number of the file.
fn compare(file: &str, recorded: Option<usize>, skipped: &BTreeMap<&str, usize>, is_whole: bool) -> Skips {
    let Some((device, &n)) = skipped.iter().max_by_key(|(_, n)| **n) else { return Skips::default() };
    match recorded {
        Some(most) if n > most => {
            let problem = format!("{file}: {n} trials were skipped on {device}, and `skips` is {most}");
            Skips { problem: Some(problem), notes: None }
        }
        Some(most) if n < most && is_whole => {
            let note = format!("{file}: {n} trials were skipped at most, and `skips` is {most}: lower it");
            Skips { problem: None, notes: Some(note) }
        }
        None if n > 0 && is_whole => {
            let note =
                format!("{file}: {n} trials were skipped on {device}; `skips = {n}` keeps the number from growing");
            Skips { problem: None, notes: Some(note) }
        }
        _ => Skips::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_skipped_trials_may_only_shrink() {
        let skipped = BTreeMap::from([("lavapipe", 2), ("nvidia", 1)]);
        let of = |recorded, is_whole| compare("a.toml", recorded, &skipped, is_whole);
        let problem = "a.toml: 2 trials were skipped on lavapipe, and `skips` is 1".to_owned();
        assert_eq!(of(Some(1), true), Skips { problem: Some(problem.clone()), notes: None });
        assert_eq!(of(Some(1), false).problem, Some(problem));
        assert_eq!(of(Some(2), true), Skips::default());
        let note = "a.toml: 2 trials were skipped at most, and `skips` is 3: lower it".to_owned();
        assert_eq!(of(Some(3), true), Skips { problem: None, notes: Some(note) });
        assert_eq!(of(Some(3), false), Skips::default());
        assert!(of(None, true).notes.unwrap().contains("`skips = 2` keeps"));
        assert_eq!(compare("a.toml", Some(0), &BTreeMap::from([("lavapipe", 0)]), true), Skips::default());
    }
}
