//! Runs one of the programs that are compared, and parses its output.
//!
//! `bench`, `floor`, `peer` and `cuda` lie beside this program, so that a folder of them can be copied to a machine
//! without a compiler.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use vkarray_benches::{ABSENT, Line};

/// A program that prints figures.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program's column in the table.
    pub(crate) source: String,
    command: Command,
}

/// The output of a run, and the failure if it failed.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) lines: Vec<Line>,
    pub(crate) failure: Option<String>,
}

impl Program {
    /// A program of this package, for a suite, on the device that vkarray used. vkarray's own program runs first, and
    /// chooses the device.
    pub(crate) fn measuring(source: &str, program: &str, suite: &str, settings: (u32, Option<&str>)) -> Result<Self> {
        let path = beside(program)?;
        ensure!(path.exists(), "{} is not built: run `cargo build --release`", path.display());
        let mut command = Command::new(path);
        command.args([suite, "--runs", &settings.0.to_string()]);
        command.args(settings.1.iter().flat_map(|device| ["--device", device]));
        Ok(Self { source: source.to_owned(), command })
    }

    /// A shell command. Its column's name is the word before the first `=`, or else the command.
    pub(crate) fn also(text: &str) -> Self {
        let (source, script) = named(text);
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Self { source: source.to_owned(), command }
    }

    /// Runs the program. Figures that it printed before a failure count.
    pub(crate) fn run(mut self) -> Result<Printed> {
        let output = self.command.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("running {:?}", self.command))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter_map(|line| {
            let parsed = Line::parse(line);
            if parsed.is_none() {
                eprintln!("{}: {line}", self.source);
            }
            parsed
        });
        let lines: Vec<_> = lines.collect();
        // An invalid command line has the same exit code, so the printed line is checked too.
        let is_absent = output.status.code() == Some(ABSENT.into()) && matches!(lines[..], [.., Line::Absent { .. }]);
        let failed = || format!("{} failed ({}): {:?}", self.source, output.status, self.command);
        Ok(Printed { lines, failure: (!output.status.success() && !is_absent).then(failed) })
    }
}

/// A column's name, and the command: `cuda=python3 chain.py`.
pub(crate) fn named(text: &str) -> (&str, &str) {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    text.split_once('=').filter(|(name, _)| is_name(name)).unwrap_or((text, text))
}

fn beside(program: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding this program")?;
    Ok(own.with_file_name(program).with_extension(std::env::consts::EXE_EXTENSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_name_its_column() {
        let cases = [
            ("cuda=python3 chain.py", ("cuda", "python3 chain.py")),
            ("python3 chain.py", ("python3 chain.py", "python3 chain.py")), // The command is its own name.
            // The text before the first `=` is no word.
            ("python3 x.py --n=3", ("python3 x.py --n=3", "python3 x.py --n=3")),
            ("cuda=N=3 python3 x.py", ("cuda", "N=3 python3 x.py")), // The first `=` ends the name.
            ("=x", ("=x", "=x")),
        ];
        for (text, expected) in cases {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn figures_printed_before_a_failure_count() {
        let script = r#"echo '{"name":"a","value":1,"unit":"us"}'; echo hello; echo '{"gpu":"g"}'; exit 3"#;
        let printed = Program::also(&format!("x={script}")).run().unwrap();
        assert!(matches!(&printed.lines[..], [Line::Figure(_), Line::Remark(_)]), "{printed:?}");
        assert!(printed.failure.as_ref().is_some_and(|failure| failure.contains('3')), "{printed:?}");
        assert!(Program::also("x=true").run().unwrap().failure.is_none());
    }

    #[cfg(unix)]
    #[test]
    fn an_absent_program_has_not_failed() {
        // The script, and whether it failed.
        let cases = [
            (r#"echo '{"absent":"no driver"}'; exit 2"#, false),
            (r#"echo '{"absent":"no driver"}'; exit 1"#, true), // The program is absent, and failed too.
            ("exit 2", true),                                   // An invalid command line.
            (r#"echo '{"absent":"no driver"}'; echo '{"name":"a","value":1,"unit":"us"}'; exit 2"#, true),
        ];
        for (script, has_failed) in cases {
            let printed = Program::also(&format!("x={script}")).run().unwrap();
            assert_eq!(printed.failure.is_some(), has_failed, "{script}");
        }
    }
}
