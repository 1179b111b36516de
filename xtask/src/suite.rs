//! `cargo xtask test`: sets up, then runs every test under the validation layer.
//!
//! This file builds the command, and reports skipped tests and the device after it. The tests themselves are in the
//! crates and in `tests/`; set-up is in `setup.rs`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Error, Result};
use vkarray_tests::skips::{self, Summary};

use crate::command::{CommandLine, exit_code};
use crate::found::Found;
use crate::plan::Purpose;
use crate::{setup, workspace_root};

/// Runs the tests. The exit code is the exit code of `cargo test`.
pub(crate) fn run(args: &[String]) -> Result<ExitCode> {
    let found = setup::run(Purpose::Tests)?;
    let skips = skips_file()?;
    let runner = env::current_exe()?;
    let command = command(args, &runner.to_string_lossy());
    let status = command.with_env(skips::FILE_VARIABLE, &skips.to_string_lossy()).run()?;
    // Only a run of all tests shows which lines of the table are no longer needed.
    let is_stale = report_skips(&fs::read_to_string(&skips)?, status.success() && args.is_empty())?;
    let is_good = status.success() && !is_stale;
    let verdict = if is_good { "passed" } else { "FAILED" };
    let choice = env::var("VKARRAY_DEVICE").ok();
    println!("tests {verdict} under the validation layer on {}", device_line(&found, choice.as_deref()));
    Ok(if is_stale { ExitCode::FAILURE } else { exit_code(status) })
}

/// An empty file that the tests of this run append to.
fn skips_file() -> Result<PathBuf> {
    let folder = workspace_root().join("target");
    fs::create_dir_all(&folder)?;
    let path = folder.join("skips.txt");
    fs::write(&path, "")?;
    Ok(path)
}

/// Prints the skipped tests. Returns whether all tests ran and some line of the table was needed by no test.
fn report_skips(file: &str, is_whole: bool) -> Result<bool> {
    let table = skips::table().map_err(Error::msg)?;
    let summary = Summary::new(&table, file);
    print!("{summary}");
    if !is_whole || summary.stale.is_empty() {
        return Ok(false);
    }
    println!("no longer skipped; remove from tests/skips.txt and lower N_LINES in tests/skips.rs:");
    summary.stale.iter().for_each(|line| println!("  {line}"));
    Ok(true)
}

/// The command of the tests, whose programs are started by `runner`, this program.
fn command(args: &[String], runner: &str) -> CommandLine {
    // If both `--workspace` and `--package` are given, cargo tests the whole workspace.
    let names_package = args
        .iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg.starts_with("--package") || (arg.starts_with("-p") && !arg.starts_with("--")));
    let words: &[&str] = if names_package { &["cargo", "test"] } else { &["cargo", "test", "--workspace"] };
    let runner = format!("target.\"cfg(all())\".runner=[{runner:?}, \"shares\"]");
    CommandLine::new(words.iter().copied())
        .with_env("VKARRAY_VALIDATION", "1")
        .with_args(["--config", &runner])
        .with_args(args)
}

/// The device of the tests: the user's choice in `VKARRAY_DEVICE`, otherwise the best one.
fn device_line(found: &Found, choice: Option<&str>) -> String {
    match (choice, found.best()) {
        (Some(choice), _) => {
            let names: Vec<String> = found.usable().map(ToString::to_string).collect();
            format!("VKARRAY_DEVICE={choice}, of: {}", names.join("; "))
        }
        (None, Some(best)) => best.to_string(),
        (None, None) => "no device".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Device, Kind};

    #[test]
    fn all_crates_are_tested_unless_a_package_is_given() {
        for (args, before, after) in [
            (&[][..], " --workspace", ""),
            (&["reshape"], " --workspace", " reshape"),
            (&["-p", "xtask"], "", " -p xtask"),
            (&["-pxtask"], "", " -pxtask"),
            (&["--package", "xtask"], "", " --package xtask"),
            (&["--profile", "x"], " --workspace", " --profile x"), // Not -p.
            // The `-p` is an argument of the test binary.
            (&["--", "-p"], " --workspace", " -- -p"),
        ] {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            let runner = r#" --config 'target."cfg(all())".runner=["xtask", "shares"]'"#;
            let shown = format!("VKARRAY_VALIDATION=1 cargo test{before}{runner}{after}");
            assert_eq!(command(&args, "xtask").to_string(), shown, "{args:?}");
        }
    }

    #[test]
    fn only_a_run_of_all_tests_reports_unneeded_lines() {
        // A driver with a line that is always needed, and a run in which nothing was skipped.
        let line = skips::table().unwrap().into_iter().find(|line| line.is_certain).unwrap();
        let file = format!("driver\t{} 1\n", line.driver);
        assert!(report_skips(&file, true).unwrap());
        assert!(!report_skips(&file, false).unwrap());
        assert!(!report_skips("driver\tunheard of 1\n", true).unwrap());
    }

    #[test]
    fn the_last_line_names_the_device_or_the_choice() {
        let device = |name, kind| Device::example(name, kind, None);
        let two = vec![device("soft", Kind::Cpu), device("fast", Kind::Discrete)];
        for (devices, choice, line) in [
            (two.clone(), None, "fast (discrete GPU, Vulkan 1.3.0)"), // The library's choice.
            (
                two,
                Some("cpu"),
                "VKARRAY_DEVICE=cpu, of: soft (CPU driver, Vulkan 1.3.0); fast (discrete GPU, Vulkan 1.3.0)",
            ),
            (vec![], None, "no device"),
        ] {
            let found = Found { devices, ..Found::bare() };
            assert_eq!(device_line(&found, choice), line, "{choice:?}");
        }
    }
}
