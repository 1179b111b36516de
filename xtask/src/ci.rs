//! `cargo xtask ci`: the gate that every change passes, the same at home and in `.ci/run`.
//!
//! Here is the list of stages; the last one is `suite.rs`.
//! The first stage that fails ends the run, and its exit code is the gate's.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use crate::command::{CommandLine, exit_code};
use crate::suite;

/// Runs the gate.
pub(crate) fn run() -> Result<ExitCode> {
    let start = Instant::now();
    for (title, command) in stages() {
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
fn stages() -> [(&'static str, CommandLine); 3] {
    [
        ("format", CommandLine::new(["cargo", "fmt", "--all", "--check"])),
        ("clippy", CommandLine::new(["cargo", "clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        (
            "documentation",
            CommandLine::new(["cargo", "doc", "--workspace", "--no-deps"]).with_env("RUSTDOCFLAGS", "-Dwarnings"),
        ),
    ]
}

fn timed<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n==> {title}");
    let start = Instant::now();
    let outcome = work();
    println!("==> {title}: {:.1} s", start.elapsed().as_secs_f64());
    outcome
}
