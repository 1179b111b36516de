//! `cargo xtask ci`: the gate that every change passes, the same at home and in `.ci/run`.
//!
//! Here is the list of stages; the last one is `suite.rs`. Miri runs where the nightly toolchain has it.
//! The first stage that fails ends the run, and its exit code is the gate's.

use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::Result;

use crate::command::{CommandLine, exit_code};
use crate::{guide, suite};

/// Runs the gate.
pub(crate) fn run() -> Result<ExitCode> {
    let start = Instant::now();
    let has_miri = is_there(&nightly(&["miri", "--version"]));
    if !has_miri {
        println!(
            "miri: left out, since the nightly toolchain does not have it; `rustup component add --toolchain nightly miri` brings it"
        );
    }
    for (title, command) in stages().into_iter().chain(miri().into_iter().filter(|_| has_miri)) {
        let status = timed(title, || command.run())?;
        if !status.success() {
            println!("the gate stops: {title} failed");
            return Ok(exit_code(status));
        }
    }
    let code = timed("tests", || suite::run(&[]))?;
    let verdict = if code == ExitCode::SUCCESS { "the gate is passed" } else { "the gate stops: tests failed" };
    println!("{verdict} ({:.1} s in all)", start.elapsed().as_secs_f64());
    Ok(code)
}

/// The quick ones first: a missing blank is told in a second.
fn stages() -> [(&'static str, CommandLine); 5] {
    [
        ("format", CommandLine::new(["cargo", "fmt", "--all", "--check"])),
        ("clippy", CommandLine::new(["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        (
            "documentation",
            CommandLine::new(["cargo", "doc", "--workspace", "--no-deps"]).with_env("RUSTDOCFLAGS", "-Dwarnings"),
        ),
        ("guide", guide::build()),
        ("guide: the checks themselves", guide::test()),
    ]
}

/// The pure cores, under an interpreter that finds undefined behaviour and races. A stage for each crate.
fn miri() -> [(&'static str, CommandLine); 3] {
    let stage = |package: &str, filters: &[&str]| {
        let test = nightly(&["miri", "test", "-p", package, "--lib", "--"]);
        // Threads' identities and the clock are asked for; nothing else of the machine is.
        test.with_args(filters.iter().copied()).with_env("MIRIFLAGS", "-Zmiri-disable-isolation")
    };
    [
        ("miri: driver", stage("vkarray-driver", &["lock::", "released::", "hold::", "label::"])),
        ("miri: allocator", stage("vkarray-allocator", &["cleanup::", "deferred::", "hold::", "frame::"])),
        ("miri: ndarray", stage("vkarray-ndarray", &["layout::"])),
    ]
}

/// A command of the nightly toolchain's cargo.
fn nightly(words: &[&str]) -> CommandLine {
    CommandLine::new(["rustup", "run", "nightly", "cargo"]).with_args(words.iter().copied())
}

/// Whether the command can be run, and ends well.
fn is_there(command: &CommandLine) -> bool {
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
    use super::*;

    #[test]
    fn what_is_not_there_is_found_missing() {
        assert!(is_there(&CommandLine::new(["cargo", "--version"])));
        assert!(!is_there(&CommandLine::new(["cargo", "no-such-command"])));
        assert!(!is_there(&CommandLine::new(["no-such-program-anywhere"])));
    }

    #[test]
    fn miri_runs_on_the_nightly_toolchain() {
        let commands = miri().map(|(_, command)| command.to_string());
        let first = "MIRIFLAGS=-Zmiri-disable-isolation rustup run nightly cargo miri test -p vkarray-driver --lib -- \
                     lock:: released:: hold:: label::";
        assert_eq!(commands[0], first);
        assert!(commands.iter().all(|command| command.contains("rustup run nightly cargo miri test -p vkarray-")));
    }
}
