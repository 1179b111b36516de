//! Builds the base, and runs it and this program in turns, each in a process of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ratio::Round;

/// The time of a kernel, as the programs in `benches/` print their figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    name: String,
    /// The time in microseconds.
    pub(super) value: f64,
    unit: String,
}

impl Line {
    pub(super) fn new(name: &str, seconds: f64) -> Self {
        Self { name: name.to_owned(), value: seconds * 1e6, unit: "us".to_owned() }
    }
}

/// A program that measures kernels, and the folder in which it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    executable: PathBuf,
    folder: PathBuf,
}

impl Program {
    /// This program.
    pub(super) fn this() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot find this program: {error}");
        Ok(Self { executable: env::current_exe().map_err(failed)?, folder: env::current_dir().map_err(failed)? })
    }

    /// Builds the program of that name in the package of a folder, with the cargo that started this program.
    ///
    /// # Errors
    ///
    /// An error for a folder that does not exist, for a build that failed (cargo has printed why), and for a build that
    /// took this program's place.
    pub(super) fn of_folder(folder: &Path, name: &str, profile: &str) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let folder = folder.canonicalize().map_err(failed)?;
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let words = ["bench", "--no-run", "--quiet", "--message-format", "json", "--bench", name, "--profile", profile];
        let messages = output(cargo.args(words).current_dir(&folder))?;
        let built = messages.lines().find_map(|line| executable(line, name));
        let executable = built.ok_or_else(|| format!("{}: cargo built no bench `{name}`", folder.display()))?;
        Self { executable, folder }.beside(&Self::this()?)
    }

    /// Refuses two folders with one executable: cargo gives packages of one name the same place in a shared target
    /// folder, and a program would be compared with itself.
    fn beside(self, head: &Self) -> Result<Self, String> {
        if self.executable == head.executable && self.folder != head.folder {
            let executable = self.executable.display();
            return Err(format!("base and head are both built as {executable}; give them different target folders"));
        }
        Ok(self)
    }

    /// The time of each kernel in seconds.
    fn measure(&self, filter: Option<&str>) -> Result<BTreeMap<String, f64>, String> {
        let mut command = Command::new(&self.executable);
        let lines = output(command.arg("--json").args(filter).current_dir(&self.folder))?;
        lines.lines().map(time).collect()
    }
}

/// Measures base, head and base.
pub(super) fn measure(base: &Program, head: &Program, filter: Option<&str>) -> Result<Round, String> {
    let (first, head) = (base.measure(filter)?, head.measure(filter)?);
    Ok(Round { base: first, head, base_again: base.measure(filter)? })
}

/// A line for each kernel that only the base or only the head has.
pub(super) fn only_in_one(rounds: &[Round]) -> impl Iterator<Item = String> {
    let names = |times: fn(&Round) -> &BTreeMap<String, f64>| -> BTreeSet<&String> {
        rounds.iter().flat_map(|round| times(round).keys()).collect()
    };
    let (base, head) = (names(|round| &round.base), names(|round| &round.head));
    let new = head.difference(&base).map(|name| format!("{name}: new, not compared"));
    let gone = base.difference(&head).map(|name| format!("{name}: only in the base, not compared"));
    new.chain(gone).collect::<Vec<_>>().into_iter()
}

/// The name and the time in a line that a program printed.
fn time(line: &str) -> Result<(String, f64), String> {
    let read: Line = serde_json::from_str(line).map_err(|error| format!("cannot read `{line}`: {error}"))?;
    let is_time = read.unit == "us" && read.value.is_finite() && read.value > 0.0;
    if is_time { Ok((read.name, read.value * 1e-6)) } else { Err(format!("`{line}` is no time in us")) }
}

/// The path of the executable of the bench `name`, if this message of cargo is about it.
fn executable(message: &str, name: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let target = &message["target"];
    // A crate has underscores where the name in the manifest may have dashes.
    let is_it = target["name"].as_str().is_some_and(|found| found.replace('-', "_") == name);
    let is_bench = target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bench"));
    (is_it && is_bench).then_some(message["executable"].as_str()?.into())
}

/// The standard output of a process that ended successfully; its errors are printed as they come.
fn output(command: &mut Command) -> Result<String, String> {
    let shown = command.get_program().display().to_string();
    let failed = |error: &dyn std::fmt::Display| format!("{shown}: {error}");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| failed(&error))?;
    let Output { status, stdout, .. } = output;
    if !status.success() {
        return Err(failed(&format!("ended with {status}")));
    }
    String::from_utf8(stdout).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_time_in_microseconds() {
        let line = serde_json::to_string(&Line::new("sum", 0.5)).unwrap();
        assert_eq!(line, r#"{"name":"sum","value":500000.0,"unit":"us"}"#);
        assert_eq!(time(&line), Ok(("sum".to_owned(), 0.5)));
        for bad in [
            "",
            "sum: 500000 us",
            &line.replace("us\"", "GB/s\""),
            &line.replace("500000", "0"),
            &line.replace("500000", "-1"),
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_executable_is_that_of_the_bench() {
        let message = |name: &str, kind: &str| {
            format!(r#"{{"target": {{"name": "{name}", "kind": ["{kind}"]}}, "executable": "/base/{name}"}}"#)
        };
        for (message, found) in [
            (message("kernels", "bench"), Some("/base/kernels")),
            (message("my-kernels", "bench"), None),
            (message("kernels", "test"), None),
            (r#"{"reason": "build-finished"}"#.to_owned(), None),
            ("warning".to_owned(), None),
        ] {
            assert_eq!(executable(&message, "kernels"), found.map(PathBuf::from), "{message}");
        }
        assert_eq!(executable(&message("my-kernels", "bench"), "my_kernels"), Some("/base/my-kernels".into()));
    }

    #[test]
    fn two_folders_with_one_executable_are_refused() {
        let program = |executable: &str, folder: &str| Program { executable: executable.into(), folder: folder.into() };
        let head = program("/target/kernels", "/head");
        assert!(program("/base/target/kernels", "/base").beside(&head).is_ok());
        assert!(program("/target/kernels", "/head").beside(&head).is_ok()); // The program is compared with itself.
        let error = program("/target/kernels", "/base").beside(&head).unwrap_err();
        assert!(error.contains("different target folders"), "{error}");
    }

    #[test]
    fn kernels_of_one_side_are_named() {
        let times = |name: &str| BTreeMap::from([(name.to_owned(), 1.0)]);
        let rounds = [Round { base: times("old"), head: times("new"), base_again: times("old") }];
        let lines: Vec<String> = only_in_one(&rounds).collect();
        assert_eq!(lines, ["new: new, not compared", "old: only in the base, not compared"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_is_named() {
        let error = output(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error, "sh: ended with exit status: 3");
        assert!(Program::of_folder(Path::new("no such folder"), "a", "bench").unwrap_err().contains("no such folder"));
    }
}
