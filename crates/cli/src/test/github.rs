//! What GitHub's jobs show: an annotation at the line of a test or a shader, and the summary of the job.

use std::env;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use vkarray_test::{Record, Results, Verdict};

use super::case::Case;
use super::report::Counts;
use crate::error::{Error, Result};

/// Set to `true` in jobs of GitHub.
const ACTIONS: &str = "GITHUB_ACTIONS";

/// The file of the job's summary.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The longest summary of one failure, in characters.
const MAX_LINE: usize = 300;

/// Annotations in a job of GitHub, and nothing elsewhere.
pub(crate) fn annotations(results: &Results, cases: &[&Arc<Case>]) -> String {
    match env::var(ACTIONS) {
        Ok(text) if text == "true" => annotated(results, cases),
        _ => String::new(),
    }
}

/// A line for each failure: at the line of the shader that its message names, or else of its test.
fn annotated(results: &Results, cases: &[&Arc<Case>]) -> String {
    let mut lines = String::new();
    for (record, message) in failures(results) {
        let title = format!("{} on {} ({})", record.test, record.device, record.profile);
        let case = cases.iter().find(|case| case.name == record.test);
        let place = case.map(|case| {
            let in_shader = case.shaders.iter().find_map(|shader| Some((shader.clone(), line_in(message, shader)?)));
            in_shader.unwrap_or_else(|| (case.file.display().to_string(), case.line))
        });
        let place =
            place.map(|(file, line)| format!("file={},line={line},", property(&plain(&file)))).unwrap_or_default();
        let _ = writeln!(lines, "::error {place}title={}::{}", property(&title), data(message));
    }
    for problem in &results.problems {
        let _ = writeln!(lines, "::error ::{}", data(problem));
    }
    lines
}

fn failures(results: &Results) -> impl Iterator<Item = (&Record, &str)> {
    results.trials.iter().filter_map(|record| match &record.verdict {
        Verdict::Failed(message) => Some((record, message.as_str())),
        _ => None,
    })
}

/// The line behind the first `SHADER:` in a message.
fn line_in(message: &str, shader: &str) -> Option<usize> {
    let (_, rest) = message.split_once(&format!("{shader}:"))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The path without `NAME/..`, since GitHub compares it with the paths of the repository.
fn plain(path: &str) -> String {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in Path::new(path).components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.iter().collect::<PathBuf>().display().to_string()
}

/// A message in the form of GitHub's commands.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property in the form of GitHub's commands.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Adds the results to the summary of the job, if there is one.
///
/// # Errors
///
/// [`Error::Write`].
pub(crate) fn write_summary(results: &Results) -> Result<()> {
    let Some(path) = env::var_os(SUMMARY).filter(|path| !path.is_empty()).map(PathBuf::from) else { return Ok(()) };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(summary(results).as_bytes()));
    written.map_err(|reason| Error::Write { path, reason: reason.into() })
}

/// The results in Markdown: numbers for each device and profile, then the failures.
fn summary(results: &Results) -> String {
    let mut text =
        "### vkarray test\n\n| device | profile | passed | failed | skipped |\n|---|---|---|---|---|\n".to_owned();
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for record in &results.trials {
        let group = (record.device.as_str(), record.profile.as_str());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    for (device, profile) in groups {
        let is_of = |record: &&Record| record.device == device && record.profile == profile;
        let Counts { passed, failed, skipped } = Counts::of(results.trials.iter().filter(is_of));
        let _ = writeln!(text, "| {device} | {profile} | {passed} | {failed} | {skipped} |");
    }
    let cell = |text: &str| {
        let line: String = text.lines().next().unwrap_or_default().chars().take(MAX_LINE).collect();
        line.replace('|', "\\|").replace('<', "&lt;")
    };
    for (record, message) in failures(results) {
        let _ = write!(text, "\n- **{}** on {} ({}): {}", record.test, record.device, record.profile, cell(message));
    }
    for problem in &results.problems {
        let _ = write!(text, "\n- {}", cell(problem));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_shader_is_found_in_a_message() {
        let message = "n = 65: on lavapipe: kernels/gather.wgsl:10: index 7 is out of range";
        assert_eq!(line_in(message, "kernels/gather.wgsl"), Some(10));
        assert_eq!(line_in(message, "kernels/other.wgsl"), None);
        assert_eq!(line_in("kernels/a.comp: no line", "kernels/a.comp"), None);
        assert_eq!(line_in("kernels/a.comp:7", "kernels/a.comp"), Some(7));
    }

    #[test]
    fn paths_are_those_of_the_repository() {
        for (path, expected) in [
            ("tests/../kernels/a.wgsl", "kernels/a.wgsl"),
            ("./a.wgsl", "a.wgsl"),
            ("../a.wgsl", "../a.wgsl"),
            ("a/b/../../../c", "../c"),
        ] {
            assert_eq!(plain(path), expected);
        }
    }

    #[test]
    fn texts_are_escaped_for_commands() {
        assert_eq!(data("50 %\nof: a, b"), "50 %25%0Aof: a, b");
        assert_eq!(property("a::b, c"), "a%3A%3Ab%2C c");
    }
}
