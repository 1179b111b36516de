//! `cargo xtask ci`: the gate that every change must pass.
//!
//! This file has the list of stages; the last two, the tests, are in `suite.rs` and `downstream.rs`. Miri runs if the
//! nightly toolchain has it. The first stage that fails ends the run, and its exit code is the exit code of the gate.

use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::Result;

use crate::command::{CommandLine, exit_code};
use crate::{downstream, guide, suite, workspace_root};

/// Runs the gate.
pub(crate) fn run() -> Result<ExitCode> {
    let start = Instant::now();
    let has_miri = runs_successfully(&nightly(&["miri", "--version"]));
    if !has_miri {
        println!(
            "miri: skipped, the nightly toolchain does not have it; `rustup component add --toolchain nightly miri` installs it"
        );
    }
    for (title, command) in stages().chain(miri().filter(|_| has_miri)) {
        let status = timed(&title, || command.run())?;
        if !status.success() {
            println!("the gate failed: {title}");
            return Ok(exit_code(status));
        }
    }
    let code = timed("tests", || suite::run(&[]))?;
    if code == ExitCode::SUCCESS {
        timed("benches: tests", || benches("test").run_to_success())?;
        // A project that depends on vkarray: its tests pass, and find faults that are planted in it.
        timed("downstream", downstream::run)?;
    }
    let verdict = if code == ExitCode::SUCCESS { "the gate passed" } else { "the gate failed: tests" };
    println!("{verdict} ({:.1} s in total)", start.elapsed().as_secs_f64());
    Ok(code)
}

/// The stages before Miri and the tests, the fastest first.
fn stages() -> impl Iterator<Item = (String, CommandLine)> {
    [
        ("format", CommandLine::new(["cargo", "fmt", "--all", "--check"])),
        ("structure", CommandLine::new(["cargo", "run", "--quiet", "--package", "xtask", "--", "structure"])),
        ("package", CommandLine::new(["cargo", "run", "--quiet", "--package", "xtask", "--", "package"])),
        (
            "clippy",
            CommandLine::new(["cargo", "clippy"]).with_args(ALL).with_args(["--all-targets", "--", "-D", "warnings"]),
        ),
        (
            "documentation",
            CommandLine::new(["cargo", "doc"])
                .with_args(ALL)
                .with_args(["--no-deps"])
                .with_env("RUSTDOCFLAGS", "-Dwarnings"),
        ),
        (
            "facade without features",
            CommandLine::new(["cargo", "check", "--package", "vkarray", "--no-default-features"]),
        ),
        ("benches: format", CommandLine::new(["cargo", "fmt", "--check", "--manifest-path", BENCHES])),
        ("benches: clippy", benches("clippy").with_args(["--all-targets", "--", "-D", "warnings"])),
        ("guide", guide::build()),
        ("guide: the checks themselves", guide::test()),
    ]
    .into_iter()
    .map(|(title, command)| (title.to_owned(), command))
}

/// Every crate with every feature; the tests have the features that they need.
const ALL: [&str; 2] = ["--workspace", "--all-features"];

/// The measurements, a workspace of their own.
const BENCHES: &str = "benches/Cargo.toml";

/// A subcommand of cargo for the measurements, without the program that needs wgpu, which takes minutes to compile. The
/// dependencies of the measurements are built in the target folder of the workspace.
fn benches(subcommand: &str) -> CommandLine {
    let target = workspace_root().join("target");
    CommandLine::new(["cargo", subcommand, "--manifest-path", BENCHES, "--no-default-features"])
        .with_env("CARGO_TARGET_DIR", &target.to_string_lossy())
}

/// The modules whose unit tests run under Miri, by the folder of their crate. Their tests open no device and cover all
/// code with `unsafe`, locks or atomics that needs no device.
const MIRI_MODULES: [(&str, &[&str]); 3] = [
    ("driver", &["lock", "drop_later", "host_access", "label"]),
    ("allocator", &["pending", "frame"]),
    ("layout", &["layout"]),
];

/// One stage for each crate that has tests for Miri, an interpreter that finds undefined behaviour and data races.
fn miri() -> impl Iterator<Item = (String, CommandLine)> {
    MIRI_MODULES.into_iter().map(|(folder, modules)| {
        let test = nightly(&["miri", "test", "-p", &format!("vkarray-{folder}"), "--lib", "--"]);
        let filters = modules.iter().map(|module| format!("{module}::"));
        // Miri isolates tests from the machine by default, and the tests could not read thread identifiers and the
        // clock.
        let command = test.with_args(filters).with_env("MIRIFLAGS", "-Zmiri-disable-isolation");
        (format!("miri: {folder}"), command)
    })
}

/// A command of the nightly toolchain's cargo.
fn nightly(words: &[&str]) -> CommandLine {
    CommandLine::new(["rustup", "run", "nightly", "cargo"]).with_args(words.iter().copied())
}

/// Whether the command starts and ends successfully.
fn runs_successfully(command: &CommandLine) -> bool {
    let status = command.process().stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn timed<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n==> {title}");
    let start = Instant::now();
    let outcome = work();
    println!("==> {title}: {:.1} s", start.elapsed().as_secs_f64());
    outcome
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::structure::SourceFacts;

    #[test]
    fn a_missing_program_or_subcommand_is_found_missing() {
        assert!(runs_successfully(&CommandLine::new(["cargo", "--version"])));
        assert!(!runs_successfully(&CommandLine::new(["cargo", "no-such-command"])));
        assert!(!runs_successfully(&CommandLine::new(["no-such-program-anywhere"])));
    }

    #[test]
    fn miri_runs_on_the_nightly_toolchain() {
        let (title, command) = miri().last().unwrap();
        let shown = "MIRIFLAGS=-Zmiri-disable-isolation rustup run nightly cargo miri test -p vkarray-layout --lib -- \
                     layout::";
        assert_eq!((title.as_str(), command.to_string().as_str()), ("miri: layout", shown));
    }

    #[test]
    fn every_miri_filter_matches_a_module_with_tests() {
        // A filter that matches no test would pass without running anything.
        for (folder, modules) in MIRI_MODULES {
            let source = Path::new("crates").join(folder).join("src");
            let files = SourceFacts::read(&source).unwrap().files;
            for module in modules {
                let mut of_module = files.iter().filter(|file| {
                    let path = file.path.with_extension("");
                    path.iter().any(|part| part == *module)
                });
                let has_tests = of_module.any(|file| {
                    let path = workspace_root().join(&source).join(&file.path);
                    fs::read_to_string(path).unwrap().contains("#[test]")
                });
                assert!(has_tests, "no test in a module `{module}` of {}", source.display());
            }
        }
    }
}
