//! How many trials of a file may be skipped: a number in the file that may only shrink. Pure.

use std::collections::BTreeMap;

use vkarray_test::{Results, Verdict};

use super::file::TestFile;

/// Compares the skipped trials of a file with its number. The note says that the number is not as small as it could be.
/// `is_whole` says that every test ran, also under the sanitizer, for which most trials are skipped.
///
/// # Errors
///
/// More were skipped than the file allows, so the run has failed.
pub(crate) fn judge(file: &TestFile, results: &Results, is_whole: bool) -> Result<Option<String>, String> {
    let is_own = |test: &str| file.cases.iter().any(|case| case.name == test);
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for record in results.trials.iter().filter(|record| is_own(&record.test)) {
        let n = usize::from(matches!(record.verdict, Verdict::Skipped(_)));
        *skipped.entry(&record.device).or_default() += n;
    }
    compare(&file.path.display().to_string(), file.skips, &skipped, is_whole)
}

/// Compares the numbers of skipped trials by device with the number of the file.
fn compare(
    file: &str,
    recorded: Option<usize>,
    skipped: &BTreeMap<&str, usize>,
    is_whole: bool,
) -> Result<Option<String>, String> {
    let Some((device, &n)) = skipped.iter().max_by_key(|(_, n)| **n) else { return Ok(None) };
    match recorded {
        Some(most) if n > most => Err(format!("{file}: {n} trials were skipped on {device}, and `skips` is {most}")),
        Some(most) if n < most && is_whole => {
            Ok(Some(format!("{file}: {n} trials were skipped at most, and `skips` is {most}: lower it")))
        }
        None if n > 0 && is_whole => Ok(Some(format!(
            "{file}: {n} trials were skipped on {device}; `skips = {n}` keeps the number from growing"
        ))),
        _ => Ok(None),
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
        assert_eq!((of(Some(1), true), of(Some(1), false)), (Err(problem.clone()), Err(problem)));
        assert_eq!(of(Some(2), true), Ok(None));
        let note = "a.toml: 2 trials were skipped at most, and `skips` is 3: lower it".to_owned();
        assert_eq!((of(Some(3), true), of(Some(3), false)), (Ok(Some(note)), Ok(None)));
        assert!(of(None, true).unwrap().unwrap().contains("`skips = 2` keeps"));
        assert_eq!(compare("a.toml", Some(0), &BTreeMap::from([("lavapipe", 0)]), true), Ok(None));
    }
}
